//! Loads, stores, atomics: bounds, alignment, what nobody wrote, and who else touches the place.

use super::cluster::{RANK, Shared};
use super::lanes;
use super::warp::{Next, Run};
use crate::fault::{Fault, Kind};
use crate::inst::{Addr, LANES, Lanes, Op, Order, Space, Src};
use crate::memory::Piece;
use crate::module::{SHARED_BASE, SHARED_WINDOW};
use crate::shadow::{Access, By, Cell, Conflict, READ_ONLY, STRONG, Words};

/// What an access does to its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Touch {
    Read,
    /// The bits, the lowest byte first.
    Write([u32; 8]),
    /// A copy that was in flight has been waited for.
    Settle,
}

impl<'l> Run<'_, 'l> {
    pub(super) fn memory(&mut self, op: &Op, mask: u32) -> Result<Next, Fault> {
        match op {
            Op::Ld { space: Space::Param | Space::Const, .. } => self.load_fixed(op, mask),
            Op::Ld { .. } => self.load(op, mask),
            Op::St { .. } => self.store(op, mask),
            _ => self.atomic(op, mask),
        }
    }
    fn load(&mut self, op: &Op, mask: u32) -> Result<Next, Fault> {
        let Op::Ld { space, order, bytes, sign, d, at } = op else { return Ok(Next::Go) };
        let addresses = self.addresses(*at, mask)?;
        let space = resolved(*space, &addresses, mask);
        self.count_banks((space, &addresses), mask, *bytes * d.len() as u32);
        let (mut found, mut seen) = (Place::default(), 0u64);
        for lane in lanes(mask) {
            let spot = self.place(space, addresses[lane], (*bytes, d.len()), lane, &mut found)?;
            self.touch(spot, *bytes * d.len() as u32, self.access(lane, flags(*order)), Touch::Read)?;
            for (i, d) in d.iter().enumerate() {
                let value = self.held(spot.element(i), lane)?;
                seen = seen.rotate_left(7) ^ value;
                if let Some(d) = d {
                    self.warp.regs[*d as usize][lane] = extended(value, *bytes, *sign);
                }
            }
            if order.strong {
                self.has_read(space, addresses[lane], lane, *order);
            }
        }
        d.iter().flatten().for_each(|d| self.warp.known[*d as usize] |= mask);
        Ok(if order.strong { self.polls(seen) } else { Next::Go })
    }
    fn store(&mut self, op: &Op, mask: u32) -> Result<Next, Fault> {
        let Op::St { space, order, bytes, a, at } = op else { return Ok(Next::Go) };
        let addresses = self.addresses(*at, mask)?;
        let space = resolved(*space, &addresses, mask);
        for a in a {
            self.defined(*a, mask)?;
        }
        self.count_banks((space, &addresses), mask, *bytes * a.len() as u32);
        let mut found = Place::default();
        for lane in lanes(mask) {
            let spot = self.place(space, addresses[lane], (*bytes, a.len()), lane, &mut found)?;
            let mut value = [0; 8];
            for (i, a) in a.iter().enumerate() {
                lay(&mut value, i as u32 * bytes, *bytes, self.src(*a).0[lane]);
            }
            self.touch(spot, *bytes * a.len() as u32, self.access(lane, flags(*order)), Touch::Write(value))?;
            for (i, a) in a.iter().enumerate() {
                let (spot, value) = (spot.element(i), self.src(*a).0[lane]);
                self.piece(spot).store(spot.from, *bytes, value);
            }
            if order.strong {
                self.has_written(space, addresses[lane], lane, *order, false);
            }
        }
        self.world.changes += 1;
        Ok(Next::Go)
    }
    fn atomic(&mut self, op: &Op, mask: u32) -> Result<Next, Fault> {
        let Op::Atom { space, order, update, bytes, d, at, a, b } = op else { return Ok(Next::Go) };
        let addresses = self.addresses(*at, mask)?;
        let space = resolved(*space, &addresses, mask);
        for a in a.iter().chain(b) {
            self.defined(*a, mask)?;
        }
        let (mut found, mut seen, mut changed) = (Place::default(), 0u64, false);
        for lane in lanes(mask) {
            self.find_words(addresses[lane], &mut found);
            let spot = self.place(space, addresses[lane], (*bytes, a.len()), lane, &mut found)?;
            self.has_read(space, addresses[lane], lane, *order);
            for (i, a) in a.iter().enumerate() {
                let old = self.held(spot.element(i), lane)?;
                let (a, b_value) = (self.src(*a).0[lane], b.map_or(0, |b| self.src(b).0[lane]));
                let new = update(old, a, b_value);
                self.exchange(spot.element(i), (old, new), b.is_some(), self.access(lane, STRONG))?;
                changed |= old != new;
                seen = seen.rotate_left(7) ^ old;
                if let Some(d) = d.get(i) {
                    self.warp.regs[*d as usize][lane] = old;
                }
            }
            self.has_written(space, addresses[lane], lane, *order, true);
        }
        d.iter().for_each(|d| self.warp.known[*d as usize] |= mask);
        self.world.changes += u64::from(changed);
        Ok(if d.is_empty() || changed { Next::Go } else { self.polls(seen) })
    }
    /// The same value at the same place of the text once more: another warp has to change it.
    fn polls(&mut self, seen: u64) -> Next {
        let again = self.warp.polled == (self.warp.pc, seen);
        self.warp.polled = (self.warp.pc, seen);
        if again { Next::Polls } else { Next::Go }
    }

    /// An access to the block's own shared memory, as long as no lane goes to another's.
    pub(super) fn count_banks(&mut self, (space, addresses): (Space, &Lanes), mask: u32, bytes: u32) {
        if space == Space::Shared {
            let line = self.cx.entry.insts.get(self.warp.pc as usize).map_or(0, |inst| inst.line);
            self.side.banks.access(addresses, mask, bytes, line);
        }
    }
    pub(super) fn addresses(&self, at: Addr, mask: u32) -> Result<Lanes, Fault> {
        let Some(base) = at.base else { return Ok([at.offset as u64; LANES]) };
        let mut out = *self.defined(Src::Reg(base), mask)?;
        out.iter_mut().for_each(|a| *a = a.wrapping_add(at.offset as u64));
        Ok(out)
    }
    /// An atomic on a narrow element takes the word around it, and memory is allocated in words.
    fn find_words(&self, address: u64, found: &mut Place<'l>) {
        if !(found.from..found.to).contains(&address)
            && let Some((base, piece)) = self.cx.memory.find(address)
        {
            *found = Place { from: base, to: base + piece.len().next_multiple_of(4), piece: Some(piece) };
        }
    }
    /// Where an access lies, which has to be inside one piece.
    pub(super) fn place(
        &self,
        space: Space,
        address: u64,
        (bytes, count): (u32, usize),
        lane: usize,
        found: &mut Place<'l>,
    ) -> Result<Spot<'l>, Fault> {
        let len = u64::from(bytes) * count as u64;
        let spot = |piece, (rank, from)| Spot { space, address, bytes, piece, rank, from };
        if !address.is_multiple_of(len) {
            return Err(self.bad(MISALIGNED, space, address, len as u32, lane));
        }
        if matches!(space, Space::Shared | Space::Cluster) {
            let low = address & 0xFFFF_FFFF;
            let (rank, low) = match low >> RANK {
                of if of > 0 && space == Space::Cluster => (of as usize - 1, low & ((1 << RANK) - 1)),
                _ => (self.rank, low),
            };
            let from = low.wrapping_sub(SHARED_BASE.into());
            let end = from.checked_add(len);
            return match self.joint.members.get(rank) {
                Some(member) if end.is_some_and(|end| end <= member.piece.len()) => {
                    self.present(rank, lane)?;
                    Ok(spot(None, (rank, from)))
                }
                _ => Err(self.bad(OUTSIDE, space, address, len as u32, lane)),
            };
        }
        if !(found.from..found.to).contains(&address)
            && let Some((base, piece)) = self.cx.memory.find(address)
        {
            *found = Place { from: base, to: base + piece.len(), piece: Some(piece) };
        }
        match found.piece {
            Some(piece) if address >= found.from && found.to.checked_sub(len).is_some_and(|last| address <= last) => {
                Ok(spot(Some(piece), (self.rank, address - found.from)))
            }
            _ => Err(self.bad(OUTSIDE, space, address, len as u32, lane)),
        }
    }
    fn bad(&self, wrong: Wrong, space: Space, address: u64, bytes: u32, lane: usize) -> Fault {
        self.fault(wrong(space.name(), address, bytes), lane as u32)
    }
    pub(super) fn piece(&self, spot: Spot<'l>) -> &Piece {
        spot.piece.unwrap_or(&self.joint.members[spot.rank].piece)
    }
    /// What a place holds, which somebody has to have written.
    pub(super) fn held(&self, spot: Spot<'l>, lane: usize) -> Result<u64, Fault> {
        match self.piece(spot).load(spot.from, spot.bytes) {
            (value, true) => Ok(value),
            (_, false) => Err(self.bad(UNWRITTEN, spot.space, spot.address, spot.bytes, lane)),
        }
    }
    fn put(&mut self, spot: Spot<'l>, value: u64, access: Access) -> Result<(), Fault> {
        let mut bits = [0; 8];
        lay(&mut bits, 0, spot.bytes, value);
        self.touch(spot, spot.bytes, access, Touch::Write(bits))?;
        self.piece(spot).store(spot.from, spot.bytes, value);
        Ok(())
    }
    /// An atomic. One that changes nothing disturbs nobody. An exchange that is made if nobody came between writes the bytes
    /// that it changes: the others it holds for their owners, who may touch them meanwhile.
    fn exchange(&mut self, spot: Spot<'l>, (old, new): (u64, u64), if_same: bool, access: Access) -> Result<(), Fault> {
        if old == new {
            return Ok(());
        }
        if !if_same {
            return self.put(spot, new, access);
        }
        for i in 0..spot.bytes as usize {
            let (old, new) = ((old >> (i * 8)) as u8, (new >> (i * 8)) as u8);
            if old != new {
                self.put(Spot { bytes: 1, ..spot }.element(i), new.into(), access)?;
            }
        }
        Ok(())
    }
    /// Records an access of so many bytes, and compares it with earlier ones.
    pub(super) fn touch(&mut self, spot: Spot<'l>, bytes: u32, access: Access, touch: Touch) -> Result<(), Fault> {
        if spot.piece.is_none() {
            self.no_mbarrier(spot, bytes, access.of_thread() as usize % LANES)?;
        }
        if !self.cx.races {
            return Ok(());
        }
        let knowledge = &self.warp.knowledge;
        let done = if let Some(piece) = spot.piece {
            let ordered = |other: &Access| knowledge.ordered(&access, other, By::GLOBAL);
            record(self.world.pages.around(spot.address), bytes, touch, access, ordered, (piece, spot.from))
        } else {
            let Shared { piece, cells, .. } = &mut self.joint.members[spot.rank];
            let ordered = |other: &Access| knowledge.ordered(&access, other, By::SHARED);
            record((cells, spot.from), bytes, touch, access, ordered, (piece, spot.from))
        };
        let address = |at: u32| spot.address + u64::from(at);
        done.map_err(|(at, conflict)| self.cx.conflict(spot.space.name(), address(at), &access, conflict))
    }

    /// Parameters and constants.
    fn load_fixed(&mut self, op: &Op, mask: u32) -> Result<Next, Fault> {
        let Op::Ld { space, bytes, sign, d, at, .. } = op else { return Ok(Next::Go) };
        let cx = *self.cx;
        let memory = if *space == Space::Param { cx.launch.params } else { &cx.entry.variables.constant };
        let addresses = self.addresses(*at, mask)?;
        for lane in lanes(mask) {
            for (i, d) in d.iter().enumerate() {
                let address = addresses[lane].saturating_add(i as u64 * u64::from(*bytes));
                let end = address.saturating_add((*bytes).into());
                let Some(found) = memory.get(address as usize..end as usize) else {
                    return Err(self.bad(OUTSIDE, *space, address, *bytes, lane));
                };
                let value = found.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
                if let Some(d) = d {
                    self.warp.regs[*d as usize][lane] = extended(value, *bytes, *sign);
                }
            }
        }
        d.iter().flatten().for_each(|d| self.warp.known[*d as usize] |= mask);
        Ok(Next::Go)
    }
}

/// A generic address is one of shared memory in its window, else one of global memory. All lanes go the same way.
pub(super) fn resolved(space: Space, addresses: &Lanes, mask: u32) -> Space {
    let first = lanes(mask).next().map_or(0, |lane| addresses[lane]);
    match space {
        Space::Generic if first >> 32 == SHARED_WINDOW >> 32 => Space::Cluster,
        Space::Generic => Space::Global,
        space => space,
    }
}

/// Where an element of an access lies.
#[derive(Clone, Copy)]
pub(super) struct Spot<'l> {
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
    /// `None`: shared memory.
    pub piece: Option<&'l Piece>,
    /// Of the block whose shared memory it is.
    pub rank: usize,
    /// From the piece's beginning on.
    pub from: u64,
}
impl Spot<'_> {
    pub(super) fn element(self, i: usize) -> Self {
        let step = i as u64 * u64::from(self.bytes);
        Spot { address: self.address + step, from: self.from + step, ..self }
    }
    /// So many bytes further on.
    pub(super) fn on(self, at: u64, bytes: u32) -> Self {
        Spot { address: self.address + at, from: self.from + at, bytes, ..self }
    }
}

type Wrong = fn(&'static str, u64, u32) -> Kind;
const OUTSIDE: Wrong = |space, address, bytes| Kind::OutOfBounds { space, address, bytes };
const MISALIGNED: Wrong = |space, address, bytes| Kind::Misaligned { space, address, bytes };
const UNWRITTEN: Wrong = |space, address, bytes| Kind::Unwritten { space, address, bytes };

fn record(
    (words, at): (&mut Words<Cell>, u64),
    bytes: u32,
    touch: Touch,
    access: Access,
    ordered: impl Fn(&Access) -> bool + Copy,
    (piece, from): (&Piece, u64),
) -> Result<(), (u32, Conflict)> {
    match touch {
        Touch::Read => words.each(at, bytes, |cell, i, _| cell.read(access, ordered).map_err(|conflict| (i, conflict))),
        Touch::Write(value) => words.each(at, bytes, |cell, i, count| {
            let value = value[(i / 4) as usize & 7] >> (i % 4 * 8) & (u32::MAX >> (32 - count * 8));
            let holds = || piece.load(from + u64::from(i), count).0 == u64::from(value);
            cell.write(access, value, holds, ordered).map_err(|conflict| (i, conflict))
        }),
        Touch::Settle => words.each(at, bytes, |cell, _, _| {
            cell.settle(access);
            Ok(())
        }),
    }
}
/// Puts an element's bytes where they lie in an access.
pub(super) fn lay(bits: &mut [u32; 8], at: u32, bytes: u32, value: u64) {
    let word = (at / 4) as usize & 7;
    match bytes {
        8 => (bits[word], bits[(word + 1) & 7]) = (value as u32, (value >> 32) as u32),
        4 => bits[word] = value as u32,
        _ => bits[word] |= (value as u32 & ((1 << (bytes * 8)) - 1)) << (at % 4 * 8),
    }
}

/// The piece that the last lane found.
#[derive(Clone, Copy, Default)]
pub(super) struct Place<'l> {
    from: u64,
    to: u64,
    piece: Option<&'l Piece>,
}

fn flags(order: Order) -> u16 {
    (if order.strong { STRONG } else { 0 }) | if order.read_only { READ_ONLY } else { 0 }
}
fn extended(value: u64, bytes: u32, sign: Option<u32>) -> u64 {
    let Some(bits) = sign else { return value };
    let unused = 64 - bytes * 8;
    ((((value << unused) as i64) >> unused) as u64) & (u64::MAX >> (64 - bits))
}
