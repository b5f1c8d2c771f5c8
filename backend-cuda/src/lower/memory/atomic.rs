//! Sums and maxima in memory, each element once and indivisibly: one instruction where the GPU has it for the type, else
//! compare-and-swap of the word that holds the element until nobody came between.

use super::super::errors::Fault;
use super::super::held::held;
use super::super::{Done, Lower};
use crate::ptx::{Addr, Atomic, Bin, Cmp, Guard, Memory, Op as PtxOp, Reg, Space, Src, Touch, Ty};
use crate::target::Target;
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::interp::RecordKind;
use tilewright_core::ir::ops::{self, Access};
use tilewright_core::ir::{Op, OpId, ValueId};

impl Lower<'_> {
    pub(in crate::lower) fn atomic(&mut self, id: OpId, at: &Access, value: ValueId) -> Done {
        let ty = self.m.ty(value);
        let param = self.view_param(at.view);
        // Atomics of one kind are in no order, neither in a turn of a loop nor between turns.
        let adds = matches!(self.m.op(id).op, Op::AtomicAdd(_));
        let group = match self.atomics[usize::from(adds)] {
            Some(group) => group,
            None => *self.atomics[usize::from(adds)].insert(self.body.group()),
        };
        let touch = Touch { apart: true, ..Touch::write(Memory::View(param), group) };
        let elem = ty.elem();
        let how = How { id, elem, touch, native: native(&self.m.op(id).op, elem, self.options.target) };
        if ty.is_scalar() {
            let window = self.window(id, at, ty, None)?;
            let value = self.scalar_reg(value)?;
            let first = self.is_first_thread();
            let pred = self.both(Some(first), window.whole);
            let place = self.only(&window);
            self.combine(&how, pred, place, value)?;
            if let Some(rest) = self.unless_recorded(id, &window) {
                self.rarely(rest, |cx| {
                    let spans = cx.spans(&window.edges);
                    cx.outside(id, RecordKind::StoreOutside, at, ty, &window.edges, &spans)
                })?;
            }
            return Ok(());
        }
        let layout = self.layout(value)?;
        let values = self.tile(value, &layout)?;
        let window = self.window(id, at, ty, Some(&layout))?;
        let holder = self.is_first_holder(&layout);
        let spans = self.spans(&window.edges);
        let mut way = self.part_way(&window, &layout, &spans);
        for (reg, value) in values.into_iter().enumerate() {
            let place = self.address(&mut way, reg);
            let exists = self.exists(&way, reg);
            let pred = self.both(holder, exists);
            self.combine(&how, pred, place, value)?;
        }
        if let Some(rest) = self.unless_recorded(id, &window) {
            self.rarely(rest, |cx| cx.outside(id, RecordKind::StoreOutside, at, ty, &window.edges, &spans))?;
        }
        Ok(())
    }
    fn combine(&mut self, how: &How, pred: Option<Reg>, at: Addr, value: Reg) -> Done {
        let Some((op, ty)) = how.native else { return self.swapped(how, pred, at, value) };
        let red = PtxOp::Red { space: Space::Global, op, ty, at, a: value.into() };
        self.body.touch(how.touch, pred.map(|pred| Guard { pred, negated: false }), red);
        Ok(())
    }
    /// Compare-and-swap until it succeeds.
    fn swapped(&mut self, how: &How, pred: Option<Reg>, at: Addr, value: Reg) -> Done {
        let How { id, elem, touch, .. } = *how;
        let (start, again, done) = (self.body.label(), self.body.label(), self.body.label());
        // A barrier before it stands where all threads come.
        self.body.touch(touch, None, PtxOp::Label(start));
        if let Some(pred) = pred {
            self.body.emit_if(Guard { pred, negated: true }, PtxOp::Bra { to: done, uniform: false });
        }
        let Word { ty, at, shift } = self.word(elem, at);
        let atom = |op, d, a, b| PtxOp::Atom { space: Space::Global, op, ty, d, at, a, b };
        let old = self.body.fresh(ty);
        self.body.emit(atom(Atomic::Or, old, Src::Imm(0), None));
        self.body.emit(PtxOp::Label(again));
        let new = self.word_with(id, elem, old, shift, value)?;
        let found = self.body.fresh(ty);
        self.body.emit(atom(Atomic::Cas, found, old.into(), Some(new.into())));
        let pred = self.body.setp(Cmp::Ne, ty, found, old);
        self.body.assign(ty, old, found);
        self.body.emit_if(Guard { pred, negated: false }, PtxOp::Bra { to: again, uniform: false });
        self.body.emit(PtxOp::Label(done));
        Ok(())
    }
    /// The word of 32 or 64 bits that holds an element, and where the element lies in it.
    fn word(&mut self, elem: ElemType, at: Addr) -> Word {
        match elem.bytes() {
            8 => Word { ty: Ty::B64, at, shift: None },
            4 => Word { ty: Ty::B32, at, shift: None },
            _ => {
                let crate::ptx::Base::Reg(base) = at.base else { return Word { ty: Ty::B32, at, shift: None } };
                let address = self.body.bin(Bin::Add, Ty::S64, base, Src::Imm(at.offset as u64));
                let word = self.body.bin(Bin::And, Ty::B64, address, Src::Imm(!3));
                let low = self.body.cvt(Ty::U32, Ty::U64, address);
                let byte = self.body.bin(Bin::And, Ty::B32, low, Src::Imm(3));
                let shift = self.body.bin(Bin::Shl, Ty::B32, byte, Src::Imm(3));
                Word { ty: Ty::B32, at: Addr::reg(word, 0), shift: Some(shift) }
            }
        }
    }
    /// The word with the element in it combined with `value`.
    fn word_with(&mut self, id: OpId, elem: ElemType, word: Reg, shift: Option<Reg>, value: Reg) -> Result<Reg, Fault> {
        let Some(shift) = shift else { return self.element_with(id, elem, word, value) };
        let width = elem.bits();
        let mask = Src::Imm((1 << width) - 1);
        let field = self.body.bin(Bin::Shr, Ty::U32, word, shift);
        let signed = elem.kind() == Kind::Signed;
        let float = elem.kind() == Kind::Float;
        let old = if float {
            self.body.cvt(Ty::U16, Ty::U32, field)
        } else {
            let d = self.body.fresh(Ty::B32);
            let ty = if signed { Ty::S32 } else { Ty::U32 };
            self.body.emit(PtxOp::Bfe { ty, d, a: field, from: 0, width });
            d
        };
        let new = self.element_with(id, elem, old, value)?;
        let new =
            if float { self.body.cvt(Ty::U32, Ty::U16, new) } else { self.body.bin(Bin::And, Ty::B32, new, mask) };
        let placed = self.body.bin(Bin::Shl, Ty::B32, new, shift);
        let ones = self.body.mov(Ty::B32, mask);
        let hole = self.body.bin(Bin::Shl, Ty::B32, ones, shift);
        let hole = self.body.un(crate::ptx::Un::Not, Ty::B32, hole);
        let rest = self.body.bin(Bin::And, Ty::B32, word, hole);
        Ok(self.body.bin(Bin::Or, Ty::B32, rest, placed))
    }
    fn element_with(&mut self, id: OpId, elem: ElemType, old: Reg, value: Reg) -> Result<Reg, Fault> {
        let m = self.m;
        let (old, value) = (Src::Reg(old), Src::Reg(value));
        match &m.op(id).op {
            Op::AtomicAdd(o) => {
                let add = Op::Add(ops::Add { a: o.value, b: o.value });
                self.at_a_place(&add, elem, elem, &[old, value])
            }
            _ => Ok(self.extremum(Bin::Max, elem, old, value)),
        }
    }
}

/// What the instructions of one atomic have in common.
struct How {
    id: OpId,
    elem: ElemType,
    touch: Touch,
    native: Option<(Atomic, Ty)>,
}

struct Word {
    ty: Ty,
    at: Addr,
    /// Bits below the element; `None`: it fills the word.
    shift: Option<Reg>,
}

/// The instruction that does it, if there is one. `red.add.f32` takes subnormals for zeros.
fn native(op: &Op, elem: ElemType, target: Target) -> Option<(Atomic, Ty)> {
    let add = matches!(op, Op::AtomicAdd(_));
    Some(match (add, elem) {
        (true, ElemType::I32 | ElemType::U32) => (Atomic::Add, Ty::U32),
        (true, ElemType::I64 | ElemType::U64) => (Atomic::Add, Ty::U64),
        (true, ElemType::F32 | ElemType::F64) => (Atomic::Add, held(elem)),
        (true, ElemType::F16) => (Atomic::AddNoFtz, Ty::F16),
        (true, ElemType::BF16) if target == Target::Sm90a => (Atomic::AddNoFtz, Ty::Bf16),
        (false, ElemType::I32 | ElemType::U32 | ElemType::I64 | ElemType::U64) => (Atomic::Max, held(elem)),
        _ => return None,
    })
}
