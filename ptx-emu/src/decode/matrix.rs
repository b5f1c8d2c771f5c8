//! Matrices that the lanes of a warp hold together.

use super::Unread;
use super::operands::Operands;
use crate::alu::product::{Elem, Product};
use crate::inst::{Op, Reg, Space, Src, Ty};

const COUNTS: [(&str, usize); 3] = [("x1", 1), ("x2", 2), ("x4", 4)];
const SPACES: [(&str, Space); 2] = [("shared", Space::Shared), ("shared::cta", Space::Shared)];
const ELEMS: [(&str, Elem); 8] = [
    ("f16", Elem::F16),
    ("bf16", Elem::Bf16),
    ("tf32", Elem::Tf32),
    ("f32", Elem::F32),
    ("f64", Elem::F64),
    ("s8", Elem::S8),
    ("u8", Elem::U8),
    ("s32", Elem::S32),
];

/// `None`: of another family.
pub(crate) fn op(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Option<Op>, Unread> {
    Ok(Some(match opcode {
        "mma" => product(o)?,
        "ldmatrix" => {
            let (count, transposed) = matrices(o, opcode)?;
            let d = registers(o)?;
            counted(count, d.len())?;
            Op::LoadMatrix { transposed, d, at: o.addr(Space::Shared)? }
        }
        "stmatrix" => {
            let (count, transposed) = matrices(o, opcode)?;
            let at = o.addr(Space::Shared)?;
            let a = o.sources(Ty::B32)?;
            counted(count, a.len())?;
            Op::StoreMatrix { transposed, a, at }
        }
        "movmatrix" => {
            whole_warp(o, opcode)?;
            if !o.has("m8n8") || !o.has("trans") || !o.has("b16") {
                return Err("`movmatrix` of this kind".into());
            }
            Op::TransposeMatrix { d: o.reg()?, a: o.src(Ty::B32)? }
        }
        _ => return Ok(None),
    }))
}

fn whole_warp(o: &mut Operands<'_, '_, '_>, opcode: &str) -> Result<(), Unread> {
    if o.has("sync") && o.has("aligned") { Ok(()) } else { Err(format!("`{opcode}` without `.sync.aligned`")) }
}
/// How many, and whether transposed.
fn matrices(o: &mut Operands<'_, '_, '_>, opcode: &str) -> Result<(usize, bool), Unread> {
    whole_warp(o, opcode)?;
    let kind = || format!("`{opcode}` of this kind");
    let shape = o.has("m8n8") && o.has("b16") && o.one_of(&SPACES).is_some();
    let count = o.one_of(&COUNTS).filter(|_| shape).ok_or_else(kind)?;
    Ok((count, o.has("trans")))
}
fn product(o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    whole_warp(o, "mma")?;
    if !o.has("row") || !o.has("col") {
        return Err("`mma` of other orders than `.row.col`".into());
    }
    let mut elems = Vec::new();
    let mut shape = None;
    while let Some(word) = o.next_modifier() {
        match ELEMS.iter().find(|(name, _)| *name == word) {
            Some((_, elem)) => elems.push(*elem),
            None if shape.is_none() => shape = Some(word),
            None => return Err(format!("the modifier `.{word}`")),
        }
    }
    let how = match (shape, elems.as_slice()) {
        (Some(shape), [d, a, b, c]) if d == c => Product::of(shape, *d, *a, *b),
        _ => None,
    };
    let how = how.ok_or("`mma` of this shape and these types")?;
    let d = registers(o)?;
    let ty = if how.acc == Elem::F64 { Ty::B64 } else { Ty::B32 };
    let (a, b, c): (Vec<Src>, Vec<Src>, Vec<Src>) = (o.sources(ty)?, o.sources(ty)?, o.sources(ty)?);
    counted(how.regs_c(), d.len())?;
    counted(how.regs_a(), a.len())?;
    counted(how.regs_b(), b.len())?;
    counted(how.regs_c(), c.len())?;
    Ok(Op::Mma { how, d, a, b, c })
}
fn registers(o: &mut Operands<'_, '_, '_>) -> Result<Vec<Reg>, Unread> {
    let (d, _) = o.destinations()?;
    d.into_iter().map(|d| d.ok_or_else(|| "a matrix without a destination".to_string())).collect()
}
fn counted(expected: usize, found: usize) -> Result<(), Unread> {
    if expected == found { Ok(()) } else { Err(format!("a matrix of {expected} registers with {found}")) }
}
