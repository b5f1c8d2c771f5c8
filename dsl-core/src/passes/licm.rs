//! Loop-invariant code: an op in a loop whose operands do not change in it moves before the loop. Pure ops, and reads of
//! views that the loop does not write. An op that can leave an error record moves only out of a part that surely runs;
//! the facts show of some that they cannot: a divisor that is never 0, an access inside its view.

use super::bounds::Prover;
use super::canonicalise::{Trips, trips};
use super::edit::Edit;
use super::facts::Known;
use super::purity::{Depends, can_fault, depends};
use super::remark::Remark;
use crate::ir::{Effect, Effects, Module, Op, OpId, RegionId, ValueId};
use rustc_hash::FxHashSet;

/// Moves invariant ops out of loops, inner loops first. `known`: of the launches that the module is for.
pub fn licm(m: &Module, known: &Known) -> (Module, Vec<Remark>) {
    let prover = Prover::new(m, known);
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
        Loop { inside, effects: Effects::of(m, op) }
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
                Some(Some(why)) => self.e.declined(op, why),
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
    fn hinders(&self, l: &Loop, what: Depends, op: OpId, runs: bool) -> Option<&'static str> {
        if let Depends::Memory(view) = what {
            if l.effects.changes().any(|changed| changed == view) {
                return Some("stays in the loop, which writes its view");
            }
            if l.effects.sync.is_some() {
                return Some("stays in the loop: others may write its view before a barrier in it");
            }
        }
        (!runs && self.faults[op.index()])
            .then_some("stays in the loop: it can record a fault, and this line may not run")
    }
}
