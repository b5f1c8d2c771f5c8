//! What is known of every integer scalar before a run: an interval and a divisor, from constants, the launch grid, the
//! lengths of views and the ends of loops. A side table: nothing is written into the module.
//!
//! Carried values start from their first value and grow until no turn adds anything; an end that moves is given up at
//! once, so that this takes few rounds. `fact.rs`: one fact, and what each op makes of facts.

mod fact;

pub(in crate::passes) use fact::exact_ends;
pub use fact::{Fact, range};

use crate::elem::ElemType;
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
    fn scalar(&self, param: u32) -> Option<Literal> {
        match self.args.get(param as usize)? {
            KnownArg::Scalar(lit) => Some(*lit),
            KnownArg::Nothing | KnownArg::Lens(_) => None,
        }
    }
    /// The length of a view along an axis: of the launch's tensor, or what the view's type fixes.
    pub(super) fn len(&self, m: &Module, view: ValueId, axis: u32) -> Option<i128> {
        let launch = match m.def(view) {
            Def::Param(i) => match self.args.get(i as usize) {
                Some(KnownArg::Lens(lens)) => lens.get(axis as usize).map(|len| *len as i128),
                Some(KnownArg::Nothing | KnownArg::Scalar(_)) | None => None,
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
}

/// Passes over the module after which carried values that still change are given up.
const MAX_ROUNDS: usize = 24;
/// Changes of one carried value after which its divisor is given up.
const MAX_CHANGES: u8 = 4;

impl Facts {
    pub fn of(m: &Module, known: &Known) -> Facts {
        let of = (0..m.num_values() as u32).map(|v| given(m, known, ValueId(v))).collect();
        let changes = vec![0; m.num_values()];
        let mut a = Analysis { m, known, of, changes, changed: false, give_up: false };
        for round in 0.. {
            (a.changed, a.give_up) = (false, round >= MAX_ROUNDS);
            a.region(m.body);
            if !a.changed {
                break;
            }
        }
        Facts { of: a.of }
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
        Def::Param(i) => known.scalar(i).and_then(Fact::literal),
        Def::Result(..) | Def::Arg(..) => None,
    }
}

struct Analysis<'m> {
    m: &'m Module,
    known: &'m Known,
    /// `None`: not reached yet.
    of: Vec<Option<Fact>>,
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
        self.elem(v).and_then(|elem| self.of[v.index()].or_else(|| Fact::any(elem)))
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
        let next = Fact {
            lo: if both.lo < old.lo { any.lo } else { old.lo },
            hi: if both.hi > old.hi { any.hi } else { old.hi },
            divisor: if *changes > MAX_CHANGES { 1 } else { both.divisor },
        };
        (self.of[v.index()], self.changed) = (Some(if self.give_up { any } else { next }), true);
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
                self.region(o.then);
                self.region(o.other);
                let (then, other) = (&m.region(o.then).yields, &m.region(o.other).yields);
                for ((v, a), b) in data.results.iter().zip(then).zip(other) {
                    let both = self.get(*a).zip(self.get(*b)).map(|(a, b)| a.join(b));
                    self.set(v, both);
                }
            }
            Op::For(o) => self.counted(o, data.results),
            Op::While(o) => {
                let (args, yields) = (&m.region(o.cond).args, &m.region(o.body).yields);
                args.iter().zip(&o.carry.0).for_each(|(arg, first)| self.arrives(*arg, *first));
                self.region(o.cond);
                self.region(o.body);
                args.iter().zip(yields).for_each(|(arg, next)| self.arrives(*arg, *next));
                data.results.iter().zip(args).for_each(|(v, arg)| self.set(v, self.get(*arg)));
            }
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
    fn counted(&mut self, o: &ops::For, results: crate::ir::Results) {
        let m = self.m;
        let body = m.region(o.body);
        let Some((index, args)) = body.args.split_first() else { return };
        let fact = self.index(o, *index);
        self.set(*index, fact);
        args.iter().zip(&o.carry.0).for_each(|(arg, first)| self.arrives(*arg, *first));
        self.region(o.body);
        args.iter().zip(&body.yields).for_each(|(arg, next)| self.arrives(*arg, *next));
        for ((v, first), next) in results.iter().zip(&o.carry.0).zip(&body.yields) {
            let last = self.get(*first).zip(self.get(*next)).map(|(a, b)| a.join(b));
            self.set(v, last);
        }
    }
    /// `lo + k * step`, below `hi`: a loop's index never wraps.
    fn index(&self, o: &ops::For, index: ValueId) -> Option<Fact> {
        let (lo, hi) = (self.get(o.range.lo)?, self.get(o.range.hi)?);
        let step = match o.range.step {
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
                Some(len) => Some(Fact::exact(len)),
                None => Fact::between(0, i128::MAX, 1, elem),
            },
            Op::PeId(_) => upto(grid.map(|g| g.pes)),
            Op::NumPes(_) => count(grid.map(|g| g.pes)),
            Op::CubeId(_) => upto(grid.and_then(|g| g.num_cubes())),
            Op::NumCubes(_) => count(grid.and_then(|g| g.num_cubes())),
            Op::ProgramId(_) => upto(grid.and_then(|g| g.num_programs())),
            Op::NumPrograms(_) => count(grid.and_then(|g| g.num_programs())),
            other => {
                let operands: Vec<Fact> = other.operands().iter().map(|v| self.get(*v)).collect::<Option<_>>()?;
                fact::transfer(other, &operands, elem)
            }
        }
    }
}
