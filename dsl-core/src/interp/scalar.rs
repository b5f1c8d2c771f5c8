//! One op on scalars: what constant folding, the simulator's timing pass and the interpreter call.

use super::elementwise::{self, Elementwise};
use super::record::RecordKind;
use crate::ir::{Literal, Op, Type};

/// A scalar result, and what went wrong in making it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluated {
    pub value: Literal,
    /// The value stands all the same: a division by zero gives 0.
    pub fault: Option<RecordKind>,
}

/// The result of an op on scalar operands, given in the order of `Op::each_operand`.
///
/// `None` for ops that scalars alone do not decide (tiles, memory, place, messages, control), and where the operands are
/// not what the op takes.
pub fn eval(op: &Op, operands: &[Literal], result: Type) -> Option<Evaluated> {
    let f = Elementwise::of(op)?;
    if !result.is_scalar() {
        return None;
    }
    let value = elementwise::scalar(f, operands, result.elem())?;
    let by_zero = f.divides(value.elem) && operands.get(1).is_some_and(|b| b.bits == 0);
    Some(Evaluated { value, fault: by_zero.then_some(RecordKind::DivisionByZero) })
}
