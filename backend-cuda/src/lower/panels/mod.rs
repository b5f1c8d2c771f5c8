//! Tiles in shared memory, as products read them. One format (PTX.md 4): panels of rows of at most 128 bytes, one panel
//! below the other; in a panel, 16-byte columns change places by the row's number, so that eight rows at one column lie in
//! different banks, and so do the elements of 4 and 8 bytes that products read down the rows. Copies, stores, `ldmatrix` and plain loads all go through `Format::place`.
//!
//! `copy.rs`: loads of views that go straight there. `write.rs`: tiles in registers put there. `read.rs`: fragments of
//! operands out of it. `uses.rs`: which tiles are read by products alone.

mod copy;
mod read;
mod uses;
mod write;

pub(super) use read::Fragments;
pub(super) use uses::{Uses, read_by};

use super::Lower;
use super::errors::Fault;
use super::memory::Hoisted;
use crate::layout::Coord;
use crate::ptx::{Addr, Bin, Buffer, Memory, Op as PtxOp, Reg, Ring, Src, Touch, Ty};
use rustc_hash::FxHashMap;
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::ValueId;

/// A tile in shared memory.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    pub buffer: Buffer,
    pub format: Format,
    /// The value is the transpose of what lies there.
    pub turned: bool,
    /// Bytes from the beginning of the buffer.
    pub slot: Option<Reg>,
    /// The copies that fill it, if they may be on their way.
    pub copies: Option<u32>,
    pub ring: Option<Ring>,
}

/// Where each element of a tile lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Format {
    pub elem: ElemType,
    /// Room for so many, whatever the tile has.
    pub rows: u32,
    pub columns: u32,
}

/// Bytes of a row of a panel, at most.
const PITCH: u32 = 128;
/// Bytes that move together.
const COLUMN: u32 = 16;
/// By bytes of an element and of a panel's row: by what each bit of a row's number turns its columns. Any eight rows from a
/// multiple of eight on lie in different banks, as with the plain number. Besides, what reads single elements does:
/// of 8 bytes, four times four lanes at rows and columns 0, 1, 2, 3 (`mma`);
/// of 4 bytes, eight times four lanes at rows 0, 1, 2, 3 and columns 0 to 7 (`mma`), and 16 bytes each of rows 0, 4, .. 28 (sums in threads);
/// of bytes, 16 each of rows 0, 1, 4, 5, 8, 9, 12, 13 (`mma`, by matrices of pairs).
const TURNS: [(u32, u32, [u32; 5]); 5] = [
    (8, 128, [2, 4, 1, 0, 0]),
    (8, 64, [0, 2, 1, 0, 0]),
    (4, 128, [2, 4, 1, 2, 4]),
    (1, 128, [1, 2, 4, 2, 0]),
    (1, 64, [0, 1, 2, 1, 0]),
];

impl Format {
    /// Room for at least so many rows and columns; 8-bit floats are kept as f16, which products read.
    pub(super) fn of(elem: ElemType, rows: u32, columns: u32) -> Format {
        let elem = if elem.kind() == Kind::Storage { ElemType::F16 } else { elem };
        let unit = COLUMN / elem.bytes() as u32;
        Format { elem, rows: rows.next_multiple_of(8), columns: columns.next_multiple_of(unit) }
    }
    const fn elem_bytes(self) -> u32 {
        self.elem.bytes() as u32
    }
    /// Bytes of a row of a panel.
    fn pitch(self) -> u32 {
        (self.columns * self.elem_bytes()).next_power_of_two().min(PITCH)
    }
    fn panel_bytes(self) -> u32 {
        self.rows * self.pitch()
    }
    pub(super) fn bytes(self) -> u32 {
        (self.columns * self.elem_bytes()).div_ceil(self.pitch()) * self.panel_bytes()
    }
    /// Bytes from the beginning, in two parts: the first adds up over the parts of a coordinate, the second is their XOR.
    fn place(self, row: u32, column: u32) -> (u32, u32) {
        let (pitch, byte) = (self.pitch(), column * self.elem_bytes());
        let plain = byte / pitch * self.panel_bytes() + row * pitch + byte % COLUMN;
        (plain, ((byte % pitch / COLUMN) ^ self.turn(row)) * COLUMN)
    }
    /// By what a row's columns are turned, a sum (XOR) over the bits of its number.
    fn turn(self, row: u32) -> u32 {
        let (pitch, bytes) = (self.pitch(), self.elem_bytes());
        match TURNS.iter().find(|turns| (turns.0, turns.1) == (bytes, pitch)) {
            Some((_, _, turns)) => {
                let set = turns.iter().enumerate().filter(|(bit, _)| row >> bit & 1 == 1);
                set.fold(0, |turn, (_, by)| turn ^ by)
            }
            None => row * pitch / PITCH % (pitch / COLUMN),
        }
    }
    /// Whether the tile leaves a part of it empty.
    pub(super) fn is_padded(self, [rows, columns]: [u32; 2]) -> bool {
        rows < self.rows || columns < self.columns
    }
}

/// Addresses of one tile for threads that lie over it in one way.
pub(super) struct Spots {
    format: Format,
    /// What the thread's coordinate adds.
    thread: Reg,
    /// Where the tile begins.
    base: Reg,
    /// Divides the columns of every thread.
    column: u32,
    /// By what a constant coordinate turns.
    turned: FxHashMap<u32, Reg>,
}

impl Lower<'_> {
    /// An empty place for a tile.
    pub(super) fn panels(&mut self, format: Format) -> Panels {
        self.ring(format, 1)
    }
    /// So many places for a tile, one behind the other.
    pub(super) fn ring(&mut self, format: Format, stages: u32) -> Panels {
        let buffer = self.buffer(format.bytes() * stages, ALIGNED);
        Panels { buffer, format, turned: false, slot: None, copies: None, ring: None }
    }
    /// `bases`: coordinates in the tile as it lies, by bit of the thread's number.
    pub(super) fn spots(&mut self, panels: &Panels, bases: &[Coord]) -> Spots {
        let format = panels.format;
        let what = Hoisted::Panel { format, bases: bases.to_vec() };
        let thread = self.hoisted(what, |cx| {
            let places: Vec<(u32, u32)> = bases.iter().map(|at| format.place(at[0], at[1])).collect();
            let plain = cx.by_bits(&places.iter().map(|place| place.0).collect::<Vec<_>>(), Bin::Add);
            let turned = cx.by_bits(&places.iter().map(|place| place.1).collect::<Vec<_>>(), Bin::Xor);
            match (plain, turned) {
                (Some(a), Some(b)) => cx.body.bin(Bin::Add, Ty::U32, a, b),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => cx.body.mov(Ty::B32, Src::Imm(0)),
            }
        });
        let base = self.buffer_base(panels.buffer);
        let base = match panels.slot {
            Some(slot) => self.body.bin(Bin::Add, Ty::U32, base, slot),
            None => base,
        };
        let column = bases.iter().fold(1 << 31, |all, at| all | at[1]);
        Spots { format, thread, base, column: 1 << column.trailing_zeros(), turned: FxHashMap::default() }
    }
    /// What the set bits of the thread's number add up to; `None`: nothing.
    fn by_bits(&mut self, adds: &[u32], join: Bin) -> Option<Reg> {
        let tid = self.thread();
        let mut sum: Option<Reg> = None;
        let mut bit = 0;
        while bit < adds.len() {
            let first = adds[bit];
            // Bits that each add twice what the one before adds are one number.
            let run = (bit..adds.len()).take_while(|at| first != 0 && adds[*at] == first << (at - bit)).count().max(1);
            if first != 0 {
                let part = match bit {
                    0 => tid,
                    from => self.body.bin(Bin::Shr, Ty::U32, tid, Src::Imm(from as u64)),
                };
                let part = self.body.bin(Bin::And, Ty::B32, part, Src::Imm((1 << run) - 1));
                let part = self.body.bin(Bin::MulLo, Ty::U32, part, Src::Imm(u64::from(first)));
                let ty = if join == Bin::Xor { Ty::B32 } else { Ty::U32 };
                sum = Some(sum.map_or(part, |sum| self.body.bin(join, ty, sum, part)));
            }
            bit += run;
        }
        sum
    }
    /// The address of the element at a constant distance from the thread's.
    pub(super) fn spot(&mut self, spots: &mut Spots, [row, column, ..]: Coord) -> Addr {
        let (plain, turn) = spots.format.place(row, column);
        Addr::reg(self.turned_base(spots, turn), i64::from(plain))
    }
    /// The thread's place, turned, and behind the base. ptxas keeps the turned places through a loop, beside its base in a
    /// uniform register; where registers are short, each is made anew from the turn's address, in which the bits that are
    /// turned are the thread's alone.
    fn turned_base(&mut self, spots: &mut Spots, turn: u32) -> Reg {
        if let Some(base) = spots.turned.get(&turn) {
            return *base;
        }
        let by = Src::Imm(u64::from(turn));
        let base = if turn == 0 {
            self.body.bin(Bin::Add, Ty::U32, spots.base, spots.thread)
        } else if spots.format.bytes().is_multiple_of(PITCH) && self.is_parted() {
            let plain = self.turned_base(spots, 0);
            self.body.bin(Bin::Xor, Ty::B32, plain, by)
        } else {
            let thread = self.body.bin(Bin::Xor, Ty::B32, spots.thread, by);
            self.body.bin(Bin::Add, Ty::U32, spots.base, thread)
        };
        spots.turned.insert(turn, base);
        base
    }
    pub(super) fn panel_touch(&self, panels: &Panels, group: u32, writes: bool) -> Touch {
        Touch { writes, ring: panels.ring, ..Touch::read(Memory::Shared(panels.buffer), group) }
    }

    /// Waits for the copies of a tile, if they may be on their way. The barrier behind it is placed with all others.
    pub(super) fn await_copies(&mut self, copies: Option<u32>) {
        let Some(upto) = copies else { return };
        let Some(at) = self.on_their_way.iter().position(|group| *group == upto) else { return };
        let keep = (self.on_their_way.len() - at - 1) as u32;
        self.on_their_way.drain(..=at);
        self.body.emit(PtxOp::CopyWait { keep, upto });
    }
    /// Nothing is on its way where control flow divides or meets.
    pub(super) fn await_all_copies(&mut self) {
        self.await_copies(self.on_their_way.last().copied());
    }
    /// Ends a group of copies.
    pub(super) fn commit(&mut self) -> u32 {
        let group = self.body.commit_copies();
        self.on_their_way.push(group);
        group
    }

    /// A value in shared memory: where it lies already, or put there now. `cover`: rows and columns that will be read.
    pub(super) fn in_panels(&mut self, v: ValueId, cover: [u32; 2]) -> Result<Panels, Fault> {
        if let Some(super::held::Held::Panels(panels)) = &self.values[v.index()] {
            return Ok(panels.clone());
        }
        let layout = self.layout(v)?;
        let regs = self.tile(v, &layout)?;
        self.put_aside(v, cover, &regs, &layout)
    }
}

/// Of a tile in shared memory: what TMA and `wgmma` ask for.
const ALIGNED: u32 = 1024;
