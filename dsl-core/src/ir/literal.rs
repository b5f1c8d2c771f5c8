//! Scalar constants, stored as the bits of their element type, so that equal means equal to the bit.

use crate::elem::{ElemType, F8E4M3, F8E5M2, Kind};
use crate::interp::convert;
use half::{bf16, f16};
use std::fmt;

/// A scalar value: an element type and its bits in the low end of a word (integers are sign- or zero-extended).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Literal {
    pub elem: ElemType,
    pub bits: u64,
}

/// A Rust type that holds one element.
pub trait Element: Copy + Send + Sync + fmt::Debug + 'static {
    const ELEM: ElemType;
    fn to_bits(self) -> u64;
    /// Takes the low bits; what lies above them is ignored.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! element {
    ($($t:ty, $e:ident, |$x:ident| $to:expr, |$b:ident| $from:expr;)*) => {$(
        impl Element for $t {
            const ELEM: ElemType = ElemType::$e;
            fn to_bits(self) -> u64 { let $x = self; $to }
            fn from_bits($b: u64) -> Self { $from }
        }
        impl From<$t> for Literal {
            fn from(v: $t) -> Literal { Literal { elem: ElemType::$e, bits: Element::to_bits(v) } }
        }
    )*};
}
element! {
    bool, I1, |x| u64::from(x), |b| b & 1 == 1;
    i8, I8, |x| x as i64 as u64, |b| b as i8;
    i16, I16, |x| x as i64 as u64, |b| b as i16;
    i32, I32, |x| x as i64 as u64, |b| b as i32;
    i64, I64, |x| x as u64, |b| b as i64;
    u8, U8, |x| u64::from(x), |b| b as u8;
    u16, U16, |x| u64::from(x), |b| b as u16;
    u32, U32, |x| u64::from(x), |b| b as u32;
    u64, U64, |x| x, |b| b;
    f16, F16, |x| u64::from(f16::to_bits(x)), |b| f16::from_bits(b as u16);
    bf16, BF16, |x| u64::from(bf16::to_bits(x)), |b| bf16::from_bits(b as u16);
    f32, F32, |x| u64::from(f32::to_bits(x)), |b| f32::from_bits(b as u32);
    f64, F64, |x| f64::to_bits(x), |b| f64::from_bits(b);
    F8E4M3, F8E4M3, |x| u64::from(x.0), |b| F8E4M3(b as u8);
    F8E5M2, F8E5M2, |x| u64::from(x.0), |b| F8E5M2(b as u8);
}

impl Literal {
    /// The value as the Rust type of its element. The caller has matched the element type.
    pub fn get<T: Element>(self) -> T {
        debug_assert_eq!(self.elem, T::ELEM);
        T::from_bits(self.bits)
    }
    /// An integer as an `i128`, which holds every integer element; `None` for other elements.
    pub fn as_int(self) -> Option<i128> {
        match self.elem.kind() {
            Kind::Signed => Some(i128::from(self.bits as i64)),
            Kind::Unsigned => Some(i128::from(self.bits)),
            Kind::Bool | Kind::Float | Kind::Storage => None,
        }
    }
    pub fn as_bool(self) -> Option<bool> {
        (self.elem == ElemType::I1).then_some(self.bits & 1 == 1)
    }
    /// A float (not fp8) widened without loss; `None` for other elements.
    pub fn as_float(self) -> Option<f64> {
        match self.elem {
            ElemType::F16 => Some(f64::from(self.get::<f16>())),
            ElemType::BF16 => Some(f64::from(self.get::<bf16>())),
            ElemType::F32 => Some(f64::from(self.get::<f32>())),
            ElemType::F64 => Some(self.get::<f64>()),
            _ => None,
        }
    }
    /// The integer as this element type; `None` if it does not fit or the type is not an integer.
    pub fn int(elem: ElemType, v: i128) -> Option<Literal> {
        let bits = elem.bits();
        let fits = match elem.kind() {
            Kind::Signed => v >= -(1i128 << (bits - 1)) && v < 1i128 << (bits - 1),
            Kind::Unsigned => v >= 0 && v < 1i128 << bits,
            Kind::Bool | Kind::Float | Kind::Storage => false,
        };
        fits.then_some(Literal { elem, bits: v as u64 })
    }
    /// The number rounded to this float type; `None` if the type is not a float.
    pub fn float(elem: ElemType, v: f64) -> Option<Literal> {
        match elem {
            ElemType::F16 => Some(convert::f16_from_f64(v).into()),
            ElemType::BF16 => Some(convert::bf16_from_f64(v).into()),
            ElemType::F32 => Some((v as f32).into()),
            ElemType::F64 => Some(v.into()),
            _ => None,
        }
    }
    /// Zero, `false` or +0.0.
    pub fn zero(elem: ElemType) -> Literal {
        Literal { elem, bits: 0 }
    }
}

/// Integers in decimal; floats shortest that reads back, with a point or exponent; what is not finite, and fp8, as
/// `0x` and bits. The text alone does not say the element type.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.elem {
            ElemType::I1 => write!(f, "{}", self.bits & 1 == 1),
            ElemType::F16 | ElemType::BF16 | ElemType::F32 | ElemType::F64 => {
                let v = self.as_float().unwrap_or(f64::NAN);
                match () {
                    () if !v.is_finite() => write!(f, "0x{:x}", self.bits),
                    // An f32's own shortest text reads back to the same f32, and so to the same narrower float.
                    () if self.elem != ElemType::F64 => write!(f, "{:?}", v as f32),
                    () => write!(f, "{v:?}"),
                }
            }
            ElemType::F8E4M3 | ElemType::F8E5M2 => write!(f, "0x{:02x}", self.bits),
            _ => write!(f, "{}", self.as_int().unwrap_or(0)),
        }
    }
}
impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}:{}", self.elem)
    }
}
