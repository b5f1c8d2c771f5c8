//! Arithmetic: integers wrap, every op rounds to its element type, nothing is contracted (`docs/meaning.md`)
//! unless `fast_math` is set: ptxas then may.

use super::Lower;
use super::errors::Fault;
use super::held::{bits, held};
use crate::ptx::{Bin, Cmp, Op as PtxOp, Reg, Round, Src, Tern, Ty, Un};
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::Op;

impl Lower<'_> {
    /// Each rounds once to its type. On sm_80 bf16 has only `fma`: `a * 1 + b`, `b * -1 + a` and `a * b + -0` are the sum,
    /// the difference and the product to the bit, signs of zeros included.
    pub(super) fn sum_or_product(&mut self, op: &Op, elem: ElemType, a: Src, b: Src) -> Result<Reg, Fault> {
        let float = elem.kind() == Kind::Float;
        let bin = match (op, float) {
            (Op::Mul(_), true) if self.options.fast_math => Bin::Mul,
            (Op::Add(_), true) if !self.options.fast_math => Bin::AddRn,
            (Op::Sub(_), true) if !self.options.fast_math => Bin::SubRn,
            (Op::Mul(_), true) => Bin::MulRn,
            (Op::Add(_), _) => Bin::Add,
            (Op::Sub(_), _) => Bin::Sub,
            (Op::Mul(_), false) => Bin::MulLo,
            (other, _) => return Err(Fault::NotLowered { mnemonic: other.mnemonic() }),
        };
        if elem == ElemType::BF16 {
            return Ok(match bin {
                Bin::AddRn | Bin::Add => self.fused(elem, a, Src::Imm(BF16_ONE), b),
                Bin::SubRn | Bin::Sub => self.fused(elem, b, Src::Imm(BF16_ONE | sign(elem)), a),
                _ => self.fused(elem, a, b, Src::Imm(sign(elem))),
            });
        }
        let (a, b) = (self.operand(elem, a), self.operand(elem, b));
        let reg = self.body.bin(bin, held(elem), a, b);
        Ok(self.wrapped(elem, reg))
    }
    pub(super) fn mul_hi(&mut self, elem: ElemType, a: Src, b: Src) -> Reg {
        let ty = held(elem);
        if elem.bits() >= 32 {
            return self.body.bin(Bin::MulHi, ty, a, b);
        }
        let product = self.body.bin(Bin::MulLo, ty, a, b);
        let high = self.body.bin(Bin::Shr, ty, product, Src::Imm(u64::from(elem.bits())));
        self.wrapped(elem, high)
    }
    pub(super) fn fused(&mut self, elem: ElemType, a: Src, b: Src, c: Src) -> Reg {
        let (a, b, c) = (self.operand(elem, a), self.operand(elem, b), self.operand(elem, c));
        self.body.tern(Tern::FmaRn, held(elem), a, b, c)
    }
    /// A NaN loses against a number; -0 is below +0.
    pub(super) fn extremum(&mut self, op: Bin, elem: ElemType, a: Src, b: Src) -> Reg {
        let (a, b) = (self.operand(elem, a), self.operand(elem, b));
        self.body.bin(op, held(elem), a, b)
    }
    /// NaN if either is.
    pub(super) fn extremum_nan(&mut self, op: Bin, elem: ElemType, a: Src, b: Src) -> Reg {
        if elem != ElemType::F64 {
            let op = if op == Bin::Max { Bin::MaxNan } else { Bin::MinNan };
            return self.extremum(op, elem, a, b);
        }
        let number = self.body.bin(op, Ty::F64, a, b);
        let nan = self.body.setp(Cmp::Nan, Ty::F64, a, b);
        self.body.selp(Ty::B64, Src::Imm(f64::NAN.to_bits()), number, nan)
    }
    /// Floats change their sign bit only.
    pub(super) fn negated(&mut self, elem: ElemType, x: Src) -> Reg {
        if elem.kind() == Kind::Float {
            return self.body.bin(Bin::Xor, bits(held(elem)), x, Src::Imm(sign(elem)));
        }
        let reg = self.body.bin(Bin::Sub, held(elem), Src::Imm(0), x);
        self.wrapped(elem, reg)
    }
    pub(super) fn absolute(&mut self, elem: ElemType, x: Src) -> Reg {
        match elem.kind() {
            Kind::Float => self.body.bin(Bin::And, bits(held(elem)), x, Src::Imm(sign(elem) - 1)),
            Kind::Signed => {
                let reg = self.body.un(Un::Abs, held(elem), x);
                self.wrapped(elem, reg)
            }
            _ => self.body.mov(bits(held(elem)), x),
        }
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
        let a = self.in_register(held(elem), a);
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
    /// A result below 32 bits in the low end of 32, extended again.
    pub(super) fn wrapped(&mut self, elem: ElemType, reg: Reg) -> Reg {
        let narrow = match elem {
            ElemType::I8 => Ty::S8,
            ElemType::I16 => Ty::S16,
            ElemType::U8 | ElemType::F8E4M3 | ElemType::F8E5M2 => Ty::U8,
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

const BF16_ONE: u64 = 0x3F80;

/// The sign bit of a float.
const fn sign(elem: ElemType) -> u64 {
    1 << (elem.bits() - 1)
}
