//! Logarithms: `x = 2^k (1 + f)` with `1 + f` around 1, so that `ln x = k ln 2 + ln(1 + f)` cancels little.

use super::calc::Calc;
use super::coefficients::LOG_F32;
use crate::ptx::{Bin, Cmp, Op as PtxOp, Reg, Round, Src, Ty};
use std::f64::consts::{LN_2, LOG2_E};

const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;
const LOG2_E_LOW: f64 = 2.035_527_374_093_103_3e-17;
/// Where `1 + f` begins: 2/3 in f32, and the high half of the root of 1/2 in f64.
const LEAST_F32: u32 = 0x3F2A_AAAB;
const LEAST_F64: u32 = 0x3FE6_A09E;

/// `ln(1 + f)` and `k`.
struct Parts {
    ln: Reg,
    k: Reg,
}

impl Calc<'_, '_> {
    pub(super) fn log(&mut self, x: Reg) -> Reg {
        let Parts { ln, k } = self.parts(x);
        let ln = if self.is_f64() { self.fma(k, LN_2_LOW, ln) } else { ln };
        let y = self.fma(k, LN_2, ln);
        self.at_the_ends(x, y)
    }
    pub(super) fn log2(&mut self, x: Reg) -> Reg {
        let Parts { ln, k } = self.parts(x);
        let y = self.fma(ln, if self.is_f64() { LOG2_E_LOW } else { LOG2_E - f64::from(LOG2_E as f32) }, k);
        // Where `k` is 0 the low product survives, elsewhere it is too small to.
        let y = self.fma(ln, LOG2_E, y);
        self.at_the_ends(x, y)
    }
    fn parts(&mut self, x: Reg) -> Parts {
        let (least_normal, scale, lifted) = if self.is_f64() {
            (f64::MIN_POSITIVE, (1u64 << 54) as f64, -54.0)
        } else {
            (f64::from(f32::MIN_POSITIVE), 8388608.0, -23.0)
        };
        let small = self.holds(Cmp::Lt, x, least_normal);
        let up = self.mul(x, scale);
        let x = self.pick(small, up, x);
        let lifted = self.pick(small, lifted, 0.0);
        let (f, k) = if self.is_f64() { self.split_f64(x) } else { self.split_f32(x) };
        let k = self.add(k, lifted);
        let ln = if self.is_f64() { self.log1p_f64(f) } else { self.log1p_f32(f) };
        Parts { ln, k }
    }
    /// `f`, and `k` as a number.
    fn split_f32(&mut self, x: Reg) -> (Reg, Reg) {
        let above = self.int(Bin::Sub, x, LEAST_F32);
        let exponent = self.int(Bin::And, above, 0xFF80_0000);
        let one_plus_f = self.cx.body.bin(Bin::Sub, Ty::S32, x, exponent);
        let k = self.int(Bin::Shr, exponent, 23);
        (self.add(one_plus_f, -1.0), self.number(k))
    }
    fn split_f64(&mut self, x: Reg) -> (Reg, Reg) {
        let (lo, hi) = self.halves(x);
        let above = self.int(Bin::Sub, hi, LEAST_F64);
        let exponent = self.int(Bin::And, above, 0xFFF0_0000);
        let hi = self.cx.body.bin(Bin::Sub, Ty::S32, hi, exponent);
        let one_plus_f = self.joined(lo, hi);
        let k = self.int(Bin::Shr, exponent, 20);
        (self.add(one_plus_f, -1.0), self.number(k))
    }
    fn log1p_f32(&mut self, f: Reg) -> Reg {
        let p = self.poly(f, LOG_F32);
        let square = self.mul(f, f);
        self.fma(square, p, f)
    }
    /// `2 artanh s` with `s = f / (2 + f)`, whose series is `2 s (1 + s^2 / 3 + s^4 / 5 + …)`. As `2 s = f - s f`, it is
    /// `f - (f^2 / 2 - s (f^2 / 2 + R))` with `R = 2 (s^2 / 3 + s^4 / 5 + …)`, which is small beside `f`.
    fn log1p_f64(&mut self, f: Reg) -> Reg {
        let under = self.add(f, 2.0);
        let s = self.bin(Bin::DivRn, f, under);
        let z = self.mul(s, s);
        // |s| < 0.1716: the twelfth term is below 2^-61.
        let series: Vec<f64> = (1..12).map(|i| 2.0 / f64::from(2 * i + 1)).collect();
        let r = self.poly(z, &series);
        let r = self.mul(z, r);
        let half = self.mul(f, 0.5);
        let half_square = self.mul(half, f);
        let inner = self.add(half_square, r);
        let minus_s = self.neg(s);
        let less = self.fma(minus_s, inner, half_square);
        self.sub(f, less)
    }
    /// -inf at 0, inf at inf, NaN below 0 and at NaN.
    fn at_the_ends(&mut self, x: Reg, y: Reg) -> Reg {
        let infinity = f64::INFINITY;
        // As unsigned numbers, the bits of everything negative are above those of inf, and NaN is too.
        let (ty, top) =
            if self.is_f64() { (Ty::U64, infinity.to_bits()) } else { (Ty::U32, f32::INFINITY.to_bits().into()) };
        let outside = self.cx.body.setp(Cmp::Ge, ty, x, Src::Imm(top));
        let there = self.fma(x, infinity, infinity);
        let y = self.pick(outside, there, y);
        let zero = self.holds(Cmp::Eq, x, 0.0);
        self.pick(zero, -infinity, y)
    }
    /// An integer as a number.
    pub(super) fn number(&mut self, n: Reg) -> Reg {
        let d = self.cx.body.fresh(self.ty);
        self.cx.body.emit(PtxOp::Cvt { to: self.ty, from: Ty::S32, round: Some(Round::Rn), sat: false, d, a: n });
        d
    }
}
