//! Scalar folding: an op whose operands are constants becomes its value. The interpreter evaluates it, so the folded and
//! the computed value are equal to the bit. No algebra: `x * 0` and `x - x` are not 0 where x is not a number.

use crate::interp::scalar;
use crate::ir::builder::renumber;
use crate::ir::{Def, Literal, Module, Op, OpId, RegionId, Type, Value, ValueId};
use rustc_hash::FxHashMap;

/// Replaces scalar ops on constants by their values, and scalar selects with a constant mask by the chosen side. An op
/// that would leave an error record stays. Loops and `if`s keep their structure.
pub fn fold(m: &Module) -> Module {
    let mut f = Fold {
        m: m.clone(),
        with: FxHashMap::default(),
        constants: FxHashMap::default(),
        gone: vec![false; m.num_ops()],
    };
    f.region(m.body);
    renumber(&f.m, &mut |op| !f.gone[op.index()])
}

struct Fold {
    m: Module,
    /// What stands for a value from here on.
    with: FxHashMap<ValueId, ValueId>,
    constants: FxHashMap<Literal, ValueId>,
    /// By op: whether it was folded.
    gone: Vec<bool>,
}

impl Fold {
    /// In text order, so operands are folded before the ops that use them.
    fn region(&mut self, r: RegionId) {
        for op in self.m.region(r).ops.clone() {
            self.op(op);
        }
        let with = &self.with;
        self.m.regions[r.index()].yields.iter_mut().for_each(|v| *v = with.get(v).copied().unwrap_or(*v));
    }
    fn op(&mut self, id: OpId) {
        let with = &self.with;
        self.m.ops[id.index()].op.each_operand_mut(&mut |v| *v = with.get(v).copied().unwrap_or(*v));
        if let Some(result) = self.m.op(id).results.get(0)
            && let Some(value) = self.value(id)
        {
            self.with.insert(result, value);
            self.gone[id.index()] = true;
        }
        for r in self.m.op(id).op.regions() {
            self.region(r);
        }
    }
    /// What the only result of this op always is.
    fn value(&mut self, id: OpId) -> Option<ValueId> {
        let data = self.m.op(id);
        let ty = data.results.get(0).filter(|_| data.results.count == 1).map(|v| self.m.ty(v))?;
        if let Op::Select(o) = &data.op
            && let Some(mask) = self.m.literal(o.mask).and_then(Literal::as_bool)
        {
            return Some(if mask { o.a } else { o.b });
        }
        let operands: Vec<Literal> = data.op.operands().iter().map(|v| self.m.literal(*v)).collect::<Option<_>>()?;
        let evaluated = scalar::eval(&data.op, &operands, ty)?;
        evaluated.fault.is_none().then(|| self.constant(evaluated.value))
    }
    fn constant(&mut self, lit: Literal) -> ValueId {
        *self.constants.entry(lit).or_insert_with(|| {
            self.m.values.push(Value { ty: Type::Scalar(lit.elem), def: Def::Const(lit), name: None });
            ValueId(self.m.values.len() as u32 - 1)
        })
    }
}
