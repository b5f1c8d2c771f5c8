//! Fields of bits: picked, put in, moved.

use super::{F3, lanes};
use crate::inst::{LANES, Lanes, Ty};

/// Any function of three bits by its truth table, on all bits at once: the terms whose bit of the table is set.
pub(crate) fn lop3(table: u8, x: &Lanes, y: &Lanes, z: &Lanes, out: &mut Lanes) {
    let on: [u64; 8] = std::array::from_fn(|i| if table >> i & 1 == 1 { 0xFFFF_FFFF } else { 0 });
    for i in 0..LANES {
        let (a, b, c) = (x[i], y[i], z[i]);
        out[i] = (!a & !b & !c & on[0])
            | (!a & !b & c & on[1])
            | (!a & b & !c & on[2])
            | (!a & b & c & on[3])
            | (a & !b & !c & on[4])
            | (a & !b & c & on[5])
            | (a & b & !c & on[6])
            | (a & b & c & on[7]);
    }
}
/// Bytes of a and b picked by nibbles; the highest bit of a nibble: that byte's sign, eight times.
pub(crate) const PRMT: F3 = lanes!(u64, |a, b, sel| prmt(a, b, sel));
fn prmt(a: u64, b: u64, sel: u64) -> u64 {
    let bytes = (a & 0xFFFF_FFFF) | b << 32;
    (0..4).fold(0, |out, i| {
        let pick = sel >> (4 * i) & 15;
        let byte = bytes >> (8 * (pick & 7)) & 0xFF;
        let byte = match (pick & 8, byte & 0x80) {
            (0, _) => byte,
            (_, 0) => 0,
            _ => 0xFF,
        };
        out | byte << (8 * i)
    })
}
/// Shifts of two registers as one: `shf.l` gives the high part, `shf.r` the low one.
pub(crate) fn funnel(name: &str) -> Option<F3> {
    Some(match name {
        "shf.l.wrap" => lanes!(u64, |a, b, n| ((b << 32 | a) << (n & 31)) >> 32),
        "shf.l.clamp" => lanes!(u64, |a, b, n| ((u128::from(b << 32 | a) << (n as u32).min(32)) >> 32) as u32),
        "shf.r.wrap" => lanes!(u64, |a, b, n| ((b << 32 | a) >> (n & 31)) as u32),
        "shf.r.clamp" => lanes!(u64, |a, b, n| ((b << 32 | a) >> (n as u32).min(32)) as u32),
        _ => return None,
    })
}
pub(crate) fn bfe(ty: Ty) -> Option<F3> {
    Some(match ty {
        Ty::U32 => lanes!(u64, |a, from, width| field(Ty::U32, a, from, width)),
        Ty::S32 => lanes!(u64, |a, from, width| field(Ty::S32, a, from, width)),
        Ty::U64 => lanes!(u64, |a, from, width| field(Ty::U64, a, from, width)),
        Ty::S64 => lanes!(u64, |a, from, width| field(Ty::S64, a, from, width)),
        _ => return None,
    })
}
/// PTX ISA, bfe: a signed field is filled with its highest bit, which is the register's where the field goes beyond.
fn field(ty: Ty, a: u64, from: u64, width: u64) -> u64 {
    let (bits, from, width) = (u64::from(ty.bits()), from & 0xFF, width & 0xFF);
    let kept = width.min(bits.saturating_sub(from));
    let low = |n: u64| if n >= 64 { u64::MAX } else { (1 << n) - 1 };
    let value = if from >= bits { 0 } else { (a & ty.mask()) >> from & low(kept) };
    if !ty.signed() || width == 0 {
        return value;
    }
    let negative = a >> (from + width - 1).min(bits - 1) & 1 == 1;
    (if negative { value | !low(kept) } else { value }) & ty.mask()
}
/// `into` with its bits from `from` on replaced by the low `width` ones of `a`.
pub(crate) fn bfi(bits: u32, a: u64, into: u64, from: u64, width: u64) -> u64 {
    let (from, width, whole) = (from & 0xFF, width & 0xFF, u64::MAX >> (64 - bits));
    if from >= u64::from(bits) || width == 0 {
        return into;
    }
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 } << from & whole;
    (into & !mask) | (a << from & mask)
}
