//! Whether the turns of the loops around an access touch different places, so that no barrier has to keep them in order.

use super::super::Lower;
use tilewright_core::ir::ops::Access;
use tilewright_core::ir::{Def, Dims, Op, ValueId};

impl Lower<'_> {
    /// Every loop around the access moves it along an axis of its own, by at least its extent there a turn.
    pub(super) fn is_apart(&self, at: &Access, dims: Dims) -> bool {
        let skipped = at.index.len() - dims.rank();
        let extent = |axis: usize| axis.checked_sub(skipped).map_or(1, |axis| dims.as_slice()[axis]);
        let mut free: Vec<usize> = (0..at.index.len()).collect();
        self.loops.iter().all(|around| {
            let Some((index, step)) = around.least_step() else { return false };
            let moved_by = |axis: &usize| {
                let times = self.coefficient(at.index[*axis], index)?;
                let by = times.unsigned_abs().checked_mul(step)?;
                (by >= u128::from(extent(*axis))).then_some(())
            };
            let Some(found) = free.iter().position(|axis| moved_by(axis).is_some()) else { return false };
            free.remove(found);
            true
        })
    }
    /// `v` as so many times the index of a loop and something that none of the loops around changes. Where it wraps, turns
    /// that meet are too far from each other to run at the same time.
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
            Op::Cast(o) if self.is_widened(o.x, o.to.0.elem()) => self.coefficient(o.x, index),
            _ => None,
        }
    }
}
