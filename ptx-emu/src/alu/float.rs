//! f32 and f64. Sums, products, quotients, roots and fused products are those of IEEE 754. What the GPU approximates
//! (`.approx`) is computed in f64 and rounded: a test that passes here within its bound says nothing of the last bit there.

use super::{F1, F2, F3, half, lanes};
use crate::inst::Ty;

#[inline(always)]
fn flush(x: f32) -> f32 {
    if x.is_subnormal() { x * 0.0 } else { x }
}
#[inline(always)]
fn saturate(x: f32) -> f32 {
    if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) }
}
macro_rules! extremum {
    ($name:ident, $nan:ident, |$a:ident, $b:ident| $first:expr) => {
        /// -0 is below +0. A NaN loses.
        pub(crate) fn $name($a: f64, $b: f64) -> f64 {
            if $a.is_nan() || ($first && !$b.is_nan()) {
                if $a.is_nan() { $b } else { $a }
            } else {
                if $b.is_nan() { $a } else { $b }
            }
        }
        /// A NaN wins.
        pub(crate) fn $nan(a: f64, b: f64) -> f64 {
            if a.is_nan() || b.is_nan() { f64::NAN } else { $name(a, b) }
        }
    };
}
extremum!(min, nan_min, |a, b| a < b || (a == b && a.is_sign_negative()));
extremum!(max, nan_max, |a, b| a > b || (a == b && a.is_sign_positive()));

fn min32(a: f32, b: f32) -> f32 {
    min(a.into(), b.into()) as f32
}
fn max32(a: f32, b: f32) -> f32 {
    max(a.into(), b.into()) as f32
}
fn nan_min32(a: f32, b: f32) -> f32 {
    nan_min(a.into(), b.into()) as f32
}
fn nan_max32(a: f32, b: f32) -> f32 {
    nan_max(a.into(), b.into()) as f32
}

/// How an instruction treats what it reads and what it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Mode {
    /// Subnormals are zero, on both sides.
    pub ftz: bool,
    /// The result lies in 0 to 1.
    pub sat: bool,
}
macro_rules! f32s {
    ($mode:expr, |$($a:ident),+| $e:expr) => {
        match ($mode.ftz, $mode.sat) {
            (false, false) => lanes!(f32, |$($a),+| $e),
            (true, false) => lanes!(f32, |$($a),+| { $(let $a = flush($a);)+ flush($e) }),
            (false, true) => lanes!(f32, |$($a),+| saturate($e)),
            (true, true) => lanes!(f32, |$($a),+| { $(let $a = flush($a);)+ flush(saturate($e)) }),
        }
    };
}

/// `name` is without `.rn`, which is the default of all, and without `.ftz` and `.sat`.
pub(crate) fn binary(name: &str, ty: Ty, mode: Mode) -> Option<F2> {
    Some(match (name, ty) {
        ("add", Ty::F32) => f32s!(mode, |a, b| a + b),
        ("sub", Ty::F32) => f32s!(mode, |a, b| a - b),
        ("mul", Ty::F32) => f32s!(mode, |a, b| a * b),
        ("div" | "div.full" | "div.approx", Ty::F32) => f32s!(mode, |a, b| a / b),
        ("min", Ty::F32) => f32s!(mode, |a, b| min32(a, b)),
        ("max", Ty::F32) => f32s!(mode, |a, b| max32(a, b)),
        ("min.NaN", Ty::F32) => f32s!(mode, |a, b| nan_min32(a, b)),
        ("max.NaN", Ty::F32) => f32s!(mode, |a, b| nan_max32(a, b)),
        // The sign of the first, the rest of the second.
        ("copysign", Ty::F32) => lanes!(u32, |a, b| (b & 0x7FFF_FFFF) | (a & 0x8000_0000)),
        ("copysign", Ty::F64) => lanes!(u64, |a, b| (b & (u64::MAX >> 1)) | (a & !(u64::MAX >> 1))),
        (_, Ty::F64) if mode != Mode::default() => return None,
        ("add", Ty::F64) => lanes!(f64, |a, b| a + b),
        ("sub", Ty::F64) => lanes!(f64, |a, b| a - b),
        ("mul", Ty::F64) => lanes!(f64, |a, b| a * b),
        ("div", Ty::F64) => lanes!(f64, |a, b| a / b),
        ("min", Ty::F64) => lanes!(f64, |a, b| min(a, b)),
        ("max", Ty::F64) => lanes!(f64, |a, b| max(a, b)),
        (name, _) if mode == Mode::default() => return half::binary(name, ty),
        _ => return None,
    })
}
pub(crate) fn fma(ty: Ty, mode: Mode) -> Option<F3> {
    Some(match ty {
        Ty::F32 => f32s!(mode, |a, b, c| a.mul_add(b, c)),
        Ty::F64 if mode == Mode::default() => lanes!(f64, |a, b, c| a.mul_add(b, c)),
        _ if mode == Mode::default() => return half::fma(ty),
        _ => return None,
    })
}
/// In f64, then rounded.
macro_rules! through {
    ($mode:expr, |$a:ident| $e:expr) => {
        f32s!($mode, |$a| {
            let $a = f64::from($a);
            ($e) as f32
        })
    };
}
pub(crate) fn unary(name: &str, ty: Ty, mode: Mode) -> Option<F1> {
    Some(match (name, ty) {
        ("neg", Ty::F32) if !mode.ftz => lanes!(u32, |a| a ^ 0x8000_0000),
        ("abs", Ty::F32) if !mode.ftz => lanes!(u32, |a| a & 0x7FFF_FFFF),
        ("neg", Ty::F32) => f32s!(mode, |a| -a),
        ("abs", Ty::F32) => f32s!(mode, |a| a.abs()),
        ("sqrt" | "sqrt.approx", Ty::F32) => f32s!(mode, |a| a.sqrt()),
        ("rcp" | "rcp.approx", Ty::F32) => f32s!(mode, |a| 1.0 / a),
        ("rsqrt.approx", Ty::F32) => through!(mode, |a| 1.0 / a.sqrt()),
        ("ex2.approx", Ty::F32) => through!(mode, |a| libm::exp2(a)),
        ("lg2.approx", Ty::F32) => through!(mode, |a| libm::log2(a)),
        ("sin.approx", Ty::F32) => through!(mode, |a| libm::sin(a)),
        ("cos.approx", Ty::F32) => through!(mode, |a| libm::cos(a)),
        ("tanh.approx", Ty::F32) => through!(mode, |a| libm::tanh(a)),
        ("ex2.approx", _) if mode.ftz => return half::unary("ex2.approx.ftz", ty),
        // Reads and gives only the upper half.
        ("rcp.approx", Ty::F64) if mode.ftz => lanes!(u64, |a| (1.0 / f64::from_bits(a & UPPER)).to_bits() & UPPER),
        ("rsqrt.approx", Ty::F64) if mode.ftz => {
            lanes!(u64, |a| (1.0 / f64::from_bits(a & UPPER).sqrt()).to_bits() & UPPER)
        }
        _ if mode != Mode::default() => return None,
        ("neg", Ty::F64) => lanes!(u64, |a| a ^ !(u64::MAX >> 1)),
        ("abs", Ty::F64) => lanes!(u64, |a| a & (u64::MAX >> 1)),
        ("sqrt", Ty::F64) => lanes!(f64, |a| a.sqrt()),
        ("rcp", Ty::F64) => lanes!(f64, |a| 1.0 / a),
        ("rsqrt.approx", Ty::F64) => lanes!(f64, |a| 1.0 / a.sqrt()),
        _ => return half::unary(name, ty),
    })
}
const UPPER: u64 = 0xFFFF_FFFF_0000_0000;
