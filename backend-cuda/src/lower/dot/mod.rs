//! Products of tiles. `mma.rs`: by the tensor cores. `fma.rs`: one product and sum after the other, where they would lose
//! bits. How a product is shared out is a decision of `layout`; operands come from shared memory, or from registers where
//! those hold what an instruction takes.

mod fma;
mod mma;
mod operand;

use super::errors::Fault;
use super::{Done, Lower};
use crate::layout::sides;
use crate::ptx::Reg;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Def, Op, OpId, ValueId, ops};

/// Rows, depth and columns.
#[derive(Clone, Copy, Debug)]
struct Lens {
    rows: u32,
    k: u32,
    columns: u32,
}

impl Lower<'_> {
    pub(super) fn dot(&mut self, id: OpId, o: &ops::Dot) -> Done {
        let product = self.layouts.product(id).cloned().ok_or(Fault::NoValue)?;
        let ([rows, k], [_, columns]) = match (sides(self.m.ty(o.a).dims()), sides(self.m.ty(o.b).dims())) {
            (Some(a), Some(b)) => (a, b),
            _ => return Err(Fault::NoValue),
        };
        let (lens, elem) = (Lens { rows, k, columns }, o.to.0.elem());
        let result = self.m.op(id).results.first;
        // An error if it does not fit.
        let to = self.layout(result)?;
        let start: Option<Vec<Reg>> = match o.c {
            Some(c) => {
                let regs = self.tile(c, &product.layout)?;
                Some(regs.into_iter().map(|reg| self.widen(elem, reg.into())).collect())
            }
            None => None,
        };
        let in_place = elem != ElemType::F16 && to == product.layout && o.c.is_some_and(|c| self.is_carried(id, c));
        let sums = match product.atom {
            Some(atom) => self.by_mma((id, o), &product, atom, lens, (start, in_place))?,
            None => self.by_fma((id, o), &product, lens, start)?,
        };
        let sums: Vec<Reg> = sums.into_iter().map(|sum| self.round_f32(elem, sum)).collect();
        let regs =
            if to == product.layout { sums } else { self.convert(self.m.ty(result), &sums, &product.layout, &to)? };
        self.set_tile(id, regs);
        Ok(())
    }
    /// Whether a loop carries the accumulator from one turn's product to the next and nobody else looks at it: the sum can
    /// grow where it lies.
    fn is_carried(&self, id: OpId, c: ValueId) -> bool {
        let (m, result) = (self.m, self.m.op(id).results.first);
        let Def::Arg(region, at) = m.def(c) else { return false };
        // The first argument of a counted loop is its index.
        let region = m.region(region);
        let Some(position) = region.yields.iter().position(|v| *v == result) else { return false };
        let offset = region.args.len() - region.yields.len();
        at as usize == position + offset && self.count_uses(c) == 1 && self.count_uses(result) == 1
    }
    fn count_uses(&self, v: ValueId) -> usize {
        let (m, mut count) = (self.m, 0);
        let mut each = |used: ValueId| count += usize::from(used == v);
        m.region(m.body).yields.iter().for_each(|used| each(*used));
        m.each_op(&mut |op| {
            let op: &Op = &m.op(op).op;
            op.each_operand(&mut each);
            op.each_region(&mut |r| m.region(r).yields.iter().for_each(|used| each(*used)));
        });
        count
    }
}
