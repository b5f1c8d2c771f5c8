//! Functions of f32 with `fast_math`: what the special function unit gives (PTX ISA, `ex2`, `lg2`, `sin`, `cos`, `tanh`).
//! Errors are in `docs/gpu-math.md`.

use super::Function;
use super::calc::Calc;
use crate::ptx::{Math, Reg, Ty};
use std::f64::consts::{LN_2, LOG2_E};

impl Calc<'_, '_> {
    pub(super) fn fast(&mut self, f: Function, x: Reg) -> Reg {
        match f {
            Function::Exp => {
                let power = self.mul(x, LOG2_E);
                self.cx.math(Math::Ex2Full, Ty::F32, power)
            }
            Function::Exp2 => self.cx.math(Math::Ex2Full, Ty::F32, x),
            Function::Log => {
                let log2 = self.cx.math(Math::Lg2, Ty::F32, x);
                self.mul(log2, LN_2)
            }
            Function::Log2 => self.cx.math(Math::Lg2, Ty::F32, x),
            Function::Tanh => self.cx.math(Math::TanhApprox, Ty::F32, x),
            Function::Sin => self.cx.math(Math::Sin, Ty::F32, x),
            Function::Cos => self.cx.math(Math::Cos, Ty::F32, x),
            Function::Weight => self.weight(x),
            Function::Weight2 => self.cx.math(Math::Ex2, Ty::F32, x),
            // No instruction is near it.
            Function::Erf => self.erf(x),
        }
    }
}
