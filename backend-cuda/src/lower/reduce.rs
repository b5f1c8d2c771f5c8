//! Reductions whose combine commutes: inside a thread, then across the lanes of a warp, then across warps through shared
//! memory (PTX.md 12). Every thread that held an element of a row ends with the same bits: an exchange combines the same
//! two values on both sides, and what warps leave is read by all in one order.
//! Floats below f64 are combined in f32 and rounded once. Not here: `reduce_with` and scans.

use super::errors::Fault;
use super::held::{held, stored};
use super::{Done, Lower};
use crate::layout::{Coord, RegLayout, without_axis};
use crate::ptx::{
    Addr, Bin, CacheHint, Class, Cmp, Guard, Memory, Op as PtxOp, Reg, Shuffle, Space, Special, Src, Tern, Touch, Ty,
};
use rustc_hash::FxHashMap;
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::{OpId, ValueId};

/// A commutative combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Max,
    Min,
    Sum,
}

/// Lanes of a warp, as bits of the thread's number.
const LANES: u32 = 31;

impl Fold {
    /// In the type that it is combined in.
    fn bin(self, acc: ElemType) -> Bin {
        match self {
            Fold::Max => Bin::Max,
            Fold::Min => Bin::Min,
            Fold::Sum if acc.kind() == Kind::Float => Bin::AddRn,
            Fold::Sum => Bin::Add,
        }
    }
    /// What changes nothing: NaN loses against every number.
    fn neutral(self, acc: ElemType) -> Src {
        let bits = match (self, acc) {
            (Fold::Sum, _) => 0,
            (_, ElemType::F32) => u64::from(f32::NAN.to_bits()),
            (_, ElemType::F64) => f64::NAN.to_bits(),
            (Fold::Max, ElemType::I64) => i64::MIN as u64,
            (Fold::Min, ElemType::I64) => i64::MAX as u64,
            (Fold::Max, ElemType::I32) => i64::from(i32::MIN) as u64,
            (Fold::Min, ElemType::I32) => i32::MAX as u64,
            (Fold::Min, ElemType::U64) => u64::MAX,
            (Fold::Min, _) => u64::from(u32::MAX),
            (Fold::Max, _) => 0,
        };
        Src::Imm(bits)
    }
}

/// What an element is combined in.
pub(super) const fn accumulator(elem: ElemType) -> ElemType {
    match elem {
        ElemType::F16 | ElemType::BF16 | ElemType::F32 | ElemType::F8E4M3 | ElemType::F8E5M2 => ElemType::F32,
        ElemType::F64 => ElemType::F64,
        ElemType::I8 | ElemType::I16 | ElemType::I32 => ElemType::I32,
        ElemType::I1 | ElemType::U8 | ElemType::U16 | ElemType::U32 => ElemType::U32,
        ElemType::I64 => ElemType::I64,
        ElemType::U64 => ElemType::U64,
    }
}

/// Registers by where their element lies.
pub(super) fn by_coord(layout: &RegLayout) -> FxHashMap<Coord, usize> {
    (0..layout.regs()).rev().map(|reg| (layout.reg_coord(reg), reg)).collect()
}

impl Lower<'_> {
    pub(super) fn reduce(&mut self, id: OpId, x: ValueId, axis: u32, fold: Fold) -> Done {
        let (ty, axis) = (self.m.ty(x), axis as usize);
        let (elem, layout) = (ty.elem(), self.layout(x)?);
        let n = ty.dims().and_then(|dims| dims.get(axis)).ok_or(Fault::NoValue)?;
        let acc = accumulator(elem);
        let regs: Vec<Reg> = self.tile(x, &layout)?.into_iter().map(|reg| self.widen(elem, reg.into())).collect();
        let rest = layout.without(axis);
        let mut rows = self.in_thread(&layout, &rest, &regs, (axis, n), (fold, acc));
        let along = |bits: std::ops::Range<u32>| -> u32 {
            bits.filter(|bit| layout.thread_bases()[*bit as usize][axis] != 0).fold(0, |mask, bit| mask | 1 << bit)
        };
        let (lanes, warps) = (along(0..5), along(5..layout.thread_bases().len() as u32));
        for row in &mut rows {
            *row = self.across_lanes(*row, lanes, (fold, acc));
        }
        if warps != 0 {
            rows = self.across_warps(rows, &rest, (lanes, warps), (fold, acc));
        }
        let rows = rows.into_iter().map(|row| self.narrow_sum(elem, row)).collect();
        self.set_reduced(id, rows, &rest)
    }
    /// The result of a reduction, which lies in `rest`, in the layout that its class has.
    pub(super) fn set_reduced(&mut self, id: OpId, rows: Vec<Reg>, rest: &RegLayout) -> Done {
        let result = self.m.op(id).results.first;
        if self.m.ty(result).is_scalar() {
            self.set_scalar(id, rows[0]);
            return Ok(());
        }
        let to = self.layout(result)?;
        let rows = if to == *rest { rows } else { self.convert(self.m.ty(result), &rows, rest, &to)? };
        self.set_tile(id, rows);
        Ok(())
    }
    /// What was combined in a wider type, as its element.
    fn narrow_sum(&mut self, elem: ElemType, row: Reg) -> Reg {
        let row = self.round_f32(elem, row);
        self.wrapped(elem, row)
    }

    /// A tree over the registers of each row; what lies beyond the tile is left out.
    fn in_thread(
        &mut self,
        layout: &RegLayout,
        rest: &RegLayout,
        regs: &[Reg],
        (axis, n): (usize, u32),
        (fold, acc): (Fold, ElemType),
    ) -> Vec<Reg> {
        let mut rows: FxHashMap<Coord, Vec<Reg>> = FxHashMap::default();
        let furthest = layout.thread_bases().iter().fold(0, |sum, basis| sum | basis[axis]);
        let thread = (layout.rep()[axis] * layout.atom(axis) > n).then(|| self.thread_coord(layout, axis));
        for (reg, value) in regs.iter().enumerate() {
            let at = layout.reg_coord(reg);
            let row = rows.entry(without_axis(&at, axis)).or_default();
            match thread {
                Some(_) if at[axis] >= n => {}
                Some(thread) if at[axis] + furthest >= n => {
                    let exists = self.body.setp(Cmp::Lt, Ty::U32, thread, Src::Imm(u64::from(n - at[axis])));
                    let neutral = fold.neutral(acc);
                    row.push(self.body.selp(super::held::bits(held(acc)), *value, neutral, exists));
                }
                _ => row.push(*value),
            }
        }
        let row = |cx: &mut Self, reg: usize| {
            let values = rows.remove(&rest.reg_coord(reg)).unwrap_or_default();
            cx.tree(values, (fold, acc))
        };
        let mut row = row;
        (0..rest.regs()).map(|reg| row(self, reg)).collect()
    }
    /// Pairs of neighbours until one is left.
    fn tree(&mut self, mut values: Vec<Reg>, (fold, acc): (Fold, ElemType)) -> Reg {
        while values.len() > 1 {
            let pairs = values.chunks(2).map(|pair| match *pair {
                [a, b] => self.body.bin(fold.bin(acc), held(acc), a, b),
                [a, ..] => a,
                [] => unreachable!("chunks are never empty"),
            });
            values = pairs.collect();
        }
        match values.first() {
            Some(value) => *value,
            None => self.constant(held(acc), fold.neutral(acc)),
        }
    }
    fn across_lanes(&mut self, mut value: Reg, lanes: u32, (fold, acc): (Fold, ElemType)) -> Reg {
        for bit in (0..5).filter(|bit| lanes >> bit & 1 == 1) {
            let other = self.shuffle(Shuffle::Bfly, value, Src::Imm(1 << bit));
            value = self.body.bin(fold.bin(acc), held(acc), value, other);
        }
        value
    }
    /// 32 bits at a time.
    pub(super) fn shuffle(&mut self, mode: Shuffle, value: Reg, lane: Src) -> Reg {
        // `up` counts from lane 0, the others to lane 31.
        let clamp = if mode == Shuffle::Up { 0 } else { 31 };
        let one = |cx: &mut Self, a: Reg| {
            let d = cx.body.fresh(Ty::B32);
            cx.body.emit(PtxOp::Shfl { mode, d, a, b: lane, clamp });
            d
        };
        match value.class {
            Class::B32 => return one(self, value),
            Class::B16 => {
                let wide = self.body.cvt(Ty::U32, Ty::U16, value);
                let moved = one(self, wide);
                return self.body.cvt(Ty::U16, Ty::U32, moved);
            }
            Class::Pred => {
                let wide = self.body.selp(Ty::U32, Src::Imm(1), Src::Imm(0), value);
                let moved = one(self, wide);
                return self.body.setp(Cmp::Ne, Ty::U32, moved, Src::Imm(0));
            }
            Class::B64 => {}
        }
        let halves = vec![self.body.fresh(Ty::B32), self.body.fresh(Ty::B32)];
        self.body.emit(PtxOp::Unpack { ty: Ty::B64, d: halves.clone(), a: value });
        let parts = halves.into_iter().map(|half| one(self, half)).collect();
        let d = self.body.fresh(Ty::B64);
        self.body.emit(PtxOp::Pack { ty: Ty::B64, d, parts });
        d
    }
    /// Each warp leaves its value of every row; all threads of the row read what the warps left. Rows that together do not
    /// fit shared memory take turns.
    fn across_warps(
        &mut self,
        rows: Vec<Reg>,
        rest: &RegLayout,
        (lanes, warps): (u32, u32),
        (fold, acc): (Fold, ElemType),
    ) -> Vec<Reg> {
        let (count, bytes) = (1u32 << warps.count_ones(), acc.bytes() as u32);
        let pitch: Vec<u32> = (0..rest.rank()).map(|a| rest.rep()[a] * rest.atom(a)).collect();
        let all = pitch.iter().product::<u32>() * count * bytes;
        let fits = all <= self.shared_room();
        // Threads whose rows are others, and the rows of each that are written in one turn.
        let apart = (rest.threads() - 1) & !rest.replicated();
        let (spread, room) = (1u32 << apart.count_ones(), self.shared_room());
        let turn = if fits { rows.len() } else { (room / (spread * count * bytes)).max(1) as usize };
        let buffer = self.body.buffer(if fits { all } else { spread * turn as u32 * count * bytes }, 16);
        let base = if fits {
            self.shared_base(buffer, rest, &pitch, count * bytes)
        } else {
            let (base, place) = (self.body.buffer_base(buffer), self.gathered_bits(apart));
            let step = Src::Imm(u64::from(turn as u32 * count * bytes));
            self.body.tern(Tern::MadLo, Ty::U32, place, step, base)
        };
        let row_at = |reg: usize| {
            let place = if fits { super::held::flat(&rest.reg_coord(reg), &pitch) } else { (reg % turn) as u32 };
            place * count * bytes
        };
        let mine = self.gathered_bits(warps);
        let own = self.body.tern(Tern::MadLo, Ty::U32, mine, Src::Imm(u64::from(bytes)), base);
        // One lane a row writes.
        let others = (lanes | rest.replicated()) & LANES;
        let tid = self.special(Special::TidX);
        let other = self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(u64::from(others)));
        let pred = self.body.setp(Cmp::Eq, Ty::U32, other, Src::Imm(0));
        let memory = Memory::Shared(buffer);
        let per_load = (16 / bytes).min(count) as usize;
        let read = |cx: &mut Self, reg: usize, group: u32| {
            let mut values = Vec::new();
            for first in (0..count as usize).step_by(per_load) {
                let d: Vec<Reg> = (0..per_load).map(|_| cx.body.fresh(held(acc))).collect();
                let at = Addr::reg(base, i64::from(row_at(reg)) + (first as u32 * bytes) as i64);
                let load =
                    PtxOp::Ld { space: Space::Shared, hint: CacheHint::default(), ty: stored(acc), d: d.clone(), at };
                cx.body.touch(Touch::read(memory, group), None, load);
                values.extend(d);
            }
            cx.tree(values, (fold, acc))
        };
        let mut out = Vec::with_capacity(rows.len());
        for (of_turn, first) in rows.chunks(turn).zip((0..).step_by(turn)) {
            let group = self.body.group();
            for (reg, value) in (first..).zip(of_turn) {
                let (at, a) = (Addr::reg(own, i64::from(row_at(reg))), vec![*value]);
                let store = PtxOp::St { space: Space::Shared, hint: CacheHint::default(), ty: stored(acc), at, a };
                self.body.touch(Touch::write(memory, group), Some(Guard { pred, negated: false }), store);
            }
            let group = self.body.group();
            out.extend((first..first + of_turn.len()).map(|reg| read(self, reg, group)));
        }
        out
    }
    /// These bits of the thread's number, moved together.
    pub(super) fn gathered_bits(&mut self, mask: u32) -> Reg {
        let tid = self.special(Special::TidX);
        let mut sum: Option<Reg> = None;
        for (to, from) in (0..32).filter(|bit| mask >> bit & 1 == 1).enumerate() {
            let shifted = self.body.bin(Bin::Shr, Ty::U32, tid, Src::Imm(from));
            let bit = self.body.bin(Bin::And, Ty::B32, shifted, Src::Imm(1));
            let bit = if to == 0 { bit } else { self.body.bin(Bin::Shl, Ty::B32, bit, Src::Imm(to as u64)) };
            sum = Some(sum.map_or(bit, |sum| self.body.bin(Bin::Or, Ty::B32, sum, bit)));
        }
        sum.unwrap_or_else(|| self.body.mov(Ty::B32, Src::Imm(0)))
    }
}
