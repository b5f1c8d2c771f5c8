//! Builds a module op by op: the tracer, the parser and the passes all go through here.
//! Regions open and close like brackets; `finish` renumbers everything in text order.

use super::fault::Fault;
use super::literal::Literal;
use super::loc::{Loc, LocId, Locs};
use super::module::*;
use super::ops::Op;
use super::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub struct Builder {
    m: Module,
    open: Vec<RegionId>,
    consts: FxHashMap<Literal, ValueId>,
}

impl Builder {
    pub fn new(name: &str) -> Builder {
        let m = Module {
            name: name.to_string(),
            key: Vec::new(),
            params: Vec::new(),
            deny: Deny::default(),
            body: RegionId(0),
            values: Vec::new(),
            ops: Vec::new(),
            regions: vec![Region::default()],
            locs: Locs::default(),
        };
        Builder { m, open: vec![RegionId(0)], consts: FxHashMap::default() }
    }
    /// What has been built so far.
    pub fn module(&self) -> &Module {
        &self.m
    }
    pub fn locs(&mut self) -> &mut Locs {
        &mut self.m.locs
    }
    /// Adds a part of the specialisation key, for print.
    pub fn key(&mut self, name: &str, value: &str) {
        self.m.key.push((name.to_string(), value.to_string()));
    }
    /// What the kernel is not to have in it.
    pub fn deny(&mut self, deny: Deny) {
        self.m.deny = deny;
    }
    fn value(&mut self, ty: Type, def: Def, name: Option<&str>) -> ValueId {
        self.m.values.push(Value { ty, def, name: name.map(Arc::from) });
        ValueId(self.m.values.len() as u32 - 1)
    }
    pub fn param(&mut self, name: &str, ty: Type) -> ValueId {
        let v = self.unnamed_param(ty);
        self.m.name_value(v, name);
        v
    }
    /// A parameter that gets its name later, if at all.
    pub(super) fn unnamed_param(&mut self, ty: Type) -> ValueId {
        let v = self.value(ty, Def::Param(self.m.params.len() as u32), None);
        self.m.params.push(v);
        v
    }
    pub fn constant(&mut self, lit: Literal) -> ValueId {
        if let Some(v) = self.consts.get(&lit) {
            return *v;
        }
        let v = self.value(Type::Scalar(lit.elem), Def::Const(lit), None);
        self.consts.insert(lit, v);
        v
    }
    /// A value that only stands for one until the parser knows its type.
    pub(super) fn placeholder(&mut self) -> ValueId {
        self.value(Type::BOOL, Def::Const(Literal::zero(crate::elem::ElemType::I1)), None)
    }
    /// Opens a region with these arguments; ops go into it until it is closed.
    pub fn open(&mut self, args: &[Type]) -> RegionId {
        let r = RegionId(self.m.regions.len() as u32);
        self.m.regions.push(Region::default());
        let args = args.iter().enumerate().map(|(i, ty)| self.value(*ty, Def::Arg(r, i as u32), None)).collect();
        self.m.regions[r.index()].args = args;
        self.open.push(r);
        r
    }
    /// Closes the region that was opened last. Regions close in the reverse order of opening.
    pub fn close(&mut self, yields: Vec<ValueId>) -> RegionId {
        debug_assert!(self.open.len() > 1, "close without open");
        let r = self.open.pop().unwrap_or(RegionId(0));
        self.m.regions[r.index()].yields = yields;
        r
    }
    /// The region that ops go into now.
    pub fn current(&self) -> RegionId {
        self.open.last().copied().unwrap_or(RegionId(0))
    }
    /// Moves the ops of a closed region to the end of the current one, as if it had not been opened.
    pub fn splice(&mut self, region: RegionId) {
        let ops = std::mem::take(&mut self.m.regions[region.index()].ops);
        let to = self.current();
        self.m.regions[to.index()].ops.extend(ops);
    }
    /// Appends an op to the current region, after checking it.
    ///
    /// # Errors
    /// The rule of the op table that its operands, attributes or regions break; nothing is appended.
    pub fn push(&mut self, op: impl Into<Op>, loc: LocId) -> Result<Results, Fault> {
        let op = op.into();
        let types = op.result_types(&self.m)?;
        Ok(self.push_unchecked(op, &types, loc))
    }
    /// Appends an op whose result types the caller gives: for the parser and for tests of the verifier.
    pub fn push_unchecked(&mut self, op: impl Into<Op>, types: &[Type], loc: LocId) -> Results {
        let id = OpId(self.m.ops.len() as u32);
        let first = ValueId(self.m.values.len() as u32);
        for (i, ty) in types.iter().enumerate() {
            self.value(*ty, Def::Result(id, i as u32), None);
        }
        let results = Results { first, count: types.len() as u32 };
        self.m.ops.push(OpData { op: op.into(), results, loc });
        let to = self.current();
        self.m.regions[to.index()].ops.push(id);
        results
    }
    pub fn name(&mut self, v: ValueId, name: &str) {
        self.m.name_value(v, name);
    }
    /// The module, its arenas in text order and without what nothing uses.
    pub fn finish(mut self) -> Module {
        debug_assert_eq!(self.open.len(), 1, "a region is still open");
        self.m.body = RegionId(0);
        renumber(&self.m, &mut |_| true)
    }
}

/// Rebuilds `m` in text order, leaving out the ops that `keep` refuses. Their results must have no use.
pub fn renumber(m: &Module, keep: &mut dyn FnMut(OpId) -> bool) -> Module {
    let out = Module {
        name: m.name.clone(),
        key: m.key.clone(),
        params: Vec::new(),
        deny: m.deny,
        body: RegionId(0),
        values: Vec::with_capacity(m.values.len()),
        ops: Vec::with_capacity(m.ops.len()),
        regions: Vec::with_capacity(m.regions.len()),
        locs: Locs::default(),
    };
    let map = vec![None; m.values.len()];
    let mut r = Renumber { m, out, map, consts: FxHashMap::default(), locs: FxHashMap::default(), keep };
    for (i, p) in m.params.iter().enumerate() {
        let v = r.fresh(*p, Def::Param(i as u32));
        r.out.params.push(v);
    }
    r.out.body = r.region(m.body);
    r.out
}

struct Renumber<'a> {
    m: &'a Module,
    out: Module,
    map: Vec<Option<ValueId>>,
    /// A constant is one value, however often it was made.
    consts: FxHashMap<Literal, ValueId>,
    locs: FxHashMap<LocId, LocId>,
    keep: &'a mut dyn FnMut(OpId) -> bool,
}

impl Renumber<'_> {
    fn fresh(&mut self, old: ValueId, def: Def) -> ValueId {
        let new = ValueId(self.out.values.len() as u32);
        self.out.values.push(Value { def, ..self.m.value(old).clone() });
        self.map[old.index()] = Some(new);
        new
    }
    /// The new id of an operand. A use before its definition (invalid, the verifier says so) gets an id here too.
    fn operand(&mut self, old: ValueId) -> ValueId {
        if let Some(v) = self.map[old.index()] {
            return v;
        }
        let def = self.m.def(old);
        let Def::Const(lit) = def else { return self.fresh(old, def) };
        match self.consts.get(&lit) {
            Some(v) => *v,
            None => {
                let v = self.fresh(old, def);
                self.consts.insert(lit, v);
                v
            }
        }
    }
    fn region(&mut self, old: RegionId) -> RegionId {
        let new = RegionId(self.out.regions.len() as u32);
        self.out.regions.push(Region::default());
        let from = self.m.region(old);
        let args = from.args.iter().enumerate().map(|(i, a)| self.fresh(*a, Def::Arg(new, i as u32))).collect();
        self.out.regions[new.index()].args = args;
        for &op in &from.ops {
            if (self.keep)(op) {
                let op = self.op(op);
                self.out.regions[new.index()].ops.push(op);
            }
        }
        self.out.regions[new.index()].yields = from.yields.iter().map(|v| self.operand(*v)).collect();
        new
    }
    fn op(&mut self, old: OpId) -> OpId {
        let from = self.m.op(old);
        let new = OpId(self.out.ops.len() as u32);
        let loc = self.loc(from.loc);
        let mut op = from.op.clone();
        op.each_operand_mut(&mut |v| *v = self.operand(*v));
        let first = ValueId(self.out.values.len() as u32);
        self.out.ops.push(OpData { op: op.clone(), results: Results { first, count: 0 }, loc });
        op.each_region_mut(&mut |r| *r = self.region(*r));
        let first = ValueId(self.out.values.len() as u32);
        for (i, v) in from.results.iter().enumerate() {
            // A use before the definition has already made an id; results must stay consecutive, so it is remade.
            self.fresh(v, Def::Result(new, i as u32));
        }
        self.out.ops[new.index()] = OpData { op, results: Results { first, count: from.results.count }, loc };
        new
    }
    fn loc(&mut self, old: LocId) -> LocId {
        // From the innermost call to one that is known: a chain may be long, so no recursion.
        let mut chain = Vec::new();
        let mut at = Some(old);
        while let Some(id) = at.filter(|id| !self.locs.contains_key(id)) {
            chain.push(id);
            at = self.m.locs.outer(id);
        }
        for id in chain.into_iter().rev() {
            let Some(loc) = self.m.locs.get(id) else { continue };
            let inlined_at = self.m.locs.outer(id).and_then(|at| self.locs.get(&at).copied());
            let new = self.out.locs.intern(Loc { inlined_at, place: loc.place.clone() });
            self.locs.insert(id, new);
        }
        self.locs.get(&old).copied().unwrap_or(LocId::UNKNOWN)
    }
}
