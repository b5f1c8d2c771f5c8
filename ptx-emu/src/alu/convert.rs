//! Conversions. A number is taken as it is, exactly, and rounded once to what it becomes.

use super::half::{bf16_value, f16_value, to_bf16, to_f16};
use super::{Value, lanes};
use crate::inst::{Lanes, Ty};
use half::f16;
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Near,
    Zero,
    Down,
    Up,
}
/// From one type to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Convert {
    pub to: Ty,
    pub from: Ty,
    pub round: Option<Round>,
    /// The rounding gives an integral number: `.rni` and the like.
    pub integral: bool,
    /// To the ends of an integer type, or to 0 to 1.
    pub sat: bool,
    pub ftz: bool,
    pub relu: bool,
}

impl Convert {
    pub(crate) fn lanes(&self, x: &Lanes, out: &mut Lanes) {
        if let Some(f) = self.common() {
            return f(x, out);
        }
        for (out, x) in out.iter_mut().zip(x) {
            *out = self.one(*x);
        }
    }
    /// The frequent ones, chosen outside the loop.
    fn common(&self) -> Option<super::F1> {
        if self.sat || self.ftz || self.relu {
            return None;
        }
        Some(match (self.to, self.from, self.round) {
            (Ty::U64 | Ty::S64 | Ty::U32 | Ty::S32, Ty::U32, None) => lanes!(u32, |a| a),
            (Ty::U32 | Ty::S32, Ty::S32, None) => lanes!(u32, |a| a),
            (Ty::U64 | Ty::S64, Ty::S32, None) => lanes!(i32, |a| i64::from(a)),
            (Ty::U32 | Ty::S32, Ty::U64 | Ty::S64, None) => lanes!(u32, |a| a),
            (Ty::F32, Ty::F16, None) => lanes!(u64, |a| f16_value(a) as f32),
            (Ty::F32, Ty::Bf16, None) => lanes!(u64, |a| bf16_value(a) as f32),
            (Ty::F32, Ty::S32, Some(Round::Near)) => lanes!(i32, |a| a as f32),
            (Ty::F32, Ty::U32, Some(Round::Near)) => lanes!(u32, |a| a as f32),
            (Ty::F64, Ty::F32, None) => lanes!(f32, |a| f64::from(a)),
            (Ty::F32, Ty::F64, Some(Round::Near)) if !self.integral => lanes!(f64, |a| a as f32),
            _ => return None,
        })
    }
    /// As wide as 64 bits: integers are extended by their sign.
    pub(crate) fn one(&self, a: u64) -> u64 {
        let flush = |bits: u64| {
            if self.ftz && f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
        };
        let a = if self.from == Ty::F32 { flush(a) } else { a };
        match (self.from.float(), self.to.float()) {
            (true, true) => {
                let x = value(self.from, a);
                let out = if self.integral {
                    near(self.to, self.whole(x))
                } else {
                    rounded(self.to, x, self.round.unwrap_or(Round::Near))
                };
                let x = value(self.to, out);
                let out = match () {
                    () if self.sat => near(self.to, if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) }),
                    () if self.relu && x < 0.0 => 0,
                    () => out,
                };
                if self.to == Ty::F32 { flush(out) } else { out }
            }
            (true, false) => {
                let x = value(self.from, a);
                if x.is_nan() {
                    // PTX ISA, cvt: 0, but the highest bit where a side has 64 bits.
                    return if self.from == Ty::F64 || self.to.bits() == 64 { 1 << (self.to.bits() - 1) } else { 0 };
                }
                let (lo, hi) = ends(self.to);
                (self.whole(x) as i128).clamp(lo, hi) as u64
            }
            (false, true) => from_int(self.to, integer(self.from, a), self.round.unwrap_or(Round::Near)),
            (false, false) => {
                let x = integer(self.from, a);
                let x = if self.sat { x.clamp(ends(self.to).0, ends(self.to).1) } else { x };
                integer(self.to, x as u64) as u64
            }
        }
    }
    fn whole(&self, x: f64) -> f64 {
        match self.round.unwrap_or(Round::Zero) {
            Round::Near => libm::rint(x),
            Round::Zero => libm::trunc(x),
            Round::Down => libm::floor(x),
            Round::Up => libm::ceil(x),
        }
    }
}

/// A float of this type, exactly.
pub(crate) fn value(ty: Ty, bits: u64) -> f64 {
    match ty {
        Ty::F16 => f16_value(bits),
        Ty::Bf16 => bf16_value(bits),
        Ty::F64 => f64::from_bits(bits),
        _ => f64::from(f32::of(bits)),
    }
}
/// To nearest, ties to even.
fn near(ty: Ty, x: f64) -> u64 {
    match ty {
        Ty::F16 => to_f16(x),
        Ty::Bf16 => to_bf16(x),
        Ty::F64 => x.bits(),
        _ => (x as f32).bits(),
    }
}
fn rounded(ty: Ty, x: f64, round: Round) -> u64 {
    let near = near(ty, x);
    directed(ty, near, value(ty, near).partial_cmp(&x), round)
}
/// The neighbour on the side that the rounding wants; `order`: the nearest against the exact number.
fn directed(ty: Ty, near: u64, order: Option<Ordering>, round: Round) -> u64 {
    let negative = value(ty, near).is_sign_negative();
    let (above, below) = (order == Some(Ordering::Greater), order == Some(Ordering::Less));
    let down = match round {
        Round::Near => return near,
        Round::Down => true,
        Round::Up => false,
        Round::Zero => !negative,
    };
    match (down, negative) {
        (true, false) if above => near - 1,
        (false, true) if below => near - 1,
        (true, true) if above => near + 1,
        (false, false) if below => near + 1,
        _ => near,
    }
}
pub(crate) fn integer(ty: Ty, bits: u64) -> i128 {
    let n = ty.bits();
    if ty.signed() { i128::from(((bits << (64 - n)) as i64) >> (64 - n)) } else { i128::from(bits & ty.mask()) }
}
fn ends(ty: Ty) -> (i128, i128) {
    let bits = ty.bits();
    if ty.signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}
fn from_int(to: Ty, x: i128, round: Round) -> u64 {
    let as_f64 = x as f64;
    let order = (as_f64 as i128).cmp(&x);
    if to == Ty::F64 {
        return directed(to, as_f64.to_bits(), Some(order), round);
    }
    // Odd where f64 cannot hold it, so that the rounding that follows is the only one.
    let cut = match order {
        Ordering::Equal => as_f64,
        _ => f64::from_bits(directed(Ty::F64, as_f64.to_bits(), Some(order), Round::Zero) | 1),
    };
    rounded(to, cut, round)
}

/// Floats of 8 bits, which come in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fp8 {
    E4m3,
    E5m2,
}
impl Fp8 {
    /// Finite in any case (`.satfinite`); a NaN stays one.
    pub(crate) fn encode(self, x: f64, relu: bool) -> u64 {
        let (mantissa, least, most) = match self {
            Fp8::E4m3 => (3, -6, 448.0),
            Fp8::E5m2 => (2, -14, 57344.0),
        };
        if x.is_nan() {
            return 0x7F;
        }
        if relu && x < 0.0 {
            return 0;
        }
        let sign = if x.is_sign_negative() { 0x80 } else { 0 };
        let size = x.abs().min(most);
        // In units of the last place, which is the same for all numbers up to the least exponent's next.
        let exponent = if size == 0.0 { least } else { libm::ilogb(size).max(least) };
        let units = libm::rint(libm::scalbn(size, mantissa - exponent)) as u64;
        sign | (units + (((exponent - least) as u64) << mantissa))
    }
    pub(crate) fn decode(self, bits: u64) -> f64 {
        match self {
            Fp8::E5m2 => f16::from_bits((bits as u16) << 8).to_f64(),
            Fp8::E4m3 if bits & 0x7F == 0x7F => f64::NAN,
            Fp8::E4m3 => {
                let (exponent, rest) = ((bits >> 3 & 15) as i32, (bits & 7) as f64);
                let size = match exponent {
                    0 => rest / 512.0,
                    _ => libm::scalbn(1.0 + rest / 8.0, exponent - 7),
                };
                if bits & 0x80 == 0 { size } else { -size }
            }
        }
    }
}
/// To nearest with ties away from zero, 10 bits behind the point: what a tensor core reads of an f32.
pub(crate) fn tf32(bits: u64) -> u64 {
    let x = bits as u32;
    if f32::from_bits(x).is_nan() { 0x7FFF_FFFF } else { u64::from((x.wrapping_add(0x1000)) & !0x1FFF) }
}
