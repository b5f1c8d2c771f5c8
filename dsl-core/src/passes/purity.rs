//! Which ops a pass may move, merge or leave out: what an op reads, and whether it can leave an error record.

use super::bounds::{Prover, checked_access, is_proved};
use super::edit::constant_of;
use crate::elem::Class;
use crate::ir::ops::family;
use crate::ir::{Def, Effect, Module, Op, OpId, Type, ValueId};

/// Whether running the op may leave an error record (a division by zero, an access outside its view) or stop the
/// program. Ops with regions count as if they may.
pub(super) fn can_fault(m: &Module, prover: &Prover<'_>, op: OpId) -> bool {
    let never_0 = |v: ValueId| match m.ty(v) {
        Type::Scalar(_) => prover.facts().get(m, v).is_some_and(|fact| !fact.holds(0)),
        Type::Tile(..) | Type::View(_) => constant_of(m, v).is_some_and(|lit| lit.bits != 0),
    };
    let data = &m.op(op).op;
    if let Op::Div(_) | Op::Rem(_) = data {
        let by = data.operands().get(1).copied();
        return by.is_some_and(|by| m.ty(by).is(Class::Int) && !never_0(by));
    }
    if let Op::ReduceWith(_) | Op::ScanWith(_) | Op::Assert(_) = data {
        return true;
    }
    match data {
        family::memory!() => checked_access(m, op).is_some() && !is_proved(m, prover, op),
        family::messages!() | family::control!() => true,
        family::arithmetic!() | family::bits!() | family::math!() | family::choice!() | family::conversion!() => false,
        family::shape!() | family::reduction!() | family::product!() | family::place!() => false,
        family::observation!() => false,
    }
}

/// What the results of an op depend on besides its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depends {
    Nothing,
    /// The elements of the view that this parameter is.
    Memory(u32),
}

/// `None` if the op does more than make its results from operands and one view, or has regions.
pub(super) fn depends(m: &Module, op: OpId) -> Option<Depends> {
    let op = &m.op(op).op;
    if op.has_regions() {
        return None;
    }
    match op.effect() {
        Effect::Pure => Some(Depends::Nothing),
        Effect::Read => match m.def(op.access()?.view) {
            Def::Param(i) => Some(Depends::Memory(i)),
            Def::Const(_) | Def::Result(..) | Def::Arg(..) => None,
        },
        Effect::Write | Effect::Atomic | Effect::Queue | Effect::Sync | Effect::Observe | Effect::Control => None,
    }
}
