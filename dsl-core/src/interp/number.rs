//! What arithmetic means on one element: the only place that says it. Scalars, tiles, reductions and atomics all call
//! these functions, so a folded constant and a computed one have the same bits.
//! f16 and bf16 compute in f32 and round once (`Lane`). Every NaN that arithmetic makes is the positive quiet NaN without
//! payload, so that bits are equal on every host. Not here: functions of one float
//! (`math`), casts (`convert`), and which op is which function (`elementwise`).

use crate::data::Stored;
use crate::ir::Element;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// Arithmetic on a type that computes in itself: the integers, f32 and f64.
pub trait Number: Stored + PartialOrd {
    const ZERO: Self;
    /// What a sum starts from: `x + START` is `x` to the bit, also for -0.
    const START: Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// Integers: 0 where `b` is zero; the caller records the fault.
    fn div(self, b: Self) -> Self;
    fn max(self, b: Self) -> Self;
    fn min(self, b: Self) -> Self;
}

/// Operations on the bits of integers and truth values.
pub trait Bits: Stored {
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    fn not(self) -> Self;
}

/// What only integers do.
pub trait Integer: Number + Bits {
    fn rem(self, b: Self) -> Self;
    fn mul_hi(self, b: Self) -> Self;
    fn shl(self, n: Self) -> Self;
    fn shr(self, n: Self) -> Self;
    /// The low bits of an index.
    fn from_index(index: u64) -> Self;
}

/// What only floats do.
pub trait Real: Number {
    fn max_nan(self, b: Self) -> Self;
    fn min_nan(self, b: Self) -> Self;
}

/// An element type with arithmetic, and the type it computes in. A result is rounded once, when it is narrowed.
pub trait Lane: Stored {
    type Wide: Number;
    /// Of a float, only the sign bit changes.
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn widen_all(from: &[Self]) -> Vec<Self::Wide>;
    fn narrow_all(from: Vec<Self::Wide>) -> Vec<Self>;
    fn map(x: &[Self], f: impl Fn(Self::Wide) -> Self::Wide) -> Vec<Self>;
    /// Stops at the shorter of the two.
    fn zip(a: &[Self], b: &[Self], f: impl Fn(Self::Wide, Self::Wide) -> Self::Wide) -> Vec<Self>;
    /// Stops at the shorter of the two.
    fn compare(a: &[Self], b: &[Self], f: impl Fn(&Self::Wide, &Self::Wide) -> bool) -> Vec<bool>;
}

/// A float element type; its `fma` is rounded once, which computing in f32 would not give for f16 and bf16.
pub trait FloatLane: Lane<Wide: Real> {
    fn fma(self, b: Self, c: Self) -> Self;
}

macro_rules! integers {
    ($($t:ident, wide $wide:ident, |$x:ident| abs $abs:expr, |$y:pat_param| overshift $over:expr;)*) => {$(
        impl Number for $t {
            const ZERO: Self = 0;
            const START: Self = 0;
            #[inline] fn add(self, b: Self) -> Self { self.wrapping_add(b) }
            #[inline] fn sub(self, b: Self) -> Self { self.wrapping_sub(b) }
            #[inline] fn mul(self, b: Self) -> Self { self.wrapping_mul(b) }
            #[inline] fn div(self, b: Self) -> Self { if b == 0 { 0 } else { self.wrapping_div(b) } }
            #[inline] fn max(self, b: Self) -> Self { Ord::max(self, b) }
            #[inline] fn min(self, b: Self) -> Self { Ord::min(self, b) }
        }
        impl Bits for $t {
            #[inline] fn and(self, b: Self) -> Self { self & b }
            #[inline] fn or(self, b: Self) -> Self { self | b }
            #[inline] fn xor(self, b: Self) -> Self { self ^ b }
            #[inline] fn not(self) -> Self { !self }
        }
        impl Integer for $t {
            #[inline] fn rem(self, b: Self) -> Self { if b == 0 { 0 } else { self.wrapping_rem(b) } }
            #[inline] fn mul_hi(self, b: Self) -> Self { ((self as $wide * b as $wide) >> Self::BITS) as $t }
            #[inline] fn shl(self, n: Self) -> Self {
                u32::try_from(n).ok().and_then(|n| self.checked_shl(n)).unwrap_or(0)
            }
            #[inline] fn shr(self, n: Self) -> Self {
                let $y = self;
                u32::try_from(n).ok().and_then(|n| self.checked_shr(n)).unwrap_or($over)
            }
            #[inline] fn from_index(index: u64) -> Self { index as $t }
        }
        impl Lane for $t {
            type Wide = $t;
            #[inline] fn neg(self) -> Self { self.wrapping_neg() }
            #[inline] fn abs(self) -> Self { let $x = self; $abs }
            direct_lane!($t);
        }
    )*};
}

/// `Lane` of a type that computes in itself.
macro_rules! direct_lane {
    ($t:ident) => {
        #[inline]
        fn widen(self) -> $t {
            self
        }
        #[inline]
        fn narrow(wide: $t) -> $t {
            wide
        }
        fn widen_all(from: &[$t]) -> Vec<$t> {
            from.to_vec()
        }
        fn narrow_all(from: Vec<$t>) -> Vec<$t> {
            from
        }
        fn map(x: &[$t], f: impl Fn($t) -> $t) -> Vec<$t> {
            x.iter().map(|x| f(*x)).collect()
        }
        fn zip(a: &[$t], b: &[$t], f: impl Fn($t, $t) -> $t) -> Vec<$t> {
            a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
        }
        fn compare(a: &[$t], b: &[$t], f: impl Fn(&$t, &$t) -> bool) -> Vec<bool> {
            a.iter().zip(b).map(|(a, b)| f(a, b)).collect()
        }
    };
}

integers! {
    i8, wide i16, |x| abs x.wrapping_abs(), |x| overshift x >> 7;
    i16, wide i32, |x| abs x.wrapping_abs(), |x| overshift x >> 15;
    i32, wide i64, |x| abs x.wrapping_abs(), |x| overshift x >> 31;
    i64, wide i128, |x| abs x.wrapping_abs(), |x| overshift x >> 63;
    u8, wide u16, |x| abs x, |_| overshift 0;
    u16, wide u32, |x| abs x, |_| overshift 0;
    u32, wide u64, |x| abs x, |_| overshift 0;
    u64, wide u128, |x| abs x, |_| overshift 0;
}

impl Bits for bool {
    fn and(self, b: Self) -> Self {
        self & b
    }
    fn or(self, b: Self) -> Self {
        self | b
    }
    fn xor(self, b: Self) -> Self {
        self ^ b
    }
    fn not(self) -> Self {
        !self
    }
}

macro_rules! floats {
    ($($t:ident: $fma:ident;)*) => {$(
        impl Number for $t {
            const ZERO: Self = 0.0;
            const START: Self = -0.0;
            #[inline] fn add(self, b: Self) -> Self { quiet(self + b) }
            #[inline] fn sub(self, b: Self) -> Self { quiet(self - b) }
            #[inline] fn mul(self, b: Self) -> Self { quiet(self * b) }
            #[inline] fn div(self, b: Self) -> Self { quiet(self / b) }
            #[inline] fn max(self, b: Self) -> Self {
                // Equal values differ in the sign of zero at most: +0 wins. A NaN compares false.
                let larger = if self > b || b.is_nan() { self } else { b };
                quiet(if self == b { $t::from_bits(self.to_bits() & b.to_bits()) } else { larger })
            }
            #[inline] fn min(self, b: Self) -> Self {
                let smaller = if self < b || b.is_nan() { self } else { b };
                quiet(if self == b { $t::from_bits(self.to_bits() | b.to_bits()) } else { smaller })
            }
        }
        impl Real for $t {
            #[inline] fn max_nan(self, b: Self) -> Self {
                quiet(if self.is_nan() || b.is_nan() { $t::NAN } else { Number::max(self, b) })
            }
            #[inline] fn min_nan(self, b: Self) -> Self {
                quiet(if self.is_nan() || b.is_nan() { $t::NAN } else { Number::min(self, b) })
            }
        }
        impl Quiet for $t {
            #[inline] fn quiet(self) -> Self {
                // On integers: of a float select the compiler may keep any NaN's bits.
                let (bits, infinity) = (self.to_bits(), $t::INFINITY.to_bits());
                $t::from_bits(if bits & !(1 << (<$t as Element>::ELEM.bits() - 1)) > infinity { $t::NAN.to_bits() } else { bits })
            }
        }
        impl Lane for $t {
            type Wide = $t;
            #[inline] fn neg(self) -> Self { -self }
            #[inline] fn abs(self) -> Self { $t::abs(self) }
            direct_lane!($t);
        }
        impl FloatLane for $t {
            fn fma(self, b: Self, c: Self) -> Self { quiet(libm::$fma(self, b, c)) }
        }
    )*};
}

/// Replaces every NaN by the one that this interpreter makes: positive, quiet, without payload.
pub trait Quiet {
    fn quiet(self) -> Self;
}
#[inline]
pub fn quiet<T: Quiet>(x: T) -> T {
    x.quiet()
}

floats! {
    f32: fmaf;
    f64: fma;
}

/// Elements that are widened at once: small enough for the first-level cache.
const CHUNK: usize = 512;

macro_rules! halves {
    ($($t:ident, $from_f64:path;)*) => {$(
        impl Lane for $t {
            type Wide = f32;
            // Not in f32: on the way there a signalling NaN becomes a quiet one.
            #[inline] fn neg(self) -> Self { $t::from_bits(self.to_bits() ^ 0x8000) }
            #[inline] fn abs(self) -> Self { $t::from_bits(self.to_bits() & 0x7FFF) }
            #[inline] fn widen(self) -> f32 { self.to_f32() }
            #[inline] fn narrow(wide: f32) -> $t { $t::from_f32(wide) }
            fn widen_all(from: &[$t]) -> Vec<f32> {
                let mut out = vec![0.0; from.len()];
                from.convert_to_f32_slice(&mut out);
                out
            }
            fn narrow_all(from: Vec<f32>) -> Vec<$t> {
                let mut out = vec![$t::ZERO; from.len()];
                out.convert_from_f32_slice(&from);
                out
            }
            fn map(x: &[$t], f: impl Fn(f32) -> f32) -> Vec<$t> {
                let mut out = vec![$t::ZERO; x.len()];
                let mut wide = [0.0; CHUNK];
                for (x, out) in x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                    let wide = &mut wide[..x.len()];
                    x.convert_to_f32_slice(wide);
                    wide.iter_mut().for_each(|x| *x = f(*x));
                    out.convert_from_f32_slice(wide);
                }
                out
            }
            fn zip(a: &[$t], b: &[$t], f: impl Fn(f32, f32) -> f32) -> Vec<$t> {
                let len = a.len().min(b.len());
                let mut out = vec![$t::ZERO; len];
                let (mut wide_a, mut wide_b) = ([0.0; CHUNK], [0.0; CHUNK]);
                let chunks = a[..len].chunks(CHUNK).zip(b[..len].chunks(CHUNK));
                for ((a, b), out) in chunks.zip(out.chunks_mut(CHUNK)) {
                    let (wide_a, wide_b) = (&mut wide_a[..a.len()], &mut wide_b[..a.len()]);
                    a.convert_to_f32_slice(wide_a);
                    b.convert_to_f32_slice(wide_b);
                    wide_a.iter_mut().zip(wide_b).for_each(|(a, b)| *a = f(*a, *b));
                    out.convert_from_f32_slice(wide_a);
                }
                out
            }
            fn compare(a: &[$t], b: &[$t], f: impl Fn(&f32, &f32) -> bool) -> Vec<bool> {
                let (a, b) = (Self::widen_all(a), Self::widen_all(b));
                a.iter().zip(&b).map(|(a, b)| f(a, b)).collect()
            }
        }
        impl FloatLane for $t {
            /// The product is exact in f64. The sum is rounded to odd there, so that rounding it again is rounding once.
            fn fma(self, b: Self, c: Self) -> Self {
                let (product, c) = (self.to_f64() * b.to_f64(), c.to_f64());
                let sum = product + c;
                // What the sum lost (Knuth's two-sum); exact, since nothing overflows in f64.
                let kept = sum - product;
                let lost = (product - (sum - kept)) + (c - kept);
                $from_f64(super::convert::to_odd(sum, lost))
            }
        }
    )*};
}
halves! {
    f16, super::convert::f16_from_f64;
    bf16, super::convert::bf16_from_f64;
}
