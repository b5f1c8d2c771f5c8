//! Functions of floats, in f32 or in f64; f16 and bf16 go through f32 and are rounded once. Largest errors are in
//! `docs/gpu-math.md`, tests measure them (`tests/math_error.rs`). Every function is right at zeros of both signs,
//! subnormal numbers, infinities and NaN, and none branches, but for the angles of `turn.rs` that are far from 0.
//!
//! `calc.rs`: arithmetic for formulas. `exp.rs`: powers and `tanh`. `log.rs`. `erf.rs`. `turn.rs`: sine and cosine. `fast.rs`: what
//! `fast_math` makes of them. `weights.rs`: powers of which products read 16 bits.
//! `coefficients.rs`: polynomials, printed by `coefficients.py`, which derives them.

mod calc;
mod coefficients;
mod erf;
mod exp;
mod fast;
mod log;
mod turn;
mod weights;

pub(super) use weights::Weights;

use super::Lower;
use super::held::held;
use crate::ptx::{Math, Op as PtxOp, Reg, Round, Src, Ty};
use calc::Calc;
use tilewright_core::elem::ElemType;

/// A function of one float that is computed, not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Exp,
    Exp2,
    /// `Exp`, `Exp2` of f32 where 16 bits of the result are read (`weights.rs`).
    Weight,
    Weight2,
    Log,
    Log2,
    Tanh,
    Erf,
    Sin,
    Cos,
}

impl Lower<'_> {
    pub(super) fn function(&mut self, f: Function, elem: ElemType, x: Src) -> Reg {
        if elem == ElemType::F64 {
            let x = self.in_register(Ty::F64, x);
            return Calc { cx: self, ty: Ty::F64, from: elem }.function(f, x);
        }
        let wide = self.widen(elem, x);
        let y = Calc { cx: self, ty: Ty::F32, from: elem }.function(f, wide);
        self.round_f32(elem, y)
    }
    pub(super) fn math(&mut self, op: Math, ty: Ty, x: impl Into<Src>) -> Reg {
        let d = self.body.fresh(ty);
        self.body.emit(PtxOp::Math { op, ty, d, a: x.into() });
        d
    }
    /// Exact: to an integral value.
    pub(super) fn integral(&mut self, round: Round, elem: ElemType, x: Src) -> Reg {
        let (ty, x) = match elem {
            ElemType::BF16 => (Ty::F32, self.widen(elem, x)),
            _ => (held(elem), self.in_register(held(elem), x)),
        };
        let d = self.body.fresh(ty);
        self.body.emit(PtxOp::Cvt { to: ty, from: ty, round: Some(round), sat: false, d, a: x });
        if elem == ElemType::BF16 { self.round_f32(elem, d) } else { d }
    }
    /// Correctly rounded: f16 and bf16 too, since f32 has more than twice their bits.
    pub(super) fn sqrt(&mut self, elem: ElemType, x: Src) -> Reg {
        let root = if self.options.fast_math { Math::SqrtApprox } else { Math::SqrtRn };
        match elem {
            ElemType::F64 => self.math(Math::SqrtRn, Ty::F64, x),
            _ => self.through_f32(elem, &[x], |cx, args| cx.math(root, Ty::F32, args[0])),
        }
    }
    /// f32: one instruction. f64: two correctly rounded steps.
    pub(super) fn rsqrt(&mut self, elem: ElemType, x: Src) -> Reg {
        match elem {
            ElemType::F64 => {
                let root = self.math(Math::SqrtRn, Ty::F64, x);
                self.math(Math::RcpRn, Ty::F64, root)
            }
            _ => self.through_f32(elem, &[x], |cx, args| cx.math(Math::RsqrtApprox, Ty::F32, args[0])),
        }
    }
}

impl Calc<'_, '_> {
    fn function(&mut self, f: Function, x: Reg) -> Reg {
        if self.cx.options.fast_math && !self.is_f64() {
            return self.fast(f, x);
        }
        match (f, self.ty) {
            (Function::Exp, Ty::F64) => self.exp_f64(x),
            (Function::Exp, _) => self.exp_f32(x),
            (Function::Exp2, Ty::F64) => self.exp2_f64(x),
            (Function::Exp2, _) => self.cx.math(Math::Ex2Full, Ty::F32, x),
            (Function::Weight, _) => self.weight(x),
            (Function::Weight2, _) => self.cx.math(Math::Ex2, Ty::F32, x),
            (Function::Log, _) => self.log(x),
            (Function::Log2, _) => self.log2(x),
            (Function::Tanh, _) => self.tanh(x),
            (Function::Erf, _) => self.erf(x),
            (Function::Sin, _) => self.sin(x),
            (Function::Cos, _) => self.cos(x),
        }
    }
}
