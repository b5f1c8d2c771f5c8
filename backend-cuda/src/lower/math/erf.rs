//! The error function: a polynomial near 0, and 1 less a power further out, where the function is near 1.

use super::calc::Calc;
use super::coefficients::{ERF_F32, ERF_F64, ERFC_F32, ERFC_F64};
use crate::ptx::{Bin, Cmp, Math, Reg, Ty};

/// Where the polynomials were fitted (`coefficients.py`): the first up to `near`, the second around `middle` up to `last`,
/// from where on the result is 1.
struct Fit {
    near: f64,
    middle: f64,
    last: f64,
}
const F32: Fit = Fit { near: 1.0, middle: 2.5, last: 4.0 };
const F64: Fit = Fit { near: 1.5, middle: 3.75, last: 6.0 };

impl Calc<'_, '_> {
    pub(super) fn erf(&mut self, x: Reg) -> Reg {
        let Fit { near, middle, last } = if self.is_f64() { F64 } else { F32 };
        let square = self.mul(x, x);
        let p = self.poly(square, if self.is_f64() { ERF_F64 } else { ERF_F32 });
        let inner = self.fma(x, p, x);

        let size = self.abs(x);
        let kept = self.bin(Bin::Min, size, last);
        let t = self.add(kept, -middle);
        let power = self.poly(t, if self.is_f64() { ERFC_F64 } else { ERFC_F32 });
        let missing = if self.is_f64() { self.exp_inside(power) } else { self.cx.math(Math::Ex2, Ty::F32, power) };
        let outer = self.sub(1.0, missing);
        let outer = self.with_sign_of(outer, x);

        let far = self.holds(Cmp::Gt, size, near);
        self.pick(far, outer, inner)
    }
}
