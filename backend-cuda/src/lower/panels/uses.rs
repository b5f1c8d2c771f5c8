//! Which tiles are read by products alone: they need no registers of their own. And how much of each is read.

use crate::layout::{Layouts, sides};
use rustc_hash::FxHashMap;
use tilewright_core::ir::{Module, Op, OpId, ValueId};

/// By value.
#[derive(Debug, Default)]
pub(in crate::lower) struct Uses {
    /// Rows and columns that products read of it, whatever else does: at least its own.
    cover: FxHashMap<ValueId, [u32; 2]>,
    other: Vec<bool>,
}

impl Uses {
    /// Of these ops, in the order of the text. `elsewhere`: ops that have what they use in registers.
    pub(in crate::lower) fn of(m: &Module, layouts: &Layouts, ops: &[OpId], elsewhere: &[OpId]) -> Uses {
        let mut uses = Uses { cover: FxHashMap::default(), other: vec![false; m.num_values()] };
        elsewhere.iter().for_each(|op| m.op(*op).op.each_operand(&mut |v| uses.other[v.index()] = true));
        // A use comes behind what it uses.
        for op in ops.iter().rev() {
            let data = m.op(*op);
            data.op.each_region(&mut |r| m.region(r).yields.iter().for_each(|v| uses.other[v.index()] = true));
            match &data.op {
                Op::Dot(o) => {
                    if let Some([a, b]) = read_by(m, layouts, *op) {
                        uses.reads(o.a, a);
                        uses.reads(o.b, b);
                    }
                    o.c.into_iter().for_each(|c| uses.other[c.index()] = true);
                }
                Op::Trans(o) => match uses.cover.get(&data.results.first) {
                    Some([rows, columns]) if uses.only_products(data.results.first) => {
                        uses.reads(o.x, [*columns, *rows]);
                    }
                    _ => uses.other[o.x.index()] = true,
                },
                other => other.each_operand(&mut |v| uses.other[v.index()] = true),
            }
        }
        uses
    }
    fn reads(&mut self, v: ValueId, [rows, columns]: [u32; 2]) {
        let cover = self.cover.entry(v).or_default();
        *cover = [cover[0].max(rows), cover[1].max(columns)];
    }
    /// Products read it, and nothing else.
    pub(in crate::lower) fn only_products(&self, v: ValueId) -> bool {
        self.cover.contains_key(&v) && !self.other[v.index()]
    }
    pub(in crate::lower) fn cover(&self, v: ValueId) -> Option<[u32; 2]> {
        self.cover.get(&v).copied()
    }
}

/// Rows and columns that a product reads of its operands.
pub(in crate::lower) fn read_by(m: &Module, layouts: &Layouts, op: OpId) -> Option<[[u32; 2]; 2]> {
    let Op::Dot(o) = &m.op(op).op else { return None };
    let product = layouts.product(op)?;
    let ([rows, k], [_, columns]) = (sides(m.ty(o.a).dims())?, sides(m.ty(o.b).dims())?);
    let covered = |layout: &crate::layout::RegLayout| [0, 1].map(|axis| layout.rep()[axis] * layout.atom(axis));
    Some(match product.atom {
        Some(atom) => product.operands(rows, k, columns, atom).map(|layout| covered(&layout)),
        None => {
            let [rows, columns] = covered(&product.layout);
            let k = k.next_multiple_of(16 / m.ty(o.a).elem().bytes() as u32);
            [[rows, k], [k, columns]]
        }
    })
}
