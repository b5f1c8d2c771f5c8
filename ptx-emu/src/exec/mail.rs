//! `st.async` and `cp.async.bulk`: what lands in the shared memory of a block at any time, in any order, and is counted by an
//! mbarrier there. Nobody may look before the mbarrier's phase is over, and nothing else orders it. Without a seed it lands as
//! late as it can: when nothing else goes on.

use super::cluster::Joint;
use super::memory::{Place, Spot, Touch, lay};
use super::warp::Run;
use super::{Context, World, lanes};
use crate::between::Between;
use crate::fault::{Fault, Kind, Party};
use crate::inst::{Space, Src};
use crate::shadow::{ASYNC, Access, Conflict, IN_FLIGHT, landed};

/// Bytes of a bulk copy that are recorded at a time: what it moves is a multiple of them.
const CHUNK: u32 = 16;

/// What is on its way.
pub(super) struct Mail<'l> {
    what: What<'l>,
    to: Spot<'l>,
    bytes: u32,
    barrier: Spot<'l>,
    access: Access,
}
enum What<'l> {
    Words([u32; 8]),
    From(Spot<'l>),
}
/// What has landed.
pub(super) struct Letter {
    /// Where it was written, and where it was read: the rank, if it is shared memory, and the place.
    places: Vec<(Option<usize>, u64)>,
    bytes: u32,
    access: Access,
}

impl<'l> Run<'_, 'l> {
    pub(super) fn post(&mut self, op: &Between, mask: u32) -> Result<(), Fault> {
        match op {
            Between::Store { bytes, a, at, barrier } => {
                let (to, barrier) = (self.addresses(*at, mask)?, self.addresses(*barrier, mask)?);
                for a in a {
                    self.defined(*a, mask)?;
                }
                self.warp.knowledge.apart();
                for lane in lanes(mask) {
                    let to = self.place(Space::Cluster, to[lane], (*bytes, a.len()), lane, &mut Place::default())?;
                    let words = self.words(a, *bytes, lane);
                    let len = *bytes * a.len() as u32;
                    let mail = self.mail((What::Words(words), to, len), (Space::Cluster, barrier[lane]), lane)?;
                    self.touch(to, len, mail.access, Touch::Write([0; 8]))?;
                    self.joint.mail.push(mail);
                }
            }
            Between::Bulk { from, to, source, size, barrier } => {
                let (to, source) = (self.addresses(*to, mask)?, self.addresses(*source, mask)?);
                let (size, barrier) = (*self.defined(*size, mask)?, self.addresses(*barrier, mask)?);
                for lane in lanes(mask) {
                    self.warp.knowledge.apart();
                    let places = ((Space::Cluster, to[lane]), (*from, source[lane]), barrier[lane]);
                    self.bulk(places, size[lane], lane)?;
                }
            }
            _ => {}
        }
        self.world.changes += 1;
        Ok(())
    }
    fn words(&self, a: &[Src], bytes: u32, lane: usize) -> [u32; 8] {
        let mut words = [0; 8];
        for (i, a) in a.iter().enumerate() {
            lay(&mut words, i as u32 * bytes, bytes, self.src(*a).0[lane]);
        }
        words
    }
    fn mail(
        &self,
        (what, to, bytes): (What<'l>, Spot<'l>, u32),
        barrier: (Space, u64),
        lane: usize,
    ) -> Result<Mail<'l>, Fault> {
        let barrier = self.used(barrier, lane)?;
        if barrier.rank != to.rank {
            let what = "counts what lands in another block's shared memory".to_string();
            return Err(self.mbarrier_fault(barrier, what, lane));
        }
        let access = self.access(lane, IN_FLIGHT);
        let access = Access { thread: access.thread | ASYNC, ..access };
        Ok(Mail { what, to, bytes, barrier, access })
    }
    fn bulk(
        &mut self,
        (to, from, barrier): ((Space, u64), (Space, u64), u64),
        size: u64,
        lane: usize,
    ) -> Result<(), Fault> {
        let size = size as u32;
        if size == 0 || !size.is_multiple_of(CHUNK) {
            return Err(self.fault(Kind::Unknown(format!("a bulk copy of {size} bytes")), lane as u32));
        }
        let mut found = Place::default();
        let last = u64::from(size - CHUNK);
        let target = self.place(to.0, to.1, (CHUNK, 1), lane, &mut Place::default())?;
        self.place(to.0, to.1 + last, (CHUNK, 1), lane, &mut Place::default())?;
        let source = self.place(from.0, from.1, (CHUNK, 1), lane, &mut found)?;
        self.place(from.0, from.1 + last, (CHUNK, 1), lane, &mut found)?;
        let mail = self.mail((What::From(source), target, size), (Space::Cluster, barrier), lane)?;
        for at in (0..u64::from(size)).step_by(8) {
            self.held(source.on(at, 8), lane)?;
        }
        for at in (0..u64::from(size)).step_by(CHUNK as usize) {
            let read = source.on(at, CHUNK);
            self.fenced(read, lane)?;
            self.touch(read, CHUNK, mail.access, Touch::Read)?;
            self.touch(target.on(at, CHUNK), CHUNK, mail.access, Touch::Write([0; 8]))?;
        }
        self.joint.mail.push(mail);
        Ok(())
    }
    /// What threads of the block stored in shared memory, they have told the asynchronous proxy.
    fn fenced(&mut self, read: Spot<'l>, lane: usize) -> Result<(), Fault> {
        if !self.cx.races || read.piece.is_some() {
            return Ok(());
        }
        let member = &mut self.joint.members[read.rank];
        let (block, proxied) = (member.block, &member.proxied);
        let told = |a: &Access| {
            let here = a.block == block && a.thread & ASYNC == 0;
            !a.happened() || !here || proxied.get(usize::from(a.thread)).is_some_and(|clock| *clock >= a.clock)
        };
        let seen = member.cells.each(read.from, CHUNK, |cell, i, _| match told(&cell.write) {
            true => Ok(()),
            false => Err((i, cell.write)),
        });
        seen.map_err(|(i, write)| {
            let there = self.cx.fault(Kind::Trap, write.pc, write.block, write.of_thread());
            let (block, thread) = (write.block, write.of_thread());
            let other = Party { block, thread, line: there.line, statement: there.statement };
            self.fault(Kind::Proxy { address: read.address + u64::from(i), other }, lane as u32)
        })
    }
}

impl Joint<'_> {
    /// With a seed: each, perhaps.
    pub(super) fn land_some(&mut self, cx: &Context<'_>, world: &mut World) -> Result<bool, Fault> {
        let mut mail = std::mem::take(&mut self.mail);
        self.random.shuffle(&mut mail);
        let (due, rest): (Vec<_>, Vec<_>) = mail.into_iter().partition(|_| self.random.below(4) == 0);
        self.mail = rest;
        let some = !due.is_empty();
        due.into_iter().try_for_each(|mail| self.land(cx, mail, world))?;
        Ok(some)
    }
    /// All that one mbarrier counts, the youngest first.
    pub(super) fn land_one_barrier(&mut self, cx: &Context<'_>, world: &mut World) -> Result<bool, Fault> {
        let Some(barrier) = self.mail.first().map(|mail| (mail.barrier.rank, mail.barrier.from)) else {
            return Ok(false);
        };
        let mail = std::mem::take(&mut self.mail);
        let (due, rest): (Vec<_>, Vec<_>) =
            mail.into_iter().partition(|mail| (mail.barrier.rank, mail.barrier.from) == barrier);
        self.mail = rest;
        due.into_iter().rev().try_for_each(|mail| self.land(cx, mail, world))?;
        Ok(true)
    }
    fn land(&mut self, cx: &Context<'_>, mail: Mail<'_>, world: &mut World) -> Result<(), Fault> {
        let Mail { what, to, bytes, barrier, access } = mail;
        let fault = |kind| cx.fault(kind, access.pc, access.block, access.of_thread());
        let member = &self.members[to.rank];
        if member.ended {
            return Err(fault(Kind::Absent { block: member.block, why: "has ended before it lands" }));
        }
        for at in (0..bytes).step_by(4) {
            let word = match &what {
                What::Words(words) => u64::from(words[(at / 4) as usize & 7]),
                What::From(spot) => {
                    let source = spot.piece.unwrap_or(&self.members[spot.rank].piece);
                    source.load(spot.from + u64::from(at), 4).0
                }
            };
            member.piece.store(to.from + u64::from(at), 4, word);
        }
        let mut places = Vec::new();
        if cx.races {
            places.push((Some(to.rank), to.from));
        }
        if let (What::From(spot), true) = (&what, cx.races) {
            places.push(match spot.piece {
                None => (Some(spot.rank), spot.from),
                Some(_) => (None, spot.address),
            });
        }
        let Some(mbarrier) = self.members[barrier.rank].mbarriers.get_mut(&barrier.from) else {
            let what = "has been invalidated before what it counts has landed".to_string();
            return Err(fault(Kind::Mbarrier { address: barrier.address, what }));
        };
        mbarrier
            .count_bytes(-i64::from(bytes))
            .map_err(|what| fault(Kind::Mbarrier { address: barrier.address, what }))?;
        let access = Access { flags: 0, ..access };
        mbarrier.came(&access, &landed(&access));
        mbarrier.letters.push(Letter { places, bytes, access });
        world.changes += 1;
        self.complete((barrier.rank, barrier.from), world);
        Ok(())
    }
    /// From now on it is as if it had been an access that is over for those who know of it.
    pub(super) fn settle(&mut self, letter: &Letter, world: &mut World) {
        for (rank, from) in &letter.places {
            for at in (0..letter.bytes).step_by(CHUNK as usize) {
                let (place, bytes) = (from + u64::from(at), CHUNK.min(letter.bytes - at));
                let settle = |cell: &mut crate::shadow::Cell, _, _| {
                    cell.settle(letter.access);
                    Ok::<(), (u32, Conflict)>(())
                };
                // Settling finds no conflict.
                let _ = match rank {
                    Some(rank) => self.members[*rank].cells.each(place, bytes, settle),
                    None => {
                        let (words, at) = world.pages.around(place);
                        words.each(at, bytes, settle)
                    }
                };
            }
        }
    }
}
