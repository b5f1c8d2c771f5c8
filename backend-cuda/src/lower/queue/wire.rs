//! A message as words of 32 bits. Each thread that is the first to hold its part of a tile sends that part, and it is read
//! by the threads of the same numbers: no address depends on where an element lies in the tile. A row of a tile
//! may also be sent by the threads that hold it there, to the same places. Messages of a parcel that one thread sends lie
//! side by side.

use super::super::errors::Fault;
use super::super::held::Held;
use super::super::memory::Packing;
use super::super::scope::WARP;
use super::super::{Done, Lower};
use super::near::behind;
use super::parcel::Parcel;
use crate::layout::{RegLayout, RowOut};
use crate::ptx::{Addr, Base, Bin, Cmp, Guard, Label, Op as PtxOp, Reg, Special, Src, Tern, Ty};
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
/// A share starts where the widest access can.
const ALIGNED: u32 = 16;

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
    /// Bits of the thread's number that tell who sends.
    fn holders(&self) -> Option<u32> {
        self.layout.as_ref().map(|layout| (layout.threads() - 1) & !layout.replicated()).filter(|mask| *mask != 0)
    }
    /// The threads that send: bits of their number, and what they are.
    fn senders_are(&self, threads: u32) -> (u32, u32) {
        (self.layout.as_ref().map_or(threads - 1, RegLayout::replicated), 0)
    }
    fn packing(&self) -> Packing {
        let bytes = self.elem.bytes() as usize;
        Packing::of(self.elem, (WORD as usize / bytes).max(1))
    }
}

/// One message of a parcel, or several that are one thread's.
pub(super) struct Share<'a> {
    /// One behind the other, at least one.
    pub wires: Vec<&'a Wire>,
    /// Where the share begins in a slot.
    offset: u32,
}

/// What a thread has of a share.
pub(super) struct Outgoing<'a> {
    share: Share<'a>,
    /// By message.
    parts: Vec<Part>,
}
/// The words of a message; or all of a tile, a row of which goes out.
struct Part {
    words: Vec<Reg>,
    row: Option<RowOut>,
}
/// Words that go out side by side.
pub(in crate::lower) struct Store {
    /// The threads that send them: bits of their number, and what they are.
    pub who: (u32, u32),
    pub at: Addr,
    pub words: Vec<Reg>,
}

/// The shares of a parcel.
pub(super) fn shares<'a>(wires: &[&'a Wire]) -> Vec<Share<'a>> {
    let (mut out, mut at): (Vec<Share<'a>>, u32) = (Vec::new(), 0);
    for wire in wires {
        match out.last_mut() {
            Some(share) if share.wires[0].holders().or(wire.holders()).is_none() => share.wires.push(wire),
            _ => out.push(Share { wires: vec![wire], offset: at.next_multiple_of(ALIGNED) }),
        }
        at = out.last().map_or(at, |share| share.offset + share.bytes());
    }
    out
}
/// From the first to the last of a parcel, and of all its words.
pub(super) fn bytes(wires: &[&Wire]) -> (u32, u32) {
    let end = shares(wires).last().map_or(0, |share| share.offset + share.bytes());
    (end, wires.iter().map(|wire| wire.bytes()).sum())
}

impl Share<'_> {
    fn words(&self) -> usize {
        self.wires.iter().map(|wire| wire.words()).sum()
    }
    fn bytes(&self) -> u32 {
        self.wires.iter().map(|wire| wire.bytes()).sum()
    }
    /// The words of a thread, as they move.
    pub fn chunks(&self) -> Vec<Chunk> {
        let (mut chunks, mut first, mut offset) = (Vec::new(), 0, self.offset);
        while first < self.words() {
            let left = self.words() - first;
            let words = if left >= WIDEST { WIDEST } else { 1 << left.ilog2() };
            chunks.push(Chunk { first, words, offset });
            first += words;
            offset += words as u32 * WORD * self.wires[0].senders();
        }
        chunks
    }
}

impl Lower<'_> {
    /// What this thread sends of a parcel.
    pub(super) fn outgoing<'a>(&mut self, parcel: &Parcel, wires: &[&'a Wire]) -> Result<Vec<Outgoing<'a>>, Fault> {
        let mut values = parcel.values();
        let mut out = Vec::new();
        for share in shares(wires) {
            let parts = share.wires.iter().zip(values.by_ref()).map(|(wire, v)| self.part(v, wire));
            out.push(Outgoing { parts: parts.collect::<Result<_, _>>()?, share });
        }
        Ok(out)
    }
    fn part(&mut self, v: ValueId, wire: &Wire) -> Result<Part, Fault> {
        let Some((tile, row)) = self.cuts.sent(v).cloned() else {
            return Ok(Part { words: self.words_of(v, wire)?, row: None });
        };
        let packing = wire.packing();
        let layout = self.layout(tile)?;
        let words = self.tile(tile, &layout)?.into_iter().map(|reg| self.pack(wire.elem, &packing, &[reg])).collect();
        Ok(Part { words, row: Some(row) })
    }
    /// The stores of a share into the slot at `slot`. `mad`: as wide as an address.
    pub(super) fn stores(&mut self, out: &Outgoing<'_>, slot: Addr, mad: Tern) -> Vec<Store> {
        let Outgoing { share, parts } = out;
        if let ([wire], [Part { words, row }]) = (share.wires.as_slice(), parts.as_slice()) {
            return match row {
                Some(row) => self.row_stores(row, words, behind(slot, share.offset), mad),
                None => {
                    let who = wire.senders_are(self.options.threads);
                    let pieces = self.pieces(share, slot, words, mad);
                    pieces.into_iter().map(|(at, words)| Store { who, at, words }).collect()
                }
            };
        }
        // Of one thread each: together, if it is the same one.
        let first = (self.options.threads - 1, 0);
        let who_has = |part: &Part| part.row.as_ref().map_or(first, |row| (row.mask, row.holders));
        let words = |part: &Part| match &part.row {
            Some(row) => row.accesses.iter().flat_map(|(_, regs)| regs).map(|reg| part.words[*reg]).collect(),
            None => part.words.clone(),
        };
        let mut stores = Vec::new();
        let who = who_has(&parts[0]);
        if parts.iter().all(|part| who_has(part) == who) {
            let all: Vec<Reg> = parts.iter().flat_map(words).collect();
            for chunk in share.chunks() {
                let words = all[chunk.first..chunk.first + chunk.words].to_vec();
                stores.push(Store { who, at: behind(slot, chunk.offset), words });
            }
            return stores;
        }
        let mut offset = share.offset;
        for part in parts {
            for word in words(part) {
                stores.push(Store { who: who_has(part), at: behind(slot, offset), words: vec![word] });
                offset += WORD;
            }
        }
        stores
    }
    /// Of a row, by the threads that hold it, to the row's place at `at`.
    pub(in crate::lower) fn row_stores(&mut self, row: &RowOut, words: &[Reg], at: Addr, mad: Tern) -> Vec<Store> {
        let tid = self.special(Special::TidX);
        let mut first: Option<Reg> = None;
        for (left, bits) in &row.moves {
            let part = self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(u64::from(*bits)));
            let by = Src::Imm(u64::from(left.unsigned_abs()));
            let part = match left {
                0 => part,
                left if *left > 0 => self.body.bin(Bin::Shl, Ty::B32, part, by),
                _ => self.body.bin(Bin::Shr, Ty::U32, part, by),
            };
            first = Some(first.map_or(part, |first| self.body.bin(Bin::Or, Ty::B32, first, part)));
        }
        let at = match (first, at.base) {
            (Some(first), Base::Reg(base)) => {
                Addr::reg(self.body.tern(mad, Ty::U32, first, Src::Imm(u64::from(WORD)), base), at.offset)
            }
            _ => at,
        };
        let store = |(behind_first, regs): &(u32, Vec<usize>)| Store {
            who: (row.mask, row.holders),
            at: behind(at, behind_first * WORD),
            words: regs.iter().map(|reg| words[*reg]).collect(),
        };
        row.accesses.iter().map(store).collect()
    }
    /// Whether this thread's number has these bits; `None`: surely.
    pub(in crate::lower) fn is_one_of(&mut self, (mask, bits): (u32, u32)) -> Option<Reg> {
        (mask != 0).then(|| {
            let tid = self.special(Special::TidX);
            let masked = self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(u64::from(mask)));
            self.body.setp(Cmp::Eq, Ty::U32, masked, Src::Imm(u64::from(bits)))
        })
    }
    /// The parcel's values are what the words of this thread say.
    pub(super) fn received_parcel(&mut self, parcel: &Parcel, wires: &[&Wire], words: &[Vec<Reg>]) -> Done {
        let words = words.concat();
        let mut rest = words.as_slice();
        for (wire, v) in wires.iter().zip(parcel.values()) {
            let (these, others) = rest.split_at(wire.words());
            self.received(v, these, wire)?;
            rest = others;
        }
        Ok(())
    }
    /// The words that this thread sends of a value, in the wire's layout.
    fn words_of(&mut self, v: ValueId, wire: &Wire) -> Result<Vec<Reg>, Fault> {
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
    fn received(&mut self, v: ValueId, words: &[Reg], wire: &Wire) -> Done {
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
    /// Emits the stores of a parcel; a warp that has none of it goes past them.
    pub(super) fn by_holders(&mut self, stores: Vec<Store>, mut emit: impl FnMut(&mut Self, Addr, Vec<Reg>)) {
        let whole_warps = !(WARP - 1);
        let masks = stores.iter().fold(whole_warps, |mask, store| mask & store.who.0);
        let first = stores.first().map_or(0, |store| store.who.1 & masks);
        let alike = stores.iter().all(|store| store.who.1 & masks == first);
        let past = self.unless_one_of(if alike { (masks, first) } else { (0, 0) });
        let mut rest = stores.into_iter().peekable();
        while let Some(store) = rest.next() {
            let who = store.who;
            let skip = self.unless_one_of(who);
            emit(self, store.at, store.words);
            while let Some(store) = rest.next_if(|store| store.who == who) {
                emit(self, store.at, store.words);
            }
            skip.into_iter().for_each(|skip| self.body.emit(PtxOp::Label(skip)));
        }
        past.into_iter().for_each(|past| self.body.emit(PtxOp::Label(past)));
    }
    /// Other threads go past what follows.
    fn unless_one_of(&mut self, who: (u32, u32)) -> Option<Label> {
        let pred = self.is_one_of(who)?;
        let skip = self.body.label();
        self.body.emit_if(Guard { pred, negated: true }, PtxOp::Bra { to: skip, uniform: false });
        Some(skip)
    }
    /// Registers for the words of a parcel, by share.
    pub(super) fn room_for_words(&mut self, wires: &[&Wire]) -> Vec<Vec<Reg>> {
        let room = |share: &Share<'_>| (0..share.words()).map(|_| self.body.fresh(Ty::B32)).collect();
        shares(wires).iter().map(room).collect()
    }
}
