//! What is known of every integer scalar before a run: an interval and a divisor, from constants, the launch grid, the
//! lengths of views and the ends of loops. A side table: nothing is written into the module.
//!
//! Carried values start from their first value and grow until no turn adds anything; an end that moves is given up at
//! once, so that this takes few rounds. `fact.rs`: one fact, and what each op makes of facts. `guard.rs`: what is known
//! where a condition holds, so `i` is below `n` inside `if i < n { .. }`.

mod fact;
mod guard;

pub use fact::{Fact, range};
pub(in crate::passes) use fact::{exact_ends, gcd};
pub(in crate::passes) use guard::{Comparison, comparisons, negated};

use crate::elem::ElemType;
use crate::interp::scalar;
use crate::ir::{Def, Literal, Module, Op, OpId, RegionId, Type, ValueId, ops};
use crate::launch::{Arg, Grid, Ready};

/// What is known of a launch when a module is compiled for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    pub grid: Option<Grid>,
    /// By parameter; those left out are not known.
    pub args: Vec<KnownArg>,
}

/// What is known of one argument.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum KnownArg {
    #[default]
    Nothing,
    Scalar(Literal),
    /// The lengths of a tensor, one an axis.
    Lens(Vec<usize>),
    /// Not the number, but what holds of it.
    ScalarFact(Fact),
    /// Not the lengths, but what holds of each.
    LenFacts(Vec<Fact>),
}

impl Known {
    /// Everything of a launch but the elements of its tensors.
    pub fn of(ready: &Ready<'_>) -> Known {
        let arg = |arg: &Arg<'_>| match arg {
            Arg::Scalar(lit) => KnownArg::Scalar(*lit),
            Arg::View(t) => KnownArg::Lens(t.dims.clone()),
            Arg::ViewMut(t) => KnownArg::Lens(t.dims.clone()),
        };
        Known { grid: Some(ready.config.grid), args: ready.args.iter().map(arg).collect() }
    }
    /// Whether everything but the elements of tensors is known: of one launch of this module.
    pub fn is_one_launch(&self, m: &Module) -> bool {
        let given = |i: usize| matches!(self.args.get(i), Some(KnownArg::Scalar(_) | KnownArg::Lens(_)));
        self.grid.is_some() && (0..m.params.len()).all(given)
    }
    fn scalar_fact(&self, param: u32) -> Option<Fact> {
        match self.args.get(param as usize)? {
            KnownArg::Scalar(lit) => Fact::literal(*lit),
            KnownArg::ScalarFact(fact) => Some(*fact),
            KnownArg::Nothing | KnownArg::Lens(_) | KnownArg::LenFacts(_) => None,
        }
    }
    /// What holds of a view's length, where the length itself is not known.
    fn len_fact(&self, m: &Module, view: ValueId, axis: u32) -> Option<Fact> {
        let Def::Param(i) = m.def(view) else { return None };
        match self.args.get(i as usize)? {
            KnownArg::LenFacts(facts) => facts.get(axis as usize).copied(),
            KnownArg::Nothing | KnownArg::Scalar(_) | KnownArg::ScalarFact(_) | KnownArg::Lens(_) => None,
        }
    }
    /// The length of a view along an axis, if it is known: of the launch's tensor, or what the view's type fixes.
    pub fn len(&self, m: &Module, view: ValueId, axis: u32) -> Option<i128> {
        let launch = match m.def(view) {
            Def::Param(i) => match self.args.get(i as usize) {
                Some(KnownArg::Lens(lens)) => lens.get(axis as usize).map(|len| *len as i128),
                Some(KnownArg::LenFacts(facts)) => facts.get(axis as usize).and_then(|fact| fact.as_exact()),
                Some(KnownArg::Nothing | KnownArg::Scalar(_) | KnownArg::ScalarFact(_)) | None => None,
            },
            Def::Const(_) | Def::Result(..) | Def::Arg(..) => None,
        };
        let Type::View(ty) = m.ty(view) else { return None };
        launch.or_else(|| ty.dims.get(axis as usize).copied().flatten().map(i128::from))
    }
}

/// The facts of a module under what is known of the launch.
#[derive(Clone, Debug)]
pub struct Facts {
    of: Vec<Option<Fact>>,
    known: Known,
}

/// Passes over the module after which carried values that still change are given up.
const MAX_ROUNDS: usize = 24;
/// Changes of one carried value after which its divisor is given up.
const MAX_CHANGES: u8 = 4;

/// Whether facts may lean on the conditions around an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditions {
    /// What is known of a value holds where its op stands.
    Hold,
    /// What is known of a value holds wherever its op may be moved to.
    Ignored,
}

impl Facts {
    /// What is known of each value where its op stands.
    pub fn of(m: &Module, known: &Known) -> Facts {
        Facts::under(m, known, Conditions::Hold)
    }
    pub fn under(m: &Module, known: &Known, conditions: Conditions) -> Facts {
        let of = (0..m.num_values() as u32).map(|v| given(m, known, ValueId(v))).collect();
        let changes = vec![0; m.num_values()];
        let narrowed = Vec::new();
        let mut a = Analysis { m, known, conditions, of, narrowed, changes, changed: false, give_up: false };
        for round in 0.. {
            (a.changed, a.give_up) = (false, round >= MAX_ROUNDS);
            a.region(m.body);
            if !a.changed {
                break;
            }
        }
        Facts { of: a.of, known: known.clone() }
    }
    /// What divides a view's length along an axis; 0 if that is 0.
    pub fn len_divisor(&self, m: &Module, view: ValueId, axis: u32) -> u128 {
        let exact = self.known.len(m, view, axis).map(i128::unsigned_abs);
        exact.or_else(|| self.known.len_fact(m, view, axis).map(|fact| fact.divisor)).unwrap_or(1)
    }
    /// What is known of an integer or truth value; `None` for other values.
    pub fn get(&self, m: &Module, v: ValueId) -> Option<Fact> {
        let Type::Scalar(elem) = m.ty(v) else { return None };
        self.of.get(v.index()).copied().flatten().or_else(|| Fact::any(elem))
    }
}

/// The fact of a constant or a parameter.
fn given(m: &Module, known: &Known, v: ValueId) -> Option<Fact> {
    match m.def(v) {
        Def::Const(lit) => Fact::literal(lit),
        Def::Param(i) => known.scalar_fact(i),
        Def::Result(..) | Def::Arg(..) => None,
    }
}

struct Analysis<'m> {
    m: &'m Module,
    known: &'m Known,
    conditions: Conditions,
    /// `None`: not reached yet.
    of: Vec<Option<Fact>>,
    /// What is known besides, by the conditions around the op that is looked at; the last of a value counts.
    narrowed: Vec<(ValueId, Fact)>,
    /// How often a carried value has changed.
    changes: Vec<u8>,
    changed: bool,
    give_up: bool,
}

impl Analysis<'_> {
    fn elem(&self, v: ValueId) -> Option<ElemType> {
        match self.m.ty(v) {
            Type::Scalar(elem) if fact::is_counted(elem) => Some(elem),
            Type::Scalar(_) | Type::Tile(..) | Type::View(_) => None,
        }
    }
    fn get(&self, v: ValueId) -> Option<Fact> {
        let elem = self.elem(v)?;
        let narrowed = self.narrowed.iter().rev().find(|(narrowed, _)| *narrowed == v);
        narrowed.map(|(_, fact)| *fact).or(self.of[v.index()]).or_else(|| Fact::any(elem))
    }
    /// Does something where these comparisons hold.
    fn where_hold<R>(&mut self, comparisons: &[Comparison], then: impl FnOnce(&mut Self) -> R) -> R {
        let outside = self.narrowed.len();
        if self.conditions == Conditions::Hold {
            for comparison in comparisons {
                let narrowed = comparison.narrow(self.m, &|v| self.get(v));
                self.narrowed.extend(narrowed.into_iter().flatten());
            }
        }
        let done = then(self);
        self.narrowed.truncate(outside);
        done
    }
    fn where_is<R>(&mut self, cond: ValueId, holds: bool, then: impl FnOnce(&mut Self) -> R) -> R {
        let comparisons = match self.conditions {
            Conditions::Hold => comparisons(self.m, cond, holds),
            Conditions::Ignored => Vec::new(),
        };
        self.where_hold(&comparisons, then)
    }
    fn set(&mut self, v: ValueId, fact: Option<Fact>) {
        if let Some(elem) = self.elem(v) {
            self.of[v.index()] = fact.or_else(|| Fact::any(elem));
        }
    }
    /// Another value may arrive at `v`, which carries it from turn to turn.
    fn arrives(&mut self, v: ValueId, from: ValueId) {
        let (Some(elem), Some(new)) = (self.elem(v), self.get(from)) else { return };
        let Some(old) = self.of[v.index()] else {
            (self.of[v.index()], self.changed) = (Some(new), true);
            return;
        };
        let (both, any) = (old.join(new), Fact::any(elem).unwrap_or(new));
        if both == old {
            return;
        }
        let changes = &mut self.changes[v.index()];
        *changes = changes.saturating_add(1);
        let next = if self.give_up {
            any
        } else {
            Fact {
                lo: if both.lo < old.lo { any.lo } else { old.lo },
                hi: if both.hi > old.hi { any.hi } else { old.hi },
                divisor: if *changes > MAX_CHANGES { 1 } else { both.divisor },
            }
        };
        // What reaches beyond the element already adds nothing.
        if next != old {
            (self.of[v.index()], self.changed) = (Some(next), true);
        }
    }
    fn region(&mut self, r: RegionId) {
        let m = self.m;
        for &op in &m.region(r).ops {
            self.op(op);
        }
    }
    fn op(&mut self, id: OpId) {
        let m = self.m;
        let data = m.op(id);
        match &data.op {
            Op::If(o) => {
                let then = self.where_is(o.cond, true, |a| a.arm(o.then));
                let other = self.where_is(o.cond, false, |a| a.arm(o.other));
                for ((v, a), b) in data.results.iter().zip(then).zip(other) {
                    self.set(v, a.zip(b).map(|(a, b)| a.join(b)));
                }
            }
            Op::Select(o) if data.results.get(0).is_some_and(|v| self.elem(v).is_some()) => {
                let (a, b) = match self.get(o.mask).and_then(Fact::as_exact) {
                    Some(0) => (self.get(o.b), self.get(o.b)),
                    Some(_) => (self.get(o.a), self.get(o.a)),
                    None => (self.where_is(o.mask, true, |s| s.get(o.a)), self.where_is(o.mask, false, |s| s.get(o.b))),
                };
                data.results.iter().for_each(|v| self.set(v, a.zip(b).map(|(a, b)| a.join(b))));
            }
            Op::For(o) => self.counted(o, data.results),
            Op::While(o) => {
                let (args, yields) = (&m.region(o.cond).args, &m.region(o.body).yields);
                args.iter().zip(&o.carry.0).for_each(|(arg, first)| self.arrives(*arg, *first));
                self.region(o.cond);
                let test = m.region(o.cond).yields.first().copied();
                let inside = test.map_or(Vec::new(), |test| comparisons(m, test, true));
                self.where_hold(&inside, |a| {
                    a.region(o.body);
                    args.iter().zip(yields).for_each(|(arg, next)| a.arrives(*arg, *next));
                });
                let after = test.map_or(Vec::new(), |test| comparisons(m, test, false));
                self.where_hold(&after, |a| {
                    data.results.iter().zip(args).for_each(|(v, arg)| a.set(v, a.get(*arg)));
                });
            }
            Op::MapReduce(o) => self.map_reduce(o, data.results),
            Op::Composite(o) => self.region(o.body),
            other => {
                other.each_region(&mut |r| self.region(r));
                if let Some(v) = data.results.get(0) {
                    let fact = self.result(other, v);
                    self.set(v, fact);
                }
            }
        }
    }
    /// The number that an op makes of numbers, by the interpreter.
    fn evaluated(&self, op: &Op, operands: &[Fact], elem: ElemType) -> Option<Fact> {
        let exact = |(v, fact): (&ValueId, &Fact)| Literal::int(self.elem(*v)?, fact.as_exact()?);
        let numbers: Vec<Literal> = op.operands().iter().zip(operands).map(exact).collect::<Option<_>>()?;
        let done = scalar::eval(op, &numbers, Type::Scalar(elem))?;
        Fact::literal(done.value).filter(|_| done.fault.is_none())
    }
    /// What the yields of an arm are.
    fn arm(&mut self, r: RegionId) -> Vec<Option<Fact>> {
        self.region(r);
        self.m.region(r).yields.iter().map(|v| self.get(*v)).collect()
    }
    fn counted(&mut self, o: &ops::For, results: crate::ir::Results) {
        let m = self.m;
        let body = m.region(o.body);
        let Some((index, args)) = body.args.split_first() else { return };
        let fact = self.index(&o.range, *index);
        self.set(*index, fact);
        args.iter().zip(&o.carry.0).for_each(|(arg, first)| self.arrives(*arg, *first));
        let runs = Comparison { pred: ops::Pred::Lt, a: o.range.lo, b: o.range.hi };
        self.where_hold(&[runs], |a| {
            a.region(o.body);
            args.iter().zip(&body.yields).for_each(|(arg, next)| a.arrives(*arg, *next));
        });
        for ((v, first), next) in results.iter().zip(&o.carry.0).zip(&body.yields) {
            let last = self.get(*first).zip(self.get(*next)).map(|(a, b)| a.join(b));
            self.set(v, last);
        }
    }
    /// What a turn makes, and what the merge makes of that, in any grouping.
    fn map_reduce(&mut self, o: &ops::MapReduce, results: crate::ir::Results) {
        let m = self.m;
        let (body, merge) = (m.region(o.body), m.region(o.merge));
        let fact = body.args.first().and_then(|index| self.index(&o.range, *index));
        body.args.iter().for_each(|index| self.set(*index, fact));
        let runs = Comparison { pred: ops::Pred::Lt, a: o.range.lo, b: o.range.hi };
        self.where_hold(&[runs], |a| {
            a.region(o.body);
            let merged = merge.args.iter().zip(body.yields.iter().cycle());
            merged.for_each(|(arg, of_turn)| a.arrives(*arg, *of_turn));
        });
        self.region(o.merge);
        let again = merge.args.iter().zip(merge.yields.iter().cycle());
        again.for_each(|(arg, merged)| self.arrives(*arg, *merged));
        for ((v, of_turn), merged) in results.iter().zip(&body.yields).zip(&merge.yields) {
            let any = self.get(*of_turn).zip(self.get(*merged)).map(|(a, b)| a.join(b));
            self.set(v, any);
        }
    }
    /// `lo + k * step`, below `hi`: a loop's index never wraps.
    fn index(&self, range: &ops::Range, index: ValueId) -> Option<Fact> {
        let (lo, hi) = (self.get(range.lo)?, self.get(range.hi)?);
        let step = match range.step {
            Some(step) => self.get(step)?,
            None => Fact::exact(1),
        };
        let both = Fact { divisor: step.divisor, ..lo }.join(lo).divisor;
        if lo.lo >= hi.hi {
            // It takes no turn, and anything is true of its index.
            return Some(Fact::exact(lo.lo));
        }
        Fact::between(lo.lo, hi.hi - 1, both, self.elem(index)?)
    }
    fn result(&self, op: &Op, v: ValueId) -> Option<Fact> {
        let elem = self.elem(v)?;
        let upto = |n: Option<usize>| Fact::between(0, n.map_or(i128::MAX, |n| n as i128 - 1), 1, elem);
        let count = |n: Option<usize>| n.map_or(Fact::between(1, i128::MAX, 1, elem), |n| Some(Fact::exact(n as i128)));
        let grid = self.known.grid;
        match op {
            Op::Len(o) => match self.known.len(self.m, o.view, o.axis.0) {
                // A launch refuses what does not fit.
                Some(len) => Fact::between(len, len, len.unsigned_abs(), elem),
                None => {
                    let fact = self.known.len_fact(self.m, o.view, o.axis.0);
                    fact.map_or_else(
                        || Fact::between(0, i128::MAX, 1, elem),
                        |f| Fact::between(f.lo, f.hi, f.divisor, elem),
                    )
                }
            },
            Op::PeId(_) => upto(grid.map(|g| g.pes)),
            Op::NumPes(_) => count(grid.map(|g| g.pes)),
            Op::CubeId(_) => upto(grid.and_then(|g| g.num_cubes())),
            Op::NumCubes(_) => count(grid.and_then(|g| g.num_cubes())),
            Op::ProgramId(_) => upto(grid.and_then(|g| g.num_programs())),
            Op::NumPrograms(_) => count(grid.and_then(|g| g.num_programs())),
            other => {
                let operands: Vec<Fact> = other.operands().iter().map(|v| self.get(*v)).collect::<Option<_>>()?;
                self.evaluated(other, &operands, elem).or_else(|| fact::transfer(other, &operands, elem))
            }
        }
    }
}
