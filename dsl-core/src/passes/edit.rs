//! A module under change: values that stand for others, new constants and ops, and remarks about what was done. Ids stay
//! those of the module it began with until `finish` renumbers.

use super::remark::{Remark, Verdict};
use crate::ir::builder::renumber;
use crate::ir::{Def, Literal, LocId, Module, Op, OpData, OpId, RegionId, Results, Type, Value, ValueId};
use rustc_hash::FxHashMap;

pub(super) struct Edit {
    pub m: Module,
    pass: &'static str,
    /// What stands for a value from here on. Values on the right stand for themselves.
    with: FxHashMap<ValueId, ValueId>,
    constants: FxHashMap<Literal, ValueId>,
    remarks: Vec<Remark>,
}

impl Edit {
    pub(super) fn new(pass: &'static str, m: &Module) -> Edit {
        let m = m.clone();
        let id = |(i, v): (usize, &Value)| match v.def {
            Def::Const(lit) => Some((lit, ValueId(i as u32))),
            Def::Param(_) | Def::Result(..) | Def::Arg(..) => None,
        };
        let constants = m.values.iter().enumerate().filter_map(id).collect();
        Edit { m, pass, with: FxHashMap::default(), constants, remarks: Vec::new() }
    }
    /// The changed module and what was said of it.
    pub(super) fn finish(self) -> (Module, Vec<Remark>) {
        (renumber(&self.m, &mut |_| true), self.remarks)
    }

    /// What stands for `v`.
    pub(super) fn now(&self, v: ValueId) -> ValueId {
        self.with.get(&v).copied().unwrap_or(v)
    }
    /// From here on, `by` stands for `v`: ops that were passed already do not use `v`.
    pub(super) fn replace(&mut self, v: ValueId, by: ValueId) {
        self.with.insert(v, self.now(by));
    }
    /// Brings the operands of an op up to date.
    pub(super) fn update(&mut self, op: OpId) {
        let with = &self.with;
        self.m.ops[op.index()].op.each_operand_mut(&mut |v| *v = with.get(v).copied().unwrap_or(*v));
    }
    pub(super) fn update_yields(&mut self, r: RegionId) {
        let with = &self.with;
        self.m.regions[r.index()].yields.iter_mut().for_each(|v| *v = with.get(v).copied().unwrap_or(*v));
    }
    pub(super) fn constant(&mut self, lit: Literal) -> ValueId {
        *self.constants.entry(lit).or_insert_with(|| {
            self.m.values.push(Value { ty: Type::Scalar(lit.elem), def: Def::Const(lit), name: None });
            ValueId(self.m.values.len() as u32 - 1)
        })
    }
    /// A new op with one result, in no region yet.
    pub(super) fn op(&mut self, op: Op, ty: Type, loc: LocId) -> (OpId, ValueId) {
        let (id, first) = (OpId(self.m.ops.len() as u32), ValueId(self.m.values.len() as u32));
        self.m.values.push(Value { ty, def: Def::Result(id, 0), name: None });
        self.m.ops.push(OpData { op, results: Results { first, count: 1 }, loc });
        (id, first)
    }
    /// The op that makes `v`, if one does.
    pub(super) fn maker(&self, v: ValueId) -> Option<&Op> {
        match self.m.def(v) {
            Def::Result(op, _) => Some(&self.m.op(op).op),
            Def::Const(_) | Def::Param(_) | Def::Arg(..) => None,
        }
    }

    pub(super) fn applied(&mut self, op: OpId, text: impl Into<String>) {
        self.remarks.push(Remark::new(self.pass, Verdict::Applied, &self.m, op, text));
    }
    pub(super) fn declined(&mut self, op: OpId, text: impl Into<String>) {
        self.remarks.push(Remark::new(self.pass, Verdict::Declined, &self.m, op, text));
    }
}

/// The constant that a scalar is, or that every element of a tile is.
pub(super) fn constant_of(m: &Module, v: ValueId) -> Option<Literal> {
    match m.def(v) {
        Def::Const(lit) => Some(lit),
        Def::Result(op, _) => match &m.op(op).op {
            Op::Splat(o) => m.literal(o.x),
            _ => None,
        },
        Def::Param(_) | Def::Arg(..) => None,
    }
}

/// Where an op is, for the texts of remarks about another.
pub(super) fn place(m: &Module, op: OpId) -> String {
    m.locs.get(m.op(op).loc).map_or("an unknown place".to_string(), |loc| loc.place.to_string())
}
