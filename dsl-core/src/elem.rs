//! Element types: their names, sizes and classes, and the Rust types that hold them.
//! One row of `elements!` per type; what an operation does to their values is in `interp`.

use std::fmt;

/// An 8-bit float with 4 exponent and 3 mantissa bits, no infinity, largest value 448 (OCP FP8 E4M3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct F8E4M3(pub u8);

/// An 8-bit float with 5 exponent and 2 mantissa bits, largest value 57344 (OCP FP8 E5M2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct F8E5M2(pub u8);

/// What an element type can do. A type may be in several classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Every element type.
    Any,
    /// Integers and floats with arithmetic (fp8 is storage only).
    Num,
    /// Signed and unsigned integers.
    Int,
    /// f16, bf16, f32, f64.
    Float,
    /// Integers and `i1`.
    Bits,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Any => "any element",
            Class::Num => "a number element (not i1, not fp8)",
            Class::Int => "an integer element",
            Class::Float => "a float element (f16, bf16, f32, f64)",
            Class::Bits => "an integer element or i1",
        })
    }
}

/// How the bits of an element are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// fp8: loads, stores and casts only.
    Storage,
}

macro_rules! elements {
    ($($var:ident, $name:literal, $bytes:literal, $kind:ident, $doc:literal;)*) => {
        /// The element type of a scalar, a tile or a view.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ElemType { $(#[doc = $doc] $var,)* }

        impl ElemType {
            /// All element types, in the order of the table.
            pub const ALL: &'static [ElemType] = &[$(ElemType::$var),*];
            /// The name in the text form: `f16`, `i1`, `f8e4m3`.
            pub const fn name(self) -> &'static str { match self { $(ElemType::$var => $name,)* } }
            /// Bytes one element takes in memory.
            pub const fn bytes(self) -> u64 { match self { $(ElemType::$var => $bytes,)* } }
            pub const fn kind(self) -> Kind { match self { $(ElemType::$var => Kind::$kind,)* } }
            pub fn from_name(name: &str) -> Option<ElemType> { match name { $($name => Some(ElemType::$var),)* _ => None } }
        }
    };
}

elements! {
    I1, "i1", 1, Bool, "A truth value; one byte in memory.";
    I8, "i8", 1, Signed, "Signed, two's complement.";
    I16, "i16", 2, Signed, "Signed, two's complement.";
    I32, "i32", 4, Signed, "Signed, two's complement; the default index type.";
    I64, "i64", 8, Signed, "Signed, two's complement.";
    U8, "u8", 1, Unsigned, "Unsigned.";
    U16, "u16", 2, Unsigned, "Unsigned.";
    U32, "u32", 4, Unsigned, "Unsigned.";
    U64, "u64", 8, Unsigned, "Unsigned.";
    F16, "f16", 2, Float, "IEEE binary16.";
    BF16, "bf16", 2, Float, "The upper half of a binary32.";
    F32, "f32", 4, Float, "IEEE binary32.";
    F64, "f64", 8, Float, "IEEE binary64.";
    F8E4M3, "f8e4m3", 1, Storage, "OCP FP8 E4M3: storage and casts.";
    F8E5M2, "f8e5m2", 1, Storage, "OCP FP8 E5M2: storage and casts.";
}

impl ElemType {
    pub const fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }
    pub fn is(self, class: Class) -> bool {
        match (class, self.kind()) {
            (Class::Any, _) => true,
            (Class::Num, Kind::Signed | Kind::Unsigned | Kind::Float) => true,
            (Class::Int, Kind::Signed | Kind::Unsigned) => true,
            (Class::Float, Kind::Float) => true,
            (Class::Bits, Kind::Signed | Kind::Unsigned | Kind::Bool) => true,
            (Class::Num | Class::Int | Class::Float | Class::Bits, _) => false,
        }
    }
    /// The element types a product of `self` can be accumulated in (ARCHITECTURE 3, LANGUAGE 3).
    pub fn dot_into(self) -> &'static [ElemType] {
        use ElemType::*;
        match self {
            F16 => &[F16, F32],
            BF16 | F32 => &[F32],
            F64 => &[F64],
            I8 | U8 => &[I32],
            F8E4M3 | F8E5M2 => &[F32],
            I1 | I16 | I32 | I64 | U16 | U32 | U64 => &[],
        }
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs `$body` with `$T` standing for the Rust type of the element type `$elem`; names every type.
#[macro_export]
macro_rules! with_elem {
    ($elem:expr, $T:ident => $body:expr) => {
        match $elem {
            $crate::elem::ElemType::I1 => {
                type $T = bool;
                $body
            }
            $crate::elem::ElemType::I8 => {
                type $T = i8;
                $body
            }
            $crate::elem::ElemType::I16 => {
                type $T = i16;
                $body
            }
            $crate::elem::ElemType::I32 => {
                type $T = i32;
                $body
            }
            $crate::elem::ElemType::I64 => {
                type $T = i64;
                $body
            }
            $crate::elem::ElemType::U8 => {
                type $T = u8;
                $body
            }
            $crate::elem::ElemType::U16 => {
                type $T = u16;
                $body
            }
            $crate::elem::ElemType::U32 => {
                type $T = u32;
                $body
            }
            $crate::elem::ElemType::U64 => {
                type $T = u64;
                $body
            }
            $crate::elem::ElemType::F16 => {
                type $T = $crate::half::f16;
                $body
            }
            $crate::elem::ElemType::BF16 => {
                type $T = $crate::half::bf16;
                $body
            }
            $crate::elem::ElemType::F32 => {
                type $T = f32;
                $body
            }
            $crate::elem::ElemType::F64 => {
                type $T = f64;
                $body
            }
            $crate::elem::ElemType::F8E4M3 => {
                type $T = $crate::elem::F8E4M3;
                $body
            }
            $crate::elem::ElemType::F8E5M2 => {
                type $T = $crate::elem::F8E5M2;
                $body
            }
        }
    };
}
