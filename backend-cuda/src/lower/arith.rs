//! Arithmetic: integers wrap, every op rounds to its element type, nothing is contracted (`docs/meaning.md`).

use super::Lower;
use super::errors::Fault;
use super::held::held;
use crate::ptx::{Bin, Op as PtxOp, Reg, Round, Src, Ty};
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::Op;

impl Lower<'_> {
    /// f16 rounds once in its own unit; bf16 has none on sm_80 and goes through f32, which its sums and products round
    /// once as well (f32 has more than twice the bits).
    pub(super) fn sum_or_product(&mut self, op: &Op, elem: ElemType, a: Src, b: Src) -> Result<Reg, Fault> {
        let float = elem.kind() == Kind::Float;
        let bin = match (op, float) {
            (Op::Add(_), true) => Bin::AddRn,
            (Op::Sub(_), true) => Bin::SubRn,
            (Op::Mul(_), true) => Bin::MulRn,
            (Op::Add(_), false) => Bin::Add,
            (Op::Sub(_), false) => Bin::Sub,
            (Op::Mul(_), false) => Bin::MulLo,
            (other, _) => return Err(Fault::NotLowered { mnemonic: other.mnemonic() }),
        };
        if elem == ElemType::BF16 {
            return Ok(self.through_f32(elem, &[a, b], |cx, args| cx.body.bin(bin, Ty::F32, args[0], args[1])));
        }
        let (a, b) = (self.operand(elem, a), self.operand(elem, b));
        let reg = self.body.bin(bin, held(elem), a, b);
        Ok(self.wrapped(elem, reg))
    }
    /// An immediate that the instruction can take; f16 has none.
    pub(super) fn operand(&mut self, elem: ElemType, a: Src) -> Src {
        match (a, held(elem)) {
            (Src::Imm(_), ty @ (Ty::F16 | Ty::Bf16 | Ty::Pred)) => Src::Reg(self.constant(ty, a)),
            (a, _) => a,
        }
    }
    /// Widened, computed, rounded once.
    pub(super) fn through_f32(
        &mut self,
        elem: ElemType,
        args: &[Src],
        f: impl FnOnce(&mut Self, &[Src]) -> Reg,
    ) -> Reg {
        let wide: Vec<Src> = args.iter().map(|a| self.widen(elem, *a).into()).collect();
        let result = f(self, &wide);
        self.round_f32(elem, result)
    }
    /// f16, bf16 or f32 as f32, exactly.
    pub(super) fn widen(&mut self, elem: ElemType, a: Src) -> Reg {
        let a = match self.operand(elem, a) {
            Src::Reg(reg) => reg,
            imm @ Src::Imm(_) => self.constant(held(elem), imm),
        };
        match elem {
            ElemType::F16 => self.body.cvt(Ty::F32, Ty::F16, a),
            // The upper half of an f32.
            ElemType::BF16 => {
                let zero = self.body.mov(Ty::B16, Src::Imm(0));
                let d = self.body.fresh(Ty::B32);
                self.body.emit(PtxOp::Pack { ty: Ty::B32, d, parts: vec![zero, a] });
                d
            }
            _ => a,
        }
    }
    /// An f32 as f16, bf16 or f32, rounded to nearest even.
    pub(super) fn round_f32(&mut self, elem: ElemType, a: Reg) -> Reg {
        let to = match elem {
            ElemType::F16 => Ty::F16,
            ElemType::BF16 => Ty::Bf16,
            _ => return a,
        };
        let d = self.body.fresh(to);
        self.body.emit(PtxOp::Cvt { to, from: Ty::F32, round: Some(Round::Rn), sat: false, d, a });
        d
    }
    /// An integer result below 32 bits, extended again.
    pub(super) fn wrapped(&mut self, elem: ElemType, reg: Reg) -> Reg {
        let narrow = match elem {
            ElemType::I8 => Ty::S8,
            ElemType::I16 => Ty::S16,
            ElemType::U8 => Ty::U8,
            ElemType::U16 => Ty::U16,
            _ => return reg,
        };
        self.body.cvt(held(elem), narrow, reg)
    }
    /// A coordinate as an element of an `iota`.
    pub(super) fn narrow_index(&mut self, elem: ElemType, at: Reg) -> Reg {
        match elem {
            ElemType::I32 | ElemType::U32 => at,
            ElemType::I64 | ElemType::U64 => self.body.cvt(held(elem), Ty::U32, at),
            ElemType::I8 | ElemType::I16 | ElemType::U8 | ElemType::U16 => self.wrapped(elem, at),
            _ => {
                let to = held(elem);
                let d = self.body.fresh(to);
                self.body.emit(PtxOp::Cvt { to, from: Ty::U32, round: Some(Round::Rn), sat: false, d, a: at });
                d
            }
        }
    }
}
