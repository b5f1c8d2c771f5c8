//! Tests of two operands.

use super::half::{bf16_value, f16_value};
use super::{Test, Value};
use crate::inst::{LANES, Ty};

macro_rules! test {
    ($read:expr, |$a:ident, $b:ident| $e:expr) => {{
        fn f(x: &crate::inst::Lanes, y: &crate::inst::Lanes) -> u32 {
            let mut out = 0;
            for i in 0..LANES {
                let ($a, $b) = ($read(x[i]), $read(y[i]));
                out |= u32::from($e) << i;
            }
            out
        }
        f as Test
    }};
}
macro_rules! ordered {
    ($name:expr, $read:expr) => {
        match $name {
            "eq" => test!($read, |a, b| a == b),
            "ne" => test!($read, |a, b| a.partial_cmp(&b).is_some_and(std::cmp::Ordering::is_ne)),
            "lt" | "lo" => test!($read, |a, b| a < b),
            "le" | "ls" => test!($read, |a, b| a <= b),
            "gt" | "hi" => test!($read, |a, b| a > b),
            "ge" | "hs" => test!($read, |a, b| a >= b),
            _ => return None,
        }
    };
}
/// Also those that hold where an operand is NaN.
macro_rules! floats {
    ($name:expr, $read:expr) => {
        match $name {
            "equ" => test!($read, |a, b| a.partial_cmp(&b).is_none_or(std::cmp::Ordering::is_eq)),
            "neu" => test!($read, |a, b| a != b),
            "ltu" => test!($read, |a, b| a < b || a.is_nan() || b.is_nan()),
            "leu" => test!($read, |a, b| a <= b || a.is_nan() || b.is_nan()),
            "gtu" => test!($read, |a, b| a > b || a.is_nan() || b.is_nan()),
            "geu" => test!($read, |a, b| a >= b || a.is_nan() || b.is_nan()),
            "num" => test!($read, |a, b| !a.is_nan() && !b.is_nan()),
            "nan" => test!($read, |a, b| a.is_nan() || b.is_nan()),
            name => ordered!(name, $read),
        }
    };
}
fn flushed(bits: u64) -> f32 {
    let x = f32::of(bits);
    if x.is_subnormal() { 0.0 } else { x }
}

pub(crate) fn test(name: &str, ty: Ty, ftz: bool) -> Option<Test> {
    Some(match ty {
        Ty::B16 | Ty::U16 => ordered!(name, u16::of),
        Ty::S16 => ordered!(name, i16::of),
        Ty::B32 | Ty::U32 => ordered!(name, u32::of),
        Ty::S32 => ordered!(name, i32::of),
        Ty::B64 | Ty::U64 => ordered!(name, u64::of),
        Ty::S64 => ordered!(name, i64::of),
        Ty::F32 if ftz => floats!(name, flushed),
        Ty::F32 => floats!(name, f32::of),
        Ty::F64 => floats!(name, f64::of),
        Ty::F16 => floats!(name, f16_value),
        Ty::Bf16 => floats!(name, bf16_value),
        _ => return None,
    })
}
