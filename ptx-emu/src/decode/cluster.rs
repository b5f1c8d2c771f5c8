//! Clusters: their barrier, mbarriers, stores and copies that an mbarrier counts.

use super::Unread;
use super::operands::Operands;
use crate::between::Between;
use crate::inst::{Op, Space, Ty};

const SPACES: [(&str, Space); 3] =
    [("shared", Space::Shared), ("shared::cta", Space::Shared), ("shared::cluster", Space::Cluster)];
const COUNTED: &str = "mbarrier::complete_tx::bytes";

/// `None`: of another family.
pub(crate) fn op(opcode: &str, o: &mut Operands<'_, '_, '_>) -> Result<Option<Op>, Unread> {
    Ok(Some(Op::Between(match opcode {
        "mbarrier" => mbarrier(o)?,
        "st" if o.has("async") => {
            o.drop_all(&["weak"]);
            counted(o)?;
            if !o.has("shared::cluster") {
                return Err("`st.async` to this memory".into());
            }
            let count = o.one_of(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
            let ty = o.ty()?;
            let (at, a, barrier) = (o.addr(Space::Cluster)?, o.sources(ty)?, o.addr(Space::Cluster)?);
            if a.len() != count || ty.bytes() < 4 || ty.bytes() * count as u32 > 16 {
                return Err(format!("`st.async` of {} registers of this type", a.len()));
            }
            Between::Store { bytes: ty.bytes(), a, at, barrier }
        }
        "cp" if o.has("bulk") => bulk(o)?,
        "fence" if o.has("mbarrier_init") => {
            o.drop_all(&["release", "cluster"]);
            Between::InitFence
        }
        "fence" if o.has("proxy") => {
            if !o.has("async") {
                return Err("a fence of this proxy".into());
            }
            o.drop_all(&["shared::cta", "shared::cluster", "global"]);
            Between::ProxyFence
        }
        "mapa" => {
            o.drop_all(&["shared::cluster"]);
            let ty = o.ty()?;
            Between::Map { d: o.reg()?, a: o.src(ty)?, rank: o.src(Ty::U32)? }
        }
        "getctarank" => {
            o.drop_all(&["shared::cluster"]);
            let ty = o.ty()?;
            Between::Rank { d: o.reg()?, a: o.src(ty)? }
        }
        "barrier" if o.has("cluster") => {
            o.drop_all(&["aligned"]);
            match o.next_modifier() {
                Some("arrive") => {
                    let release = o.one_of(&[("release", true), ("relaxed", false)]).unwrap_or(true);
                    Between::Come { release }
                }
                Some("wait") => {
                    o.drop_all(&["acquire"]);
                    Between::Meet
                }
                _ => return Err("a barrier of the cluster of this kind".into()),
            }
        }
        _ => return Ok(None),
    })))
}

fn mbarrier(o: &mut Operands<'_, '_, '_>) -> Result<Between, Unread> {
    let what = o.next_modifier().unwrap_or("");
    let space = o.one_of(&SPACES).unwrap_or(Space::Generic);
    o.drop_all(&["b64"]);
    Ok(match what {
        "init" => Between::Init { at: o.addr(space)?, count: o.src(Ty::U32)? },
        "inval" => Between::Inval { at: o.addr(space)? },
        "arrive" => {
            let (wide, expects) = (scope(o, "release"), o.has("expect_tx"));
            let state = match o.peek() {
                text if text.starts_with('[') => None,
                "_" => {
                    o.next()?;
                    None
                }
                _ => Some(o.reg()?),
            };
            if space == Space::Cluster && state.is_some() {
                return Err("a state of an mbarrier of another block".into());
            }
            let at = o.addr(space)?;
            let number = if expects || o.left() > 0 { Some(o.src(Ty::U32)?) } else { None };
            let (count, expect) = if expects { (None, number) } else { (number, None) };
            Between::Arrive { space, wide, state, at, count, expect }
        }
        "expect_tx" | "complete_tx" => {
            o.drop_all(&["relaxed", "cta", "cluster"]);
            Between::Bytes { space, expect: what == "expect_tx", at: o.addr(space)?, bytes: o.src(Ty::U32)? }
        }
        "try_wait" | "test_wait" => {
            let (wide, parity) = (scope(o, "acquire"), o.has("parity"));
            let (d, at) = (o.pred()?, o.addr(space)?);
            let phase = o.src(if parity { Ty::U32 } else { Ty::B64 })?;
            // How long to sleep: a hint.
            if what == "try_wait" && o.left() > 0 {
                o.src(Ty::U32)?;
            }
            Between::Wait { space, parity, wide, d, at, phase }
        }
        _ => return Err(format!("`mbarrier.{what}`")),
    })
}
/// Whether it is for the cluster; unqualified it is for the block (PTX ISA, mbarrier).
fn scope(o: &mut Operands<'_, '_, '_>, order: &str) -> bool {
    o.drop_all(&[order, "cta"]);
    o.has("cluster")
}
fn counted(o: &mut Operands<'_, '_, '_>) -> Result<(), Unread> {
    if o.has(COUNTED) { Ok(()) } else { Err("an asynchronous copy that no mbarrier counts".into()) }
}
fn bulk(o: &mut Operands<'_, '_, '_>) -> Result<Between, Unread> {
    if !o.has("async") {
        return Err("`cp.bulk` of this kind".into());
    }
    counted(o)?;
    // The target stands first.
    let spaces = [("shared::cluster", Space::Cluster), ("shared::cta", Space::Shared), ("global", Space::Global)];
    let (to, from) = match (o.next_modifier(), o.next_modifier()) {
        (Some(to), Some(from)) => {
            let space = |word| spaces.iter().find(|(name, _)| *name == word).map(|(_, space)| *space);
            (space(to), space(from))
        }
        _ => (None, None),
    };
    let (to, from) = match (to, from) {
        (Some(Space::Cluster), Some(Space::Shared)) => (Space::Cluster, Space::Shared),
        (Some(to @ (Space::Cluster | Space::Shared)), Some(Space::Global)) => (to, Space::Global),
        _ => return Err("`cp.async.bulk` between these memories".into()),
    };
    let hint = o.has("L2::cache_hint");
    let (target, source) = (o.addr(to)?, o.addr(from)?);
    let (size, barrier) = (o.src(Ty::U32)?, o.addr(to)?);
    if hint {
        o.src(Ty::B64)?;
    }
    Ok(Between::Bulk { from, to: target, source, size, barrier })
}
