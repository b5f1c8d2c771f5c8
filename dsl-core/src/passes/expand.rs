//! `map_reduce` turn by turn: the body for the first index, then a loop that merges the body's values for the others into
//! it, in increasing order. For all who take a program command by command: the simulator, the check of messages, a
//! backend that does not share the turns out. The interpreter runs the op itself.
//!
//! No turn at all is an error of the author's: an assertion in front, where constants do not show that there is one. The
//! interpreter ends the program there; here the first turn still runs. So `expand` comes before the passes that know of an
//! index what holds inside its range, never behind them.

use super::canonicalise::{Trips, trips};
use super::edit::Edit;
use crate::ir::ops::{self, Carry, Pred, Range, Text};
use crate::ir::{Def, Literal, LocId, Module, Op, OpData, OpId, Region, RegionId, Results, Type, Value, ValueId};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// What the assertion in front of the turns says.
pub const NO_TURN: &str = "map_reduce takes at least one turn";

/// The module without a `map_reduce`; the same one if it has none.
pub fn expand(m: &Module) -> Cow<'_, Module> {
    if !m.has(|op| matches!(op, Op::MapReduce(_))) {
        return Cow::Borrowed(m);
    }
    let mut expand = Expand { e: Edit::new("expand", m) };
    expand.region(m.body);
    Cow::Owned(expand.e.finish().0)
}

struct Expand {
    e: Edit,
}

impl Expand {
    fn region(&mut self, r: RegionId) {
        let mut out = Vec::new();
        self.inline(r, &mut out);
        self.e.m.regions[r.index()].ops = out;
    }
    /// The ops of `r`, expanded, go to `out`.
    fn inline(&mut self, r: RegionId, out: &mut Vec<OpId>) {
        for id in self.e.m.region(r).ops.clone() {
            self.e.update(id);
            match self.e.m.op(id).op.clone() {
                Op::MapReduce(o) => self.turns(id, &o, out),
                other => {
                    other.regions().into_iter().for_each(|r| self.region(r));
                    out.push(id);
                }
            }
        }
        self.e.update_yields(r);
    }
    fn turns(&mut self, id: OpId, o: &ops::MapReduce, out: &mut Vec<OpId>) {
        let OpData { results, loc, .. } = *self.e.m.op(id);
        self.refuse_none(&o.range, loc, out);
        let second = match trips(&self.e.m, &o.range) {
            Trips::One => None,
            Trips::None | Trips::Many | Trips::Unknown => self.second(&o.range, loc, out),
        };
        // Before the index of the body is the first one.
        let others = second.map(|_| self.others(o));
        if let Some(index) = self.e.m.region(o.body).args.first() {
            self.e.replace(*index, o.range.lo);
        }
        self.inline(o.body, out);
        let first = self.e.m.region(o.body).yields.clone();
        let last = match second.zip(others) {
            None => first,
            Some((second, body)) => {
                let range = Range { lo: second, ..o.range.clone() };
                let id = OpId(self.e.m.ops.len() as u32);
                let merged = self.results(id, results);
                self.e.m.ops.push(OpData {
                    op: ops::For { range, carry: Carry(first), body }.into(),
                    results: merged,
                    loc,
                });
                self.region(body);
                out.push(id);
                merged.iter().collect()
            }
        };
        results.iter().zip(last).for_each(|(v, by)| self.e.replace(v, by));
    }

    /// Records an error where the range is empty.
    fn refuse_none(&mut self, range: &Range, loc: LocId, out: &mut Vec<OpId>) {
        let cond = match trips(&self.e.m, range) {
            Trips::One | Trips::Many => return,
            Trips::None => self.e.constant(Literal::from(false)),
            Trips::Unknown => self.compared(Pred::Lt, range.lo, range.hi, loc, out),
        };
        let (first, op) = (ValueId(self.e.m.values.len() as u32), OpId(self.e.m.ops.len() as u32));
        let assert = ops::Assert { cond, text: Text(NO_TURN.to_string()) };
        self.e.m.ops.push(OpData { op: assert.into(), results: Results { first, count: 0 }, loc });
        out.push(op);
    }
    /// The second index; `None` if there is none that its type could hold.
    fn second(&mut self, range: &Range, loc: LocId, out: &mut Vec<OpId>) -> Option<ValueId> {
        let ty = self.e.m.ty(range.lo);
        let one = Literal::int(ty.elem(), 1).unwrap_or(Literal::zero(ty.elem()));
        let step = range.step.unwrap_or_else(|| self.e.constant(one));
        let int = |m: &Module, v: ValueId| m.literal(v).and_then(Literal::as_int);
        if let Some((lo, step)) = int(&self.e.m, range.lo).zip(int(&self.e.m, step)) {
            return Literal::int(ty.elem(), lo + step).map(|second| self.e.constant(second));
        }
        let (add, next) = self.e.op(ops::Add { a: range.lo, b: step }.into(), ty, loc);
        out.push(add);
        if range.step.is_none() {
            return Some(next); // below the end, nothing wraps
        }
        let later = self.compared(Pred::Gt, next, range.lo, loc, out);
        let (select, second) = self.e.op(ops::Select { mask: later, a: next, b: range.hi }.into(), ty, loc);
        out.push(select);
        Some(second)
    }
    /// The body of the loop over the other turns: a copy of the map's, then the merge with what is carried.
    fn others(&mut self, o: &ops::MapReduce) -> RegionId {
        let mut copies = FxHashMap::default();
        let body = self.copy(o.body, &mut copies);
        let merge = std::mem::take(&mut self.e.m.regions[o.merge.index()]);
        let (carried, new) = merge.args.split_at(merge.args.len() / 2);
        let of_turn = std::mem::replace(&mut self.e.m.regions[body.index()].yields, merge.yields);
        new.iter().zip(of_turn).for_each(|(v, by)| self.e.replace(*v, by));
        for v in carried {
            let position = self.e.m.region(body).args.len() as u32;
            let arg = self.value(Value { def: Def::Arg(body, position), ..self.e.m.value(*v).clone() });
            self.e.m.regions[body.index()].args.push(arg);
            self.e.replace(*v, arg);
        }
        self.e.m.regions[body.index()].ops.extend(merge.ops);
        body
    }

    /// A copy of a region; `copies` tells the new values.
    fn copy(&mut self, r: RegionId, copies: &mut FxHashMap<ValueId, ValueId>) -> RegionId {
        let (new, old) = (RegionId(self.e.m.regions.len() as u32), self.e.m.region(r).clone());
        self.e.m.regions.push(Region::default());
        let mut args = Vec::new();
        for (i, v) in old.args.iter().enumerate() {
            let arg = self.value(Value { def: Def::Arg(new, i as u32), ..self.e.m.value(*v).clone() });
            copies.insert(*v, arg);
            args.push(arg);
        }
        let ops = old.ops.iter().map(|op| self.copy_op(*op, copies)).collect();
        let yields = old.yields.iter().map(|v| copies.get(v).copied().unwrap_or(*v)).collect();
        self.e.m.regions[new.index()] = Region { args, ops, yields };
        new
    }
    fn copy_op(&mut self, id: OpId, copies: &mut FxHashMap<ValueId, ValueId>) -> OpId {
        let OpData { mut op, results, loc } = self.e.m.op(id).clone();
        op.each_operand_mut(&mut |v| *v = copies.get(v).copied().unwrap_or(*v));
        op.each_region_mut(&mut |r| *r = self.copy(*r, copies));
        let new = OpId(self.e.m.ops.len() as u32);
        let made = self.results(new, results);
        results.iter().zip(made.iter()).for_each(|(v, copy)| {
            copies.insert(v, copy);
        });
        self.e.m.ops.push(OpData { op, results: made, loc });
        new
    }
    /// Results of the op that is about to be added, like those of another.
    fn results(&mut self, op: OpId, like: Results) -> Results {
        let results = Results { first: ValueId(self.e.m.values.len() as u32), count: like.count };
        for (i, v) in like.iter().enumerate() {
            self.value(Value { def: Def::Result(op, i as u32), ..self.e.m.value(v).clone() });
        }
        results
    }
    fn value(&mut self, value: Value) -> ValueId {
        self.e.m.values.push(value);
        ValueId(self.e.m.values.len() as u32 - 1)
    }
    fn compared(&mut self, pred: Pred, a: ValueId, b: ValueId, loc: LocId, out: &mut Vec<OpId>) -> ValueId {
        let (op, v) = self.e.op(ops::Cmp { pred, a, b }.into(), Type::BOOL, loc);
        out.push(op);
        v
    }
}
