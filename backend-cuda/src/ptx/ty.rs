//! PTX types and virtual registers. A register has a class (its size); an instruction says how it reads the bits.

use std::fmt;

/// The type suffix of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    Pred,
    B8,
    U8,
    S8,
    B16,
    U16,
    S16,
    F16,
    Bf16,
    B32,
    U32,
    S32,
    F32,
    F16x2,
    Bf16x2,
    /// Two 8-bit floats.
    E4m3x2,
    E5m2x2,
    B64,
    U64,
    S64,
    F64,
}

/// What a register holds: a truth value, or so many bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Pred,
    B16,
    B32,
    B64,
}

/// A virtual register. Numbered by class, from 0, in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg {
    pub class: Class,
    pub index: u32,
}

impl Ty {
    pub const fn name(self) -> &'static str {
        match self {
            Ty::Pred => "pred",
            Ty::B8 => "b8",
            Ty::U8 => "u8",
            Ty::S8 => "s8",
            Ty::B16 => "b16",
            Ty::U16 => "u16",
            Ty::S16 => "s16",
            Ty::F16 => "f16",
            Ty::Bf16 => "bf16",
            Ty::B32 => "b32",
            Ty::U32 => "u32",
            Ty::S32 => "s32",
            Ty::F32 => "f32",
            Ty::F16x2 => "f16x2",
            Ty::Bf16x2 => "bf16x2",
            Ty::E4m3x2 => "e4m3x2",
            Ty::E5m2x2 => "e5m2x2",
            Ty::B64 => "b64",
            Ty::U64 => "u64",
            Ty::S64 => "s64",
            Ty::F64 => "f64",
        }
    }
    /// The registers that hold it. An 8-bit value lies in the low end of a 16-bit register.
    pub const fn class(self) -> Class {
        match self {
            Ty::Pred => Class::Pred,
            Ty::B8 | Ty::U8 | Ty::S8 | Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 | Ty::E4m3x2 | Ty::E5m2x2 => {
                Class::B16
            }
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 => Class::B32,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => Class::B64,
        }
    }
    /// Bytes in memory; 0 for a predicate.
    pub const fn bytes(self) -> u32 {
        match self {
            Ty::Pred => 0,
            Ty::B8 | Ty::U8 | Ty::S8 => 1,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 | Ty::E4m3x2 | Ty::E5m2x2 => 2,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
        }
    }
}

impl Class {
    pub const ALL: [Class; 4] = [Class::Pred, Class::B16, Class::B32, Class::B64];
    /// The type that registers of the class are declared with.
    pub const fn declared(self) -> Ty {
        match self {
            Class::Pred => Ty::Pred,
            Class::B16 => Ty::B16,
            Class::B32 => Ty::B32,
            Class::B64 => Ty::B64,
        }
    }
    /// The prefix of its registers' names.
    pub const fn prefix(self) -> &'static str {
        match self {
            Class::Pred => "%p",
            Class::B16 => "%h",
            Class::B32 => "%r",
            Class::B64 => "%d",
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.class.prefix(), self.index)
    }
}
