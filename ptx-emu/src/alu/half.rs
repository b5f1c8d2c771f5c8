//! f16 and bf16, alone and in pairs. Computed in f64, where one product or quotient of them is exact or nearly so, and
//! rounded once: what f64 cannot hold is cut off with its last bit set.

use super::float::{max, min, nan_max, nan_min};
use super::{F1, F2, F3, lanes};
use crate::inst::Ty;
use half::{bf16, f16};

const NAN: u64 = 0x7FFF;

pub(crate) fn f16_value(bits: u64) -> f64 {
    f16::from_bits(bits as u16).to_f64()
}
pub(crate) fn bf16_value(bits: u64) -> f64 {
    f64::from(f32::from_bits((bits as u32) << 16))
}
pub(crate) fn to_f16(x: f64) -> u64 {
    if x.is_nan() { NAN } else { u64::from(f16::from_f32(odd_f32(x)).to_bits()) }
}
pub(crate) fn to_bf16(x: f64) -> u64 {
    if x.is_nan() { NAN } else { u64::from(bf16::from_f32(odd_f32(x)).to_bits()) }
}
/// Cut off, its last bit set where something is lost: rounding that to fewer bits rounds once.
fn odd_f32(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() {
        return near;
    }
    let cut = if f64::from(near).abs() > x.abs() { f32::from_bits(near.to_bits() - 1) } else { near };
    f32::from_bits(cut.to_bits() | 1)
}
/// `a + b` in the same way.
pub(crate) fn odd_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let back = sum - a;
    let lost = (a - (sum - back)) + (b - back);
    if lost == 0.0 || !sum.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // Towards what is lost, which has an odd last bit.
    let away = (lost > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}
/// Subnormals lie below the least exponent of the type.
fn flush(x: f64, least: f64) -> f64 {
    if x.abs() < least { x * 0.0 } else { x }
}

fn lo(bits: u64) -> u64 {
    bits & 0xFFFF
}
fn hi(bits: u64) -> u64 {
    bits >> 16 & 0xFFFF
}
/// One of the type, or both halves of a pair.
macro_rules! halves {
    ($ty:expr, |$($a:ident),+| $e:expr) => {
        match $ty {
            Ty::F16 => lanes!(u64, |$($a),+| { $(let $a = f16_value($a);)+ to_f16($e) }),
            Ty::Bf16 => lanes!(u64, |$($a),+| { $(let $a = bf16_value($a);)+ to_bf16($e) }),
            Ty::F16x2 => lanes!(u64, |$($a),+| {
                let low = { $(let $a = f16_value(lo($a));)+ to_f16($e) };
                low | { $(let $a = f16_value(hi($a));)+ to_f16($e) } << 16
            }),
            Ty::Bf16x2 => lanes!(u64, |$($a),+| {
                let low = { $(let $a = bf16_value(lo($a));)+ to_bf16($e) };
                low | { $(let $a = bf16_value(hi($a));)+ to_bf16($e) } << 16
            }),
            _ => return None,
        }
    };
}

pub(crate) fn binary(name: &str, ty: Ty) -> Option<F2> {
    Some(match name {
        "add" => halves!(ty, |a, b| odd_sum(a, b)),
        "sub" => halves!(ty, |a, b| odd_sum(a, -b)),
        "mul" => halves!(ty, |a, b| a * b),
        "min" => halves!(ty, |a, b| min(a, b)),
        "max" => halves!(ty, |a, b| max(a, b)),
        "min.NaN" => halves!(ty, |a, b| nan_min(a, b)),
        "max.NaN" => halves!(ty, |a, b| nan_max(a, b)),
        _ => return None,
    })
}
pub(crate) fn fma(ty: Ty) -> Option<F3> {
    Some(halves!(ty, |a, b, c| odd_sum(a * b, c)))
}
pub(crate) fn unary(name: &str, ty: Ty) -> Option<F1> {
    let pair = matches!(ty, Ty::F16x2 | Ty::Bf16x2);
    Some(match name {
        "neg" if pair => lanes!(u64, |a| a ^ 0x8000_8000),
        "abs" if pair => lanes!(u64, |a| a & 0x7FFF_7FFF),
        "neg" => lanes!(u64, |a| (a ^ 0x8000) & 0xFFFF),
        "abs" => lanes!(u64, |a| a & 0x7FFF),
        "tanh.approx" => halves!(ty, |a| libm::tanh(a)),
        "ex2.approx" => halves!(ty, |a| libm::exp2(a)),
        // bf16 only, whose least normal number is that of f32.
        "ex2.approx.ftz" => {
            halves!(ty, |a| flush(libm::exp2(flush(a, f32::MIN_POSITIVE.into())), f32::MIN_POSITIVE.into()))
        }
        _ => return None,
    })
}
