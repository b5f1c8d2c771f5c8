//! A message as words of 32 bits. Each thread that is the first to hold its part of a tile sends that part, and it is read
//! by the threads of the same numbers: no address depends on where an element lies in the tile.

use super::super::errors::Fault;
use super::super::held::Held;
use super::super::memory::Packing;
use super::super::{Done, Lower};
use crate::layout::RegLayout;
use crate::ptx::{Bin, Op as PtxOp, Reg, Special, Src, Ty};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Type, ValueId};

/// How the messages of a type lie in the slots of a queue: a word is `bytes` of one thread, after those of the others.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub elem: ElemType,
    /// `None`: a scalar, which the first thread sends.
    pub layout: Option<RegLayout>,
}

/// Words of each thread that move at once, side by side, and where those of the first thread lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub first: usize,
    pub words: usize,
    pub offset: u32,
}

const WORD: u32 = 4;
/// Words of the widest access.
const WIDEST: usize = 4;

impl Wire {
    pub fn of(ty: Type, layout: Option<&RegLayout>) -> Wire {
        Wire { elem: ty.elem(), layout: layout.cloned() }
    }
    fn regs(&self) -> usize {
        self.layout.as_ref().map_or(1, RegLayout::regs)
    }
    /// Threads that send.
    fn senders(&self) -> u32 {
        self.layout.as_ref().map_or(1, |layout| layout.threads() >> layout.replicated().count_ones())
    }
    /// Of a thread.
    pub fn words(&self) -> usize {
        match self.elem.bytes() as usize {
            bytes if bytes > WORD as usize => self.regs() * bytes / WORD as usize,
            bytes => self.regs().div_ceil(WORD as usize / bytes),
        }
    }
    pub fn bytes(&self) -> u32 {
        self.words() as u32 * WORD * self.senders()
    }
    /// The words of a thread, as they move.
    pub fn chunks(&self) -> Vec<Chunk> {
        let (mut chunks, mut first, mut offset) = (Vec::new(), 0, 0);
        while first < self.words() {
            let left = self.words() - first;
            let words = if left >= WIDEST { WIDEST } else { 1 << left.ilog2() };
            chunks.push(Chunk { first, words, offset });
            first += words;
            offset += words as u32 * WORD * self.senders();
        }
        chunks
    }
    fn packing(&self) -> Packing {
        let bytes = self.elem.bytes() as usize;
        Packing::of(self.elem, (WORD as usize / bytes).max(1))
    }
}

impl Lower<'_> {
    /// The words that this thread sends of a value, in the wire's layout.
    pub(super) fn words_of(&mut self, v: ValueId, wire: &Wire) -> Result<Vec<Reg>, Fault> {
        let regs = match &wire.layout {
            Some(layout) => self.tile(v, layout)?,
            None => vec![self.scalar_reg(v)?],
        };
        Ok(match wire.elem.bytes() as u32 {
            bytes if bytes > WORD => regs.into_iter().flat_map(|reg| self.halves(reg)).collect(),
            // A register of 16 bits is no word.
            bytes => {
                let (packing, each) = (wire.packing(), (WORD / bytes) as usize);
                let word = |cx: &mut Self, regs: &[Reg]| {
                    let mut all = regs.to_vec();
                    all.resize(each, regs[0]);
                    cx.pack(wire.elem, &packing, &all)
                };
                regs.chunks(each).map(|regs| word(self, regs)).collect()
            }
        })
    }
    /// `v` is what the words of this thread say.
    pub(super) fn received(&mut self, v: ValueId, words: &[Reg], wire: &Wire) -> Done {
        let mut regs: Vec<Reg> = match wire.elem.bytes() as u32 {
            bytes if bytes > WORD => words.chunks(2).map(|halves| self.whole(halves)).collect(),
            _ => {
                let packing = wire.packing();
                words.iter().flat_map(|word| self.unpack(wire.elem, &packing, *word)).collect()
            }
        };
        regs.truncate(wire.regs());
        let held = match &wire.layout {
            Some(from) => {
                let to = self.layout(v)?;
                Held::Tile(if *from == to { regs } else { self.convert(self.m.ty(v), &regs, from, &to)? })
            }
            None => Held::Scalar(regs[0].into()),
        };
        self.values[v.index()] = Some(held);
        Ok(())
    }
    fn halves(&mut self, a: Reg) -> [Reg; 2] {
        let halves = [self.body.fresh(Ty::B32), self.body.fresh(Ty::B32)];
        self.body.emit(PtxOp::Unpack { ty: Ty::B64, d: halves.to_vec(), a });
        halves
    }
    fn whole(&mut self, halves: &[Reg]) -> Reg {
        let d = self.body.fresh(Ty::B64);
        self.body.emit(PtxOp::Pack { ty: Ty::B64, d, parts: halves.to_vec() });
        d
    }
    /// The thread's number among those that send; `None`: there is one.
    pub(super) fn sender(&mut self, wire: &Wire) -> Option<Reg> {
        let layout = wire.layout.as_ref()?;
        let mask = (layout.threads() - 1) & !layout.replicated();
        match mask {
            0 => None,
            _ if layout.replicated() == 0 => Some(self.special(Special::TidX)),
            _ if (mask + 1).is_power_of_two() => {
                let tid = self.special(Special::TidX);
                Some(self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(u64::from(mask))))
            }
            _ => Some(self.gathered_bits(mask)),
        }
    }
    /// Whether this thread sends; `None`: all do.
    pub(super) fn sends(&mut self, wire: &Wire) -> Option<Reg> {
        match &wire.layout {
            Some(layout) => self.is_first_holder(layout),
            None => Some(self.is_first_thread()),
        }
    }
    /// Registers for received words.
    pub(super) fn room_for_words(&mut self, wire: &Wire) -> Vec<Reg> {
        (0..wire.words()).map(|_| self.body.fresh(Ty::B32)).collect()
    }
}
