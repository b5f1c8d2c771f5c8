//! A product in blocks (`gemm.dot_block`): what a kernel costs whose author tiles each product by hand. Every block is a
//! `dot` command of its own, before which the parts of both operands that it takes are loaded again, if they were loaded; nobody
//! waits for these loads.

use super::compile::Compiler;
use super::program::{BlockPart, Blocks, Instr, Job, Part, Side};
use crate::cost::{Price, Work};
use crate::machine::field;
use tilewright_core::ir::ops::{self, Dot, Op};
use tilewright_core::ir::{Def, OpId, ValueId};

/// An operand of a product that was loaded.
#[derive(Clone, Copy)]
struct Fetched<'m> {
    op: OpId,
    load: &'m ops::Load,
    /// The sides of the product along the two axes of the loaded tile.
    sides: [Side; 2],
}

impl<'m> Compiler<'_, 'm> {
    pub(super) fn blocked(&mut self, op: OpId, dot: &Dot, price: Price<'_>, dead: &[ValueId]) {
        let m = self.m;
        self.p.fields.extend(self.machine.gemm_peak(m.ty(dot.a).elem()).1);
        self.p.fields.insert(field::gemm::dot_block);
        let blocks = self.blocks(dot);
        let many = self.p.blocks[blocks as usize].count() > 1;
        let operands = [self.fetched(dot.a, [Side::M, Side::K]), self.fetched(dot.b, [Side::K, Side::N])];
        let waits = self.uses.of_op(op).to_vec();
        let waits = self.slots_of(&waits);
        let waits = self.tile_list(&waits);
        let results: Vec<ValueId> = m.op(op).results.iter().collect();
        let makes = self.makes(&results);
        self.block(op, price, operands, blocks, (waits, makes));
        if many {
            let next = self.jump(Instr::NextBlock { blocks, exit: 0 });
            self.block(op, price, operands, blocks, (waits, Part::default()));
            self.jump(Instr::Jump { to: next });
            self.land(next);
        }
        self.drop_values(dead);
    }
    /// One block: the loads of its operands, and its product.
    fn block(
        &mut self,
        op: OpId,
        price: Price<'_>,
        operands: [Option<Fetched<'m>>; 2],
        blocks: u32,
        (waits, makes): (Part, Part),
    ) {
        operands.into_iter().flatten().for_each(|operand| self.fetch(operand, blocks));
        self.command(op, "dot", price, Job::Block { blocks }, waits, makes, &[]);
    }
    /// A load of the part of an operand that the current block takes.
    fn fetch(&mut self, Fetched { op, load, sides }: Fetched<'m>, blocks: u32) {
        // What lies outside the view was told by the load itself.
        let access = self.access(op, &load.at, load.to.0, None, None);
        self.p.accesses[access as usize].block = Some(BlockPart { blocks, sides });
        let price = self.price(op);
        self.command(op, "load", price, Job::Load { access }, Part::default(), Part::default(), &[]);
    }
    fn blocks(&mut self, dot: &Dot) -> u32 {
        let m = self.m;
        let len = |v: ValueId, axis: usize| m.ty(v).dims().and_then(|d| d.get(axis)).unwrap_or(1);
        let (edge, lens) = (self.machine.gemm.dot_block, [len(dot.a, 0), len(dot.b, 1), len(dot.a, 1)]);
        let elem = m.ty(dot.a).elem();
        let times = std::array::from_fn(|whole| {
            let side = |i: usize| u64::from(if whole >> i & 1 == 1 { edge } else { lens[i] % edge });
            self.machine.gemm_time(elem, side(0), side(1), side(2))
        });
        self.p.blocks.push(Blocks { edge, lens, times });
        self.p.blocks.len() as u32 - 1
    }
    /// The load of an operand, seen through a transpose; none for what was computed or received.
    fn fetched(&self, v: ValueId, sides: [Side; 2]) -> Option<Fetched<'m>> {
        let Def::Result(op, _) = self.m.def(v) else { return None };
        if let Op::Load(load) = &self.m.op(op).op {
            return Some(Fetched { op, load, sides });
        }
        if let (Op::Trans(o), Work::Name(_)) = (&self.m.op(op).op, self.price(op).work) {
            return self.fetched(o.x, [sides[1], sides[0]]);
        }
        None
    }
}
