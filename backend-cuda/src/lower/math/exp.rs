//! Powers: `e^x = 2^n e^r` with the integer `n` nearest to `x / ln 2`, so that `|r| <= ln 2 / 2`; and `tanh`.

use super::calc::Calc;
use super::coefficients::{EXPM1_F32, EXPM1_F64};
use crate::ptx::{Bin, Math, Reg, Ty};
use std::f64::consts::{LN_2, LOG2_E};

const LN_2_F32: f64 = LN_2 as f32 as f64;
/// What the rounded constants lack.
const LN_2_F32_LOW: f64 = LN_2 - LN_2_F32;
const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;
const LOG2_E_F32: f64 = LOG2_E as f32 as f64;
const LOG2_E_F32_LOW: f64 = LOG2_E - LOG2_E_F32;

struct Reduced {
    /// `e^r - 1`
    expm1: Reg,
    /// An integer (f64), or one in the low bits (f32).
    n: Reg,
}

impl Calc<'_, '_> {
    /// `2^n 2^f`, where `n` stops at the ends of normal numbers and `f` goes on, up to infinity: both factors are then
    /// right everywhere, and their product rounds once, to a subnormal number too.
    pub(super) fn exp_f32(&mut self, x: Reg) -> Reg {
        // The exponent's bias is in the constant, so that the low bits are those of `2^n`.
        let magic = self.magic() + 127.0;
        let t = self.fma(x, LOG2_E_F32, magic);
        let t = self.bin(Bin::Max, t, magic - 126.0);
        let t = self.bin(Bin::Min, t, magic + 126.0);
        let minus_n = self.sub(magic, t);
        let f = self.fma(x, LOG2_E_F32, minus_n);
        let f = self.fma(x, LOG2_E_F32_LOW, f);
        let scale = self.int(Bin::Shl, t, 23);
        let power = self.cx.math(Math::Ex2, Ty::F32, f);
        self.mul(power, scale)
    }
    pub(super) fn exp_f64(&mut self, x: Reg) -> Reg {
        // Beyond these the result is infinite, or 0.
        let x = self.at_most(x, 720.0);
        let x = self.at_least(x, -760.0);
        let Reduced { expm1, n } = self.reduced(x);
        self.scaled(expm1, n)
    }
    pub(super) fn exp2_f64(&mut self, x: Reg) -> Reg {
        let x = self.at_most(x, 1030.0);
        let x = self.at_least(x, -1080.0);
        let t = self.add(x, self.magic());
        let n = self.sub(t, self.magic());
        let f = self.sub(x, n);
        let r = self.mul(f, LN_2);
        let expm1 = self.expm1_near_zero(r);
        let n = self.low(t);
        self.scaled(expm1, n)
    }
    /// `2^n (1 + y)`, by two factors: one of them alone might not be a normal number.
    fn scaled(&mut self, y: Reg, n: Reg) -> Reg {
        let half = self.int(Bin::Shr, n, 1);
        let rest = self.cx.body.bin(Bin::Sub, Ty::S32, n, half);
        let (half, rest) = (self.power_of_two(half), self.power_of_two(rest));
        let y = self.add(y, 1.0);
        let y = self.mul(y, half);
        self.mul(y, rest)
    }
    fn reduced(&mut self, x: Reg) -> Reduced {
        let (ln_2, low) = if self.is_f64() { (LN_2, LN_2_LOW) } else { (LN_2_F32, LN_2_F32_LOW) };
        let t = self.fma(x, LOG2_E, self.magic());
        let n = self.sub(t, self.magic());
        // Exact: the product cancels the leading bits.
        let r = self.fma(n, -ln_2, x);
        let r = self.fma(n, -low, r);
        Reduced { expm1: self.expm1_near_zero(r), n: self.low(t) }
    }
    /// `e^r - 1` for `|r| <= ln 2 / 2`.
    fn expm1_near_zero(&mut self, r: Reg) -> Reg {
        let p = self.poly(r, if self.is_f64() { EXPM1_F64 } else { EXPM1_F32 });
        let square = self.mul(r, r);
        self.fma(square, p, r)
    }
    /// `e^x` where neither it nor its factors leave the normal numbers.
    pub(super) fn exp_inside(&mut self, x: Reg) -> Reg {
        let Reduced { expm1, n } = self.reduced(x);
        let scale = self.power_of_two(n);
        self.fma(scale, expm1, scale)
    }

    /// `(e^2x - 1) / (e^2x - 1 + 2)` for `x >= 0`, where `e^2x - 1 = 2^n (e^r - 1) + (2^n - 1)` cancels nothing.
    pub(super) fn tanh(&mut self, x: Reg) -> Reg {
        let size = self.abs(x);
        let twice = self.add(size, size);
        // From here on the result is 1.
        let twice = self.at_most(twice, if self.is_f64() { 80.0 } else { 40.0 });
        let Reduced { expm1, n } = self.reduced(twice);
        let scale = self.power_of_two(n);
        let shift = self.add(scale, -1.0);
        let over = self.fma(scale, expm1, shift);
        let under = self.add(over, 2.0);
        let y = if self.is_f64() { self.bin(Bin::DivRn, over, under) } else { self.quotient_f32(over, under) };
        self.with_sign_of(y, x)
    }
    /// A quotient by a number far from the ends of f32: by its reciprocal, corrected once.
    fn quotient_f32(&mut self, a: Reg, b: Reg) -> Reg {
        let inverse = self.cx.math(Math::RcpFtz, Ty::F32, b);
        let q = self.mul(a, inverse);
        let minus_b = self.neg(b);
        let rest = self.fma(minus_b, q, a);
        self.fma(rest, inverse, q)
    }
}
