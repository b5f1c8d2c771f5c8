//! Loop-invariant code: an op in a loop whose operands do not change in it moves before the loop. Pure ops, and reads of
//! views that the loop does not write. An op that can leave an error record moves only out of a part that surely runs;
//! the facts show of some that they cannot: a divisor that is never 0, an access inside its view. What only a condition
//! inside the loop shows does not count: it need not hold before the loop.

use super::bounds::Prover;
use super::canonicalise::{Trips, trips};
use super::edit::{Edit, place};
use super::facts::Known;
use super::purity::{Depends, can_fault, depends};
use super::remark::Remark;
use crate::ir::{Effect, Effects, Module, Op, OpId, RegionId, ValueId};
use rustc_hash::FxHashSet;

/// Moves invariant ops out of loops, inner loops first. `known`: of the launches that the module is for.
pub fn licm(m: &Module, known: &Known) -> (Module, Vec<Remark>) {
    let prover = Prover::anywhere(m, known);
    let mut faults = vec![false; m.num_ops()];
    m.each_op(&mut |op| faults[op.index()] = can_fault(m, &prover, op));
    let mut licm = Licm { e: Edit::new("licm", m), faults };
    licm.region(m.body);
    licm.e.finish()
}

struct Licm {
    e: Edit,
    /// By op: whether it may leave an error record.
    faults: Vec<bool>,
}

/// A loop that ops may leave.
struct Loop {
    op: OpId,
    /// Everything that is made inside and has not left.
    inside: FxHashSet<ValueId>,
    effects: Effects,
}

impl Licm {
    fn region(&mut self, r: RegionId) {
        let mut out = Vec::new();
        for op in self.e.m.region(r).ops.clone() {
            for inner in self.e.m.op(op).op.regions() {
                self.region(inner);
            }
            // The regions that ops may leave, and whether each runs in every run of the loop.
            let parts = match &self.e.m.op(op).op {
                Op::For(o) => {
                    let runs = matches!(trips(&self.e.m, &o.range), Trips::One | Trips::Many);
                    vec![(o.body, runs)]
                }
                Op::MapReduce(o) => {
                    let trips = trips(&self.e.m, &o.range);
                    vec![(o.body, matches!(trips, Trips::One | Trips::Many)), (o.merge, trips == Trips::Many)]
                }
                Op::While(o) => vec![(o.cond, true), (o.body, false)],
                _ => Vec::new(),
            };
            if !parts.is_empty() {
                let mut l = self.loop_of(op);
                parts.into_iter().for_each(|(part, runs)| self.leave(&mut l, part, runs, &mut out));
            }
            out.push(op);
        }
        self.e.m.regions[r.index()].ops = out;
    }
    fn loop_of(&self, op: OpId) -> Loop {
        let m = &self.e.m;
        let mut inside = FxHashSet::default();
        let mut add_args = |r: RegionId| inside.extend(m.region(r).args.iter().copied());
        let mut ops = Vec::new();
        m.op(op).op.each_region(&mut |r| {
            add_args(r);
            m.walk(r, &mut |op| ops.push(op));
        });
        for op in ops {
            m.op(op).op.each_region(&mut |r| inside.extend(m.region(r).args.iter().copied()));
            inside.extend(m.op(op).results.iter());
        }
        Loop { op, inside, effects: Effects::of(m, op) }
    }
    /// Moves what it can from one region of a loop to `out`, which stands before the loop.
    fn leave(&mut self, l: &mut Loop, part: RegionId, runs: bool, out: &mut Vec<OpId>) {
        let (mut stay, mut runs) = (Vec::new(), runs);
        for op in self.e.m.region(part).ops.clone() {
            let data = self.e.m.op(op);
            let invariant = !data.op.operands().iter().any(|v| l.inside.contains(v));
            let what = depends(&self.e.m, op).filter(|_| invariant);
            let hinders = what.map(|what| self.hinders(l, what, op, runs));
            match hinders {
                Some(None) => {
                    self.e.applied(op, "moved before the loop");
                    self.e.m.op(op).results.iter().for_each(|v| {
                        l.inside.remove(&v);
                    });
                    out.push(op);
                    continue;
                }
                Some(Some(why)) => self.e.declined(op, format!("stays in the loop: {why}")),
                None => {}
            }
            stay.push(op);
            // What comes after an op that may stop the program does not surely run.
            runs &= match self.e.m.op(op).op.effect() {
                Effect::Control | Effect::Queue | Effect::Sync => false,
                Effect::Pure | Effect::Read | Effect::Write | Effect::Atomic | Effect::Observe => true,
            };
        }
        self.e.m.regions[part.index()].ops = stay;
    }
    /// Why an op with invariant operands stays.
    fn hinders(&self, l: &Loop, what: Depends, op: OpId, runs: bool) -> Option<String> {
        if let Depends::Memory(view) = what {
            if l.effects.changes().any(|changed| changed == view) {
                return Some(format!("{} may change what it reads", self.writer(l, view)));
            }
            if l.effects.sync.is_some() {
                return Some("others may change what it reads before a barrier in it".to_string());
            }
        }
        if runs || !self.faults[op.index()] {
            return None;
        }
        let why = match self.e.m.op(op).op {
            Op::Load(_) => "it may reach outside its view, and this line may not run; `load_or` could move",
            _ => {
                "it may divide by 0, and this line may not run; by a divisor that is never 0, `maximum(n, 1)`, it could move"
            }
        };
        Some(why.to_string())
    }
    /// The first op of a loop that changes a view.
    fn writer(&self, l: &Loop, view: u32) -> String {
        let (m, mut first) = (&self.e.m, None);
        m.op(l.op).op.each_region(&mut |r| {
            m.walk(r, &mut |op| {
                if first.is_none() && !m.op(op).op.has_regions() && Effects::of(m, op).changes().any(|v| v == view) {
                    first = Some(op);
                }
            });
        });
        first.map_or("the loop".to_string(), |op| format!("the {} at {}", m.op(op).op.mnemonic(), place(m, op)))
    }
}
