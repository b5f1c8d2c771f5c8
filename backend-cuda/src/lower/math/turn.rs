//! Sine and cosine: the size of the angle is cut to an eighth of a turn around a multiple `q` of a quarter turn, and
//! `q` says which of the two polynomials is the result, and under which sign.
//!
//! Near 0 the multiple is subtracted in pieces (Cody and Waite). Far from it, where `q` no longer fits, the fraction of
//! the quarter turns is taken from the product with as many bits of 2 / pi as matter (Payne and Hanek): right for every
//! finite angle. That is rare and long, and the only code of elementwise ops behind a branch.

use super::calc::Calc;
use super::coefficients::{COS_F32, COS_F64, SIN_F32, SIN_F64, TWO_OVER_PI};
use crate::ptx::{Bin, Body, Cmp, Guard, Op as PtxOp, Reg, Round, Src, Tern, Ty, Un};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};
use tilewright_core::elem::ElemType;

/// pi / 2 in three pieces.
const PIECES_F64: [f64; 3] = [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
const PIECES_F32: [f64; 3] = {
    let first = FRAC_PI_2 as f32 as f64;
    let second = (FRAC_PI_2 - first) as f32 as f64;
    [first, second, FRAC_PI_2 - first - second + PIECES_F64[1]]
};
/// Up to here the pieces do. (No f16 is further from 0.)
const FAR_F32: f64 = 65536.0;
const FAR_F64: f64 = (1u64 << 30) as f64;

/// Of a fraction of a quarter turn in 64 bits: 2^-64.
const UNIT: f64 = 1.0 / (1u128 << 64) as f64;

/// An angle within an eighth of a turn, and how many quarter turns it was moved by (in the low bits).
struct Reduced {
    r: Reg,
    q: Reg,
}

impl Calc<'_, '_> {
    pub(super) fn sin(&mut self, x: Reg) -> Reg {
        let size = self.abs(x);
        let Reduced { r, q } = self.quarter_turns(size);
        let y = self.quarter(r, q);
        // sin(-x) = -sin x, also for -0.
        let (ty, sign) = (self.bits(), self.sign_bit());
        let sign = self.cx.body.bin(Bin::And, ty, x, sign);
        self.cx.body.bin(Bin::Xor, ty, y, sign)
    }
    pub(super) fn cos(&mut self, x: Reg) -> Reg {
        let size = self.abs(x);
        let Reduced { r, q } = self.quarter_turns(size);
        let q = self.int(Bin::Add, q, 1);
        self.quarter(r, q)
    }
    /// `sin(r + q pi / 2)`: sin, cos, -sin, -cos of `r`.
    fn quarter(&mut self, r: Reg, q: Reg) -> Reg {
        let (sin, cos) = if self.is_f64() { (SIN_F64, COS_F64) } else { (SIN_F32, COS_F32) };
        let z = self.mul(r, r);
        let p = self.poly(z, sin);
        let cube = self.mul(z, r);
        let sin = self.fma(cube, p, r);
        let p = self.poly(z, cos);
        let square = self.mul(z, z);
        let cos = self.fma(z, -0.5, 1.0);
        let cos = self.fma(square, p, cos);
        let odd = self.int(Bin::And, q, 1);
        let odd = self.cx.body.setp(Cmp::Ne, Ty::U32, odd, Src::Imm(0));
        let y = self.pick(odd, cos, sin);
        let half_turn = self.int(Bin::And, q, 2);
        let half_turn = self.cx.body.setp(Cmp::Ne, Ty::U32, half_turn, Src::Imm(0));
        let minus = self.neg(y);
        self.pick(half_turn, minus, y)
    }
    /// `x` is not negative.
    fn quarter_turns(&mut self, x: Reg) -> Reduced {
        let near = if self.is_f64() { self.near_f64(x) } else { self.near_f32(x) };
        if self.from == ElemType::F16 {
            return near;
        }
        let far = self.holds(Cmp::Gt, x, if self.is_f64() { FAR_F64 } else { FAR_F32 });
        let on = self.cx.body.label();
        self.cx.body.emit_if(Guard { pred: far, negated: true }, PtxOp::Bra { to: on, uniform: false });
        let there = if self.is_f64() { self.far_f64(x) } else { self.far_f32(x) };
        // Infinity has no angle: inf * 0 is NaN, and for all others this adds 0.
        let r = self.fma(x, 0.0, there.r);
        let ty = self.bits();
        self.cx.body.assign(ty, near.r, r);
        self.cx.body.assign(Ty::B32, near.q, there.q);
        self.cx.body.emit(PtxOp::Label(on));
        near
    }
    /// The first difference is exact (it cancels the leading bits), the second too where it is small.
    fn near_f32(&mut self, x: Reg) -> Reduced {
        let (t, n) = self.nearest_quarter(x);
        let r = PIECES_F32.iter().fold(x, |r, piece| self.fma(n, -piece, r));
        let q = self.cx.body.mov(Ty::B32, t);
        Reduced { r, q }
    }
    fn near_f64(&mut self, x: Reg) -> Reduced {
        let [first, second, third] = PIECES_F64;
        let (t, n) = self.nearest_quarter(x);
        let a = self.fma(n, -first, x);
        // a - n second, with what the difference and the product lose.
        let b = self.mul(n, -second);
        let minus_b = self.neg(b);
        let product_lost = self.fma(n, -second, minus_b);
        let sum = self.add(a, b);
        let taken = self.sub(sum, a);
        let rest = self.sub(sum, taken);
        let lost_a = self.sub(a, rest);
        let lost_b = self.sub(b, taken);
        let lost = self.add(lost_a, lost_b);
        let lost = self.add(lost, product_lost);
        let lost = self.fma(n, -third, lost);
        let r = self.add(sum, lost);
        let q = self.low(t);
        Reduced { r, q }
    }
    /// The sum with the magic number, and the integer.
    fn nearest_quarter(&mut self, x: Reg) -> (Reg, Reg) {
        let t = self.fma(x, FRAC_2_PI, self.magic());
        (t, self.sub(t, self.magic()))
    }

    /// With `x = M 2^E`, `M` of 24 bits: bits of 2 / pi of weight above `2^(1 - E)` give multiples of 4 quarter turns. Of
    /// the 96 bits from there on, the product with `M` keeps 2 bits of quarter turns and 62 of their fraction; what is cut
    /// off is below 2^-70.
    fn far_f32(&mut self, x: Reg) -> Reduced {
        let exponent = self.cx.body.bin(Bin::Shr, Ty::U32, x, Src::Imm(23));
        // 2^(1 - E) is the weight of bit `exponent - 152`, from 0; one word of zeros stands before the first.
        let first = self.int(Bin::Add, exponent, 32u32.wrapping_sub(152));
        let words = self.window(first, 3, 4);
        let m = self.int(Bin::And, x, 0x007F_FFFF);
        let m = self.int(Bin::Or, m, 0x0080_0000);
        let body = &mut self.cx.body;
        let low = body.bin(Bin::MulWide, Ty::U32, m, words[2]);
        let carry = body.bin(Bin::Shr, Ty::U64, low, Src::Imm(32));
        let middle = body.tern(Tern::MadWide, Ty::U32, m, words[1], carry);
        let top = body.bin(Bin::MulWide, Ty::U32, m, words[0]);
        let top = body.bin(Bin::Shl, Ty::B64, top, Src::Imm(32));
        let product = body.bin(Bin::Add, Ty::U64, top, middle);
        let quarters = body.bin(Bin::Shr, Ty::U64, product, Src::Imm(62));
        let quarters = body.cvt(Ty::U32, Ty::U64, quarters);
        let fraction = body.bin(Bin::Shl, Ty::B64, product, Src::Imm(2));
        // To the nearest: half a quarter turn and more count from the next one.
        let up = body.bin(Bin::Shr, Ty::U64, fraction, Src::Imm(63));
        let up = body.cvt(Ty::U32, Ty::U64, up);
        let q = body.bin(Bin::Add, Ty::U32, quarters, up);
        let r = body.fresh(Ty::F32);
        body.emit(PtxOp::Cvt { to: Ty::F32, from: Ty::S64, round: Some(Round::Rn), sat: false, d: r, a: fraction });
        let low = self.mul(r, (FRAC_PI_2 - PIECES_F32[0]) * UNIT);
        Reduced { r: self.fma(r, FRAC_PI_2 * UNIT, low), q }
    }
    /// The same with `M` of 53 bits and 192 bits of 2 / pi: the product keeps 128, since an angle may lie within 2^-62 of
    /// a multiple.
    fn far_f64(&mut self, x: Reg) -> Reduced {
        let (_, high) = self.halves(x);
        let exponent = self.cx.body.bin(Bin::Shr, Ty::U32, high, Src::Imm(20));
        let first = self.int(Bin::Add, exponent, 32u32.wrapping_sub(1077));
        let words = self.window(first, 6, 16);
        let [u0, u1, u2] = [0, 2, 4].map(|i| self.joined(words[i + 1], words[i]));
        let body = &mut self.cx.body;
        let m = body.bin(Bin::And, Ty::B64, x, Src::Imm((1 << 52) - 1));
        let m = body.bin(Bin::Or, Ty::B64, m, Src::Imm(1 << 52));
        let low = body.bin(Bin::MulHi, Ty::U64, m, u2);
        let middle = body.bin(Bin::MulLo, Ty::U64, m, u1);
        let middle = body.bin(Bin::Add, Ty::U64, middle, low);
        let carried = body.setp(Cmp::Lt, Ty::U64, middle, low);
        let carry = body.selp(Ty::B64, Src::Imm(1), Src::Imm(0), carried);
        let top = body.tern(Tern::MadLo, Ty::U64, m, u0, carry);
        let above = body.bin(Bin::MulHi, Ty::U64, m, u1);
        let top = body.bin(Bin::Add, Ty::U64, top, above);

        let quarters = body.bin(Bin::Shr, Ty::U64, top, Src::Imm(62));
        let quarters = body.cvt(Ty::U32, Ty::U64, quarters);
        let (f1, f0) = shifted(body, top, middle, 2);
        // To the nearest: half a quarter turn and more count from the next one, and the rest is negative.
        let sign = body.bin(Bin::Shr, Ty::S64, f1, Src::Imm(63));
        let up = body.cvt(Ty::U32, Ty::U64, sign);
        let q = body.bin(Bin::Sub, Ty::U32, quarters, up);
        // Its size: the complement is one unit of 2^-128 less.
        let f1 = body.bin(Bin::Xor, Ty::B64, f1, sign);
        let f0 = body.bin(Bin::Xor, Ty::B64, f0, sign);
        // The leading zeros go into the exponent.
        let zeros = body.un(Un::Clz, Ty::B64, f1);
        let kept = body.bin(Bin::Shl, Ty::B64, f1, zeros);
        let back = body.bin(Bin::Sub, Ty::U32, Src::Imm(64), zeros);
        let come = body.bin(Bin::Shr, Ty::U64, f0, back);
        let f = body.bin(Bin::Or, Ty::B64, kept, come);
        let number = body.fresh(Ty::F64);
        body.emit(PtxOp::Cvt { to: Ty::F64, from: Ty::U64, round: Some(Round::Rn), sat: false, d: number, a: f });
        let minus_zeros = body.bin(Bin::Sub, Ty::S32, Src::Imm(0), zeros);
        let scale = self.power_of_two(minus_zeros);
        let r = self.mul(number, FRAC_PI_2 * UNIT);
        let r = self.mul(r, scale);
        let sign_bit = self.sign_bit();
        let sign = self.cx.body.bin(Bin::And, Ty::B64, sign, sign_bit);
        Reduced { r: self.cx.body.bin(Bin::Xor, Ty::B64, r, sign), q }
    }
    /// `count` words of 2 / pi from a bit on, whose word is below `words`: the array moves by powers of two.
    fn window(&mut self, bit: Reg, count: usize, words: usize) -> Vec<Reg> {
        let body = &mut self.cx.body;
        let word = body.bin(Bin::Shr, Ty::U32, bit, Src::Imm(5));
        // Before the first word stand zeros; no angle reaches beyond the last.
        let at =
            |i: usize| Src::Imm(i.checked_sub(1).and_then(|i| TWO_OVER_PI.get(i)).map_or(0, |word| u64::from(*word)));
        let mut moved: Vec<Src> = (0..2 * words + count).map(at).collect();
        let mut step = words;
        while step > 0 {
            let chosen = body.bin(Bin::And, Ty::B32, word, Src::Imm(step as u64));
            let chosen = body.setp(Cmp::Ne, Ty::U32, chosen, Src::Imm(0));
            moved = (0..step + count).map(|i| body.selp(Ty::B32, moved[i + step], moved[i], chosen).into()).collect();
            step /= 2;
        }
        let inside = body.bin(Bin::And, Ty::B32, bit, Src::Imm(31));
        let pairs = moved.iter().zip(&moved[1..]);
        pairs.take(count).map(|(high, low)| upper(body, *high, *low, inside)).collect()
    }
}

/// The upper word of two, moved up by a count below 32.
fn upper(body: &mut Body, high: Src, low: Src, count: Reg) -> Reg {
    let [high, low] = [high, low].map(|word| body.mov(Ty::B32, word));
    let both = body.fresh(Ty::B64);
    body.emit(PtxOp::Pack { ty: Ty::B64, d: both, parts: vec![low, high] });
    let moved = body.bin(Bin::Shl, Ty::B64, both, count);
    let (lo, hi) = (body.fresh(Ty::B32), body.fresh(Ty::B32));
    body.emit(PtxOp::Unpack { ty: Ty::B64, d: vec![lo, hi], a: moved });
    hi
}
/// 128 bits moved up.
fn shifted(body: &mut Body, high: Reg, low: Reg, by: u64) -> (Reg, Reg) {
    let come = body.bin(Bin::Shr, Ty::U64, low, Src::Imm(64 - by));
    let high = body.bin(Bin::Shl, Ty::B64, high, Src::Imm(by));
    let low = body.bin(Bin::Shl, Ty::B64, low, Src::Imm(by));
    (body.bin(Bin::Or, Ty::B64, high, come), low)
}
