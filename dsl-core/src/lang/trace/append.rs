//! Ops, constants and parameters of the trace, as values of the language.

use super::{TRACER, Tracer, at};
use crate::elem::ElemType;
use crate::ir::{Dims, Literal, Op, Type};
use crate::lang::errors::LangFault;
use crate::lang::handle::Val;

/// Traces an op with one result; `ty` is what the handle says of it.
#[track_caller]
pub(crate) fn emit(ty: Type, make: impl FnOnce(&mut Tracer) -> Op) -> Val {
    at(|t| {
        let op = make(t);
        let results = t.emit(op, &[ty]);
        // An op of the table gives as many results as its row says, faulty or not.
        results.get(0).map_or(Val::FOREIGN, |v| t.val(v))
    })
}
/// Traces an op without a result.
#[track_caller]
pub(crate) fn effect(make: impl FnOnce(&mut Tracer) -> Op) {
    at(|t| {
        let op = make(t);
        t.emit(op, &[]);
    });
}
/// Traces an op with any number of results. `parts` name them relative to the statement around; `names` outright.
#[track_caller]
pub(crate) fn emit_all(
    types: &[Type],
    parts: Vec<String>,
    names: &[String],
    make: impl FnOnce(&mut Tracer) -> Op,
) -> Vec<Val> {
    at(|t| {
        let op = make(t);
        let results = t.emit(op, types);
        let count = parts.len();
        t.last.set(results.iter().take(count), parts);
        let unnamed = results.iter().len().saturating_sub(names.len());
        for (v, name) in results.iter().skip(unnamed).zip(names).filter(|(_, n)| !n.is_empty()) {
            t.b.name(v, name);
        }
        results.iter().map(|v| t.val(v)).collect()
    })
}
/// A scalar constant: a value, not an op; it prints where it is used.
#[track_caller]
pub(crate) fn constant(lit: Literal) -> Val {
    at(|t| {
        t.last.set(std::iter::empty(), Vec::new());
        let id = t.literal(lit);
        t.val(id)
    })
}
/// The type of a value.
#[track_caller]
pub(crate) fn ty(v: Val) -> Type {
    at(|t| {
        let ty = t.type_of(v);
        t.spoil_next = false; // the use that follows reports for itself
        ty
    })
}
/// The type of a value, which other checks have seen.
pub(crate) fn silent_type(v: Val) -> Type {
    TRACER.with_borrow(|t| match t {
        Some(t) if v.trace == t.number && v.id.index() < t.homes.len() => t.module().ty(v.id),
        _ => Type::BOOL,
    })
}
/// The constant that a value is, if it is one.
pub(crate) fn known(v: Val) -> Option<Literal> {
    TRACER.with_borrow(|t| {
        let t = t.as_ref().filter(|t| v.trace == t.number && v.id.index() < t.homes.len())?;
        t.module().literal(v.id)
    })
}
/// The type of a tile (or scalar) with these lengths. A fault in them spoils the next op.
#[track_caller]
pub(crate) fn tile_type(elem: ElemType, dims: &[usize]) -> Type {
    if let Some(dims) = Dims::new(dims) {
        return Type::of(elem, dims);
    }
    let open = dims.contains(&crate::lang::shape::ANY);
    at(|t| {
        t.fail(if open { LangFault::OpenShape } else { LangFault::TileSize { dims: dims.to_vec() } });
        t.spoil_next = true;
    });
    let ones = [1; crate::ir::MAX_RANK];
    Type::of(elem, Dims::new(&ones[..dims.len().min(ones.len())]).unwrap_or(Dims::SCALAR))
}
/// A fault of the kernel; tracing goes on, so that all are reported.
#[track_caller]
pub(crate) fn fail(fault: LangFault) {
    at(|t| t.fail(fault));
}
/// Says that the next op is faulty for a reason already reported.
pub(crate) fn spoil() {
    TRACER.with_borrow_mut(|t| {
        if let Some(t) = t {
            t.spoil_next = true;
        }
    });
}
/// The handle of a runtime parameter.
#[track_caller]
pub(crate) fn parameter(index: usize) -> Val {
    at(|t| t.module().params.get(index).copied().map_or(Val::FOREIGN, |v| t.val(v)))
}
