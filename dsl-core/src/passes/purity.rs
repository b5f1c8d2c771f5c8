//! Which ops a pass may move, merge or leave out: what an op reads, and whether it can leave an error record.

use super::bounds::{Prover, checked_access, is_proved};
use super::edit::constant_of;
use crate::elem::Class;
use crate::ir::{Def, Effect, Module, Op, OpId, Type, ValueId};

/// Whether running the op may leave an error record (a division by zero, an access outside its view) or stop the
/// program. Ops with regions count as if they may.
pub(super) fn can_fault(m: &Module, prover: &Prover<'_>, op: OpId) -> bool {
    let never_0 = |v: ValueId| match m.ty(v) {
        Type::Scalar(_) => prover.facts().get(m, v).is_some_and(|fact| !fact.holds(0)),
        Type::Tile(..) | Type::View(_) => constant_of(m, v).is_some_and(|lit| lit.bits != 0),
    };
    match &m.op(op).op {
        Op::Div(_) | Op::Rem(_) => {
            let by = m.op(op).op.operands().get(1).copied();
            by.is_some_and(|by| m.ty(by).is(Class::Int) && !never_0(by))
        }
        Op::Load(_) | Op::Store(_) | Op::AtomicAdd(_) | Op::AtomicMax(_) => {
            checked_access(m, op).is_some() && !is_proved(m, prover, op)
        }
        Op::Send(_) | Op::Recv(_) | Op::Barrier(_) | Op::Assert(_) => true,
        Op::If(_) | Op::For(_) | Op::While(_) | Op::Composite(_) | Op::ReduceWith(_) | Op::ScanWith(_) => true,
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::MulHi(_) | Op::Fma(_) | Op::Maximum(_) | Op::Minimum(_) => false,
        Op::MaxNan(_) | Op::MinNan(_) | Op::Neg(_) | Op::Abs(_) | Op::And(_) | Op::Or(_) | Op::Xor(_) => false,
        Op::Not(_) | Op::Shl(_) | Op::Shr(_) | Op::Exp(_) | Op::Exp2(_) | Op::Log(_) | Op::Log2(_) => false,
        Op::Sqrt(_) | Op::Rsqrt(_) | Op::Tanh(_) | Op::Erf(_) | Op::Sin(_) | Op::Cos(_) | Op::Floor(_) => false,
        Op::Cmp(_) | Op::Select(_) | Op::Cast(_) | Op::Bitcast(_) | Op::Splat(_) | Op::Broadcast(_) => false,
        Op::Iota(_) | Op::Reshape(_) | Op::Trans(_) | Op::Rows(_) | Op::ReduceMax(_) | Op::ReduceMin(_) => false,
        Op::ReduceSum(_) | Op::ScanSum(_) | Op::Dot(_) | Op::Len(_) | Op::PeId(_) | Op::CubeId(_) => false,
        Op::NumPes(_) | Op::NumCubes(_) | Op::ProgramId(_) | Op::NumPrograms(_) => false,
        Op::Keep(_) | Op::Print(_) => false,
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
