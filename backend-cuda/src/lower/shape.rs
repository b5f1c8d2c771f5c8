//! Ops that only say where an element belongs: registers under other names where the layouts allow it.

use super::errors::Fault;
use super::reduce::by_coord;
use super::{Done, Lower};
use crate::ptx::Reg;
use tilewright_core::ir::{OpId, ops};

impl Lower<'_> {
    /// Threads that differ along the new axis hold the same elements of the operand.
    pub(super) fn broadcast(&mut self, id: OpId, o: &ops::Broadcast) -> Done {
        let to = self.layout(self.m.op(id).results.first)?;
        let axis = o.axis.0 as usize;
        let from = to.without(axis);
        let (regs, at) = (self.tile(o.x, &from)?, by_coord(&from));
        let pick = |reg: usize| {
            let coord = to.reg_coord(reg);
            let mut kept = coord.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, n)| *n);
            at.get(&std::array::from_fn(|_| kept.next().unwrap_or(0))).map(|reg| regs[*reg])
        };
        let picked: Option<Vec<Reg>> = (0..to.regs()).map(pick).collect();
        self.set_tile(id, picked.ok_or(Fault::NoValue)?);
        Ok(())
    }
    pub(super) fn trans(&mut self, id: OpId, o: &ops::Trans) -> Done {
        let to = self.layout(self.m.op(id).results.first)?;
        let from = to.transposed();
        let (regs, at) = (self.tile(o.x, &from)?, by_coord(&from));
        let pick = |reg: usize| {
            let [row, column, ..] = to.reg_coord(reg);
            at.get(&[column, row, 0, 0]).map(|reg| regs[*reg])
        };
        let picked: Option<Vec<Reg>> = (0..to.regs()).map(pick).collect();
        self.set_tile(id, picked.ok_or(Fault::NoValue)?);
        Ok(())
    }
}
