//! Values in registers: which register type holds an element, constants as immediates, and tiles in the layout that a
//! use asks for.

use super::Lower;
use super::errors::{Fault, MAX_TILE_REGS};
use super::panels::Panels;
use crate::abi::Item;
use crate::layout::RegLayout;
use crate::ptx::{Addr, Bin, CacheHint, Cmp, Guard, Memory, Op as PtxOp, Reg, Space, Src, Touch, Ty};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Def, Literal, Op, Type, ValueId};

/// A value of the module.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// Equal in all threads.
    Scalar(Src),
    /// By register of the value's layout.
    Tile(Vec<Reg>),
    /// In shared memory, for products alone.
    Panels(Panels),
}

/// How registers hold an element. Integers below 32 bits lie in 32, extended by their sign or by zeros; fp8 as its code.
pub(super) const fn held(elem: ElemType) -> Ty {
    match elem {
        ElemType::I1 => Ty::Pred,
        ElemType::I8 | ElemType::I16 | ElemType::I32 => Ty::S32,
        ElemType::U8 | ElemType::U16 | ElemType::U32 | ElemType::F8E4M3 | ElemType::F8E5M2 => Ty::U32,
        ElemType::I64 => Ty::S64,
        ElemType::U64 => Ty::U64,
        ElemType::F16 => Ty::F16,
        ElemType::BF16 => Ty::Bf16,
        ElemType::F32 => Ty::F32,
        ElemType::F64 => Ty::F64,
    }
}
/// How memory holds an element.
pub(super) const fn stored(elem: ElemType) -> Ty {
    match elem {
        ElemType::I1 | ElemType::U8 | ElemType::F8E4M3 | ElemType::F8E5M2 => Ty::U8,
        ElemType::I8 => Ty::S8,
        ElemType::I16 => Ty::S16,
        ElemType::U16 => Ty::U16,
        ElemType::F16 | ElemType::BF16 => Ty::B16,
        ElemType::I32 | ElemType::U32 | ElemType::F32 => Ty::B32,
        ElemType::I64 | ElemType::U64 | ElemType::F64 => Ty::B64,
    }
}
/// The type for moves and choices of what is held.
pub(super) const fn bits(ty: Ty) -> Ty {
    ty.class().declared()
}
pub(super) fn immediate(lit: Literal) -> Src {
    Src::Imm(lit.bits)
}

impl Lower<'_> {
    pub(super) fn scalar_param(&mut self, v: ValueId, param: u32) -> Src {
        let elem = self.m.ty(v).elem();
        let item = Item::Scalar { param, elem };
        if let Some(reg) = self.entry.get(&item) {
            return Src::Reg(*reg);
        }
        let offset = self.abi.offset(item);
        let reg = self.body.at_entry(|body| {
            let wide = body.fresh(if elem == ElemType::I1 { Ty::U32 } else { held(elem) });
            let at = Addr::param(offset);
            body.emit(PtxOp::Ld {
                space: Space::Param,
                hint: CacheHint::default(),
                ty: stored(elem),
                d: vec![wide],
                at,
            });
            if elem == ElemType::I1 { body.setp(Cmp::Ne, Ty::U32, wide, Src::Imm(0)) } else { wide }
        });
        self.entry.insert(item, reg);
        Src::Reg(reg)
    }

    /// The layout of a tile that some op made; an error if a thread cannot hold it.
    pub(super) fn layout(&self, v: ValueId) -> Result<RegLayout, Fault> {
        let layout = self.layouts.get(v).cloned().ok_or(Fault::NoValue)?;
        let ty = self.m.ty(v);
        let regs = layout.regs() * held(ty.elem()).bytes().div_ceil(4).max(1) as usize;
        if regs > MAX_TILE_REGS {
            return Err(Fault::TileTooLarge { ty, regs, threads: self.threads() });
        }
        Ok(layout)
    }
    /// The registers of a tile in this layout. A scalar fills every register.
    pub(super) fn tile(&mut self, v: ValueId, layout: &RegLayout) -> Result<Vec<Reg>, Fault> {
        if let Type::Scalar(elem) = self.m.ty(v) {
            return self.splat(v, elem, layout);
        }
        if let Def::Result(op, _) = self.m.def(v) {
            match &self.m.op(op).op {
                Op::Splat(o) => return self.splat(o.x, self.m.ty(v).elem(), layout),
                Op::Iota(o) => return Ok(self.iota(self.m.ty(v).elem(), o.axis.0 as usize, layout)),
                _ => {}
            }
        }
        let Some(Held::Tile(regs)) = self.values[v.index()].clone() else { return Err(Fault::NoValue) };
        let from = self.layout(v)?;
        if from == *layout { Ok(regs) } else { self.convert(self.m.ty(v), &regs, &from, layout) }
    }
    fn splat(&mut self, scalar: ValueId, elem: ElemType, layout: &RegLayout) -> Result<Vec<Reg>, Fault> {
        let ty = held(elem);
        let scalar = self.scalar(scalar)?;
        let reg = self.in_register(ty, scalar);
        Ok(vec![reg; layout.regs()])
    }
    /// A constant in a register.
    pub(super) fn constant(&mut self, ty: Ty, imm: Src) -> Reg {
        if ty == Ty::Pred { self.body.setp(Cmp::Ne, Ty::U32, imm, Src::Imm(0)) } else { self.body.mov(bits(ty), imm) }
    }
    pub(super) fn in_register(&mut self, ty: Ty, a: Src) -> Reg {
        match a {
            Src::Reg(reg) => reg,
            imm @ Src::Imm(_) => self.constant(ty, imm),
        }
    }
    fn iota(&mut self, elem: ElemType, axis: usize, layout: &RegLayout) -> Vec<Reg> {
        let thread = self.thread_coord(layout, axis);
        (0..layout.regs())
            .map(|reg| {
                let at = self.body.bin(Bin::Add, Ty::U32, thread, Src::Imm(u64::from(layout.reg_coord(reg)[axis])));
                self.narrow_index(elem, at)
            })
            .collect()
    }

    /// The part of a coordinate that comes from the thread's number.
    pub(super) fn thread_coord(&mut self, layout: &RegLayout, axis: usize) -> Reg {
        let tid = self.thread();
        let mut sum: Option<Reg> = None;
        for run in runs(layout, axis) {
            let shifted = match run.from {
                0 => tid,
                n => self.body.bin(Bin::Shr, Ty::U32, tid, Src::Imm(u64::from(n))),
            };
            // The highest bits of the thread's number need no mask.
            let part = if run.from + run.bits == layout.threads().trailing_zeros() {
                shifted
            } else {
                self.body.bin(Bin::And, Ty::B32, shifted, Src::Imm((1 << run.bits) - 1))
            };
            let part = match run.to {
                0 => part,
                n => self.body.bin(Bin::Shl, Ty::B32, part, Src::Imm(u64::from(n))),
            };
            sum = Some(match sum {
                None => part,
                Some(sum) => self.body.bin(Bin::Or, Ty::B32, sum, part),
            });
        }
        sum.unwrap_or_else(|| self.body.mov(Ty::B32, Src::Imm(0)))
    }
    /// Whether this thread is the first of those that hold the same elements; `None`: it always is.
    pub(super) fn is_first_holder(&mut self, layout: &RegLayout) -> Option<Reg> {
        let mask = layout.replicated();
        (mask != 0).then(|| {
            let tid = self.thread();
            let other = self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(u64::from(mask)));
            self.body.setp(Cmp::Eq, Ty::U32, other, Src::Imm(0))
        })
    }

    /// A value in the form that memory holds: a truth value becomes a byte.
    pub(super) fn as_stored(&mut self, elem: ElemType, reg: Reg) -> Reg {
        if elem == ElemType::I1 { self.body.selp(Ty::U32, Src::Imm(1), Src::Imm(0), reg) } else { reg }
    }
    /// The fill where the predicate does not hold.
    pub(super) fn load_if(&mut self, elem: ElemType, touch: Touch, (pred, fill): (Reg, Src), at: Addr) -> Reg {
        let ty = if elem == ElemType::I1 { Ty::U32 } else { held(elem) };
        let d = self.body.mov(bits(ty), fill);
        let load =
            PtxOp::Ld { space: space(touch.memory), hint: CacheHint::default(), ty: stored(elem), d: vec![d], at };
        self.body.touch(touch, Some(Guard { pred, negated: false }), load);
        if elem == ElemType::I1 { self.body.setp(Cmp::Ne, Ty::U32, d, Src::Imm(0)) } else { d }
    }
    pub(super) fn load_one(&mut self, elem: ElemType, touch: Touch, hint: CacheHint, at: Addr) -> Reg {
        let wide = self.body.fresh(if elem == ElemType::I1 { Ty::U32 } else { held(elem) });
        let load = PtxOp::Ld { space: space(touch.memory), hint, ty: stored(elem), d: vec![wide], at };
        self.body.touch(touch, None, load);
        if elem == ElemType::I1 { self.body.setp(Cmp::Ne, Ty::U32, wide, Src::Imm(0)) } else { wide }
    }
}

pub(super) const fn space(memory: Memory) -> Space {
    match memory {
        Memory::Shared(_) => Space::Shared,
        Memory::View(_) => Space::Global,
    }
}

pub(super) fn flat(at: &[u32], pitch: &[u32]) -> u32 {
    pitch.iter().zip(at).fold(0, |sum, (n, i)| sum * n + i)
}

/// Consecutive bits of the thread's number that become consecutive bits of a coordinate.
struct Run {
    from: u32,
    to: u32,
    bits: u32,
}

fn runs(layout: &RegLayout, axis: usize) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for (bit, basis) in layout.thread_bases().iter().enumerate() {
        // A basis vector of a thread bit has one bit set at most.
        let (from, value) = (bit as u32, basis[axis]);
        if value == 0 {
            continue;
        }
        let to = value.trailing_zeros();
        match out.last_mut() {
            Some(run) if run.from + run.bits == from && run.to + run.bits == to => run.bits += 1,
            _ => out.push(Run { from, to, bits: 1 }),
        }
    }
    out
}
