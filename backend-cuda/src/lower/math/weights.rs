//! Powers that are read as weights alone: rounded to 16 bits for products, and summed up, as softmax does. Digits that the
//! rounding drops need not be computed: `exp` is one multiplication and one instruction of the special function unit, `exp2`
//! that instruction (docs/decisions/0033, errors in docs/gpu-math.md).

use super::super::panels::Uses;
use super::Function;
use super::calc::Calc;
use crate::ptx::{Math, Reg, Ty};
use std::f64::consts::LOG2_E;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Module, Op, OpId, ValueId, ops};

/// By op: it is such a power.
#[derive(Debug, Default)]
pub(in crate::lower) struct Weights(Vec<bool>);

impl Weights {
    /// `uses`: of all threads' tiles, and of those of warps by themselves.
    pub(in crate::lower) fn of(m: &Module, uses: &[&Uses]) -> Weights {
        let only_products = |v: ValueId| uses.iter().any(|uses| uses.only_products(v));
        // By value: products read it rounded; something else than those and sums reads it.
        let (mut rounded, mut other) = (vec![false; m.num_values()], vec![false; m.num_values()]);
        let mut powers: Vec<OpId> = Vec::new();
        m.each_op(&mut |op| {
            let data = m.op(op);
            data.op.each_region(&mut |r| m.region(r).yields.iter().for_each(|v| other[v.index()] = true));
            match &data.op {
                Op::Cast(ops::Cast { x, to }) if is_short(to.0.elem()) && only_products(data.results.first) => {
                    rounded[x.index()] = true;
                }
                Op::ReduceSum(_) => {}
                op => op.each_operand(&mut |v| other[v.index()] = true),
            }
            if power(&data.op).is_some() && m.ty(data.results.first).elem() == ElemType::F32 {
                powers.push(op);
            }
        });
        let mut weights = vec![false; m.num_ops()];
        for op in powers {
            let v = m.op(op).results.first.index();
            weights[op.index()] = rounded[v] && !other[v];
        }
        Weights(weights)
    }
    /// The short form of the function that the op computes; `None`: it needs all its digits, or is none.
    pub(in crate::lower) fn form(&self, m: &Module, op: OpId) -> Option<Function> {
        if self.0[op.index()] { power(&m.op(op).op) } else { None }
    }
}

impl Calc<'_, '_> {
    pub(super) fn weight(&mut self, x: Reg) -> Reg {
        let power = self.mul(x, LOG2_E);
        self.cx.math(Math::Ex2, Ty::F32, power)
    }
}

fn power(op: &Op) -> Option<Function> {
    match op {
        Op::Exp(_) => Some(Function::Weight),
        Op::Exp2(_) => Some(Function::Weight2),
        _ => None,
    }
}
const fn is_short(elem: ElemType) -> bool {
    matches!(elem, ElemType::F16 | ElemType::BF16)
}
