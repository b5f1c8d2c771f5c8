//! The scratch of a PE: who holds how much of it, and who still uses it.
//!
//! A tile is held while a slot of the program names it, and while a transfer uses it. Names end in program order; uses
//! end when hardware is done. So what is named is the live set of the program, and the rest will be free in time.

use super::program::{Made, TileSlot};
use crate::engine::Class;

/// A tile by its number among those of a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileIx(pub u32);

impl TileIx {
    /// No tile: a slot that names nothing, or a constant that is made where it is used.
    pub const NONE: TileIx = TileIx(u32::MAX);
    pub fn get(self) -> Option<usize> {
        (self != TileIx::NONE).then_some(self.0 as usize)
    }
}

/// Why a tile is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Parts of a load that are under way.
    Load(u32),
    Composite,
    Ready,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    names: u32,
    uses: u32,
    pending: Pending,
    /// Position of its entry in `Program::made`.
    made: u32,
}

/// The scratch of one PE.
#[derive(Debug)]
pub struct Scratch {
    capacity: u64,
    used: u64,
    named: u64,
    peak: u64,
    tiles: Vec<Held>,
    free: Vec<u32>,
    slots: Vec<TileIx>,
}

/// Whether a result has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    Now,
    /// When transfers end.
    Later,
    /// Not while the program needs what it needs now.
    Never,
}

impl Scratch {
    pub fn new(capacity: u64, slots: usize) -> Scratch {
        let (tiles, free) = (Vec::new(), Vec::new());
        Scratch { capacity, used: 0, named: 0, peak: 0, tiles, free, slots: vec![TileIx::NONE; slots] }
    }
    pub fn room(&self, bytes: u64) -> Room {
        if self.used + bytes <= self.capacity {
            Room::Now
        } else if self.named + bytes <= self.capacity {
            Room::Later
        } else {
            Room::Never
        }
    }
    /// Takes scratch for a tile, named by its slot.
    pub fn make(&mut self, made: &Made, number: u32) -> TileIx {
        self.used += made.bytes;
        self.named += made.bytes;
        self.peak = self.peak.max(self.used);
        let held = Held { bytes: made.bytes, names: 1, uses: 0, pending: Pending::Ready, made: number };
        let tile = match self.free.pop() {
            Some(at) => {
                self.tiles[at as usize] = held;
                TileIx(at)
            }
            None => {
                self.tiles.push(held);
                TileIx(self.tiles.len() as u32 - 1)
            }
        };
        let old = std::mem::replace(&mut self.slots[made.slot.0 as usize], tile);
        self.unname(old);
        tile
    }
    pub fn at(&self, slot: TileSlot) -> TileIx {
        self.slots[slot.0 as usize]
    }
    /// `to` names what `from` names.
    pub fn bind(&mut self, from: TileSlot, to: TileSlot) {
        let tile = self.at(from);
        if let Some(i) = tile.get() {
            self.tiles[i].names += 1;
        }
        let old = std::mem::replace(&mut self.slots[to.0 as usize], tile);
        self.unname(old);
    }
    /// The slot names nothing any more.
    pub fn drop_name(&mut self, slot: TileSlot) {
        let old = std::mem::replace(&mut self.slots[slot.0 as usize], TileIx::NONE);
        self.unname(old);
    }
    fn unname(&mut self, tile: TileIx) {
        let Some(i) = tile.get() else { return };
        let held = &mut self.tiles[i];
        held.names -= 1;
        if held.names == 0 {
            self.named -= held.bytes;
            self.release(tile);
        }
    }
    /// A transfer begins to use the tile.
    pub fn begin_use(&mut self, tile: TileIx) {
        if let Some(i) = tile.get() {
            self.tiles[i].uses += 1;
        }
    }
    /// A transfer has ended. Whether that freed scratch.
    pub fn end_use(&mut self, tile: TileIx) -> bool {
        let Some(i) = tile.get() else { return false };
        self.tiles[i].uses -= 1;
        self.release(tile)
    }
    fn release(&mut self, tile: TileIx) -> bool {
        let Some(i) = tile.get() else { return false };
        let held = &self.tiles[i];
        if held.names > 0 || held.uses > 0 {
            return false;
        }
        self.used -= held.bytes;
        self.free.push(tile.0);
        true
    }
    pub fn set_pending(&mut self, tile: TileIx, pending: Pending) {
        if let Some(i) = tile.get() {
            self.tiles[i].pending = pending;
        }
    }
    /// A part of a load has arrived. Whether it was the last.
    pub fn part_arrived(&mut self, tile: TileIx) -> bool {
        let Some(i) = tile.get() else { return false };
        let pending = &mut self.tiles[i].pending;
        *pending = match *pending {
            Pending::Load(parts) if parts > 1 => Pending::Load(parts - 1),
            Pending::Load(_) | Pending::Composite | Pending::Ready => Pending::Ready,
        };
        *pending == Pending::Ready
    }
    pub fn pending(&self, tile: TileIx) -> Pending {
        tile.get().map_or(Pending::Ready, |i| self.tiles[i].pending)
    }
    /// The most that was held at once.
    pub fn peak(&self) -> u64 {
        self.peak
    }
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
    /// What the program names: position in `Program::made` and bytes, largest first.
    pub fn holders(&self) -> Vec<(u32, u64)> {
        let free = |i: usize| self.free.contains(&(i as u32));
        let held = self.tiles.iter().enumerate().filter(|(i, t)| t.names > 0 && t.bytes > 0 && !free(*i));
        let mut out: Vec<(u32, u64)> = held.map(|(_, t)| (t.made, t.bytes)).collect();
        out.sort_by_key(|(made, bytes)| (std::cmp::Reverse(*bytes), *made));
        out
    }
}

/// What the CPU waits for while a tile is pending.
pub fn wait_class(pending: Pending) -> Class {
    match pending {
        Pending::Load(_) => Class::WaitHbm,
        Pending::Composite | Pending::Ready => Class::WaitInput,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::ir::ValueId;

    fn made(slot: u32, bytes: u64) -> Made {
        Made { slot: TileSlot(slot), bytes, value: ValueId(0) }
    }
    #[test]
    fn a_tile_is_held_until_its_last_name_and_its_last_transfer_end() {
        let mut s = Scratch::new(100, 3);
        let a = s.make(&made(0, 60), 0);
        s.bind(TileSlot(0), TileSlot(1));
        s.begin_use(a);
        s.drop_name(TileSlot(0));
        assert_eq!(s.room(50), Room::Never); // still named by slot 1
        s.drop_name(TileSlot(1));
        assert_eq!(s.room(50), Room::Later); // a transfer drains it
        assert!(s.end_use(a));
        assert_eq!(s.room(100), Room::Now);
        assert_eq!(s.room(101), Room::Never);
        s.make(&made(2, 40), 1);
        assert_eq!((s.peak(), s.holders()), (60, vec![(1, 40)]));
    }
}
