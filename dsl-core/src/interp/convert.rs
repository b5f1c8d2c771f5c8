//! Casts by value between all element types, each rounded once. Float to integer truncates and saturates, NaN gives 0;
//! integer to integer wraps; to a float rounds to nearest even; to fp8 saturates, NaN stays NaN; to `i1` is `x != 0`.

use super::number::quiet;
use crate::data::{Data, Stored};
use crate::elem::{ElemType, F8E4M3, F8E5M2};
use crate::ir::Literal;
use crate::with_elem;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// A value of any element type without loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wide {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

/// An element type that converts by value.
pub trait Convert: Stored {
    fn wide(self) -> Wide;
    fn from_wide(wide: Wide) -> Self;
}

macro_rules! integers {
    ($($t:ident, $Wide:ident, $carrier:ident;)*) => {$(
        impl Convert for $t {
            #[inline] fn wide(self) -> Wide { Wide::$Wide($carrier::from(self)) }
            #[inline] fn from_wide(wide: Wide) -> $t {
                match wide {
                    Wide::Signed(v) => v as $t,
                    Wide::Unsigned(v) => v as $t,
                    // Rust's `as`: truncates, saturates, NaN gives 0.
                    Wide::Float(v) => v as $t,
                }
            }
        }
    )*};
}
integers! {
    i8, Signed, i64; i16, Signed, i64; i32, Signed, i64; i64, Signed, i64;
    u8, Unsigned, u64; u16, Unsigned, u64; u32, Unsigned, u64; u64, Unsigned, u64;
}

impl Convert for bool {
    #[inline]
    fn wide(self) -> Wide {
        Wide::Unsigned(u64::from(self))
    }
    #[inline]
    fn from_wide(wide: Wide) -> bool {
        match wide {
            Wide::Signed(v) => v != 0,
            Wide::Unsigned(v) => v != 0,
            Wide::Float(v) => v != 0.0,
        }
    }
}

macro_rules! floats {
    ($($t:ident, |$x:ident| $wide:expr, |$i:ident| $from_int:expr, |$f:ident| $from_float:expr;)*) => {$(
        impl Convert for $t {
            #[inline] fn wide(self) -> Wide { let $x = self; Wide::Float(quiet($wide)) }
            #[inline] fn from_wide(wide: Wide) -> $t {
                match wide {
                    Wide::Signed($i) => $from_int,
                    Wide::Unsigned($i) => $from_int,
                    Wide::Float($f) => $from_float,
                }
            }
        }
    )*};
}
floats! {
    f64, |x| x, |i| i as f64, |f| f;
    f32, |x| f64::from(x), |i| i as f32, |f| quiet(f as f32);
    f16, |x| x.to_f64(), |i| f16_from_f64(i.to_odd_f64()), |f| f16_from_f64(f);
    bf16, |x| x.to_f64(), |i| bf16_from_f64(i.to_odd_f64()), |f| bf16_from_f64(f);
    F8E4M3, |x| fp8_decode::<4, 3>(x.0), |i| F8E4M3(fp8_encode::<4, 3>(i.to_odd_f64())), |f| F8E4M3(fp8_encode::<4, 3>(f));
    F8E5M2, |x| fp8_decode::<5, 2>(x.0), |i| F8E5M2(fp8_encode::<5, 2>(i.to_odd_f64())), |f| F8E5M2(fp8_encode::<5, 2>(f));
}

/// One scalar by value.
pub fn literal(x: Literal, to: ElemType) -> Literal {
    let wide = with_elem!(x.elem, F => <F as Convert>::wide(x.get::<F>()));
    with_elem!(to, T => <T as Convert>::from_wide(wide).into())
}

/// All elements by value.
pub fn tile(x: &Data, to: ElemType) -> Data {
    match (x, to) {
        // The pairs that attention kernels convert all the time, by the half crate's vector code. NaNs lose their payload
        // here as everywhere.
        (Data::F16(x), ElemType::F32) => Data::F32(widen(x)),
        (Data::BF16(x), ElemType::F32) => Data::F32(widen(x)),
        (Data::F32(x), ElemType::F16) => Data::F16(narrow(x, f16::ZERO)),
        (Data::F32(x), ElemType::BF16) => Data::BF16(narrow(x, bf16::ZERO)),
        _ => with_elem!(x.elem(), F => with_elem!(to, T => T::wrap(each::<F, T>(F::slice(x).unwrap_or(&[]))))),
    }
}
fn each<F: Convert, T: Convert>(x: &[F]) -> Vec<T> {
    x.iter().map(|x| T::from_wide(x.wide())).collect()
}
fn widen<H>(x: &[H]) -> Vec<f32>
where
    [H]: HalfFloatSliceExt,
{
    let mut out = vec![0.0; x.len()];
    x.convert_to_f32_slice(&mut out);
    out.iter_mut().for_each(|x| *x = quiet(*x));
    out
}
fn narrow<H: Copy>(x: &[f32], zero: H) -> Vec<H>
where
    [H]: HalfFloatSliceExt,
{
    let quieted: Vec<f32> = x.iter().map(|x| quiet(*x)).collect();
    let mut out = vec![zero; x.len()];
    out.convert_from_f32_slice(&quieted);
    out
}

/// `kept + lost` rounded to odd: of the two neighbours of an inexact value, the one with an odd last bit. Rounding that
/// to a type with at least two bits less is rounding the exact value once.
pub(super) fn to_odd(kept: f64, lost: f64) -> f64 {
    let exact = lost == 0.0 || !kept.is_finite() || lost.is_nan();
    if exact || kept.to_bits() & 1 == 1 {
        return kept;
    }
    if lost > 0.0 { kept.next_up() } else { kept.next_down() }
}

/// To f32, rounded to odd.
fn odd_f32(v: f64) -> f32 {
    let near = v as f32;
    if f64::from(near) == v || v.is_nan() || near.to_bits() & 1 == 1 {
        return near;
    }
    if f64::from(near) < v { near.next_up() } else { near.next_down() }
}
/// Rounded once. (`f16::from_f64` rounds twice on hosts with F16C, and drops low bits on others.)
pub fn f16_from_f64(v: f64) -> f16 {
    f16::from_f32(quiet(odd_f32(v)))
}
/// Rounded once.
pub fn bf16_from_f64(v: f64) -> bf16 {
    bf16::from_f32(quiet(odd_f32(v)))
}

/// Integers as f64 for a second rounding to a narrower type.
trait ToOdd {
    fn to_odd_f64(self) -> f64;
}
impl ToOdd for u64 {
    fn to_odd_f64(self) -> f64 {
        // 53 bits hold the leading ones; the bits shifted out leave a mark in the last.
        let shift = (64 - self.leading_zeros()).saturating_sub(53);
        let lost = self & ((1 << shift) - 1) != 0;
        ((self >> shift) | u64::from(lost)) as f64 * f64::from(1u32 << shift)
    }
}
impl ToOdd for i64 {
    fn to_odd_f64(self) -> f64 {
        let size = self.unsigned_abs().to_odd_f64();
        if self < 0 { -size } else { size }
    }
}

/// Whether the format with `E` exponent bits has infinities: OCP FP8 E5M2 does, E4M3 uses the codes for numbers.
const fn has_infinity(e: u32) -> bool {
    e == 5
}
/// The code of the largest finite number.
const fn fp8_max<const E: u32, const M: u32>() -> u8 {
    if has_infinity(E) { 0x7B } else { 0x7E }
}

/// The number an 8-bit float stands for: `(-1)^s * 2^(e - bias) * 1.m`, subnormal where `e` is 0 (OCP FP8).
pub fn fp8_decode<const E: u32, const M: u32>(code: u8) -> f64 {
    let (e, m) = (u32::from(code & 0x7F) >> M, f64::from(code & ((1 << M) - 1)));
    let (bias, one) = ((1 << (E - 1)) - 1, f64::from(1u32 << M));
    let size = match code & 0x7F {
        0x7F => f64::NAN,
        0x7D | 0x7E if has_infinity(E) => f64::NAN,
        0x7C if has_infinity(E) => f64::INFINITY,
        _ if e == 0 => m / one * exp2i(1 - bias),
        _ => (1.0 + m / one) * exp2i(e as i32 - bias),
    };
    if code & 0x80 == 0 { size } else { -size }
}
/// The nearest code, ties to even, saturating at the largest number; every NaN becomes 0x7F.
pub fn fp8_encode<const E: u32, const M: u32>(v: f64) -> u8 {
    if v.is_nan() {
        return 0x7F;
    }
    let sign = if v.is_sign_negative() { 0x80 } else { 0 };
    let size = v.abs();
    let max = fp8_max::<E, M>();
    if size >= fp8_decode::<E, M>(max) {
        return sign | max;
    }
    let bias = (1 << (E - 1)) - 1;
    // The exponent field of an f64; below the smallest normal number the spacing no longer shrinks.
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    // In units of the last place, an exact product; then to an integer, ties to even.
    let units = (size * exp2i(M as i32 - exponent)).round_ties_even() as u32;
    // Codes count the units of each binade one after another, so a carry lands on the next binade's first code.
    let below = ((exponent + bias - 1) as u32) << M;
    sign | (below + units) as u8
}
/// 2^n for exponents of normal f64 numbers.
fn exp2i(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}
