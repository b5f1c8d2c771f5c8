//! What memory holds after an atomic, and what a warp's reduction keeps.

use super::Value;
use super::half::{bf16_value, f16_value, to_bf16, to_f16};
use crate::inst::{Ty, Update};

pub(crate) fn update(name: &str, ty: Ty) -> Option<Update> {
    Some(match (name, ty) {
        ("add", Ty::U32 | Ty::S32) => |old, a, _| u64::from((old as u32).wrapping_add(a as u32)),
        ("add", Ty::U64 | Ty::S64) => |old, a, _| old.wrapping_add(a),
        // PTX ISA, atom: an f32 sum in global memory flushes no subnormals.
        ("add", Ty::F32) => |old, a, _| (f32::of(old) + f32::of(a)).bits(),
        ("add", Ty::F64) => |old, a, _| (f64::of(old) + f64::of(a)).bits(),
        ("add", Ty::F16) => |old, a, _| to_f16(f16_value(old) + f16_value(a)),
        ("add", Ty::Bf16) => |old, a, _| to_bf16(bf16_value(old) + bf16_value(a)),
        ("add", Ty::F16x2) => |old, a, _| pair(old, a, |x, y| to_f16(f16_value(x) + f16_value(y))),
        ("add", Ty::Bf16x2) => |old, a, _| pair(old, a, |x, y| to_bf16(bf16_value(x) + bf16_value(y))),
        ("inc", Ty::U32) => |old, a, _| if old >= a { 0 } else { old + 1 },
        ("dec", Ty::U32) => |old, a, _| if old == 0 || old > a { a } else { old - 1 },
        ("min", Ty::U32 | Ty::U64) => |old, a, _| old.min(a),
        ("max", Ty::U32 | Ty::U64) => |old, a, _| old.max(a),
        ("min", Ty::S32) => |old, a, _| i32::of(old).min(i32::of(a)).bits(),
        ("max", Ty::S32) => |old, a, _| i32::of(old).max(i32::of(a)).bits(),
        ("min", Ty::S64) => |old, a, _| i64::of(old).min(i64::of(a)).bits(),
        ("max", Ty::S64) => |old, a, _| i64::of(old).max(i64::of(a)).bits(),
        ("and", Ty::B32 | Ty::B64) => |old, a, _| old & a,
        ("or", Ty::B32 | Ty::B64) => |old, a, _| old | a,
        ("xor", Ty::B32 | Ty::B64) => |old, a, _| old ^ a,
        ("exch", Ty::B32 | Ty::B64) => |_, a, _| a,
        ("cas", Ty::B16 | Ty::B32 | Ty::B64) => |old, a, b| if old == a { b } else { old },
        _ => return None,
    })
}
fn pair(x: u64, y: u64, f: fn(u64, u64) -> u64) -> u64 {
    f(x & 0xFFFF, y & 0xFFFF) | f(x >> 16 & 0xFFFF, y >> 16 & 0xFFFF) << 16
}
