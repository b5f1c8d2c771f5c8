//! Whether the turns of the loops around an access touch different places, so that no barrier has to keep them in order.

use super::super::Lower;
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::ops::Access;
use tilewright_core::ir::{Def, Dims, Literal, Module, Op, OpId, RegionId, ValueId};

impl Lower<'_> {
    /// Every loop around the access moves it along an axis of its own, by at least its extent there a turn.
    pub(super) fn is_apart(&self, at: &Access, dims: Dims) -> bool {
        let skipped = at.index.len() - dims.rank();
        let extent = |axis: usize| axis.checked_sub(skipped).map_or(1, |axis| dims.as_slice()[axis]);
        let mut free: Vec<usize> = (0..at.index.len()).collect();
        self.loops.iter().all(|around| {
            let Some((index, step)) = around else { return false };
            let moved_by = |axis: &usize| {
                let times = self.coefficient(at.index[*axis], *index)?;
                let by = times.unsigned_abs().checked_mul(*step)?;
                (by >= u128::from(extent(*axis))).then_some(())
            };
            let Some(found) = free.iter().position(|axis| moved_by(axis).is_some()) else { return false };
            free.remove(found);
            true
        })
    }
    /// The index of a loop, and what its turns are at least apart; `None` for a loop that does not count.
    pub(in crate::lower) fn enter_loop(&mut self, regions: &[RegionId], counted: Option<(ValueId, Option<ValueId>)>) {
        if self.loops.is_empty() {
            self.outermost_loop = Some(span(self.m, regions));
        }
        let step = |v: ValueId| self.prover.facts().get(self.m, v).map_or(1, |fact| fact.divisor.max(1));
        let around = counted.map(|(index, by)| (index, by.map_or(1, step)));
        self.loops.push(around);
    }
    pub(in crate::lower) fn leave_loop(&mut self) {
        self.loops.pop();
        if self.loops.is_empty() {
            self.outermost_loop = None;
        }
    }
    /// `v` as so many times the index of a loop and something that none of the loops around changes.
    fn coefficient(&self, v: ValueId, index: ValueId) -> Option<i128> {
        if v == index {
            return Some(1);
        }
        let op = match self.m.def(v) {
            Def::Const(_) | Def::Param(_) => return Some(0),
            Def::Arg(..) => return None,
            Def::Result(op, _) => op,
        };
        if !self.is_in_a_loop(op) {
            return Some(0);
        }
        match &self.m.op(op).op {
            Op::Add(o) => self.coefficient(o.a, index)?.checked_add(self.coefficient(o.b, index)?),
            Op::Sub(o) => self.coefficient(o.a, index)?.checked_sub(self.coefficient(o.b, index)?),
            Op::Mul(o) => match (self.literal(o.a), self.literal(o.b)) {
                (Some(n), _) => self.coefficient(o.b, index)?.checked_mul(n),
                (_, Some(n)) => self.coefficient(o.a, index)?.checked_mul(n),
                (None, None) => None,
            },
            // Wider integers hold the same number.
            Op::Cast(o) if is_index(self.m.ty(o.x).elem()) && is_index(o.to.0.elem()) => self.coefficient(o.x, index),
            _ => None,
        }
    }
    fn literal(&self, v: ValueId) -> Option<i128> {
        self.m.literal(v).and_then(Literal::as_int)
    }
    /// Whether one of the loops around the current op holds this one.
    pub(super) fn is_in_a_loop(&self, op: OpId) -> bool {
        self.outermost_loop.is_some_and(|(from, to)| (from..to).contains(&op.0))
    }
}

fn is_index(elem: ElemType) -> bool {
    elem.kind() == Kind::Signed && elem.bits() >= 32
}

/// The ops under a region, which lie side by side in a module's arena: first and one past the last.
fn span(m: &Module, regions: &[RegionId]) -> (u32, u32) {
    let (mut from, mut to) = (u32::MAX, 0);
    for r in regions {
        m.walk(*r, &mut |op| (from, to) = (from.min(op.0), to.max(op.0 + 1)));
    }
    (from, to)
}
