//! Loads of the next turn: where an author lets the loads of several turns be in flight (`.stages(n)`), a loop asks for the
//! tiles of its next turn before it works on those of this one, and carries them over. For a target that waits for a load
//! where its tile is used first; a machine that overlaps the turns itself has no use for it.
//!
//! A turn's loads run one turn early, and only if that turn will run, so that no fault is added. A load whose place depends
//! on what a turn computes or reads, or whose view the loop changes, stays.

use super::edit::{Edit, place};
use super::remark::Remark;
use crate::ir::ops::{self, Carry, Pred, Range, ResultType};
use crate::ir::{
    Def, Effects, Literal, LocId, Module, Op, OpData, OpId, Region, RegionId, Results, Type, Value, ValueId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Moves loads one turn ahead in loops with stages. Loops around products are left: their operands have places of their own.
pub fn ahead(m: &Module) -> (Module, Vec<Remark>) {
    let mut ahead = Ahead { e: Edit::new("ahead", m) };
    ahead.region(m.body);
    ahead.e.finish()
}

struct Ahead {
    e: Edit,
}

/// What a load ahead needs of a turn: the load, and the ops that compute its place from the loop's index.
struct Early {
    load: OpId,
    leads: Vec<OpId>,
}

/// A loop that loads ahead.
struct Turns {
    at: LocId,
    range: Range,
    index: ValueId,
    early: Vec<Early>,
}

impl Ahead {
    fn region(&mut self, r: RegionId) {
        let mut out = Vec::new();
        for op in self.e.m.region(r).ops.clone() {
            self.e.update(op);
            let mut ops = Vec::new();
            let op = self.counted(op, &mut ops).unwrap_or(op);
            ops.push(op);
            for op in ops {
                self.e.update(op);
                for inner in self.e.m.op(op).op.regions() {
                    self.region(inner);
                }
                out.push(op);
            }
        }
        self.e.m.regions[r.index()].ops = out;
        self.e.update_yields(r);
    }
    /// The loop that stands for this one, if loads of it move ahead; what has to stand before it goes to `before`.
    fn counted(&mut self, id: OpId, before: &mut Vec<OpId>) -> Option<OpId> {
        let data = self.e.m.op(id).clone();
        let Op::For(o) = &data.op else { return None };
        if o.range.stages.is_none_or(|stages| stages < 2) {
            return None;
        }
        let index = *self.e.m.region(o.body).args.first()?;
        let early = self.early(id, o.body, index);
        if early.is_empty() {
            return None;
        }
        early.iter().for_each(|early| self.e.applied(early.load, "runs one turn ahead"));
        let turns = Turns { at: data.loc, range: o.range.clone(), index, early };
        let first = self.first(&turns, before);
        Some(self.carrying(&data, o, &turns, first))
    }

    /// The loads of a loop's body that can move, in order.
    fn early(&mut self, id: OpId, body: RegionId, index: ValueId) -> Vec<Early> {
        let (m, effects) = (&self.e.m, Effects::of(&self.e.m, id));
        let mut has_product = false;
        m.walk(body, &mut |op| has_product |= matches!(m.op(op).op, Op::Dot(_) | Op::Composite(_)));
        if has_product {
            return Vec::new();
        }
        let talks = effects.sync.is_some() || !effects.sends.is_empty() || !effects.recvs.is_empty();
        let own: FxHashSet<OpId> = m.region(body).ops.iter().copied().collect();
        let mut inside: FxHashSet<ValueId> = m.region(body).args.iter().copied().collect();
        m.walk(body, &mut |op| inside.extend(m.op(op).results.iter()));
        let (mut found, mut said) = (Vec::new(), Vec::new());
        for &op in &m.region(body).ops {
            let Op::Load(o) = &m.op(op).op else { continue };
            if !o.to.0.is_tile() {
                continue;
            }
            let changed = matches!(m.def(o.at.view), Def::Param(view) if effects.changes().any(|other| other == view));
            let mut leads = Vec::new();
            let follows = m.op(op).op.operands().iter().all(|v| leads_to(m, &own, &inside, index, *v, &mut leads));
            match (talks || changed, follows) {
                (true, _) => said.push((op, "its view may change before its turn")),
                (false, false) => said.push((op, "its place depends on what a turn computes or reads")),
                (false, true) => found.push(Early { load: op, leads }),
            }
        }
        for (op, why) in said {
            self.e.declined(op, format!("stays in its turn of the loop at {}: {why}", place(&self.e.m, id)));
        }
        found
    }
    /// The tiles of the first turn, if there is one.
    fn first(&mut self, turns: &Turns, before: &mut Vec<OpId>) -> Vec<ValueId> {
        let Range { lo, hi, step, .. } = turns.range;
        let mut runs = self.compared(Pred::Lt, lo, hi, turns.at, before);
        // A step below 1 is a fault before the first turn.
        if let Some(step) = step.filter(|step| self.e.m.literal(*step).and_then(Literal::as_int).is_none_or(|n| n < 1))
        {
            let one = self.number(self.e.m.ty(step), 1);
            let counts = self.compared(Pred::Ge, step, one, turns.at, before);
            runs = self.both(runs, counts, turns.at, before);
        }
        self.loaded(turns, runs, lo, before)
    }
    /// The loop with the tiles of the next turn among what it carries.
    fn carrying(&mut self, data: &OpData, o: &ops::For, turns: &Turns, first: Vec<ValueId>) -> OpId {
        let body = o.body;
        let mut args = Vec::new();
        for (early, first) in turns.early.iter().zip(&first) {
            let position = self.e.m.region(body).args.len() as u32;
            let tile = self.e.m.op(early.load).results.first;
            let value = Value { def: Def::Arg(body, position), ..self.e.m.value(tile).clone() };
            let arg = self.value(Value { ty: self.e.m.ty(*first), ..value });
            self.e.m.regions[body.index()].args.push(arg);
            self.e.replace(tile, arg);
            args.push(arg);
        }
        // The next turn's index; it is none if the sum wraps.
        let (mut top, loc) = (Vec::new(), turns.at);
        let step = turns.range.step.unwrap_or_else(|| self.number(self.e.m.ty(turns.index), 1));
        let sum = Op::Add(ops::Add { a: turns.index, b: step });
        let next = self.op(sum, self.e.m.ty(turns.index), loc, &mut top);
        let later = self.compared(Pred::Gt, next, turns.index, loc, &mut top);
        let inside = self.compared(Pred::Lt, next, turns.range.hi, loc, &mut top);
        let runs = self.both(later, inside, loc, &mut top);
        let tiles = self.loaded(turns, runs, next, &mut top);
        let moved: FxHashSet<OpId> = turns.early.iter().map(|early| early.load).collect();
        let region = &mut self.e.m.regions[body.index()];
        top.extend(region.ops.iter().copied().filter(|op| !moved.contains(op)));
        region.ops = top;
        region.yields.extend(&tiles);
        let carry = Carry(o.carry.0.iter().copied().chain(first).collect());
        let id = OpId(self.e.m.ops.len() as u32);
        let types: Vec<Value> = data.results.iter().chain(tiles).map(|v| self.e.m.value(v).clone()).collect();
        let results = self.results(id, types);
        data.results.iter().zip(results.iter()).for_each(|(old, new)| self.e.replace(old, new));
        let op = Op::For(ops::For { range: turns.range.clone(), carry, body });
        self.e.m.ops.push(OpData { op, results, loc: data.loc });
        id
    }
    /// The tiles of the turn with this index, or zeros if it does not run.
    fn loaded(&mut self, turns: &Turns, runs: ValueId, index: ValueId, out: &mut Vec<OpId>) -> Vec<ValueId> {
        let (mut then, mut other) = (Region::default(), Region::default());
        let mut with = FxHashMap::from_iter([(turns.index, index)]);
        for Early { load, leads } in &turns.early {
            for op in leads.iter().chain([load]) {
                let data = self.e.m.op(*op).clone();
                if with.contains_key(&data.results.first) {
                    continue;
                }
                let mut op = data.op;
                op.each_operand_mut(&mut |v| *v = with.get(v).copied().unwrap_or(*v));
                let new = self.op(op, self.e.m.ty(data.results.first), data.loc, &mut then.ops);
                with.insert(data.results.first, new);
            }
            let ty = self.e.m.ty(self.e.m.op(*load).results.first);
            then.yields.push(with[&self.e.m.op(*load).results.first]);
            let zero = self.e.constant(Literal::zero(ty.elem()));
            let splat = Op::Splat(ops::Splat { x: zero, to: ResultType(ty) });
            let zeros = self.op(splat, ty, turns.at, &mut other.ops);
            other.yields.push(zeros);
        }
        let types: Vec<Value> =
            then.yields.iter().map(|v| Value { name: None, ..self.e.m.value(*v).clone() }).collect();
        let [then, other] = [then, other].map(|region| {
            self.e.m.regions.push(region);
            RegionId(self.e.m.regions.len() as u32 - 1)
        });
        let id = OpId(self.e.m.ops.len() as u32);
        let results = self.results(id, types);
        self.e.m.ops.push(OpData { op: Op::If(ops::If { cond: runs, then, other }), results, loc: turns.at });
        out.push(id);
        results.iter().collect()
    }

    fn compared(&mut self, pred: Pred, a: ValueId, b: ValueId, loc: LocId, out: &mut Vec<OpId>) -> ValueId {
        self.op(Op::Cmp(ops::Cmp { pred, a, b }), Type::Scalar(crate::elem::ElemType::I1), loc, out)
    }
    fn both(&mut self, a: ValueId, b: ValueId, loc: LocId, out: &mut Vec<OpId>) -> ValueId {
        self.op(Op::And(ops::And { a, b }), Type::Scalar(crate::elem::ElemType::I1), loc, out)
    }
    fn op(&mut self, op: Op, ty: Type, loc: LocId, out: &mut Vec<OpId>) -> ValueId {
        let (id, v) = self.e.op(op, ty, loc);
        out.push(id);
        v
    }
    fn number(&mut self, ty: Type, n: i128) -> ValueId {
        self.e.constant(Literal::int(ty.elem(), n).unwrap_or(Literal::zero(ty.elem())))
    }
    fn value(&mut self, value: Value) -> ValueId {
        self.e.m.values.push(value);
        ValueId(self.e.m.values.len() as u32 - 1)
    }
    /// Results of an op that is about to be added, like these values.
    fn results(&mut self, op: OpId, like: Vec<Value>) -> Results {
        let results = Results { first: ValueId(self.e.m.values.len() as u32), count: like.len() as u32 };
        for (i, value) in like.into_iter().enumerate() {
            self.value(Value { def: Def::Result(op, i as u32), ..value });
        }
        results
    }
}

/// Whether `v` is the loop's index, comes from outside, or is computed of these by ops of the body that cannot fault; notes
/// those ops, operands first.
fn leads_to(
    m: &Module,
    own: &FxHashSet<OpId>,
    inside: &FxHashSet<ValueId>,
    index: ValueId,
    v: ValueId,
    leads: &mut Vec<OpId>,
) -> bool {
    if v == index || !inside.contains(&v) {
        return true;
    }
    let Def::Result(op, _) = m.def(v) else { return false };
    let data = &m.op(op).op;
    let computes = matches!(
        data,
        Op::Add(_)
            | Op::Sub(_)
            | Op::Mul(_)
            | Op::Cast(_)
            | Op::Maximum(_)
            | Op::Minimum(_)
            | Op::And(_)
            | Op::Shl(_)
            | Op::Shr(_)
    );
    if !own.contains(&op) || !computes || m.ty(v).is_tile() {
        return false;
    }
    let all = data.operands().iter().all(|v| leads_to(m, own, inside, index, *v, leads));
    if all && !leads.contains(&op) {
        leads.push(op);
    }
    all
}
