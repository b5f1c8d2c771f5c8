//! What arithmetic instructions compute, one lane at a time, on the bits of registers. Floats below f64 are computed in
//! f64 and rounded: exact for one operation, since f64 has more than twice their bits.

use crate::inst::{Atomic, Bin, Cmp, Round, Tern, Ty, Un};
use half::{bf16, f16};

/// A float of this type as an f64, exactly.
pub(crate) fn float(ty: Ty, bits: u64) -> f64 {
    match ty {
        Ty::F16 => f16::from_bits(bits as u16).to_f64(),
        Ty::Bf16 => bf16::from_bits(bits as u16).to_f64(),
        Ty::F64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}
/// Rounded to nearest even.
pub(crate) fn round_to(ty: Ty, x: f64) -> u64 {
    match ty {
        // Not `from_f64`: it drops the low half of the mantissa first.
        Ty::F16 => u64::from(f16::from_f32(odd_f32(x)).to_bits()),
        Ty::Bf16 => u64::from(bf16::from_f32(odd_f32(x)).to_bits()),
        Ty::F64 => x.to_bits(),
        _ => u64::from((x as f32).to_bits()),
    }
}
/// An f32 that is cut off and made odd where something is lost, so that it rounds as the number does.
fn odd_f32(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() || near.is_infinite() && x.is_infinite() {
        return near;
    }
    let cut = if f64::from(near).abs() > x.abs() { f32::from_bits(near.to_bits() - 1) } else { near };
    f32::from_bits(cut.to_bits() | 1)
}
/// An integer of this type.
pub(crate) fn int(ty: Ty, bits: u64) -> i128 {
    let n = ty.bytes() * 8;
    if ty.signed() { i128::from(((bits << (64 - n)) as i64) >> (64 - n)) } else { i128::from(bits & ty.mask()) }
}
fn flush(ty: Ty, ftz: bool, bits: u64) -> u64 {
    if ftz && ty == Ty::F32 && f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
}
/// A NaN that arithmetic makes.
fn quiet(ty: Ty, x: f64, bits: u64) -> u64 {
    match ty {
        _ if !x.is_nan() => bits,
        Ty::F16 | Ty::Bf16 => 0x7FFF,
        Ty::F64 => 0x7FF8_0000_0000_0000,
        _ => 0x7FFF_FFFF,
    }
}

pub(crate) fn bin(op: Bin, ty: Ty, ftz: bool, a: u64, b: u64) -> u64 {
    if ty.float() {
        return float_bin(op, ty, ftz, a, b);
    }
    let (x, y) = (int(ty, a), int(ty, b));
    let bits = u64::from(ty.bytes()) * 8;
    let wide = match op {
        Bin::Add => x + y,
        Bin::Sub => x - y,
        Bin::MulLo | Bin::MulWide => x.wrapping_mul(y),
        Bin::MulHi if ty.signed() => (x * y) >> bits,
        Bin::MulHi => ((x as u128 * y as u128) >> bits) as i128,
        // What the instruction gives is not defined: a pattern that a test cannot take for a result.
        Bin::Div | Bin::Rem if y == 0 => 0x5A5A_5A5A_5A5A_5A5A,
        Bin::Div => x / y,
        Bin::Rem => x % y,
        Bin::Min | Bin::MinNan => x.min(y),
        Bin::Max | Bin::MaxNan => x.max(y),
        Bin::And => (a & b) as i128,
        Bin::Or => (a | b) as i128,
        Bin::Xor => (a ^ b) as i128,
        Bin::Shl => {
            let n = b & 0xFFFF_FFFF;
            if n >= bits { 0 } else { ((a << n) & ty.mask()) as i128 }
        }
        Bin::Shr => x >> (b & 0xFFFF_FFFF).min(bits),
        Bin::CopySign => 0,
    };
    let mask = if op == Bin::MulWide && ty.bytes() == 4 {
        u64::MAX
    } else if op == Bin::MulWide {
        0xFFFF_FFFF
    } else {
        ty.mask()
    };
    wide as u64 & mask
}

fn float_bin(op: Bin, ty: Ty, ftz: bool, a: u64, b: u64) -> u64 {
    let (a, b) = (flush(ty, ftz, a), flush(ty, ftz, b));
    let (x, y) = (float(ty, a), float(ty, b));
    let out = match op {
        Bin::Add => x + y,
        Bin::Sub => x - y,
        Bin::MulLo => x * y,
        Bin::Div => x / y,
        Bin::Min | Bin::Max | Bin::MinNan | Bin::MaxNan => return extremum(op, ty, (a, x), (b, y)),
        Bin::CopySign => {
            let sign = 1 << (ty.bytes() * 8 - 1);
            return (b & (sign - 1)) | (a & sign);
        }
        Bin::MulHi | Bin::MulWide | Bin::Rem | Bin::And | Bin::Or | Bin::Xor | Bin::Shl | Bin::Shr => f64::NAN,
    };
    flush(ty, ftz, quiet(ty, out, round_to(ty, out)))
}
/// -0 is below +0; a NaN loses, or wins where the instruction says so.
fn extremum(op: Bin, ty: Ty, (a, x): (u64, f64), (b, y): (u64, f64)) -> u64 {
    let nan_wins = matches!(op, Bin::MinNan | Bin::MaxNan);
    let max = matches!(op, Bin::Max | Bin::MaxNan);
    match (x.is_nan(), y.is_nan()) {
        (true, true) => quiet(ty, f64::NAN, 0),
        (true, false) | (false, true) if nan_wins => quiet(ty, f64::NAN, 0),
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let a_is_less = x < y || (x == y && x.is_sign_negative() && !y.is_sign_negative());
            if a_is_less == max { b } else { a }
        }
    }
}

pub(crate) fn tern(op: Tern, ty: Ty, ftz: bool, a: u64, b: u64, c: u64) -> u64 {
    match op {
        Tern::MadLo => bin(Bin::Add, ty, ftz, bin(Bin::MulLo, ty, ftz, a, b), c),
        Tern::MadWide => {
            bin(Bin::MulWide, ty, ftz, a, b).wrapping_add(c) & if ty.bytes() == 4 { u64::MAX } else { 0xFFFF_FFFF }
        }
        Tern::Fma => {
            let (a, b, c) = (flush(ty, ftz, a), flush(ty, ftz, b), flush(ty, ftz, c));
            let out = match ty {
                Ty::F64 => libm::fma(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits(),
                Ty::F32 => {
                    let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
                    u64::from(libm::fmaf(a, b, c).to_bits())
                }
                // The product is exact in f64, the sum rounds to odd there.
                _ => round_to(ty, odd_sum(float(ty, a) * float(ty, b), float(ty, c))),
            };
            flush(ty, ftz, quiet(ty, float(ty, out), out))
        }
    }
}
/// `a + b` cut off, its last bit set where something is lost.
fn odd_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let back = sum - a;
    let lost = (a - (sum - back)) + (b - back);
    if lost == 0.0 || !sum.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // Towards what is lost, which has an odd last bit.
    let away = (lost > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

pub(crate) fn un(op: Un, ty: Ty, ftz: bool, a: u64) -> u64 {
    let sign = 1u64 << (ty.bytes() * 8 - 1);
    match op {
        Un::Not if ty == Ty::Pred => return a ^ 1,
        Un::Not => return !a & ty.mask(),
        Un::Popc => return u64::from((a & ty.mask()).count_ones()),
        Un::Clz => return u64::from((a & ty.mask()).leading_zeros() + ty.bytes() * 8 - 64),
        Un::Brev => return (a & ty.mask()).reverse_bits() >> (64 - ty.bytes() * 8),
        Un::Neg if ty.float() => return a ^ sign,
        Un::Abs if ty.float() => return a & (sign - 1),
        Un::Neg => return (-int(ty, a)) as u64 & ty.mask(),
        Un::Abs => return int(ty, a).unsigned_abs() as u64 & ty.mask(),
        _ => {}
    }
    let x = float(ty, flush(ty, ftz, a));
    let out = match op {
        Un::Ex2 => libm::exp2(x),
        Un::Lg2 => libm::log2(x),
        Un::Sqrt => libm::sqrt(x),
        Un::Rsqrt => 1.0 / libm::sqrt(x),
        Un::Rcp => 1.0 / x,
        Un::Sin => libm::sin(x),
        Un::Cos => libm::cos(x),
        _ => libm::tanh(x),
    };
    flush(ty, ftz, quiet(ty, out, round_to(ty, out)))
}

pub(crate) fn compare(cmp: Cmp, ty: Ty, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = if ty.float() { float(ty, a).partial_cmp(&float(ty, b)) } else { Some(int(ty, a).cmp(&int(ty, b))) };
    match (cmp, order) {
        (Cmp::Num, order) => order.is_some(),
        (Cmp::Nan, order) => order.is_none(),
        (Cmp::Equ | Cmp::Neu | Cmp::Ltu | Cmp::Leu | Cmp::Gtu | Cmp::Geu, None) => true,
        (_, None) => false,
        (Cmp::Eq | Cmp::Equ, Some(order)) => order == Equal,
        (Cmp::Ne | Cmp::Neu, Some(order)) => order != Equal,
        (Cmp::Lt | Cmp::Ltu, Some(order)) => order == Less,
        (Cmp::Le | Cmp::Leu, Some(order)) => order != Greater,
        (Cmp::Gt | Cmp::Gtu, Some(order)) => order == Greater,
        (Cmp::Ge | Cmp::Geu, Some(order)) => order != Less,
    }
}

/// `to` from `from`.
pub(crate) fn convert(to: Ty, from: Ty, round: Option<Round>, sat: bool, a: u64) -> u64 {
    match (from.float(), to.float()) {
        (true, true) => {
            let x = integral(round, float(from, a));
            let out = match round {
                Some(Round::Rz) => cut(to, x),
                _ => round_to(to, x),
            };
            let out = if sat { saturate(to, out) } else { out };
            quiet(to, float(to, out), out)
        }
        (true, false) => {
            let x = integral(round, float(from, a));
            if x.is_nan() {
                // PTX ISA, cvt: 0, but the highest bit where a side has 64 bits.
                return if from == Ty::F64 || to.bytes() == 8 { 1 << (to.bytes() * 8 - 1) } else { 0 };
            }
            let (lo, hi) = ends(to);
            (x as i128).clamp(lo, hi) as u64 & register_mask(to)
        }
        (false, true) => {
            let x = int(from, a);
            from_int(to, round, x)
        }
        (false, false) => {
            let x = int(from, a);
            let x = if sat { x.clamp(ends(to).0, ends(to).1) } else { x };
            // A narrow result is extended to its register.
            int(to, x as u64) as u64 & register_mask(to)
        }
    }
}
/// Narrow results fill a 32-bit register.
fn register_mask(ty: Ty) -> u64 {
    if ty.bytes() == 8 { u64::MAX } else { 0xFFFF_FFFF }
}
fn ends(ty: Ty) -> (i128, i128) {
    let bits = ty.bytes() * 8;
    if ty.signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}
fn integral(round: Option<Round>, x: f64) -> f64 {
    match round {
        Some(Round::Rni) => libm::rint(x),
        Some(Round::Rzi) => libm::trunc(x),
        Some(Round::Rmi) => libm::floor(x),
        Some(Round::Rpi) => libm::ceil(x),
        _ => x,
    }
}
/// Towards zero.
fn cut(to: Ty, x: f64) -> u64 {
    let near = round_to(to, x);
    if float(to, near).abs() > x.abs() { near - 1 } else { near }
}
fn saturate(to: Ty, bits: u64) -> u64 {
    let x = float(to, bits);
    round_to(to, if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) })
}
fn from_int(to: Ty, round: Option<Round>, x: i128) -> u64 {
    // An f64 that is odd where it is not exact rounds once in what follows.
    let near = x as f64;
    let exact = near as i128 == x;
    match (to, round) {
        (Ty::F64, Some(Round::Rz)) if !exact && (near as i128).abs() > x.abs() => near.to_bits() - 1,
        (Ty::F64, _) => near.to_bits(),
        (_, Some(Round::Rz)) => cut(to, odd(near, exact, x)),
        _ => round_to(to, odd(near, exact, x)),
    }
}
fn odd(near: f64, exact: bool, x: i128) -> f64 {
    if exact {
        return near;
    }
    let cut = if (near as i128).abs() > x.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f64::from_bits(cut | 1)
}

pub(crate) fn lop3(a: u64, b: u64, c: u64, table: u8) -> u64 {
    (0..32).fold(0, |out, bit| {
        let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
        out | (u64::from(table) >> index & 1) << bit
    })
}
pub(crate) fn prmt(a: u64, b: u64, sel: u64) -> u64 {
    let bytes = (a & 0xFFFF_FFFF) | b << 32;
    (0..4).fold(0, |out, i| {
        let pick = sel >> (4 * i) & 15;
        let byte = bytes >> (8 * (pick & 7)) & 0xFF;
        let byte = if pick & 8 == 0 {
            byte
        } else if byte & 0x80 == 0 {
            0
        } else {
            0xFF
        };
        out | byte << (8 * i)
    })
}
pub(crate) fn bfe(ty: Ty, a: u64, from: u64, width: u64) -> u64 {
    let bits = u64::from(ty.bytes()) * 8;
    let (from, width) = (from & 0xFF, width & 0xFF);
    if width == 0 {
        return 0;
    }
    let field = if from >= 64 { 0 } else { (a & ty.mask()) >> from };
    let kept = width.min(bits.saturating_sub(from));
    let value = if kept == 0 {
        0
    } else if kept >= 64 {
        field
    } else {
        field & ((1 << kept) - 1)
    };
    if !ty.signed() {
        return value;
    }
    let sign = a >> (from + width - 1).min(bits - 1) & 1;
    let fill = if kept >= 64 { 0 } else { u64::MAX << kept };
    (if sign == 1 { value | fill } else { value }) & ty.mask()
}
pub(crate) fn bfi(a: u64, into: u64, from: u64, width: u64) -> u64 {
    let (from, width) = (from & 0xFF, width & 0xFF);
    if from >= 32 || width == 0 {
        return into;
    }
    let mask = ((((1u128 << width.min(32)) - 1) << from) & 0xFFFF_FFFF) as u64;
    (into & !mask) | ((a << from) & mask)
}

/// What memory holds after an atomic.
pub(crate) fn atomic(op: Atomic, ty: Ty, old: u64, a: u64, b: u64) -> u64 {
    match op {
        Atomic::Add => bin(Bin::Add, ty, false, old, a),
        Atomic::Min => bin(Bin::Min, ty, false, old, a),
        Atomic::Max => bin(Bin::Max, ty, false, old, a),
        Atomic::And => old & a,
        Atomic::Or => old | a,
        Atomic::Xor => old ^ a,
        Atomic::Exch => a,
        Atomic::Cas => {
            if old == a & ty.mask() {
                b
            } else {
                old
            }
        }
    }
}
