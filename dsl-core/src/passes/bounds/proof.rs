//! One proof: what is known at one access, and the search for a reason why a sum is never positive there.
//!
//! An index is written as a sum of multiples of unknowns (lengths, parameters, ids, loop indices); a sum that may wrap
//! is an unknown of its own. The facts bound the unknowns. So do the ends of their loops, the conditions around the
//! access, and the ops that make them (`minimum`, `%`, `/`); where a value is one of two (`select`, `if`, `maximum`), both
//! are tried. Bounds are rounded to what divides them, so that `i + 8 <= len` follows from `i` counting in eights below
//! a `len` that is a multiple of 8.
//!
//! Work is limited: what needs more steps counts as not proved.

use super::linear::{Linear, Unknown};
use super::prover::Prover;
use crate::ir::ops::{self, Pred};
use crate::ir::{Def, Op, OpId, ValueId};
use crate::passes::facts::{Comparison, Fact, comparisons, exact_ends, gcd, negated, range};
use rustc_hash::FxHashMap;

/// Steps that one proof may take.
const FUEL: u32 = 512;
/// Rounds in which conditions narrow each other.
const NARROWING: usize = 2;

pub(super) struct Proof<'p, 'm> {
    p: &'p Prover<'m>,
    /// What the conditions here add to the facts.
    narrowed: FxHashMap<ValueId, Fact>,
    lens: FxHashMap<(ValueId, u32), Fact>,
    /// Sums that are not positive here.
    holds: Vec<Linear>,
    /// The conditions here cannot hold together, so anything is true.
    never: bool,
    fuel: u32,
}

impl<'p, 'm> Proof<'p, 'm> {
    /// What is known where `op` runs.
    pub(super) fn at(p: &'p Prover<'m>, op: OpId) -> Proof<'p, 'm> {
        let mut proof = Proof {
            p,
            narrowed: FxHashMap::default(),
            lens: FxHashMap::default(),
            holds: Vec::new(),
            never: false,
            fuel: FUEL,
        };
        let conditions = p.conditions(op);
        for _ in 0..NARROWING {
            for comparison in &conditions {
                let told = comparison.narrow(p.m, &|v| proof.fact(v));
                match told {
                    Some(narrowed) => proof.narrowed.extend(narrowed),
                    None => proof.never = true,
                }
            }
        }
        for (v, fact) in &proof.narrowed {
            if let Def::Result(op, _) = p.m.def(*v)
                && let Op::Len(o) = &p.m.op(op).op
            {
                proof.lens.insert((o.view, o.axis.0), *fact);
            }
        }
        proof.holds = conditions.iter().flat_map(|comparison| proof.told(comparison)).collect();
        proof.fuel = FUEL;
        proof
    }
    /// Sums that a comparison shows not to be positive.
    fn told(&mut self, c: &Comparison) -> Vec<Linear> {
        let (a, b) = (self.linear(c.a), self.linear(c.b));
        let below = |a: &Linear, b: &Linear, by: i128| a.clone().less(b)?.plus(1, &Linear::constant(by));
        let all = match c.pred {
            Pred::Lt => vec![below(&a, &b, 1)],
            Pred::Le => vec![below(&a, &b, 0)],
            Pred::Gt => vec![below(&b, &a, 1)],
            Pred::Ge => vec![below(&b, &a, 0)],
            Pred::Eq => vec![below(&a, &b, 0), below(&b, &a, 0)],
            Pred::Ne => Vec::new(),
        };
        all.into_iter().flatten().map(|sum| self.rounded(sum)).collect()
    }

    pub(super) fn fact(&self, v: ValueId) -> Option<Fact> {
        self.narrowed.get(&v).copied().or_else(|| self.p.facts.get(self.p.m, v))
    }
    fn exact(&self, v: ValueId) -> Option<i128> {
        self.fact(v)?.as_exact()
    }
    fn divisor(&self, unknown: Unknown) -> u128 {
        let fact = match unknown {
            Unknown::Value(v) => self.fact(v),
            Unknown::Len(view, axis) => self.lens.get(&(view, axis)).copied(),
        };
        fact.map_or(1, |fact| fact.divisor)
    }
    /// What divides all terms of a sum; 0 if there are none.
    fn common(&self, sum: &Linear) -> u128 {
        let of = |(unknown, factor): (&Unknown, &i128)| {
            let divisor = self.divisor(*unknown);
            factor.unsigned_abs().checked_mul(divisor).unwrap_or(divisor)
        };
        sum.terms.iter().map(of).fold(0, gcd)
    }
    /// A sum that is not positive, its constant raised to a multiple of what divides its terms.
    fn rounded(&self, sum: Linear) -> Linear {
        let Some(d) = i128::try_from(self.common(&sum)).ok().filter(|d| *d > 1) else { return sum };
        let up = (d - sum.constant.rem_euclid(d)) % d;
        let constant = sum.constant.checked_add(up).unwrap_or(sum.constant);
        Linear { constant, ..sum }
    }

    pub(super) fn linear(&mut self, v: ValueId) -> Linear {
        self.sum(v).unwrap_or_else(|| Linear::of(Unknown::Value(v)))
    }
    /// What `v` is a sum of; `None` if it is an unknown.
    fn sum(&mut self, v: ValueId) -> Option<Linear> {
        if let Some(exact) = self.exact(v) {
            return Some(Linear::constant(exact));
        }
        self.fuel = self.fuel.checked_sub(1)?;
        let Def::Result(op, _) = self.p.m.def(v) else { return None };
        let op = &self.p.m.op(op).op;
        match op {
            Op::Len(o) => Some(Linear::of(Unknown::Len(o.view, o.axis.0))),
            Op::Add(ops::Add { a, b }) if self.is_exact(op, v, *a, *b) => {
                let a = self.linear(*a);
                a.plus(1, &self.linear(*b))
            }
            Op::Sub(ops::Sub { a, b }) if self.is_exact(op, v, *a, *b) => {
                let a = self.linear(*a);
                a.less(&self.linear(*b))
            }
            Op::Mul(ops::Mul { a, b }) if self.is_exact(op, v, *a, *b) => {
                let (x, times) = match (self.exact(*a), self.exact(*b)) {
                    (_, Some(times)) => (a, times),
                    (Some(times), None) => (b, times),
                    (None, None) => return None,
                };
                Linear::default().plus(times, &self.linear(*x))
            }
            Op::Shl(ops::Shl { a, n }) => {
                let n = self.exact(*n).filter(|n| (0..i128::from(self.p.m.ty(v).elem().bits())).contains(n))?;
                let (fact, times) = (self.fact(*a)?, 1i128 << n);
                let ends = fact.lo.checked_mul(times).zip(fact.hi.checked_mul(times));
                self.fits(ends, v).then_some(())?;
                Linear::default().plus(times, &self.linear(*a))
            }
            Op::Neg(o) => {
                let fact = self.fact(o.x)?;
                self.fits(Some((-fact.hi, -fact.lo)), v).then_some(())?;
                Linear::default().less(&self.linear(o.x))
            }
            Op::Cast(o) => {
                let fact = self.fact(o.x)?;
                self.fits(Some((fact.lo, fact.hi)), v).then(|| self.linear(o.x))
            }
            _ => None,
        }
    }
    /// Whether `a op b` surely fits its element.
    fn is_exact(&self, op: &Op, v: ValueId, a: ValueId, b: ValueId) -> bool {
        self.fits(self.fact(a).zip(self.fact(b)).and_then(|(a, b)| exact_ends(op, a, b)), v)
    }
    fn fits(&self, ends: Option<(i128, i128)>, v: ValueId) -> bool {
        ends.zip(range(self.p.m.ty(v).elem())).is_some_and(|((lo, hi), (min, max))| min <= lo && hi <= max)
    }

    /// Whether the sum is never positive.
    pub(super) fn at_most_0(&mut self, sum: &Linear) -> bool {
        if self.never || self.largest(sum).is_some_and(|most| most <= 0) {
            return true;
        }
        // Inner loops first: their ends may be sums of the indices of outer ones.
        let unknowns: Vec<(Unknown, bool)> = sum.terms.iter().rev().map(|(u, factor)| (*u, *factor > 0)).collect();
        let mut next = Vec::new();
        for (unknown, above) in &unknowns {
            let mut bounds: Vec<Linear> = self.holds.iter().filter(|s| s.factor(*unknown) != 0).cloned().collect();
            bounds.extend(self.bounds(*unknown, *above));
            next.extend(bounds.iter().filter_map(|bound| sum.without(*unknown, bound)));
        }
        // What is enough as it stands comes before what needs further steps.
        if next.iter().any(|sum| self.largest(sum).is_some_and(|most| most <= 0)) {
            return true;
        }
        for sum in &next {
            let Some(fuel) = self.fuel.checked_sub(1) else { return false };
            self.fuel = fuel;
            if self.at_most_0(sum) {
                return true;
            }
        }
        unknowns.into_iter().any(|(unknown, above)| self.in_every_case(sum, unknown, above))
    }
    /// An upper bound of a sum, from the facts of its unknowns alone.
    fn largest(&self, sum: &Linear) -> Option<i128> {
        let mut most = sum.constant;
        for (unknown, factor) in &sum.terms {
            let (lo, hi) = match unknown {
                Unknown::Value(v) => self.fact(*v).map(|fact| (fact.lo, fact.hi))?,
                Unknown::Len(view, axis) => {
                    self.lens.get(&(*view, *axis)).map_or((0, i128::from(i64::MAX)), |fact| (fact.lo, fact.hi))
                }
            };
            most = most.checked_add(factor.checked_mul(if *factor > 0 { hi } else { lo })?)?;
        }
        Some(most)
    }
    /// Sums with the unknown in them, with a positive factor if it is to be bounded above, that are never positive.
    fn bounds(&mut self, unknown: Unknown, above: bool) -> Vec<Linear> {
        let Unknown::Value(v) = unknown else { return Vec::new() };
        let own = Linear::of(unknown);
        let all = match self.p.m.def(v) {
            Def::Arg(r, 0) => match self.p.range(r) {
                Some(range) if above => vec![self.below_the_end(&own, range)],
                Some(range) => vec![self.linear(range.lo).less(&own)],
                None => Vec::new(),
            },
            Def::Result(op, _) => self.bounds_of(&self.p.m.op(op).op, &own, above),
            Def::Param(_) | Def::Const(_) | Def::Arg(..) => Vec::new(),
        };
        all.into_iter().flatten().map(|sum| self.rounded(sum)).collect()
    }
    /// The last index of a loop is its first and whole steps, below the end.
    fn below_the_end(&mut self, own: &Linear, range: &ops::Range) -> Option<Linear> {
        let (lo, hi) = (self.linear(range.lo), self.linear(range.hi));
        let way = hi.clone().less(&lo)?;
        let step = range.step.map_or(Some(1), |step| self.fact(step).map(|step| step.divisor)).unwrap_or(1);
        let d = i128::try_from(gcd(step, self.common(&way))).ok().filter(|d| *d > 0).unwrap_or(1);
        let last = hi.plus(1, &Linear::constant((way.constant - 1).div_euclid(d) * d - way.constant))?;
        own.clone().less(&last)
    }
    fn bounds_of(&mut self, op: &Op, own: &Linear, above: bool) -> Vec<Option<Linear>> {
        let at_least_0 = |proof: &Self, v: ValueId| proof.fact(v).is_some_and(|fact| fact.lo >= 0);
        match op {
            Op::Minimum(ops::Minimum { a, b }) if above => {
                [a, b].map(|v| own.clone().less(&self.linear(*v))).into_iter().collect()
            }
            Op::Maximum(ops::Maximum { a, b }) if !above => {
                [a, b].map(|v| self.linear(*v).less(own)).into_iter().collect()
            }
            Op::Rem(ops::Rem { a, b }) if above && at_least_0(self, *a) => {
                let mut out = vec![own.clone().less(&self.linear(*a))];
                if self.fact(*b).is_some_and(|fact| fact.lo >= 1) {
                    let below = own.clone().less(&self.linear(*b));
                    out.push(below.and_then(|below| below.plus(1, &Linear::constant(1))));
                }
                out
            }
            Op::And(ops::And { a, b }) if above => {
                let kept: Vec<ValueId> = [*a, *b].into_iter().filter(|v| at_least_0(self, *v)).collect();
                kept.into_iter().map(|v| own.clone().less(&self.linear(v))).collect()
            }
            // by * q <= a < by * q + by.
            Op::Div(ops::Div { a, b }) if at_least_0(self, *a) => match self.exact(*b).filter(|by| *by > 0) {
                Some(by) => vec![self.quotient(own, *a, by, above)],
                None => Vec::new(),
            },
            Op::Shr(ops::Shr { a, n }) => match self.exact(*n).filter(|n| (0..64).contains(n)) {
                Some(n) => vec![self.quotient(own, *a, 1i128 << n, above)],
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
    fn quotient(&mut self, own: &Linear, a: ValueId, by: i128, above: bool) -> Option<Linear> {
        let a = self.linear(a);
        let product = Linear::default().plus(by, own)?;
        if above { product.less(&a) } else { a.less(&product)?.plus(1, &Linear::constant(1 - by)) }
    }

    /// Whether the sum is never positive, whichever of two values the unknown is.
    fn in_every_case(&mut self, sum: &Linear, unknown: Unknown, above: bool) -> bool {
        let cases = self.cases(unknown, above);
        if cases.is_empty() {
            return false;
        }
        cases.into_iter().all(|(v, told)| {
            let Some(fuel) = self.fuel.checked_sub(1) else { return false };
            self.fuel = fuel;
            let outside = self.holds.len();
            let told: Vec<Linear> = told.iter().flat_map(|comparison| self.told(comparison)).collect();
            if told.iter().any(|sum| sum.terms.is_empty() && sum.constant > 0) {
                return true; // this case cannot be
            }
            self.holds.extend(told);
            let case = self.linear(v);
            let yes = sum.with(unknown, &case).is_some_and(|sum| self.at_most_0(&sum));
            self.holds.truncate(outside);
            yes
        })
    }
    /// The values that an unknown is one of, and what holds where it is each.
    fn cases(&self, unknown: Unknown, above: bool) -> Vec<(ValueId, Vec<Comparison>)> {
        let m = self.p.m;
        let Unknown::Value(v) = unknown else { return Vec::new() };
        let Def::Result(op, i) = m.def(v) else { return Vec::new() };
        let either = |pred: Pred, a: ValueId, b: ValueId| {
            let comparison = |pred| vec![Comparison { pred, a, b }];
            vec![(a, comparison(pred)), (b, comparison(negated(pred)))]
        };
        match &m.op(op).op {
            Op::Minimum(ops::Minimum { a, b }) if !above => either(Pred::Le, *a, *b),
            Op::Maximum(ops::Maximum { a, b }) if above => either(Pred::Ge, *a, *b),
            Op::Select(o) => {
                vec![(o.a, comparisons(m, o.mask, true)), (o.b, comparisons(m, o.mask, false))]
            }
            Op::If(o) => {
                let of = |r| m.region(r).yields.get(i as usize).copied();
                match (of(o.then), of(o.other)) {
                    (Some(a), Some(b)) => {
                        vec![(a, comparisons(m, o.cond, true)), (b, comparisons(m, o.cond, false))]
                    }
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }
}
