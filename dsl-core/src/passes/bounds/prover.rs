//! Proofs that an access lies in its view: what has to hold of it, and what is known around it. The search for a reason
//! is in `proof.rs`.

use super::linear::{Linear, Unknown};
use super::proof::Proof;
use crate::ir::ops::{self, Access, Pred};
use crate::ir::{Dims, Module, Op, OpId, RegionId, Type};
use crate::passes::facts::{Comparison, Conditions, Facts, Known, comparisons};
use rustc_hash::FxHashMap;

/// An axis of a view along which an access is not known to stay inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub axis: usize,
    /// It may begin below 0.
    pub below: bool,
    /// It may end past the length.
    pub past: bool,
}

/// Proves accesses of one module under what is known of a launch.
pub struct Prover<'m> {
    pub(super) m: &'m Module,
    known: &'m Known,
    pub(super) facts: Facts,
    /// By region: the loop whose body it is.
    loops: Vec<Option<OpId>>,
    /// By region: the one around it, and what holds in it besides. Empty where conditions do not count.
    inside: Vec<Inside>,
    /// By access: the region it stands in.
    homes: FxHashMap<OpId, RegionId>,
}

/// What holds in a region.
#[derive(Clone, Default)]
struct Inside {
    outer: Option<RegionId>,
    told: Vec<Comparison>,
}

/// Conditions around an access that are looked at, the innermost first.
const MAX_CONDITIONS: usize = 64;

impl<'m> Prover<'m> {
    /// Of accesses where they stand: the conditions around them hold.
    pub fn new(m: &'m Module, known: &'m Known) -> Prover<'m> {
        Prover::under(m, known, Conditions::Hold)
    }
    /// Of accesses wherever they may be moved to.
    pub fn anywhere(m: &'m Module, known: &'m Known) -> Prover<'m> {
        Prover::under(m, known, Conditions::Ignored)
    }
    fn under(m: &'m Module, known: &'m Known, conditions: Conditions) -> Prover<'m> {
        let mut loops = vec![None; m.num_regions()];
        m.each_op(&mut |op| {
            if let Op::For(ops::For { body, .. }) | Op::MapReduce(ops::MapReduce { body, .. }) = &m.op(op).op {
                loops[body.index()] = Some(op);
            }
        });
        let facts = Facts::under(m, known, conditions);
        let mut prover = Prover { m, known, facts, loops, inside: Vec::new(), homes: FxHashMap::default() };
        if conditions == Conditions::Hold {
            prover.inside = vec![Inside::default(); m.num_regions()];
            prover.collect(m.body);
        }
        prover
    }
    /// Notes what holds in the regions inside one, and where accesses stand.
    fn collect(&mut self, outer: RegionId) {
        let m = self.m;
        for &id in &m.region(outer).ops {
            let op = &m.op(id).op;
            if op.access().is_some() {
                self.homes.insert(id, outer);
            }
            let mut enter = |r: RegionId, told: Vec<Comparison>| {
                self.inside[r.index()] = Inside { outer: Some(outer), told };
                self.collect(r);
            };
            match op {
                Op::If(o) => {
                    enter(o.then, comparisons(m, o.cond, true));
                    enter(o.other, comparisons(m, o.cond, false));
                }
                Op::For(o) => enter(o.body, vec![Comparison { pred: Pred::Lt, a: o.range.lo, b: o.range.hi }]),
                Op::MapReduce(o) => {
                    enter(o.body, vec![Comparison { pred: Pred::Lt, a: o.range.lo, b: o.range.hi }]);
                    enter(o.merge, Vec::new());
                }
                Op::While(o) => {
                    enter(o.cond, Vec::new());
                    let test = m.region(o.cond).yields.first();
                    enter(o.body, test.map_or(Vec::new(), |test| comparisons(m, *test, true)));
                }
                other => other.each_region(&mut |r| enter(r, Vec::new())),
            }
        }
    }
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
    /// What holds where an access runs.
    pub(super) fn conditions(&self, op: OpId) -> Vec<Comparison> {
        let mut around = self.homes.get(&op).copied();
        let regions = std::iter::from_fn(|| {
            let inside = self.inside.get(around?.index())?;
            around = inside.outer;
            Some(inside)
        });
        regions.flat_map(|inside| inside.told.iter().copied()).take(MAX_CONDITIONS).collect()
    }
    /// The range of the loop whose body a region is.
    pub(super) fn range(&self, r: RegionId) -> Option<&'m ops::Range> {
        let op = self.loops.get(r.index()).copied().flatten()?;
        match &self.m.op(op).op {
            Op::For(o) => Some(&o.range),
            Op::MapReduce(o) => Some(&o.range),
            _ => None,
        }
    }
    /// The axes of the view along which it cannot tell that every place of the access exists.
    pub fn open_axes(&self, op: OpId, at: &Access, ty: Type) -> Vec<Open> {
        let dims = ty.dims().unwrap_or(Dims::SCALAR);
        (0..at.index.len()).filter_map(|axis| self.open(op, at, dims, axis)).collect()
    }
    fn open(&self, op: OpId, at: &Access, dims: Dims, axis: usize) -> Option<Open> {
        let mut proof = Proof::at(self, op);
        let index = proof.linear(*at.index.get(axis)?);
        let below = !Linear::default().less(&index).is_some_and(|below_0| proof.at_most_0(&below_0));
        let mut proof = Proof::at(self, op);
        let len = match self.known.len(self.m, at.view, axis as u32) {
            Some(len) => Linear::constant(len),
            None => Linear::of(Unknown::Len(at.view, axis as u32)),
        };
        let past = !extents(&mut proof, at, dims, axis).iter().any(|extents| {
            extents.iter().all(|extent| {
                let past = index.clone().plus(1, extent).and_then(|end| end.less(&len));
                past.is_some_and(|past| proof.at_most_0(&past))
            })
        });
        (below || past).then_some(Open { axis, below, past })
    }
}

/// How many places along an axis of the view the access reaches at most: the largest of each of these.
fn extents(proof: &mut Proof<'_, '_>, at: &Access, dims: Dims, axis: usize) -> Vec<Vec<Linear>> {
    let along = (axis + dims.rank()).checked_sub(at.index.len());
    let Some((along, len)) = along.and_then(|along| Some((along, dims.get(along)?))) else {
        return vec![vec![Linear::constant(1)]];
    };
    let mut out = vec![vec![Linear::constant(i128::from(len))]];
    for (_, limit) in at.limits.iter().filter(|(axis, _)| *axis as usize == along) {
        let Some(fact) = proof.fact(*limit) else { continue };
        out.push(vec![Linear::constant(fact.hi.max(0))]);
        // A negative limit is 0.
        let least = (fact.lo < 0).then(|| Linear::constant(0));
        out.push(std::iter::once(proof.linear(*limit)).chain(least).collect());
    }
    out
}
