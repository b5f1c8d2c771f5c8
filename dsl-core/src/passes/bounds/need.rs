//! What the value of a scalar needs to be known: nothing but the launch, or something that the run makes, and in which
//! loop. From this follows where a check of it can stand.

use crate::ir::ops::Range;
use crate::ir::{Def, Effect, Module, Op, OpId, RegionId, ValueId};
use rustc_hash::FxHashMap;

/// Something that only the run knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Loops around the place where it is made; inside this many of an access's loops it is not known yet.
    pub loops: usize,
    /// The value itself: loaded, received, carried.
    pub source: ValueId,
}

/// By value: what it needs of the run; of several, what is made in the innermost loop.
pub struct Needs {
    of: Vec<Option<Made>>,
    /// By op: the loops around it, outermost first.
    pub loops: Vec<Vec<OpId>>,
    /// By region with arguments: the op that it is part of.
    holders: FxHashMap<RegionId, OpId>,
}

impl Needs {
    pub fn of(m: &Module) -> Needs {
        let mut needs = Needs {
            of: vec![None; m.num_values()],
            loops: vec![Vec::new(); m.num_ops()],
            holders: FxHashMap::default(),
        };
        needs.region(m, m.body, &mut Vec::new());
        needs
    }
    /// `None`: the launch says it.
    pub fn get(&self, v: ValueId) -> Option<Made> {
        self.of.get(v.index()).copied().flatten()
    }
    /// What all these together need.
    pub fn all(&self, values: impl Iterator<Item = ValueId>) -> Option<Made> {
        values.filter_map(|v| self.get(v)).max_by_key(|made| made.loops)
    }
    fn region(&mut self, m: &Module, r: RegionId, around: &mut Vec<OpId>) {
        for &op in &m.region(r).ops {
            self.op(m, op, around);
        }
    }
    fn op(&mut self, m: &Module, id: OpId, around: &mut Vec<OpId>) {
        let data = m.op(id);
        // Only accesses ask, and a copy for each op of a deep nest would be long.
        if data.op.access().is_some() {
            self.loops[id.index()] = around.clone();
        }
        data.op.each_region(&mut |r| {
            if !m.region(r).args.is_empty() {
                self.holders.insert(r, id);
            }
        });
        match &data.op {
            Op::For(o) => {
                self.enter(m, &[o.body], around);
                self.index(m, &o.range, o.body);
                around.push(id);
                self.region(m, o.body, around);
                around.pop();
            }
            Op::MapReduce(o) => {
                self.enter(m, &[o.merge], around);
                self.index(m, &o.range, o.body);
                around.push(id);
                self.region(m, o.body, around);
                self.region(m, o.merge, around);
                around.pop();
            }
            Op::While(o) => {
                self.enter(m, &[o.cond, o.body], around);
                around.push(id);
                self.region(m, o.cond, around);
                self.region(m, o.body, around);
                around.pop();
            }
            other => other.each_region(&mut |r| {
                self.made(m.region(r).args.iter().copied(), around.len());
                self.region(m, r, around);
            }),
        }
        let from_launch = data.op.effect() == Effect::Pure
            && !data.op.has_regions()
            && data.op.operands().iter().all(|v| !m.ty(*v).is_tile());
        if from_launch {
            let all = self.all(data.op.operands().into_iter());
            data.results.iter().for_each(|v| self.of[v.index()] = all);
        } else {
            self.made(data.results.iter(), around.len());
        }
    }
    /// The ends of a range say what its index can be.
    fn index(&mut self, m: &Module, range: &Range, body: RegionId) {
        let ends = [Some(range.lo), Some(range.hi), range.step];
        let index = self.all(ends.into_iter().flatten());
        if let Some(v) = m.region(body).args.first() {
            self.of[v.index()] = index;
        }
    }
    fn enter(&mut self, m: &Module, regions: &[RegionId], around: &[OpId]) {
        regions.iter().for_each(|r| self.made(m.region(*r).args.iter().copied(), around.len() + 1));
    }
    fn made(&mut self, values: impl Iterator<Item = ValueId>, loops: usize) {
        values.for_each(|v| self.of[v.index()] = Some(Made { loops, source: v }));
    }
    /// What makes the source of a need: an op, or the loop that carries it.
    pub fn origin(&self, m: &Module, made: Made) -> Option<OpId> {
        match m.def(made.source) {
            Def::Result(op, _) => Some(op),
            Def::Arg(r, _) => self.holders.get(&r).copied(),
            Def::Param(_) | Def::Const(_) => None,
        }
    }
}
