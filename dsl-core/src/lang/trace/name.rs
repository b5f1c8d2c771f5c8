//! Names: what a statement's value is called, once it has been traced.

use super::TRACER;
use crate::lang::handle::Val;

/// How many values there were when a statement began.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Mark(pub(super) u32);

#[doc(hidden)]
pub fn mark() -> Mark {
    TRACER.with_borrow(|t| Mark(t.as_ref().map_or(0, |t| t.module().num_values() as u32)))
}
/// Names what the last operation handed back, as far as it was made since `mark`.
#[doc(hidden)]
pub fn name_last(mark: Mark, name: &str) {
    TRACER.with_borrow_mut(|t| {
        if let Some(t) = t {
            t.name_last(mark, name);
        }
    });
}
/// Passes a field's value on, and names it as a statement would.
#[doc(hidden)]
pub fn named<T>(mark: Mark, value: T, name: &str) -> T {
    name_last(mark, name);
    value
}
/// Says what an operation or a `#[device]` function hands back, whatever it has traced: the values that a name is for. A
/// value keeps the first name it gets.
pub(crate) fn hands_back(vals: &[Val], parts: Vec<String>) {
    TRACER.with_borrow_mut(|t| {
        if let Some(t) = t {
            t.last.set(vals.iter().map(|v| v.id), parts);
        }
    });
}
/// Names a value outright.
pub(crate) fn name(v: Val, name: &str) {
    TRACER.with_borrow_mut(|t| {
        if let Some(t) = t
            && v.trace == t.number
            && v.id.index() < t.homes.len()
        {
            t.b.name(v.id, name);
        }
    });
}
