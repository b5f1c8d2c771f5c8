//! Loads, stores, atomics, asynchronous copies.

use super::Unread;
use super::operands::Operands;
use crate::alu::memory::update;
use crate::inst::{Op, Order, Space, Ty};

const SPACES: [(&str, Space); 6] = [
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("shared::cluster", Space::Cluster),
    ("param", Space::Param),
    ("const", Space::Const),
];
/// How an access passes the caches, which are not modelled.
const CACHES: [&str; 16] = [
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::evict_first",
];
const VECTORS: [(&str, usize); 3] = [("v2", 2), ("v4", 4), ("v8", 8)];
const ATOMICS: [&str; 10] = ["add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas"];

/// `None`: of another family.
pub(crate) fn op(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Option<Op>, Unread> {
    Ok(Some(match opcode {
        "ld" => load(o)?,
        "st" => {
            let (space, order, hint) = place(o);
            let (count, ty) = (vector(o), o.ty()?);
            let (at, a) = (o.addr(space)?, o.sources(ty)?);
            policy(o, hint)?;
            counted(count, a.len())?;
            Op::St { space, order, bytes: ty.bytes(), a, at }
        }
        "red" | "atom" => atomic(opcode, o)?,
        "cp" => copy(o)?,
        "createpolicy" => {
            o.drop_all(&["fractional", "L2::evict_first", "L2::evict_last", "L2::evict_normal", "b64"]);
            let d = o.reg()?;
            while o.left() > 0 {
                o.next()?;
            }
            Op::Mov { d, a: o.constant(0) }
        }
        "prefetch" | "prefetchu" => {
            o.drop_all(&["global", "L1", "L2", "L2::evict_last", "L2::evict_normal"]);
            o.next()?;
            Op::Nothing
        }
        _ => return Ok(None),
    }))
}

/// The space, the order, and whether a policy operand follows. Scopes are not told apart: all threads are on one device.
fn place(o: &mut Operands<'_, '_, '_>) -> (Space, Order, bool) {
    let space = o.one_of(&SPACES).unwrap_or(Space::Generic);
    let both = o.has("acq_rel");
    let (acquire, release) = (o.has("acquire") || both, o.has("release") || both);
    let relaxed = o.has("relaxed") || o.has("volatile");
    o.drop_all(&["weak", "cta", "cluster", "gpu", "sys"]);
    let order = Order { strong: relaxed || acquire || release, acquire, release, read_only: o.has("nc") };
    let hint = o.has("L2::cache_hint");
    o.drop_all(&CACHES);
    (space, order, hint)
}
fn vector(o: &mut Operands<'_, '_, '_>) -> usize {
    o.one_of(&VECTORS).unwrap_or(1)
}
fn policy(o: &mut Operands<'_, '_, '_>, hint: bool) -> Result<(), Unread> {
    if hint {
        o.src(Ty::B64)?;
    }
    Ok(())
}
fn counted(expected: usize, found: usize) -> Result<(), Unread> {
    if expected == found { Ok(()) } else { Err(format!("a vector of {expected} with {found} registers")) }
}
fn load(o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let (space, order, hint) = place(o);
    let (count, ty) = (vector(o), o.ty()?);
    let (d, bits) = o.destinations()?;
    let at = o.addr(space)?;
    policy(o, hint)?;
    counted(count, d.len())?;
    let sign = (ty.signed() && ty.bits() < bits).then_some(bits);
    Ok(Op::Ld { space, order, bytes: ty.bytes(), sign, d, at })
}
fn atomic(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    let (space, order, hint) = place(o);
    let count = vector(o);
    o.drop_all(&["noftz"]);
    let name = ATOMICS.into_iter().find(|name| o.has(name)).ok_or("an atomic of this kind")?;
    let ty = o.ty()?;
    let update = update(name, ty).ok_or_else(|| format!("an atomic `{name}` of this type"))?;
    let d: Vec<_> = if opcode == "red" { Vec::new() } else { o.destinations()?.0.into_iter().flatten().collect() };
    let (at, a) = (o.addr(space)?, o.sources(ty)?);
    let b = if name == "cas" { Some(o.src(ty)?) } else { None };
    policy(o, hint)?;
    counted(count, a.len())?;
    Ok(Op::Atom { space, order: Order { strong: true, ..order }, update, bytes: ty.bytes(), d, at, a, b })
}
fn copy(o: &mut Operands<'_, '_, '_>) -> Result<Op, Unread> {
    if !o.has("async") {
        return Err("`cp` of this kind".into());
    }
    if o.has("commit_group") {
        return Ok(Op::CopyCommit);
    }
    if o.has("wait_all") {
        return Ok(Op::CopyWait { keep: None });
    }
    if o.has("wait_group") {
        let text = o.next()?;
        let keep = super::immediate(text, Ty::U32).ok_or_else(|| format!("the operand `{text}`"))?;
        return Ok(Op::CopyWait { keep: Some(keep as u32) });
    }
    let all = o.has("ca");
    if !(all || o.has("cg")) || !(o.has("shared") || o.has("shared::cta")) || !o.has("global") {
        return Err("`cp.async` of this kind".into());
    }
    let hint = o.has("L2::cache_hint");
    o.drop_all(&["L2::64B", "L2::128B", "L2::256B"]);
    let (to, from) = (o.addr(Space::Shared)?, o.addr(Space::Global)?);
    let text = o.next()?;
    let bytes = super::immediate(text, Ty::U32).ok_or_else(|| format!("the operand `{text}`"))? as u32;
    if !(bytes == 16 || all && (bytes == 4 || bytes == 8)) {
        return Err(format!("a copy of {bytes} bytes"));
    }
    let size = if o.left() > usize::from(hint) { Some(o.src(Ty::U32)?) } else { None };
    policy(o, hint)?;
    Ok(Op::Copy { to, from, bytes, size })
}
