//! Every value is made before its use, in a region that is still open there.

use super::Checker;
use super::errors::Broken;
use crate::ir::loc::LocId;
use crate::ir::module::{Def, Module, OpId, RegionId, ValueId};
use crate::ir::ops::{self, Op};
use rustc_hash::FxHashSet;

pub(super) fn check(cx: &mut Checker<'_>) {
    let state = cx.m.values.iter().map(|v| match v.def {
        Def::Param(_) | Def::Const(_) => State::Visible,
        Def::Result(..) | Def::Arg(..) => State::Unmade,
    });
    let mut scopes = Scopes { state: state.collect(), tree: Tree::of(cx.m) };
    scopes.region(cx, cx.m.body);
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unmade,
    Visible,
    /// Made, but the region it was made in has ended.
    Closed,
}

struct Scopes {
    /// By value.
    state: Vec<State>,
    tree: Tree,
}

impl Scopes {
    /// Checks a region and closes it.
    fn region(&mut self, cx: &mut Checker<'_>, r: RegionId) {
        self.open(cx, r);
        self.close(cx.m, r);
    }
    /// Checks a region; what it makes stays visible.
    fn open(&mut self, cx: &mut Checker<'_>, r: RegionId) {
        let region = cx.m.region(r);
        region.args.iter().for_each(|v| self.state[v.index()] = State::Visible);
        region.ops.iter().for_each(|op| self.op(cx, *op));
        // What a region hands back is told at the op that it is a part of.
        if let Some(owner) = self.tree.owner[r.index()] {
            self.uses(cx, owner, &region.yields, "yielded by this op's region");
        }
    }
    fn close(&mut self, m: &Module, r: RegionId) {
        let region = m.region(r);
        let results = region.ops.iter().flat_map(|op| m.op(*op).results.iter());
        region.args.iter().copied().chain(results).for_each(|v| self.state[v.index()] = State::Closed);
    }
    fn op(&mut self, cx: &mut Checker<'_>, op: OpId) {
        let data = cx.m.op(op);
        self.uses(cx, op, &data.op.operands(), "used here");
        match &data.op {
            // The body of a `while` sees what its condition made.
            Op::While(ops::While { cond, body, .. }) => {
                self.open(cx, *cond);
                self.region(cx, *body);
                self.close(cx.m, *cond);
            }
            other => other.each_region(&mut |r| self.region(cx, r)),
        }
        data.results.iter().for_each(|v| self.state[v.index()] = State::Visible);
    }
    /// Reports each value that `op` uses and cannot see, once.
    fn uses(&self, cx: &mut Checker<'_>, op: OpId, values: &[ValueId], how: &str) {
        let mut told = FxHashSet::default();
        for &v in values {
            let broken = match self.state[v.index()] {
                State::Visible => continue,
                State::Closed => Broken::Outside { region_of: self.tree.place(cx.m, v) },
                State::Unmade => Broken::Before { inside: self.tree.is_inside(cx.m, op, v) },
            };
            if told.insert(v) {
                let name = cx.texts.value(v);
                let (m, made) = (cx.m, self.tree.made_at(cx.m, v));
                cx.at_op(op, &broken, &format!("{name} is {how}"), |d| d.at(m, made, format!("{name} is made here")));
            }
        }
    }
}

/// Who holds what.
struct Tree {
    /// The region of each op.
    home: Vec<RegionId>,
    /// The op of each region; none for the body.
    owner: Vec<Option<OpId>>,
}

impl Tree {
    fn of(m: &Module) -> Tree {
        let mut tree = Tree { home: vec![m.body; m.num_ops()], owner: vec![None; m.num_regions()] };
        for (r, region) in m.regions.iter().enumerate() {
            region.ops.iter().for_each(|op| tree.home[op.index()] = RegionId(r as u32));
        }
        for (op, data) in m.ops.iter().enumerate() {
            data.op.each_region(&mut |r| tree.owner[r.index()] = Some(OpId(op as u32)));
        }
        tree
    }
    /// The location of the op that makes `v`, or whose region takes it.
    fn made_at(&self, m: &Module, v: ValueId) -> LocId {
        let maker = match m.def(v) {
            Def::Result(op, _) => Some(op),
            Def::Arg(region, _) => self.owner[region.index()],
            Def::Param(_) | Def::Const(_) => None,
        };
        maker.map_or(LocId::UNKNOWN, |op| m.op(op).loc)
    }
    /// Whether `op` stands, at any depth, in the op that makes `v`.
    fn is_inside(&self, m: &Module, op: OpId, v: ValueId) -> bool {
        let Def::Result(maker, _) = m.def(v) else { return false };
        let mut at = Some(op);
        while let Some(op) = at {
            if op == maker {
                return true;
            }
            at = self.owner[self.home[op.index()].index()];
        }
        false
    }
    /// The mnemonic of the op whose region makes `v`.
    fn place(&self, m: &Module, v: ValueId) -> &'static str {
        let region = match m.def(v) {
            Def::Result(op, _) => self.home[op.index()],
            Def::Arg(region, _) => region,
            Def::Param(_) | Def::Const(_) => m.body,
        };
        self.owner[region.index()].map_or("kernel", |op| m.op(op).op.mnemonic())
    }
}
