//! Removal of dead code: pure ops and reads whose results nothing uses, and control ops around nothing else.

use crate::ir::builder::renumber;
use crate::ir::{Def, Effect, Module, Op, OpId, RegionId, ValueId};

/// Leaves out what has no effect and no use. A control op that stays keeps all its results, used or not.
pub fn dce(m: &Module) -> Module {
    let mut live = Live {
        m,
        holder: vec![None; m.num_regions()],
        region: vec![m.body; m.num_ops()],
        live: vec![false; m.num_ops()],
        work: Vec::new(),
    };
    m.each_op(&mut |op| live.place(op));
    m.each_op(&mut |op| {
        if has_effect(m, op) {
            live.mark(op);
        }
    });
    m.region(m.body).yields.iter().for_each(|v| live.used(*v));
    while let Some(op) = live.work.pop() {
        live.follow(op);
    }
    let live = live.live;
    renumber(m, &mut |op| live[op.index()])
}

/// Whether the op itself is seen from outside.
fn has_effect(m: &Module, op: OpId) -> bool {
    match m.op(op).op.effect() {
        Effect::Write | Effect::Atomic | Effect::Queue | Effect::Sync | Effect::Observe => true,
        // A control op does what is in its regions; those mark it.
        Effect::Pure | Effect::Read | Effect::Control => false,
    }
}

struct Live<'m> {
    m: &'m Module,
    /// By region: the op that holds it.
    holder: Vec<Option<OpId>>,
    /// By op: the region it stands in.
    region: Vec<RegionId>,
    live: Vec<bool>,
    work: Vec<OpId>,
}

impl Live<'_> {
    fn place(&mut self, op: OpId) {
        for r in self.m.op(op).op.regions() {
            self.holder[r.index()] = Some(op);
            self.m.region(r).ops.iter().for_each(|inner| self.region[inner.index()] = r);
        }
    }
    fn mark(&mut self, op: OpId) {
        if !std::mem::replace(&mut self.live[op.index()], true) {
            self.work.push(op);
        }
    }
    fn used(&mut self, v: ValueId) {
        match self.m.def(v) {
            Def::Result(op, _) => self.mark(op),
            // The op that holds the region is live, as something in it is.
            Def::Arg(..) | Def::Param(_) | Def::Const(_) => {}
        }
    }
    fn follow(&mut self, op: OpId) {
        let m = self.m;
        if let Some(holder) = self.holder[self.region[op.index()].index()] {
            self.mark(holder);
        }
        m.op(op).op.each_operand(&mut |v| self.used(v));
        m.op(op).op.each_region(&mut |r| m.region(r).yields.iter().for_each(|v| self.used(*v)));
        // A composite is one command around its product, whoever uses that.
        if let Op::Composite(o) = &m.op(op).op {
            let products = m.region(o.body).ops.iter().filter(|op| matches!(m.op(**op).op, Op::Dot(_)));
            products.for_each(|op| self.mark(*op));
        }
    }
}
