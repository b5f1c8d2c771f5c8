//! One form for what can be written in several: what an op is always equal to (`algebra`), `if`s and loops that take one
//! way only. Merges no two ops that run (`cse`) and moves none out of a loop (`licm`).

use super::algebra::{self, Becomes};
use super::edit::Edit;
use super::remark::Remark;
use crate::ir::ops;
use crate::ir::{Literal, Module, Op, OpId, RegionId, ValueId};

/// Simplifies ops one by one, in text order. Values, writes and error records of every run stay as they are.
pub fn canonicalise(m: &Module) -> (Module, Vec<Remark>) {
    let mut c = Canonicalise { e: Edit::new("canonicalise", m) };
    c.region(m.body);
    c.e.finish()
}

struct Canonicalise {
    e: Edit,
}

/// How often a loop runs its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trips {
    None,
    One,
    Many,
    Unknown,
}

/// From constant ends; a step that is not positive is a fault and stays.
pub(super) fn trips(m: &Module, range: &ops::Range) -> Trips {
    let int = |v: ValueId| m.literal(v).and_then(Literal::as_int);
    let (Some(lo), Some(hi), Some(step)) = (int(range.lo), int(range.hi), range.step.map_or(Some(1), int)) else {
        return Trips::Unknown;
    };
    match () {
        () if step <= 0 => Trips::Unknown,
        () if lo >= hi => Trips::None,
        () if lo + step >= hi => Trips::One,
        () => Trips::Many,
    }
}

impl Canonicalise {
    fn region(&mut self, r: RegionId) {
        let mut out = Vec::new();
        self.inline(r, &mut out);
        self.e.m.regions[r.index()].ops = out;
    }
    /// The ops of `r`, simplified, go to `out`; its yields are brought up to date.
    fn inline(&mut self, r: RegionId, out: &mut Vec<OpId>) {
        for op in self.e.m.region(r).ops.clone() {
            self.op(op, out);
        }
        self.e.update_yields(r);
    }
    fn op(&mut self, id: OpId, out: &mut Vec<OpId>) {
        self.e.update(id);
        match self.e.m.op(id).op.clone() {
            Op::If(o) => self.branch(id, &o, out),
            Op::For(o) => self.counted(id, &o, out),
            Op::While(o) => self.repeat(id, &o, out),
            Op::MapReduce(o) => self.map_reduce(id, &o, out),
            other => {
                other.regions().into_iter().for_each(|r| self.region(r));
                self.simple(id, out);
            }
        }
    }
    fn simple(&mut self, id: OpId, out: &mut Vec<OpId>) {
        // Each step is towards fewer or simpler ops; the limit is for safety only.
        for _ in 0..8 {
            match algebra::simplify(&mut self.e, id) {
                Some(Becomes::Value(v, why)) => {
                    self.e.applied(id, why);
                    return self.results(id, &[v]);
                }
                Some(Becomes::Op(op, why)) => {
                    self.e.applied(id, why);
                    self.e.m.ops[id.index()].op = op;
                }
                None => break,
            }
        }
        out.push(id);
    }
    /// These values stand for the results of an op.
    fn results(&mut self, id: OpId, by: &[ValueId]) {
        self.e.m.op(id).results.iter().zip(by).for_each(|(v, by)| self.e.replace(v, *by));
    }

    fn branch(&mut self, id: OpId, o: &ops::If, out: &mut Vec<OpId>) {
        if let Some(cond) = self.e.m.literal(o.cond).and_then(Literal::as_bool) {
            let arm = if cond { o.then } else { o.other };
            self.e.applied(id, "has a constant condition: its arm stands in its place");
            self.inline(arm, out);
            let yields = self.e.m.region(arm).yields.clone();
            return self.results(id, &yields);
        }
        self.region(o.then);
        self.region(o.other);
        let (then, other) = (self.e.m.region(o.then), self.e.m.region(o.other));
        if !then.ops.is_empty() || !other.ops.is_empty() {
            return out.push(id);
        }
        // Both arms only hand values on.
        let pairs: Vec<(ValueId, ValueId)> = then.yields.iter().copied().zip(other.yields.iter().copied()).collect();
        if pairs.iter().any(|(a, b)| a != b && !self.e.m.ty(*a).is_scalar()) {
            return out.push(id);
        }
        self.e.applied(id, "computes nothing: a choice of values stands in its place");
        let loc = self.e.m.op(id).loc;
        let mut chosen = Vec::new();
        for (a, b) in pairs {
            if a == b {
                chosen.push(a);
                continue;
            }
            let (select, v) = self.e.op(ops::Select { mask: o.cond, a, b }.into(), self.e.m.ty(a), loc);
            out.push(select);
            chosen.push(v);
        }
        self.results(id, &chosen);
    }

    fn counted(&mut self, id: OpId, o: &ops::For, out: &mut Vec<OpId>) {
        let args = self.e.m.region(o.body).args.clone();
        match trips(&self.e.m, &o.range) {
            Trips::None => {
                self.e.applied(id, "takes no turn");
                self.results(id, &o.carry.0);
            }
            Trips::One => {
                self.e.applied(id, "takes one turn: its body stands in its place");
                let first = std::iter::once(o.range.lo).chain(o.carry.0.iter().copied());
                args.iter().zip(first).for_each(|(arg, v)| self.e.replace(*arg, v));
                self.inline(o.body, out);
                let yields = self.e.m.region(o.body).yields.clone();
                self.results(id, &yields);
            }
            Trips::Many | Trips::Unknown => {
                self.unchanged(id, &o.carry.0, args.get(1..).unwrap_or(&[]), o.body);
                self.region(o.body);
                out.push(id);
            }
        }
    }
    fn map_reduce(&mut self, id: OpId, o: &ops::MapReduce, out: &mut Vec<OpId>) {
        if trips(&self.e.m, &o.range) != Trips::One {
            self.region(o.body);
            self.region(o.merge);
            return out.push(id);
        }
        self.e.applied(id, "takes one turn: its body stands in its place");
        let args = self.e.m.region(o.body).args.clone();
        args.iter().for_each(|index| self.e.replace(*index, o.range.lo));
        self.inline(o.body, out);
        let yields = self.e.m.region(o.body).yields.clone();
        self.results(id, &yields);
    }
    fn repeat(&mut self, id: OpId, o: &ops::While, out: &mut Vec<OpId>) {
        let cond = self.e.m.region(o.cond);
        let (args, test) = (cond.args.clone(), cond.yields.first().copied());
        if test.and_then(|v| self.e.m.literal(self.e.now(v))).and_then(Literal::as_bool) == Some(false) {
            self.e.applied(id, "takes no turn: its condition stands in its place");
            args.iter().zip(&o.carry.0).for_each(|(arg, v)| self.e.replace(*arg, *v));
            self.inline(o.cond, out);
            return self.results(id, &o.carry.0);
        }
        self.unchanged(id, &o.carry.0, &args, o.body);
        self.region(o.cond);
        self.region(o.body);
        out.push(id);
    }
    /// Carried values that every turn hands on as they are: inside and after the loop, the first value stands for them.
    fn unchanged(&mut self, id: OpId, first: &[ValueId], args: &[ValueId], body: RegionId) {
        let yields = self.e.m.region(body).yields.clone();
        let results = self.e.m.op(id).results;
        for (((first, arg), yielded), result) in first.iter().zip(args).zip(yields).zip(results.iter()) {
            let same = yielded == *arg || self.e.now(yielded) == *first;
            if same && self.e.now(*arg) == *arg {
                self.e.replace(*arg, *first);
                self.e.replace(result, *first);
            }
        }
    }
}
