//! Ops whose result at a place depends on the operands at that place alone: one rule a family, applied to every register
//! of the result's layout, or once to scalars.

use super::errors::Fault;
use super::{Done, Lower};
use crate::ptx::{Reg, Src};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Op, OpId};

impl Lower<'_> {
    pub(super) fn elementwise(&mut self, id: OpId) -> Done {
        let m = self.m;
        let data = m.op(id);
        let (operands, result) = (data.op.operands(), data.results.first);
        // What is computed is decided by the operands: a comparison of floats gives truth values.
        let elem = operands.last().map_or(m.ty(result).elem(), |v| m.ty(*v).elem());
        if m.ty(result).is_scalar() {
            let args = operands.iter().map(|v| self.scalar(*v)).collect::<Result<Vec<_>, _>>()?;
            let reg = self.at_a_place(&data.op, elem, m.ty(result).elem(), &args)?;
            self.set_scalar(id, reg);
            return Ok(());
        }
        let layout = self.layout(result)?;
        let tiles = operands.iter().map(|v| self.tile(*v, &layout)).collect::<Result<Vec<_>, _>>()?;
        let mut regs = Vec::with_capacity(layout.regs());
        for reg in 0..layout.regs() {
            let args: Vec<Src> = tiles.iter().map(|tile| tile[reg].into()).collect();
            regs.push(self.at_a_place(&data.op, elem, m.ty(result).elem(), &args)?);
        }
        self.set_tile(id, regs);
        Ok(())
    }

    /// One element of the result. `elem`: of the operands; `to`: of the result.
    pub(super) fn at_a_place(&mut self, op: &Op, elem: ElemType, to: ElemType, args: &[Src]) -> Result<Reg, Fault> {
        match (op, args) {
            (Op::Add(_) | Op::Sub(_) | Op::Mul(_), [a, b]) => self.sum_or_product(op, elem, *a, *b),
            (Op::Cmp(o), [a, b]) => Ok(self.compare(o.pred, elem, *a, *b)),
            (Op::Select(_), [mask, a, b]) => Ok(self.select(elem, *mask, *a, *b)),
            (other, _) => {
                let _ = to;
                Err(Fault::NotLowered { mnemonic: other.mnemonic() })
            }
        }
    }
}
