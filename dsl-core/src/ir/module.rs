//! A module: one kernel as arenas of values, ops and regions behind `u32` ids. SSA, structured control flow, no CFG.

use super::literal::Literal;
use super::loc::{LocId, Locs};
use super::ops::Op;
use super::types::Type;
use std::sync::Arc;

macro_rules! ids {
    ($($(#[$doc:meta])* $Name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $Name(pub u32);
        impl $Name { pub fn index(self) -> usize { self.0 as usize } }
    )*};
}
ids! {
    /// An SSA value of a module.
    ValueId;
    /// An op of a module.
    OpId;
    /// A region of a module.
    RegionId;
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// A parameter of the kernel, by position.
    Param(u32),
    /// A scalar constant; it is printed where it is used.
    Const(Literal),
    /// A result of an op, by position.
    Result(OpId, u32),
    /// An argument of a region, by position.
    Arg(RegionId, u32),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub ty: Type,
    pub def: Def,
    /// The name of the Rust variable, without the mark that makes it unique in print.
    pub name: Option<Arc<str>>,
}

/// A module's parts, open to any change: for tools that break modules on purpose. `verify` says what is wrong afterwards.
#[derive(Debug)]
pub struct Arenas<'m> {
    pub values: &'m mut Vec<Value>,
    pub ops: &'m mut Vec<OpData>,
    pub regions: &'m mut Vec<Region>,
}

/// Consecutive results of one op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results {
    pub first: ValueId,
    pub count: u32,
}
impl Results {
    pub fn iter(self) -> impl ExactSizeIterator<Item = ValueId> + Clone {
        (self.first.0..self.first.0 + self.count).map(ValueId)
    }
    pub fn get(self, index: usize) -> Option<ValueId> {
        (index < self.count as usize).then(|| ValueId(self.first.0 + index as u32))
    }
}

#[derive(Clone, Debug)]
pub struct OpData {
    pub op: Op,
    pub results: Results,
    pub loc: LocId,
}

/// A straight line of ops, and what it hands back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    pub args: Vec<ValueId>,
    pub ops: Vec<OpId>,
    pub yields: Vec<ValueId>,
}

/// What the author of a kernel refuses to have in it: `#[kernel(deny(..))]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deny {
    /// Accesses whose bounds the kernel itself would check while it runs.
    pub in_kernel_checks: bool,
}

impl Deny {
    /// All that can be denied, as it is spelled.
    pub const NAMES: [&str; 1] = ["in_kernel_checks"];
    /// Denies one thing more; says whether there is a thing of this name.
    pub fn add(&mut self, name: &str) -> bool {
        let known = name == "in_kernel_checks";
        self.in_kernel_checks |= known;
        known
    }
    /// What is denied.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.in_kernel_checks.then_some("in_kernel_checks").into_iter()
    }
}

/// One kernel, specialised and traced (or read from text).
///
/// The order of the arenas is that of a walk over the text (`Builder::finish` makes it so), so equality is plain
/// comparison. Locations are not compared: text does not need to carry them.
#[derive(Clone, Debug)]
pub struct Module {
    pub name: String,
    /// The specialisation: type parameters, consts and comptime values with their printed values.
    pub key: Vec<(String, String)>,
    pub params: Vec<ValueId>,
    pub deny: Deny,
    pub body: RegionId,
    pub(crate) values: Vec<Value>,
    pub(crate) ops: Vec<OpData>,
    pub(crate) regions: Vec<Region>,
    pub locs: Locs,
}

impl PartialEq for Module {
    fn eq(&self, o: &Module) -> bool {
        let same_op = |(a, b): (&OpData, &OpData)| a.op == b.op && a.results == b.results;
        (&self.name, &self.key, &self.params, self.deny, self.body) == (&o.name, &o.key, &o.params, o.deny, o.body)
            && self.values == o.values
            && self.regions == o.regions
            && self.ops.len() == o.ops.len()
            && self.ops.iter().zip(&o.ops).all(same_op)
    }
}

impl Module {
    pub fn value(&self, v: ValueId) -> &Value {
        &self.values[v.index()]
    }
    pub fn ty(&self, v: ValueId) -> Type {
        self.values[v.index()].ty
    }
    pub fn def(&self, v: ValueId) -> Def {
        self.values[v.index()].def
    }
    /// The constant that `v` is, if it is one.
    pub fn literal(&self, v: ValueId) -> Option<Literal> {
        match self.def(v) {
            Def::Const(lit) => Some(lit),
            Def::Param(_) | Def::Result(..) | Def::Arg(..) => None,
        }
    }
    pub fn op(&self, op: OpId) -> &OpData {
        &self.ops[op.index()]
    }
    pub fn region(&self, r: RegionId) -> &Region {
        &self.regions[r.index()]
    }
    pub fn num_values(&self) -> usize {
        self.values.len()
    }
    pub fn num_ops(&self) -> usize {
        self.ops.len()
    }
    pub fn num_regions(&self) -> usize {
        self.regions.len()
    }
    pub fn arenas_mut(&mut self) -> Arenas<'_> {
        Arenas { values: &mut self.values, ops: &mut self.ops, regions: &mut self.regions }
    }
    /// Visits every op under `region`, outer ops before the ops in their regions, in text order.
    pub fn walk(&self, region: RegionId, f: &mut dyn FnMut(OpId)) {
        for &op in &self.region(region).ops {
            f(op);
            for r in self.op(op).op.regions() {
                self.walk(r, f);
            }
        }
    }
    /// Whether some op of the kernel is such a one.
    pub fn has(&self, is: impl Fn(&Op) -> bool) -> bool {
        let mut any = false;
        self.each_op(&mut |op| any |= is(&self.op(op).op));
        any
    }
    /// Visits every op of the kernel, in text order.
    pub fn each_op(&self, f: &mut dyn FnMut(OpId)) {
        self.walk(self.body, f)
    }
    /// Gives a value the name it is printed with, if it has none yet. Constants are printed as their text and have none.
    pub fn name_value(&mut self, v: ValueId, name: &str) {
        let value = &mut self.values[v.index()];
        if value.name.is_none() && !matches!(value.def, Def::Const(_)) {
            value.name = Some(name.into());
        }
    }
}
