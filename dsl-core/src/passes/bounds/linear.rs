//! Proofs that an access lies in its view. An index is written as a sum of multiples of unknowns (lengths, parameters,
//! ids, loop indices); the facts bound the unknowns, and a loop index also by the expressions of its loop's ends, so that
//! `i + 8 <= len` follows from `i` counting in eights below a `len` that is a multiple of 8.
//!
//! A sum that may wrap is an unknown of its own. Work is limited: what needs more steps counts as not proved.

use crate::ir::ops::{self, Access};
use crate::ir::{Def, Dims, Module, Op, OpId, Type, ValueId};
use crate::passes::facts::{Facts, Known, exact_ends, range};
use std::collections::BTreeMap;

/// Steps that one proof may take.
const FUEL: u32 = 512;

/// Something without a value before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unknown {
    Value(ValueId),
    /// The length of a view along an axis.
    Len(ValueId, u32),
}

/// A sum of multiples of unknowns, and a constant.
#[derive(Clone, Debug, Default)]
struct Linear {
    terms: BTreeMap<Unknown, i128>,
    constant: i128,
}

impl Linear {
    fn constant(constant: i128) -> Linear {
        Linear { terms: BTreeMap::new(), constant }
    }
    fn of(unknown: Unknown) -> Linear {
        Linear { terms: BTreeMap::from([(unknown, 1)]), constant: 0 }
    }
    /// `self + times * other`; `None` if a factor is too large.
    fn plus(mut self, times: i128, other: &Linear) -> Option<Linear> {
        self.constant = self.constant.checked_add(times.checked_mul(other.constant)?)?;
        for (unknown, factor) in &other.terms {
            let term = self.terms.entry(*unknown).or_insert(0);
            *term = term.checked_add(times.checked_mul(*factor)?)?;
        }
        self.terms.retain(|_, factor| *factor != 0);
        Some(self)
    }
}

/// Proves accesses of one module under what is known of a launch.
pub struct Prover<'m> {
    m: &'m Module,
    known: &'m Known,
    facts: Facts,
    /// By region: the loop whose body it is.
    loops: Vec<Option<OpId>>,
    /// By op: it stands in a loop that takes no turn.
    never: Vec<bool>,
}

impl<'m> Prover<'m> {
    pub fn new(m: &'m Module, known: &'m Known) -> Prover<'m> {
        let mut loops = vec![None; m.num_regions()];
        m.each_op(&mut |op| {
            if let Op::For(o) = &m.op(op).op {
                loops[o.body.index()] = Some(op);
            }
        });
        let (facts, mut never) = (Facts::of(m, known), vec![false; m.num_ops()]);
        m.each_op(&mut |op| {
            if let Op::For(o) = &m.op(op).op
                && let (Some(lo), Some(hi)) = (facts.get(m, o.range.lo), facts.get(m, o.range.hi))
                && lo.lo >= hi.hi
            {
                m.walk(o.body, &mut |inner| never[inner.index()] = true);
            }
        });
        Prover { m, known, facts, loops, never }
    }
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
    /// Whether the op stands in a loop that takes no turn. That spares its check, but does not make it safe elsewhere.
    pub fn never_runs(&self, op: OpId) -> bool {
        self.never[op.index()]
    }
    /// The axes of the view along which it cannot tell that every place of the access exists.
    pub fn open_axes(&self, at: &Access, ty: Type) -> Vec<usize> {
        let dims = ty.dims().unwrap_or(Dims::SCALAR);
        (0..at.index.len()).filter(|axis| !self.axis_is_inside(at, dims, *axis)).collect()
    }
    fn axis_is_inside(&self, at: &Access, dims: Dims, axis: usize) -> bool {
        let Some(index) = at.index.get(axis) else { return false };
        let fuel = &mut { FUEL };
        let index = self.linear(*index, fuel);
        let len = match self.known.len(self.m, at.view, axis as u32) {
            Some(len) => Linear::constant(len),
            None => Linear::of(Unknown::Len(at.view, axis as u32)),
        };
        let Some(below_0) = Linear::default().plus(-1, &index) else { return false };
        if !self.at_most_0(below_0, fuel) {
            return false;
        }
        self.extents(at, dims, axis, fuel).iter().any(|extent| {
            let past = index.clone().plus(1, extent).and_then(|end| end.plus(-1, &len));
            past.is_some_and(|past| self.at_most_0(past, fuel))
        })
    }
    /// How many places along an axis of the view the access reaches at most: each of these is true.
    fn extents(&self, at: &Access, dims: Dims, axis: usize, fuel: &mut u32) -> Vec<Linear> {
        let along = (axis + dims.rank()).checked_sub(at.index.len());
        let Some((along, len)) = along.and_then(|along| Some((along, dims.get(along)?))) else {
            return vec![Linear::constant(1)];
        };
        let mut out = vec![Linear::constant(i128::from(len))];
        for (_, limit) in at.limits.iter().filter(|(axis, _)| *axis as usize == along) {
            // A negative limit is 0.
            if let Some(fact) = self.facts.get(self.m, *limit)
                && fact.lo >= 0
            {
                out.push(Linear::constant(fact.hi));
                out.push(self.linear(*limit, fuel));
            }
        }
        out
    }

    fn linear(&self, v: ValueId, fuel: &mut u32) -> Linear {
        self.sum(v, fuel).unwrap_or_else(|| Linear::of(Unknown::Value(v)))
    }
    /// What `v` is a sum of; `None` if it is an unknown.
    fn sum(&self, v: ValueId, fuel: &mut u32) -> Option<Linear> {
        if let Some(exact) = self.facts.get(self.m, v)?.as_exact() {
            return Some(Linear::constant(exact));
        }
        *fuel = fuel.checked_sub(1)?;
        let Def::Result(op, _) = self.m.def(v) else { return None };
        let op = &self.m.op(op).op;
        match op {
            Op::Len(o) => Some(Linear::of(Unknown::Len(o.view, o.axis.0))),
            Op::Add(ops::Add { a, b }) if self.is_exact(op, v, *a, *b) => {
                let a = self.linear(*a, fuel);
                a.plus(1, &self.linear(*b, fuel))
            }
            Op::Sub(ops::Sub { a, b }) if self.is_exact(op, v, *a, *b) => {
                let a = self.linear(*a, fuel);
                a.plus(-1, &self.linear(*b, fuel))
            }
            Op::Mul(ops::Mul { a, b }) if self.is_exact(op, v, *a, *b) => {
                let (x, times) = match (self.exact(*a), self.exact(*b)) {
                    (_, Some(times)) => (a, times),
                    (Some(times), None) => (b, times),
                    (None, None) => return None,
                };
                Linear::default().plus(times, &self.linear(*x, fuel))
            }
            Op::Cast(o) => {
                let (fact, (lo, hi)) = (self.facts.get(self.m, o.x)?, range(self.m.ty(v).elem())?);
                (lo <= fact.lo && fact.hi <= hi).then(|| self.linear(o.x, fuel))
            }
            _ => None,
        }
    }
    fn exact(&self, v: ValueId) -> Option<i128> {
        self.facts.get(self.m, v)?.as_exact()
    }
    /// Whether `a op b` surely fits its element.
    fn is_exact(&self, op: &Op, v: ValueId, a: ValueId, b: ValueId) -> bool {
        let ends = self.facts.get(self.m, a).zip(self.facts.get(self.m, b)).and_then(|(a, b)| exact_ends(op, a, b));
        ends.zip(range(self.m.ty(v).elem())).is_some_and(|((lo, hi), (min, max))| min <= lo && hi <= max)
    }

    /// Whether the sum is never positive.
    fn at_most_0(&self, sum: Linear, fuel: &mut u32) -> bool {
        if self.largest(&sum).is_some_and(|most| most <= 0) {
            return true;
        }
        // Inner loops first: their ends may be sums of the indices of outer ones.
        for (unknown, factor) in sum.terms.iter().rev() {
            let Unknown::Value(v) = unknown else { continue };
            for bound in self.bounds(*v, *factor > 0, fuel) {
                if *fuel == 0 {
                    return false;
                }
                *fuel -= 1;
                let without = sum.clone().plus(-*factor, &Linear::of(*unknown));
                let replaced = without.and_then(|sum| sum.plus(*factor, &bound));
                if replaced.is_some_and(|sum| self.at_most_0(sum, fuel)) {
                    return true;
                }
            }
        }
        false
    }
    /// An upper bound of a sum, from the facts of its unknowns alone.
    fn largest(&self, sum: &Linear) -> Option<i128> {
        let mut most = sum.constant;
        for (unknown, factor) in &sum.terms {
            let (lo, hi) = match unknown {
                Unknown::Value(v) => self.facts.get(self.m, *v).map(|fact| (fact.lo, fact.hi))?,
                Unknown::Len(..) => (0, i128::from(i64::MAX)),
            };
            most = most.checked_add(factor.checked_mul(if *factor > 0 { hi } else { lo })?)?;
        }
        Some(most)
    }
    /// Sums that `v` is never above (or below).
    fn bounds(&self, v: ValueId, above: bool, fuel: &mut u32) -> Vec<Linear> {
        match self.m.def(v) {
            Def::Arg(r, 0) => {
                let range = self.loops.get(r.index()).copied().flatten().and_then(|op| match &self.m.op(op).op {
                    Op::For(o) => Some(&o.range),
                    _ => None,
                });
                let Some(range) = range else { return Vec::new() };
                if !above {
                    return vec![self.linear(range.lo, fuel)];
                }
                // Below the end by as much as both are multiples of.
                let (i, end) = (self.facts.get(self.m, v), self.facts.get(self.m, range.hi));
                let step = i.zip(end).map_or(1, |(i, end)| i.join(end).divisor.max(1));
                let step = i128::try_from(step).unwrap_or(1);
                self.linear(range.hi, fuel).plus(-1, &Linear::constant(step)).into_iter().collect()
            }
            Def::Result(op, _) => match &self.m.op(op).op {
                Op::Minimum(ops::Minimum { a, b }) if above => vec![self.linear(*a, fuel), self.linear(*b, fuel)],
                Op::Maximum(ops::Maximum { a, b }) if !above => vec![self.linear(*a, fuel), self.linear(*b, fuel)],
                _ => Vec::new(),
            },
            Def::Param(_) | Def::Const(_) | Def::Arg(..) => Vec::new(),
        }
    }
}
