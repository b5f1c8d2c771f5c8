//! Tiles from one layout into another: renamed, shuffled inside warps, or through shared memory.

use super::errors::Fault;
use super::memory::Packing;
use super::{Lower, Move};
use crate::layout::{Conversion, RegLayout, Shuffled, Swizzle, conversion, turned};
use crate::ptx::{
    Addr, Bin, Buffer, CacheHint, Cmp, Guard, Memory, Op as PtxOp, Reg, Shuffle, Space, Src, Tern, Touch, Ty,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Dims, Type};

/// Bytes of shared memory that are left for what lies beside a tile on its way.
const KEPT: u32 = 16 << 10;

impl Lower<'_> {
    pub(super) fn convert(
        &mut self,
        ty: Type,
        regs: &[Reg],
        from: &RegLayout,
        to: &RegLayout,
    ) -> Result<Vec<Reg>, Fault> {
        let (how, elem) = (conversion(from, to), ty.elem());
        if let (Conversion::Shuffle(_) | Conversion::Shared, Some(pairs)) = (&how, self.turned(ty, from, to)) {
            self.moves.push(Move { op: self.current, ty, from: from.clone(), to: to.clone(), swizzle: None });
            return Ok(self.turn_matrices(elem, regs, &pairs));
        }
        let fits = |swizzle: &Swizzle| swizzle.elems() * elem.bytes() as u32 <= self.shared_room();
        let swizzle = (how == Conversion::Shared).then(|| Swizzle::of(from, to, elem.bytes() as u32)).filter(fits);
        let moved = match (how, &swizzle) {
            (Conversion::Rename(order), _) => order.into_iter().map(|reg| regs[reg]).collect(),
            (Conversion::Shuffle(shuffled), _) => self.shuffled(elem, regs, &shuffled),
            (Conversion::Shared, Some(swizzle)) => self.through_shared(elem, swizzle, regs, from, to),
            (Conversion::Shared, None) => {
                let dims = ty.dims().unwrap_or(Dims::SCALAR);
                self.through_rows(elem, (regs, from, dims), (to, dims), &|at| *at)
            }
        };
        self.moves.push(Move { op: self.current, ty, from: from.clone(), to: to.clone(), swizzle });
        Ok(moved)
    }
    /// `layout::turned`, of elements that it is for.
    pub(super) fn turned(&self, ty: Type, from: &RegLayout, to: &RegLayout) -> Option<Vec<usize>> {
        matches!(ty.elem(), ElemType::F16 | ElemType::BF16).then(|| turned(from, to)).flatten()
    }
    fn turn_matrices(&mut self, elem: ElemType, regs: &[Reg], pairs: &[usize]) -> Vec<Reg> {
        let packed = Packing::of(elem, 2);
        let turn = |pair: &usize| {
            let a = self.pack(elem, &packed, &regs[2 * pair..2 * pair + 2]);
            let d = self.body.fresh(Ty::B32);
            self.body.emit(PtxOp::MovMatrix { d, a });
            self.unpack(elem, &packed, d)
        };
        pairs.iter().flat_map(turn).collect()
    }
    /// Bytes of shared memory that a tile may take to get from one thread to another; others lie beside it.
    pub(super) fn shared_room(&self) -> u32 {
        self.options.target.shared_bytes() - KEPT
    }
    /// A lane gives the same register to all who ask it at once; where the register depends on who asks, each possible one
    /// is exchanged and one is kept.
    fn shuffled(&mut self, elem: ElemType, regs: &[Reg], shuffled: &Shuffled) -> Vec<Reg> {
        let moves: Vec<u32> = (0..5).filter(|bit| shuffled.lanes[*bit as usize] != 1 << bit).collect();
        let source = (!moves.is_empty()).then(|| self.source_lane(&shuffled.lanes));
        let mut lanes: FxHashMap<u32, Reg> = FxHashMap::default();
        let picks: Vec<(Reg, usize)> = shuffled.picks.iter().map(|(bit, reg)| (self.lane_bit(*bit), *reg)).collect();
        let mut out = Vec::with_capacity(shuffled.regs.len());
        for (reg, lane) in &shuffled.regs {
            let mut given = Vec::with_capacity(1 << picks.len());
            for choice in 0..1usize << picks.len() {
                let added = picks.iter().enumerate().filter(|(i, _)| choice >> i & 1 == 1);
                let value = regs[added.fold(*reg, |reg, (_, (_, add))| reg ^ add)];
                given.push(match source {
                    None if *lane == 0 => value,
                    None => self.shuffle(Shuffle::Bfly, value, Src::Imm(u64::from(*lane))),
                    Some(source) => {
                        let at = match lanes.get(lane) {
                            Some(at) => *at,
                            None => {
                                let at = self.body.bin(Bin::Xor, Ty::B32, source, Src::Imm(u64::from(*lane)));
                                lanes.insert(*lane, at);
                                at
                            }
                        };
                        self.shuffle(Shuffle::Idx, value, at.into())
                    }
                });
            }
            for (bit, _) in picks.iter().rev() {
                let (not_set, set) = given.split_at(given.len() / 2);
                let pairs: Vec<(Reg, Reg)> = not_set.iter().copied().zip(set.iter().copied()).collect();
                given = pairs
                    .into_iter()
                    .map(|(no, yes)| self.select(elem, (*bit).into(), yes.into(), no.into()))
                    .collect();
            }
            out.push(given[0]);
        }
        out
    }
    /// Whether a bit of the lane's number is set.
    fn lane_bit(&mut self, bit: u32) -> Reg {
        let tid = self.thread();
        let only = self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(1 << bit));
        self.body.setp(Cmp::Ne, Ty::U32, only, Src::Imm(0))
    }
    /// The sum (XOR) of what each set bit of the lane's number adds.
    fn source_lane(&mut self, adds: &[u32; 5]) -> Reg {
        let tid = self.thread();
        let mut sum = self.body.mov(Ty::B32, Src::Imm(0));
        for (bit, add) in adds.iter().enumerate().filter(|(_, add)| **add != 0) {
            let only = self.body.bin(Bin::Shr, Ty::U32, tid, Src::Imm(bit as u64));
            let only = self.body.bin(Bin::And, Ty::B32, only, Src::Imm(1));
            let part = self.body.bin(Bin::MulLo, Ty::U32, only, Src::Imm(u64::from(*add)));
            sum = self.body.bin(Bin::Xor, Ty::B32, sum, part);
        }
        sum
    }
    /// Written in one layout, read in the other.
    fn through_shared(
        &mut self,
        elem: ElemType,
        swizzle: &Swizzle,
        regs: &[Reg],
        from: &RegLayout,
        to: &RegLayout,
    ) -> Vec<Reg> {
        let buffer = self.buffer(swizzle.elems() * elem.bytes() as u32, 16);
        self.lay_down(elem, swizzle, regs, from, buffer);
        let base = self.buffer_base(buffer);
        self.pick_up(elem, swizzle, (from, to), (buffer, base))
    }
    /// Writes a tile.
    pub(super) fn lay_down(
        &mut self,
        elem: ElemType,
        swizzle: &Swizzle,
        regs: &[Reg],
        from: &RegLayout,
        buffer: Buffer,
    ) {
        let (memory, group) = (Memory::Shared(buffer), self.body.group());
        let packed = Packing::of(elem, swizzle.store as usize);
        let base = self.buffer_base(buffer);
        let mut places = self.places(base, elem, swizzle, from);
        for access in swizzle.accesses(from, swizzle.store) {
            let at = self.address_of(&mut places, swizzle.offset(&from.reg_coord(access[0])));
            let values: Vec<Reg> = access.into_iter().map(|reg| regs[reg]).collect();
            let a = values.chunks(packed.per_word).map(|values| self.pack(elem, &packed, values)).collect();
            let store = PtxOp::St { space: Space::Shared, hint: CacheHint::default(), ty: packed.memory, at, a };
            self.body.touch(Touch::write(memory, group), None, store);
        }
    }
    /// Reads in another layout what was written in one, from where it begins in the buffer.
    pub(super) fn pick_up(
        &mut self,
        elem: ElemType,
        swizzle: &Swizzle,
        (from, to): (&RegLayout, &RegLayout),
        (buffer, base): (Buffer, Reg),
    ) -> Vec<Reg> {
        let (memory, group) = (Memory::Shared(buffer), self.body.group());
        let packed = Packing::of(elem, swizzle.load as usize);
        let mut places = self.places(base, elem, swizzle, to);
        // Places beyond what was written hold no element of the tile: they are not read.
        let written: Vec<u32> = (0..from.rank()).map(|a| from.rep()[a] * from.atom(a)).collect();
        let beyond: Vec<usize> = (0..from.rank()).filter(|a| to.rep()[*a] * to.atom(*a) > written[*a]).collect();
        let thread: Vec<Reg> = beyond.iter().map(|axis| self.thread_coord(to, *axis)).collect();
        let mut out: Vec<Option<Reg>> = vec![None; to.regs()];
        for access in swizzle.accesses(to, swizzle.load) {
            let coord = to.reg_coord(access[0]);
            let mut inside: Option<Reg> = None;
            for (axis, thread) in beyond.iter().zip(&thread) {
                let left = written[*axis].saturating_sub(coord[*axis]);
                let p = self.body.setp(Cmp::Lt, Ty::U32, *thread, Src::Imm(u64::from(left)));
                inside = Some(inside.map_or(p, |other| self.body.bin(Bin::And, Ty::Pred, other, p)));
            }
            let (at, touch) = (self.address_of(&mut places, swizzle.offset(&coord)), Touch::read(memory, group));
            let d: Vec<Reg> = match inside {
                None => (0..packed.words).map(|_| self.body.fresh(packed.ty)).collect(),
                Some(_) => self.filled(elem, &packed, Src::Imm(0)),
            };
            let guard = inside.map(|pred| Guard { pred, negated: false });
            let hint = CacheHint::default();
            let load = PtxOp::Ld { space: Space::Shared, hint, ty: packed.memory, d: d.clone(), at };
            self.body.touch(touch, guard, load);
            let values = d.into_iter().flat_map(|word| self.unpack(elem, &packed, word));
            access.into_iter().zip(values).for_each(|(reg, value)| out[reg] = Some(value));
        }
        out.into_iter().flatten().collect()
    }
    /// What a thread's number adds (XOR) to its places: bits that move equally far move together.
    fn places(&mut self, base: Reg, elem: ElemType, swizzle: &Swizzle, layout: &RegLayout) -> Places {
        let bytes = elem.bytes() as u32;
        let (mut left, mut right): (BTreeMap<u32, u32>, BTreeMap<u32, u32>) = Default::default();
        let mut varies = 0;
        for (from, add) in (0u32..).zip(swizzle.of_threads(layout)) {
            varies |= add * bytes;
            for to in (0..u32::BITS).filter(|to| (add * bytes) >> to & 1 == 1) {
                let moved = if to >= from { left.entry(to - from) } else { right.entry(from - to) };
                *moved.or_default() |= 1 << from;
            }
        }
        let tid = self.thread();
        let moves = left.into_iter().map(|to| (Bin::Shl, to)).chain(right.into_iter().map(|to| (Bin::Shr, to)));
        let mut thread: Option<Reg> = None;
        for (op, (by, mask)) in moves {
            let mut part = self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(u64::from(mask)));
            if by > 0 {
                let ty = if op == Bin::Shl { Ty::B32 } else { Ty::U32 };
                part = self.body.bin(op, ty, part, Src::Imm(u64::from(by)));
            }
            thread = Some(thread.map_or(part, |sum| self.body.bin(Bin::Xor, Ty::B32, sum, part)));
        }
        let thread = thread.unwrap_or_else(|| self.body.mov(Ty::B32, Src::Imm(0)));
        Places { base, bytes, thread, varies, known: FxHashMap::default() }
    }
    /// Of a register's element: its bits that threads change too are added (XOR) to theirs, the others are a displacement.
    fn address_of(&mut self, places: &mut Places, offset: u32) -> Addr {
        let offset = offset * places.bytes;
        let (mixed, behind) = (offset & places.varies, offset & !places.varies);
        let reg = match places.known.get(&mixed) {
            Some(reg) => *reg,
            None => {
                let thread = match mixed {
                    0 => places.thread,
                    mixed => self.body.bin(Bin::Xor, Ty::B32, places.thread, Src::Imm(u64::from(mixed))),
                };
                let reg = self.body.bin(Bin::Add, Ty::U32, places.base, thread);
                places.known.insert(mixed, reg);
                reg
            }
        };
        Addr::reg(reg, i64::from(behind))
    }
    pub(super) fn shared_base(&mut self, buffer: Buffer, layout: &RegLayout, pitch: &[u32], bytes: u32) -> Reg {
        let mut base = self.buffer_base(buffer);
        for axis in 0..pitch.len() {
            let step: u32 = pitch[axis + 1..].iter().product::<u32>() * bytes;
            let at = self.thread_coord(layout, axis);
            base = self.body.tern(Tern::MadLo, Ty::U32, at, Src::Imm(u64::from(step)), base);
        }
        base
    }
}

/// Where a thread's elements lie in a buffer.
struct Places {
    base: Reg,
    /// Of an element.
    bytes: u32,
    /// What comes from the thread's number.
    thread: Reg,
    /// Its bits that differ between threads.
    varies: u32,
    /// Addresses by what a register adds (XOR).
    known: FxHashMap<u32, Reg>,
}
