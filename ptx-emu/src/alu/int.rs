//! Integer arithmetic.

use super::{F1, F2, F3, ints, lanes};
use crate::inst::Ty;

/// What a division by zero gives is not defined: a pattern that a test cannot take for a result.
const BY_ZERO: u64 = 0x5A5A_5A5A_5A5A_5A5A;

/// `name` is the instruction's name with the modifiers that pick a result: `mul.hi`.
pub(crate) fn binary(name: &str, ty: Ty) -> Option<F2> {
    Some(match name {
        "add" => ints!(ty, |a, b| a.wrapping_add(b)),
        "sub" => ints!(ty, |a, b| a.wrapping_sub(b)),
        "add.sat" if ty == Ty::S32 => lanes!(i32, |a, b| a.saturating_add(b)),
        "sub.sat" if ty == Ty::S32 => lanes!(i32, |a, b| a.saturating_sub(b)),
        "mul.lo" => ints!(ty, |a, b| a.wrapping_mul(b)),
        "mul.hi" => match ty {
            Ty::U16 => lanes!(u16, |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16),
            Ty::S16 => lanes!(i16, |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16),
            Ty::U32 => lanes!(u32, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
            Ty::S32 => lanes!(i32, |a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32),
            Ty::U64 => lanes!(u64, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
            Ty::S64 => lanes!(i64, |a, b| ((i128::from(a) * i128::from(b)) >> 64) as i64),
            _ => return None,
        },
        "mul.wide" => match ty {
            Ty::U16 => lanes!(u16, |a, b| u32::from(a) * u32::from(b)),
            Ty::S16 => lanes!(i16, |a, b| i32::from(a) * i32::from(b)),
            Ty::U32 => lanes!(u32, |a, b| u64::from(a) * u64::from(b)),
            Ty::S32 => lanes!(i32, |a, b| i64::from(a) * i64::from(b)),
            _ => return None,
        },
        "div" => ints!(ty, |a, b| if b == 0 { BY_ZERO as _ } else { a.wrapping_div(b) }),
        "rem" => ints!(ty, |a, b| if b == 0 { BY_ZERO as _ } else { a.wrapping_rem(b) }),
        "min" => ints!(ty, |a, b| a.min(b)),
        "max" => ints!(ty, |a, b| a.max(b)),
        "and" => lanes!(u64, |a, b| a & b),
        "or" => lanes!(u64, |a, b| a | b),
        "xor" => lanes!(u64, |a, b| a ^ b),
        // The count is a u32, and as large as the register or larger it leaves nothing.
        "shl" => match ty {
            Ty::B16 => lanes!(u64, |a, b| if b as u32 > 15 { 0 } else { u64::from((a as u16) << b as u32) }),
            Ty::B32 => lanes!(u64, |a, b| if b as u32 > 31 { 0 } else { u64::from((a as u32) << b as u32) }),
            Ty::B64 => lanes!(u64, |a, b| if b as u32 > 63 { 0u64 } else { a << b as u32 }),
            _ => return None,
        },
        "shr" => match ty {
            Ty::B16 | Ty::U16 => lanes!(u64, |a, b| if b as u32 > 15 { 0 } else { u64::from((a as u16) >> b as u32) }),
            Ty::B32 | Ty::U32 => lanes!(u64, |a, b| if b as u32 > 31 { 0 } else { u64::from((a as u32) >> b as u32) }),
            Ty::B64 | Ty::U64 => lanes!(u64, |a, b| if b as u32 > 63 { 0u64 } else { a >> b as u32 }),
            Ty::S16 => lanes!(u64, |a, b| (a as i16) >> (b as u32).min(15)),
            Ty::S32 => lanes!(u64, |a, b| (a as i32) >> (b as u32).min(31)),
            Ty::S64 => lanes!(u64, |a, b| (a as i64) >> (b as u32).min(63)),
            _ => return None,
        },
        _ => return None,
    })
}
pub(crate) fn ternary(name: &str, ty: Ty) -> Option<F3> {
    Some(match name {
        "mad.lo" => ints!(ty, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        "mad.hi" => match ty {
            Ty::U32 => lanes!(u32, |a, b, c| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c)),
            Ty::S32 => lanes!(i32, |a, b, c| (((i64::from(a) * i64::from(b)) >> 32) as i32).wrapping_add(c)),
            Ty::U64 => lanes!(u64, |a, b, c| (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c)),
            Ty::S64 => lanes!(i64, |a, b, c| (((i128::from(a) * i128::from(b)) >> 64) as i64).wrapping_add(c)),
            _ => return None,
        },
        "mad.wide" => match ty {
            Ty::U16 => lanes!(u64, |a, b, c| (u32::from(a as u16) * u32::from(b as u16)).wrapping_add(c as u32)),
            Ty::S16 => lanes!(u64, |a, b, c| (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32)),
            Ty::U32 => lanes!(u64, |a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)),
            Ty::S32 => lanes!(u64, |a, b, c| (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64)),
            _ => return None,
        },
        _ => return None,
    })
}
pub(crate) fn unary(name: &str, ty: Ty) -> Option<F1> {
    Some(match (name, ty) {
        ("neg", Ty::S16) => lanes!(i16, |a| a.wrapping_neg()),
        ("neg", Ty::S32) => lanes!(i32, |a| a.wrapping_neg()),
        ("neg", Ty::S64) => lanes!(i64, |a| a.wrapping_neg()),
        ("abs", Ty::S16) => lanes!(i16, |a| a.wrapping_abs()),
        ("abs", Ty::S32) => lanes!(i32, |a| a.wrapping_abs()),
        ("abs", Ty::S64) => lanes!(i64, |a| a.wrapping_abs()),
        ("not", Ty::B16) => lanes!(u16, |a| !a),
        ("not", Ty::B32) => lanes!(u32, |a| !a),
        ("not", Ty::B64) => lanes!(u64, |a| !a),
        ("popc", Ty::B32) => lanes!(u32, |a| a.count_ones()),
        ("popc", Ty::B64) => lanes!(u64, |a| a.count_ones()),
        ("clz", Ty::B32) => lanes!(u32, |a| a.leading_zeros()),
        ("clz", Ty::B64) => lanes!(u64, |a| a.leading_zeros()),
        ("brev", Ty::B32) => lanes!(u32, |a| a.reverse_bits()),
        ("brev", Ty::B64) => lanes!(u64, |a| a.reverse_bits()),
        _ => return None,
    })
}
