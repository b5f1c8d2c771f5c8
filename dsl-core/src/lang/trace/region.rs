//! Regions: bodies of loops and conditions, traced by closures.

use super::{TRACER, at};
use crate::ir::{Op, RegionId, Type};
use crate::lang::handle::Val;

/// A closed region, and what its body returned.
pub(crate) struct Traced<R> {
    pub region: RegionId,
    pub out: R,
}
/// Traces `body` into a region of its own; `yields` says what it hands back.
#[track_caller]
pub(crate) fn region<R>(
    args: &[Type],
    names: &[String],
    body: impl FnOnce(&[Val]) -> R,
    yields: impl FnOnce(&R) -> Vec<Val>,
) -> Traced<R> {
    let args = at(|t| t.open(args, names));
    let out = body(&args);
    let yields = yields(&out);
    let region = at(|t| t.close(&yields));
    Traced { region, out }
}
/// Lets what follows use the values of a closed region, until `hide`: the body of a `while` sees its condition's.
pub(crate) fn reveal(region: RegionId) {
    TRACER.with_borrow_mut(|t| {
        if let Some(t) = t {
            let current = t.visible.len().saturating_sub(1);
            t.visible.insert(current, region); // below the current one, where ops go
        }
    });
}
pub(crate) fn hide(region: RegionId) {
    TRACER.with_borrow_mut(|t| {
        if let Some(t) = t {
            t.visible.retain(|r| *r != region);
        }
    });
}
/// Moves the ops of a closed region into the current one.
pub(crate) fn splice(region: RegionId) {
    TRACER.with_borrow_mut(|t| {
        if let Some(t) = t {
            t.b.splice(region);
            let into = t.current();
            t.merged.insert(region, into);
        }
    });
}
/// Whether running the ops of a region can be noticed beyond their results: a read may fault, an integer division by
/// zero leaves an error record.
pub(crate) fn has_effects(region: RegionId) -> bool {
    TRACER.with_borrow(|t| {
        let Some(t) = t else { return false };
        let m = t.module();
        m.region(region).ops.iter().any(|op| match &m.op(*op).op {
            Op::Div(crate::ir::ops::Div { b, .. }) | Op::Rem(crate::ir::ops::Rem { b, .. }) => {
                m.literal(*b).is_none_or(|lit| lit.as_int() == Some(0)) && m.ty(*b).is(crate::elem::Class::Int)
            }
            op => op.effect() != crate::ir::Effect::Pure,
        })
    })
}
