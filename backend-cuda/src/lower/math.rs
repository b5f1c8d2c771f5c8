//! Functions of floats. f16 and bf16 go through f32 and are rounded once. Errors in units of the last place, against the
//! exact value.

use super::Lower;
use super::held::held;
use crate::ptx::{Bin, Math, Op as PtxOp, Reg, Round, Src, Tern, Ty};
use tilewright_core::elem::ElemType;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// What `LOG2_E` lacks of 1 / ln 2.
const LOG2_E_LOW: f32 = 1.925_963e-8;

fn imm(x: f32) -> Src {
    Src::Imm(u64::from(x.to_bits()))
}

impl Lower<'_> {
    pub(super) fn math(&mut self, op: Math, ty: Ty, x: impl Into<Src>) -> Reg {
        let d = self.body.fresh(ty);
        self.body.emit(PtxOp::Math { op, ty, d, a: x.into() });
        d
    }
    /// Exact.
    pub(super) fn floor(&mut self, elem: ElemType, x: Src) -> Reg {
        let floor = |cx: &mut Self, ty: Ty, a: Src| {
            let a = match a {
                Src::Reg(reg) => reg,
                imm @ Src::Imm(_) => cx.constant(ty, imm),
            };
            let d = cx.body.fresh(ty);
            cx.body.emit(PtxOp::Cvt { to: ty, from: ty, round: Some(Round::Rmi), sat: false, d, a });
            d
        };
        match elem {
            ElemType::BF16 => self.through_f32(elem, &[x], |cx, args| floor(cx, Ty::F32, args[0])),
            _ => floor(self, held(elem), x),
        }
    }
    /// Correctly rounded.
    pub(super) fn sqrt(&mut self, elem: ElemType, x: Src) -> Reg {
        match elem {
            ElemType::F64 => self.math(Math::SqrtRn, Ty::F64, x),
            _ => self.through_f32(elem, &[x], |cx, args| cx.math(Math::SqrtRn, Ty::F32, args[0])),
        }
    }
    /// f32: 2 units (PTX ISA, `rsqrt.approx`). f64: two correctly rounded steps.
    pub(super) fn rsqrt(&mut self, elem: ElemType, x: Src) -> Reg {
        match elem {
            ElemType::F64 => {
                let root = self.math(Math::SqrtRn, Ty::F64, x);
                self.math(Math::RcpRn, Ty::F64, root)
            }
            _ => self.through_f32(elem, &[x], |cx, args| cx.math(Math::RsqrtApprox, Ty::F32, args[0])),
        }
    }
    /// 2 units (PTX ISA, `ex2.approx`).
    pub(super) fn exp2(&mut self, x: Src) -> Reg {
        self.math(Math::Ex2Full, Ty::F32, x)
    }
    /// `2^t (1 + e ln 2)` with `t + e = x / ln 2`: `t` is the rounded product and `e` what it lost. 3 units.
    pub(super) fn exp(&mut self, x: Src) -> Reg {
        // Beyond these the result is 0 or infinite, and what an infinite product loses would be NaN.
        let x = self.body.bin(Bin::MaxNan, Ty::F32, x, imm(-200.0));
        let x = self.body.bin(Bin::MinNan, Ty::F32, x, imm(200.0));
        let t = self.body.bin(Bin::MulRn, Ty::F32, x, imm(LOG2_E));
        let minus_t = self.body.bin(Bin::Xor, Ty::B32, t, Src::Imm(1 << 31));
        let e = self.body.tern(Tern::FmaRn, Ty::F32, x, imm(LOG2_E), minus_t);
        let e = self.body.tern(Tern::FmaRn, Ty::F32, x, imm(LOG2_E_LOW), e);
        let power = self.exp2(t.into());
        let e = self.body.bin(Bin::MulRn, Ty::F32, e, imm(std::f32::consts::LN_2));
        // An infinite power times what is lost of it would be NaN where that is 0.
        let finite = self.body.bin(Bin::Min, Ty::F32, power, imm(f32::MAX));
        self.body.tern(Tern::FmaRn, Ty::F32, finite, e, power)
    }
}
