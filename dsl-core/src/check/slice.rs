//! What a walk over a program needs: the ops that send, receive or meet at a barrier, the control around them, and the
//! scalars that decide that control. Everything else is passed over.

use crate::interp::scalar;
use crate::ir::{Def, Literal, Module, Op, OpId, RegionId, ValueId, ops};

/// The part of a module that decides its messages and barriers.
pub(super) struct Slice {
    /// By op: whether it or an op in its regions is a message or a barrier.
    pub talks: Vec<bool>,
    /// By region: the ops that a walk takes.
    pub ops: Vec<Vec<OpId>>,
    /// By value: its place among the values that a walk computes.
    pub slot: Vec<Option<u32>>,
    pub slots: usize,
    any: bool,
}

impl Slice {
    pub(super) fn of(m: &Module) -> Slice {
        let mut talks = vec![false; m.num_ops()];
        let any = talk(m, m.body, &mut talks);
        let mut walk =
            Walk { m, needed: vec![false; m.num_values()], work: Vec::new(), owner: vec![None; m.num_regions()] };
        m.each_op(&mut |op| m.op(op).op.each_region(&mut |r| walk.owner[r.index()] = Some(op)));
        for op in (0..m.num_ops() as u32).map(OpId).filter(|op| talks[op.index()]) {
            walk.decides(&m.op(op).op);
        }
        while let Some(v) = walk.work.pop() {
            walk.follow(v);
        }
        let needed = walk.needed;
        let takes = |op: &OpId| talks[op.index()] || m.op(*op).results.iter().any(|v| needed[v.index()]);
        let ops =
            (0..m.num_regions() as u32).map(|r| m.region(RegionId(r)).ops.iter().copied().filter(takes).collect());
        let ops = ops.collect();
        let mut slots = 0;
        let slot = needed.iter().map(|needed| {
            needed.then(|| {
                slots += 1;
                slots - 1
            })
        });
        let slot = slot.collect();
        Slice { talks, ops, slot, slots: slots as usize, any }
    }
    /// Whether the module has a message or a barrier at all.
    pub(super) fn communicates(&self) -> bool {
        self.any
    }
}

/// Marks the ops under `region` that talk; whether there is one. Regions nest no deeper than the verifier allows.
fn talk(m: &Module, region: RegionId, talks: &mut [bool]) -> bool {
    let mut any = false;
    for &op in &m.region(region).ops {
        let mut here = matches!(m.op(op).op, Op::Send(_) | Op::Recv(_) | Op::Barrier(_));
        m.op(op).op.each_region(&mut |r| here |= talk(m, r, talks));
        talks[op.index()] = here;
        any |= here;
    }
    any
}

struct Walk<'m> {
    m: &'m Module,
    needed: Vec<bool>,
    work: Vec<ValueId>,
    /// By region: the op that holds it.
    owner: Vec<Option<OpId>>,
}

impl Walk<'_> {
    fn need(&mut self, v: ValueId) {
        if self.m.ty(v).is_scalar() && !std::mem::replace(&mut self.needed[v.index()], true) {
            self.work.push(v);
        }
    }
    /// What decides which of its regions a control op runs, and how often.
    fn decides(&mut self, op: &Op) {
        match op {
            Op::If(o) => self.need(o.cond),
            Op::For(o) => {
                [Some(o.range.lo), Some(o.range.hi), o.range.step].into_iter().flatten().for_each(|v| self.need(v));
                self.m.region(o.body).args.first().into_iter().for_each(|index| self.need(*index));
            }
            Op::While(o) => self.m.region(o.cond).yields.iter().for_each(|v| self.need(*v)),
            // The others hold no region that runs or not by a scalar.
            _ => {}
        }
    }
    fn follow(&mut self, v: ValueId) {
        let m = self.m;
        match m.def(v) {
            Def::Param(_) | Def::Const(_) => {}
            Def::Result(id, i) => {
                let op = &m.op(id).op;
                if op.has_regions() {
                    self.decides(op);
                    self.carried(op, i as usize);
                } else if computable(m, id) {
                    op.each_operand(&mut |v| self.need(v));
                }
            }
            Def::Arg(r, i) => match self.owner[r.index()].map(|op| &m.op(op).op) {
                // Argument 0 is the index.
                Some(op @ Op::For(_)) => match (i as usize).checked_sub(1) {
                    Some(i) => self.carried(op, i),
                    None => self.decides(op),
                },
                Some(op @ Op::While(_)) => {
                    self.decides(op);
                    self.carried(op, i as usize);
                }
                Some(_) | None => {}
            },
        }
    }
    /// What may become result `i` of a control op, or what its regions carry at that place.
    fn carried(&mut self, op: &Op, i: usize) {
        let m = self.m;
        let mut need_at = |values: &[ValueId]| values.get(i).copied().into_iter().for_each(|v| self.need(v));
        if let Op::For(ops::For { carry, .. }) | Op::While(ops::While { carry, .. }) = op {
            need_at(&carry.0);
        }
        match op {
            Op::For(o) => need_at(&m.region(o.body).yields),
            Op::While(o) => {
                need_at(&m.region(o.body).yields);
                need_at(&m.region(o.cond).args);
            }
            Op::If(o) => [o.then, o.other].into_iter().for_each(|r| need_at(&m.region(r).yields)),
            Op::Composite(o) => need_at(&m.region(o.body).yields),
            // Combines make elements of tiles; the others hold no region.
            _ => {}
        }
    }
}

/// Whether an op's result is known when its scalar operands are.
fn computable(m: &Module, op: OpId) -> bool {
    let data = m.op(op);
    let operands = data.op.operands();
    let Some(result) = data.results.get(0).map(|v| m.ty(v)) else { return false };
    // Asked with zeros: whether it can, not what it gives.
    let zeros: Vec<Literal> = operands.iter().map(|v| Literal::zero(m.ty(*v).elem())).collect();
    operands.iter().all(|v| m.ty(*v).is_scalar()) && scalar::eval(&data.op, &zeros, result).is_some()
}
