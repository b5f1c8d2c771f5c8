//! Which tiles an op uses, itself or in its regions; from that, where a tile is used last.

use rustc_hash::{FxHashMap, FxHashSet};
use tilewright_core::ir::{Def, Module, Op, OpId, RegionId, ValueId};

/// The uses of a module's tiles.
pub struct Uses {
    /// By op: what it needs from outside, with what its regions capture; each value once.
    by_op: Vec<Vec<ValueId>>,
    by_region: Vec<Vec<ValueId>>,
    /// By value: the ops that have it as an operand; yields are not counted.
    users: FxHashMap<ValueId, Vec<OpId>>,
    yielded: FxHashSet<ValueId>,
    /// By op: the region it is in.
    home: Vec<RegionId>,
}

/// Whether a PE keeps a slot for this value: tiles, and scalars that are loaded.
pub fn has_slot(m: &Module, v: ValueId) -> bool {
    m.ty(v).is_tile() || loaded_scalar(m, v)
}
/// Whether this is one element loaded from memory: it arrives later than it is asked for.
pub fn loaded_scalar(m: &Module, v: ValueId) -> bool {
    match m.def(v) {
        Def::Result(op, _) => m.ty(v).is_scalar() && matches!(m.op(op).op, Op::Load(_)),
        Def::Param(_) | Def::Const(_) | Def::Arg(..) => false,
    }
}

impl Uses {
    pub fn of(m: &Module) -> Uses {
        let mut uses = Uses {
            by_op: vec![Vec::new(); m.num_ops()],
            by_region: vec![Vec::new(); m.num_regions()],
            users: FxHashMap::default(),
            yielded: FxHashSet::default(),
            home: vec![m.body; m.num_ops()],
        };
        uses.region(m, m.body);
        uses
    }
    pub fn of_op(&self, op: OpId) -> &[ValueId] {
        &self.by_op[op.index()]
    }
    /// What a region needs from outside.
    pub fn of_region(&self, r: RegionId) -> &[ValueId] {
        &self.by_region[r.index()]
    }
    pub fn region_of(&self, op: OpId) -> RegionId {
        self.home[op.index()]
    }
    /// The ops that use a value, if no region yields it.
    pub fn only_users(&self, v: ValueId) -> Option<&[OpId]> {
        let users = self.users.get(&v).map_or(&[][..], Vec::as_slice);
        if self.yielded.contains(&v) { None } else { Some(users) }
    }
    fn region(&mut self, m: &Module, r: RegionId) {
        let region = m.region(r);
        let mut inside: FxHashSet<ValueId> = region.args.iter().copied().collect();
        let mut from_outside = Vec::new();
        let mut add = |inside: &FxHashSet<ValueId>, v: ValueId| {
            if !inside.contains(&v) && !from_outside.contains(&v) {
                from_outside.push(v);
            }
        };
        for &op in &region.ops {
            self.home[op.index()] = r;
            self.op(m, op);
            self.by_op[op.index()].iter().for_each(|v| add(&inside, *v));
            inside.extend(m.op(op).results.iter());
        }
        for &v in region.yields.iter().filter(|v| has_slot(m, **v)) {
            add(&inside, v);
        }
        self.yielded.extend(&region.yields);
        self.by_region[r.index()] = from_outside;
    }
    fn op(&mut self, m: &Module, op: OpId) {
        let data = &m.op(op).op;
        let mut all = Vec::new();
        data.each_operand(&mut |v| {
            self.users.entry(v).or_default().push(op);
            if has_slot(m, v) && !all.contains(&v) {
                all.push(v);
            }
        });
        for r in data.regions() {
            self.region(m, r);
            for v in &self.by_region[r.index()] {
                if !all.contains(v) {
                    all.push(*v);
                }
            }
        }
        self.by_op[op.index()] = all;
    }
}
