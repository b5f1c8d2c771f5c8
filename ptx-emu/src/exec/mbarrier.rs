//! mbarriers: a phase ends when all arrivals have come, and all bytes that were announced. Whoever sees the end of a phase knows
//! what those who arrived knew; of what landed asynchronously, that it is there. Between blocks, an arrival that is not for the
//! cluster orders shared memory alone.

use super::cluster::Joint;
use super::mail::Letter;
use super::memory::{Place, Spot, Touch, resolved};
use super::warp::{Awaited, Next, Run};
use super::{World, lanes};
use crate::between::Between;
use crate::fault::{Fault, Kind, Party};
use crate::inst::{LANES, Space};
use crate::shadow::{Access, By, Map, Released, join, near};

/// The most arrivals of a phase, and the most bytes (PTX ISA, mbarrier).
const MOST: u64 = (1 << 20) - 1;
const BYTES: u32 = 8;

pub(super) struct MBarrier {
    /// Arrivals of a phase.
    count: u32,
    pending: u32,
    /// Bytes that are expected; less than zero where they came first.
    bytes: i64,
    /// Phases that are over.
    phase: u64,
    init: Access,
    /// What arrivals of this block release, and of shared memory what those of other blocks do.
    own: Ledger,
    /// What arrivals of other blocks release that are for the cluster.
    wide: Ledger,
    /// What has landed in this phase.
    pub letters: Vec<Letter>,
    /// The last arrival of each thread of another block.
    pub foreign: Vec<Access>,
}
#[derive(Default)]
struct Ledger {
    coming: Map,
    known: Map,
}
impl Ledger {
    fn close(&mut self) {
        let coming = std::mem::take(&mut self.coming);
        join(&mut self.known, &coming);
    }
}

impl MBarrier {
    pub(super) fn missing(&self) -> String {
        let (pending, count, bytes, phase) = (self.pending, self.count, self.bytes, self.phase);
        format!(
            "is waited for, and nothing follows: {pending} of {count} arrivals and {bytes} bytes of phase {phase} are missing"
        )
    }
    fn over(&self, parity: bool, phase: u64) -> bool {
        if parity { self.phase & 1 != phase & 1 } else { self.phase > phase }
    }
    pub(super) fn count_bytes(&mut self, bytes: i64) -> Result<(), String> {
        self.bytes += bytes;
        match self.bytes.unsigned_abs() {
            n if n > MOST => Err(format!("counts up to {MOST} bytes, and these are {n}")),
            _ => Ok(()),
        }
    }
    pub(super) fn came(&mut self, access: &Access, released: &Map) {
        join(&mut self.own.coming, released);
        self.note(access);
    }
    fn note(&mut self, access: &Access) {
        match self.foreign.iter_mut().find(|a| (a.block, a.thread) == (access.block, access.thread)) {
            Some(known) => *known = *access,
            None => self.foreign.push(*access),
        }
    }
}

impl Joint<'_> {
    /// Ends the phase of an mbarrier that waits for nothing more.
    pub(super) fn complete(&mut self, (rank, place): (usize, u64), world: &mut World) {
        let Some(mbarrier) = self.members[rank].mbarriers.get_mut(&place) else { return };
        if mbarrier.pending > 0 || mbarrier.bytes != 0 {
            return;
        }
        mbarrier.phase += 1;
        mbarrier.pending = mbarrier.count;
        mbarrier.own.close();
        mbarrier.wide.close();
        for letter in std::mem::take(&mut mbarrier.letters) {
            self.settle(&letter, world);
        }
        world.changes += 1;
    }
}

impl<'l> Run<'_, 'l> {
    pub(super) fn mbarrier(&mut self, op: &Between, mask: u32) -> Result<Next, Fault> {
        match op {
            Between::Init { at, count } => {
                let (at, counts) = (self.addresses(*at, mask)?, *self.defined(*count, mask)?);
                for lane in lanes(mask) {
                    self.init((Space::Shared, at[lane]), counts[lane], lane)?;
                }
            }
            Between::Inval { at } => {
                let at = self.addresses(*at, mask)?;
                for lane in lanes(mask) {
                    let spot = self.used((Space::Shared, at[lane]), lane)?;
                    self.joint.members[spot.rank].mbarriers.remove(&spot.from);
                }
            }
            Between::Bytes { space, expect, at, bytes } => {
                let (at, bytes) = (self.addresses(*at, mask)?, *self.defined(*bytes, mask)?);
                let space = resolved(*space, &at, mask);
                for lane in lanes(mask) {
                    let spot = self.used((space, at[lane]), lane)?;
                    let bytes = bytes[lane] as u32 as i64;
                    self.count_bytes(spot, if *expect { bytes } else { -bytes }, lane)?;
                    self.joint.complete((spot.rank, spot.from), self.world);
                }
                self.world.changes += 1;
            }
            Between::Arrive { .. } => self.arrive(op, mask)?,
            Between::Wait { .. } => return self.wait_phase(op, mask),
            _ => {}
        }
        Ok(Next::Go)
    }
    fn init(&mut self, (space, address): (Space, u64), count: u64, lane: usize) -> Result<(), Fault> {
        let spot = self.place(space, address, (BYTES, 1), lane, &mut Place::default())?;
        if count == 0 || count > MOST {
            return Err(self.mbarrier_fault(spot, format!("is initialised for {count} arrivals"), lane));
        }
        if self.joint.members[spot.rank].mbarriers.contains_key(&spot.from) {
            return Err(self.mbarrier_fault(spot, "is initialised again, without mbarrier.inval".to_string(), lane));
        }
        let init = self.access(lane, 0);
        self.touch(spot, BYTES, init, Touch::Write([0; 8]))?;
        let member = &mut self.joint.members[spot.rank];
        let count = count as u32;
        let new = MBarrier {
            count,
            pending: count,
            bytes: 0,
            phase: 0,
            init,
            own: Ledger::default(),
            wide: Ledger::default(),
            letters: Vec::new(),
            foreign: Vec::new(),
        };
        member.mbarriers.insert(spot.from, new);
        let end = spot.from + u64::from(BYTES);
        member.span = if member.span.is_empty() {
            spot.from..end
        } else {
            member.span.start.min(spot.from)..member.span.end.max(end)
        };
        Ok(())
    }
    fn arrive(&mut self, op: &Between, mask: u32) -> Result<(), Fault> {
        let Between::Arrive { space, wide, state, at, count, expect } = op else { return Ok(()) };
        let at = self.addresses(*at, mask)?;
        let space = resolved(*space, &at, mask);
        let one = [1; LANES];
        let counts = count.map_or(Ok(one), |count| self.defined(count, mask).copied())?;
        let expect = expect.map(|bytes| self.defined(bytes, mask).copied()).transpose()?;
        // Lanes that come to one mbarrier bring what they know together.
        let first = lanes(mask).next().map_or(0, |lane| at[lane]);
        let alike = lanes(mask).all(|lane| at[lane] == first);
        let access = self.access(0, 0);
        let mut brought = Map::default();
        let mut phases = [0; LANES];
        for (i, lane) in lanes(mask).enumerate() {
            if i == 0 || !alike {
                let these = if alike { mask } else { 1 << lane };
                brought = self.warp.knowledge.publish(self.block, self.warp.id, lanes(these));
            }
            let spot = self.used((space, at[lane]), lane)?;
            if let Some(expect) = expect {
                self.count_bytes(spot, expect[lane] as u32 as i64, lane)?;
            }
            let (remote, place) = (spot.rank != self.rank, (spot.rank, spot.from));
            let access = Access { thread: self.thread(lane as u32) as u16, ..access };
            let Some(mbarrier) = self.joint.members[spot.rank].mbarriers.get_mut(&spot.from) else { continue };
            let count = counts[lane] as u32;
            phases[lane] = mbarrier.phase;
            let Some(pending) = mbarrier.pending.checked_sub(count).filter(|_| count > 0) else {
                let what = format!("gets {count} arrivals, and its phase has room for {}", mbarrier.pending);
                return Err(self.mbarrier_fault(spot, what, lane));
            };
            mbarrier.pending = pending;
            match (remote, wide) {
                (false, _) => join(&mut mbarrier.own.coming, &brought),
                (true, true) => join(&mut mbarrier.wide.coming, &brought),
                (true, false) => join(&mut mbarrier.own.coming, &near(&brought)),
            }
            if remote {
                mbarrier.note(&access);
            }
            self.joint.complete(place, self.world);
        }
        self.world.changes += 1;
        if let Some(state) = state {
            self.set(*state, mask, &phases, u32::MAX);
        }
        Ok(())
    }
    fn wait_phase(&mut self, op: &Between, mask: u32) -> Result<Next, Fault> {
        let Between::Wait { space, parity, wide, d, at, phase } = op else { return Ok(Next::Go) };
        let (at, phases) = (self.addresses(*at, mask)?, *self.defined(*phase, mask)?);
        let space = resolved(*space, &at, mask);
        let mut over = 0;
        let mut learned: Vec<(u64, u32, Map)> = Vec::new();
        for lane in lanes(mask) {
            let spot = self.used((space, at[lane]), lane)?;
            if spot.rank != self.rank {
                let what = "belongs to another block, which alone may wait for it".to_string();
                return Err(self.mbarrier_fault(spot, what, lane));
            }
            let Some(mbarrier) = self.joint.members[spot.rank].mbarriers.get(&spot.from) else { continue };
            if !mbarrier.over(*parity, phases[lane]) {
                self.warp.awaits = Some(Awaited { pc: self.warp.pc, address: spot.address, place: spot.from });
                continue;
            }
            over |= 1 << lane;
            match learned.iter_mut().find(|(place, ..)| *place == spot.from) {
                Some((_, lanes, _)) => *lanes |= 1 << lane,
                None => {
                    let mut map = mbarrier.own.known.clone();
                    match wide {
                        true => join(&mut map, &mbarrier.wide.known),
                        false => join(&mut map, &near(&mbarrier.wide.known)),
                    }
                    learned.push((spot.from, 1 << lane, map));
                }
            }
        }
        for (place, who, map) in learned {
            if who == self.warp.alive() {
                self.warp.knowledge.learn_all(&map);
                continue;
            }
            let released = Released { map, chain: 0 };
            lanes(who).for_each(|lane| self.warp.knowledge.acquire(lane as u32, place, &released));
        }
        self.set_truth(*d, mask, over, u32::MAX);
        if over == mask {
            return Ok(Next::Go);
        }
        self.warp.polled = (self.warp.pc, 0);
        Ok(Next::Polls)
    }

    fn count_bytes(&mut self, spot: Spot<'l>, bytes: i64, lane: usize) -> Result<(), Fault> {
        let mbarrier = self.joint.members[spot.rank].mbarriers.get_mut(&spot.from);
        let done = mbarrier.map_or(Ok(()), |mbarrier| mbarrier.count_bytes(bytes));
        done.map_err(|what| self.mbarrier_fault(spot, what, lane))
    }
    /// An mbarrier that somebody has initialised, before this.
    pub(super) fn used(&self, (space, address): (Space, u64), lane: usize) -> Result<Spot<'l>, Fault> {
        let spot = self.place(space, address, (BYTES, 1), lane, &mut Place::default())?;
        let mbarrier =
            (spot.piece.is_none()).then(|| self.joint.members[spot.rank].mbarriers.get(&spot.from)).flatten();
        let Some(mbarrier) = mbarrier else {
            return Err(self.mbarrier_fault(spot, "is not initialised".to_string(), lane));
        };
        let me = self.access(lane, 0);
        if !self.cx.races || self.warp.knowledge.ordered(&me, &mbarrier.init, By::MBARRIER) {
            return Ok(spot);
        }
        let init = &mbarrier.init;
        let there = self.cx.fault(Kind::Trap, init.pc, init.block, init.of_thread());
        let other = Party { block: init.block, thread: init.of_thread(), line: there.line, statement: there.statement };
        Err(self.fault(Kind::Race { space: spot.space.name(), address, other }, lane as u32))
    }
    pub(super) fn mbarrier_fault(&self, spot: Spot<'l>, what: String, lane: usize) -> Fault {
        self.fault(Kind::Mbarrier { address: spot.address, what }, lane as u32)
    }
    /// Its bytes are no data. Few accesses lie near one.
    #[inline]
    pub(super) fn no_mbarrier(&self, spot: Spot<'l>, bytes: u32, lane: usize) -> Result<(), Fault> {
        let span = &self.joint.members[spot.rank].span;
        match spot.from < span.end && spot.from + u64::from(bytes) > span.start {
            true => self.beside_mbarriers(spot, bytes, lane),
            false => Ok(()),
        }
    }
    #[cold]
    fn beside_mbarriers(&self, spot: Spot<'l>, bytes: u32, lane: usize) -> Result<(), Fault> {
        let (member, unit) = (&self.joint.members[spot.rank], u64::from(BYTES));
        let mut units = spot.from / unit..(spot.from + u64::from(bytes)).div_ceil(unit);
        match units.any(|at| member.mbarriers.contains_key(&(at * unit))) {
            true => Err(self.mbarrier_fault(spot, "is touched as if it were data".to_string(), lane)),
            false => Ok(()),
        }
    }
}
