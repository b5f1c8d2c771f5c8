//! What instructions compute, as functions over the 32 lanes of a warp: which one is chosen when the text is read, so a run
//! only calls it. `int.rs`, `float.rs`, `half.rs`: arithmetic. `bits.rs`: fields of bits. `convert.rs`: from type to type.
//! `compare.rs`: tests. `memory.rs`: what atomics leave. `product.rs`: matrices. Inactive lanes are computed too, so nothing here may fail.

use crate::inst::Lanes;

pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod int;
pub(crate) mod memory;
pub(crate) mod product;

pub(crate) type F1 = fn(&Lanes, &mut Lanes);
pub(crate) type F2 = fn(&Lanes, &Lanes, &mut Lanes);
pub(crate) type F3 = fn(&Lanes, &Lanes, &Lanes, &mut Lanes);
/// The lanes where it holds.
pub(crate) type Test = fn(&Lanes, &Lanes) -> u32;

/// A value in the low bits of a register.
pub(crate) trait Value: Copy {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}
macro_rules! value {
    ($($ty:ty: $unsigned:ty),*) => { $(impl Value for $ty {
        #[inline(always)]
        fn of(bits: u64) -> $ty { bits as $ty }
        #[inline(always)]
        fn bits(self) -> u64 { u64::from(self as $unsigned) }
    })* };
}
value!(u8: u8, i8: u8, u16: u16, i16: u16, u32: u32, i32: u32, u64: u64, i64: u64);
impl Value for f32 {
    #[inline(always)]
    fn of(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    /// Every NaN that arithmetic makes is one.
    #[inline(always)]
    fn bits(self) -> u64 {
        if self.is_nan() { 0x7FFF_FFFF } else { u64::from(self.to_bits()) }
    }
}
impl Value for f64 {
    #[inline(always)]
    fn of(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        if self.is_nan() { 0x7FF8_0000_0000_0000 } else { self.to_bits() }
    }
}

/// A function of one operand, of two, of three, of type `$T` in each lane.
macro_rules! lanes {
    ($T:ty, |$a:ident| $e:expr) => {{
        fn f(x: &$crate::inst::Lanes, out: &mut $crate::inst::Lanes) {
            for i in 0..$crate::inst::LANES {
                let $a = <$T as $crate::alu::Value>::of(x[i]);
                out[i] = $crate::alu::Value::bits($e);
            }
        }
        f as $crate::alu::F1
    }};
    ($T:ty, |$a:ident, $b:ident| $e:expr) => {{
        fn f(x: &$crate::inst::Lanes, y: &$crate::inst::Lanes, out: &mut $crate::inst::Lanes) {
            for i in 0..$crate::inst::LANES {
                let ($a, $b) = (<$T as $crate::alu::Value>::of(x[i]), <$T as $crate::alu::Value>::of(y[i]));
                out[i] = $crate::alu::Value::bits($e);
            }
        }
        f as $crate::alu::F2
    }};
    ($T:ty, |$a:ident, $b:ident, $c:ident| $e:expr) => {{
        fn f(x: &$crate::inst::Lanes, y: &$crate::inst::Lanes, z: &$crate::inst::Lanes, out: &mut $crate::inst::Lanes) {
            for i in 0..$crate::inst::LANES {
                let ($a, $b, $c) = (
                    <$T as $crate::alu::Value>::of(x[i]),
                    <$T as $crate::alu::Value>::of(y[i]),
                    <$T as $crate::alu::Value>::of(z[i]),
                );
                out[i] = $crate::alu::Value::bits($e);
            }
        }
        f as $crate::alu::F3
    }};
}
/// The same for every integer type.
macro_rules! ints {
    ($ty:expr, |$($a:ident),+| $e:expr) => {
        match $ty {
            Ty::B16 | Ty::U16 => $crate::alu::lanes!(u16, |$($a),+| $e),
            Ty::S16 => $crate::alu::lanes!(i16, |$($a),+| $e),
            Ty::B32 | Ty::U32 => $crate::alu::lanes!(u32, |$($a),+| $e),
            Ty::S32 => $crate::alu::lanes!(i32, |$($a),+| $e),
            Ty::B64 | Ty::U64 => $crate::alu::lanes!(u64, |$($a),+| $e),
            Ty::S64 => $crate::alu::lanes!(i64, |$($a),+| $e),
            _ => return None,
        }
    };
}
pub(crate) use {ints, lanes};
