//! Instructions that depend on one lane's registers alone.

use super::Unread;
use super::operands::Operands;
use crate::alu::convert::{Convert, Fp8, Round};
use crate::alu::float::Mode;
use crate::alu::{bits, compare, convert, float, half, int, lanes};
use crate::inst::{Logic, Op, Src, Ty};
use crate::module::SHARED_WINDOW;

const UNARY: [&str; 14] =
    ["neg", "abs", "not", "popc", "clz", "brev", "ex2", "lg2", "sqrt", "rsqrt", "rcp", "sin", "cos", "tanh"];
const BINARY: [&str; 13] =
    ["add", "sub", "mul", "div", "rem", "min", "max", "and", "or", "xor", "shl", "shr", "copysign"];

/// `None`: of another family.
pub(crate) fn op(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Option<Op>, Unread> {
    Ok(Some(match opcode {
        "mov" => mov(o)?,
        "cvt" => cvt(o)?,
        "cvta" => cvta(o)?,
        "setp" => setp(o)?,
        "selp" => {
            let ty = o.ty()?;
            Op::Select { d: o.reg()?, a: o.src(ty)?, b: o.src(ty)?, p: o.truth()? }
        }
        "lop3" => {
            let ty = o.ty()?;
            let (d, a, b, c) = (o.reg()?, o.src(ty)?, o.src(ty)?, o.src(ty)?);
            let table = o.next()?;
            let table = super::immediate(table, Ty::U8).ok_or_else(|| format!("the table `{table}`"))?;
            Op::Lop3 { d, a, b, c, table: table as u8 }
        }
        "prmt" => {
            let ty = o.ty()?;
            Op::Lanes3 { f: bits::PRMT, d: o.reg()?, a: o.src(ty)?, b: o.src(ty)?, c: o.src(ty)? }
        }
        "shf" => {
            let ty = o.ty()?;
            let name = o.name("shf");
            let f = bits::funnel(&name).ok_or_else(|| format!("`{name}`"))?;
            Op::Lanes3 { f, d: o.reg()?, a: o.src(ty)?, b: o.src(ty)?, c: o.src(Ty::U32)? }
        }
        "bfe" => {
            let ty = o.ty()?;
            let f = bits::bfe(ty).ok_or("a field of this type")?;
            Op::Lanes3 { f, d: o.reg()?, a: o.src(ty)?, b: o.src(Ty::U32)?, c: o.src(Ty::U32)? }
        }
        "bfi" => {
            let ty = o.ty()?;
            let (d, a, into) = (o.reg()?, o.src(ty)?, o.src(ty)?);
            Op::Bfi { bits: ty.bits(), d, a, into, from: o.src(Ty::U32)?, width: o.src(Ty::U32)? }
        }
        "mad" | "fma" => ternary(opcode, o)?,
        "and" | "or" | "xor" | "not" if o.has("pred") => logic(opcode, o)?,
        _ if UNARY.contains(&opcode) => unary(opcode, o)?,
        _ if BINARY.contains(&opcode) => binary(opcode, o)?,
        _ => return Ok(None),
    }))
}

/// Rounding to nearest is the default of all that have one.
fn mode(o: &mut Operands<'_, '_, '_>, ty: Ty) -> Mode {
    o.drop_all(&["rn"]);
    Mode { ftz: o.has("ftz"), sat: ty.float() && o.has("sat") }
}
fn unary(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let ty = o.ty()?;
    let mode = mode(o, ty);
    let name = o.name(opcode);
    let f = if ty.float() { float::unary(&name, ty, mode) } else { int::unary(&name, ty) };
    Ok(Op::Lanes1 { f: f.ok_or_else(|| format!("`{name}` of this type"))?, d: o.reg()?, a: o.src(ty)? })
}
fn binary(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let ty = o.ty()?;
    let mode = mode(o, ty);
    let name = o.name(opcode);
    let f = if ty.float() { float::binary(&name, ty, mode) } else { int::binary(&name, ty) };
    let f = f.ok_or_else(|| format!("`{name}` of this type"))?;
    let count = if matches!(opcode, "shl" | "shr") { Ty::U32 } else { ty };
    Ok(Op::Lanes2 { f, d: o.reg()?, a: o.src(ty)?, b: o.src(count)? })
}
fn ternary(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let ty = o.ty()?;
    let mode = mode(o, ty);
    let name = o.name(opcode);
    let f = match opcode {
        "fma" if name == "fma" => float::fma(ty, mode),
        _ => int::ternary(&name, ty),
    };
    let f = f.ok_or_else(|| format!("`{name}` of this type"))?;
    let wide = match (name.as_str(), ty) {
        ("mad.wide", Ty::U16) => Ty::U32,
        ("mad.wide", Ty::S16) => Ty::S32,
        ("mad.wide", Ty::U32) => Ty::U64,
        ("mad.wide", Ty::S32) => Ty::S64,
        _ => ty,
    };
    Ok(Op::Lanes3 { f, d: o.reg()?, a: o.src(ty)?, b: o.src(ty)?, c: o.src(wide)? })
}
fn logic(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let (d, a) = (o.pred()?, o.truth()?);
    Ok(match opcode {
        "not" => Op::Logic { op: Logic::Xor, d, a, b: crate::inst::Truth::Always(true) },
        "and" => Op::Logic { op: Logic::And, d, a, b: o.truth()? },
        "or" => Op::Logic { op: Logic::Or, d, a, b: o.truth()? },
        _ => Op::Logic { op: Logic::Xor, d, a, b: o.truth()? },
    })
}
fn setp(o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let (ty, ftz) = (o.ty()?, o.has("ftz"));
    let name = o.next_modifier().ok_or("a comparison without its kind")?;
    let f = compare::test(name, ty, ftz).ok_or_else(|| format!("the comparison `{name}` of this type"))?;
    Ok(Op::Test { f, d: o.pred()?, a: o.src(ty)?, b: o.src(ty)? })
}
fn mov(o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let ty = o.ty()?;
    if ty == Ty::Pred {
        return Ok(Op::Logic { op: Logic::Or, d: o.pred()?, a: o.truth()?, b: crate::inst::Truth::Always(false) });
    }
    if o.peek().starts_with('{') {
        let (d, _) = o.destinations()?;
        return Ok(Op::Unpack { bits: part(ty, d.len())?, d, a: o.src(ty)? });
    }
    let d = o.reg()?;
    if o.peek().starts_with('{') {
        let parts = o.sources(ty)?;
        return Ok(Op::Pack { bits: part(ty, parts.len())?, d, parts });
    }
    Ok(Op::Mov { d, a: o.src(ty)? })
}
/// Bits of each of so many parts.
fn part(ty: Ty, count: usize) -> Result<u32, Unread> {
    match count {
        2 | 4 | 8 if ty.bits() as usize / count >= 8 => Ok(ty.bits() / count as u32),
        _ => Err(format!("{count} parts of {} bits", ty.bits())),
    }
}
/// Global addresses are generic ones; those of shared memory lie in a window of them.
fn cvta(o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let (ty, to) = (o.ty()?, o.has("to"));
    let shared = o.one_of(&[("global", false), ("const", false), ("shared", true), ("shared::cta", true)]);
    let (d, a) = (o.reg()?, o.src(ty)?);
    Ok(match (shared.ok_or("an address space")?, to) {
        (false, _) => Op::Mov { d, a },
        (true, true) => Op::Lanes2 { f: lanes!(u64, |a, b| a.wrapping_sub(b)), d, a, b: o.constant(SHARED_WINDOW) },
        (true, false) => Op::Lanes2 { f: lanes!(u64, |a, b| a.wrapping_add(b)), d, a, b: o.constant(SHARED_WINDOW) },
    })
}

const ROUNDS: [(&str, (Round, bool)); 8] = [
    ("rn", (Round::Near, false)),
    ("rz", (Round::Zero, false)),
    ("rm", (Round::Down, false)),
    ("rp", (Round::Up, false)),
    ("rni", (Round::Near, true)),
    ("rzi", (Round::Zero, true)),
    ("rmi", (Round::Down, true)),
    ("rpi", (Round::Up, true)),
];
fn cvt(o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    if o.has("rna") {
        let tf32 = o.has("tf32") && o.ty()? == Ty::F32;
        let f = lanes!(u64, |a| convert::tf32(a));
        return if tf32 { Ok(Op::Lanes1 { f, d: o.reg()?, a: o.src(Ty::F32)? }) } else { Err("`.rna`".into()) };
    }
    let fp8 = o.one_of(&[("e4m3x2", Fp8::E4m3), ("e5m2x2", Fp8::E5m2)]);
    let other = o.ty()?;
    if let Some(fp8) = fp8 {
        return small(o, fp8, other);
    }
    let (relu, saturating) = (o.has("relu"), o.has("satfinite"));
    let rounding = o.one_of(&ROUNDS);
    if matches!(other, Ty::F16x2 | Ty::Bf16x2) {
        let exact = o.ty()? == Ty::F32 && matches!(rounding, Some((Round::Near, false))) && !saturating;
        let f = match (other, relu) {
            (Ty::F16x2, false) => lanes!(f32, |hi, lo| half::to_f16(hi.into()) << 16 | half::to_f16(lo.into())),
            (_, false) => lanes!(f32, |hi, lo| half::to_bf16(hi.into()) << 16 | half::to_bf16(lo.into())),
            (Ty::F16x2, true) => lanes!(f32, |hi, lo| half::to_f16(positive(hi)) << 16 | half::to_f16(positive(lo))),
            (_, true) => lanes!(f32, |hi, lo| half::to_bf16(positive(hi)) << 16 | half::to_bf16(positive(lo))),
        };
        return if exact {
            Ok(Op::Lanes2 { f, d: o.reg()?, a: o.src(Ty::F32)?, b: o.src(Ty::F32)? })
        } else {
            Err("this conversion of a pair".into())
        };
    }
    let (to, from) = (other, o.ty()?);
    if saturating {
        return Err("`.satfinite` here".into());
    }
    let convert = Convert {
        to,
        from,
        round: rounding.map(|(round, _)| round),
        integral: rounding.is_some_and(|(_, integral)| integral),
        sat: o.has("sat"),
        ftz: o.has("ftz"),
        relu,
    };
    let (d, bits) = o.sized_reg()?;
    let keep = if to.float() { to.mask() } else { u64::MAX >> (64 - bits) };
    Ok(Op::Convert { how: convert, keep, d, a: o.src(from)? })
}
fn positive(x: f32) -> f64 {
    if x < 0.0 { 0.0 } else { x.into() }
}
/// To and from a pair of 8-bit floats.
fn small(o: &mut Operands<'_, '_, '_>, fp8: Fp8, other: Ty) -> Result<Op, Unread> {
    let relu = o.has("relu");
    let near = o.has("rn");
    let to_small = o.has("satfinite");
    if !near {
        return Err("a conversion without `.rn`".into());
    }
    if !to_small {
        let f = match (fp8, other, relu) {
            (Fp8::E4m3, Ty::F16x2, false) => lanes!(u64, |a| wide(Fp8::E4m3, a, half::to_f16)),
            (Fp8::E5m2, Ty::F16x2, false) => lanes!(u64, |a| wide(Fp8::E5m2, a, half::to_f16)),
            _ => return Err("this conversion from 8 bits".into()),
        };
        return Ok(Op::Lanes1 { f, d: o.reg()?, a: o.src(Ty::B16)? });
    }
    let d = o.reg()?;
    Ok(match (other, fp8, relu) {
        (Ty::F32, Fp8::E4m3, false) => two(o, d, lanes!(f32, |a, b| narrow(Fp8::E4m3, a.into(), b.into(), false)))?,
        (Ty::F32, Fp8::E5m2, false) => two(o, d, lanes!(f32, |a, b| narrow(Fp8::E5m2, a.into(), b.into(), false)))?,
        (Ty::F32, Fp8::E4m3, true) => two(o, d, lanes!(f32, |a, b| narrow(Fp8::E4m3, a.into(), b.into(), true)))?,
        (Ty::F32, Fp8::E5m2, true) => two(o, d, lanes!(f32, |a, b| narrow(Fp8::E5m2, a.into(), b.into(), true)))?,
        (Ty::F16x2, Fp8::E4m3, false) => {
            let f = lanes!(u64, |a| narrow(Fp8::E4m3, half::f16_value(a >> 16), half::f16_value(a), false));
            Op::Lanes1 { f, d, a: o.src(Ty::B32)? }
        }
        (Ty::F16x2, Fp8::E5m2, false) => {
            let f = lanes!(u64, |a| narrow(Fp8::E5m2, half::f16_value(a >> 16), half::f16_value(a), false));
            Op::Lanes1 { f, d, a: o.src(Ty::B32)? }
        }
        _ => return Err("this conversion to 8 bits".into()),
    })
}
fn two(o: &mut Operands<'_, '_, '_>, d: u32, f: crate::alu::F2) -> Result<Op, Unread> {
    let (a, b): (Src, Src) = (o.src(Ty::F32)?, o.src(Ty::F32)?);
    Ok(Op::Lanes2 { f, d, a, b })
}
fn narrow(fp8: Fp8, hi: f64, lo: f64, relu: bool) -> u64 {
    fp8.encode(hi, relu) << 8 | fp8.encode(lo, relu)
}
fn wide(fp8: Fp8, pair: u64, to: fn(f64) -> u64) -> u64 {
    to(fp8.decode(pair & 0xFF)) | to(fp8.decode(pair >> 8 & 0xFF)) << 16
}
