//! The scalars that time depends on: bounds, conditions and positions, and what they are computed from. The timing pass
//! evaluates these and no other value.

use super::errors::Fault;
use super::launch::Launch;
use crate::cost::{self, Work};
use crate::machine::Machine;
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::{Def, Module, Op, OpId, RegionId, ValueId};

/// Which values are evaluated, by value.
pub struct Slice(Vec<bool>);

impl Slice {
    /// # Errors
    /// Every scalar that time depends on and that a run without values cannot know.
    pub fn of(machine: &Machine, launch: &Launch<'_>) -> Result<Slice, Diagnostics> {
        let m = launch.module;
        let mut walk = Walk {
            machine,
            launch,
            needed: vec![None; m.num_values()],
            todo: Vec::new(),
            owners: owners(m),
            faults: Diagnostics::default(),
        };
        m.each_op(&mut |op| walk.roots(op));
        while let Some(v) = walk.todo.pop() {
            walk.inputs(v);
        }
        walk.faults.finish()?;
        Ok(Slice(walk.needed.iter().map(Option::is_some).collect()))
    }
    pub fn needs(&self, v: ValueId) -> bool {
        self.0[v.index()]
    }
}

/// By region: the op that holds it.
fn owners(m: &Module) -> Vec<Option<OpId>> {
    let mut owners = vec![None; m.num_regions()];
    m.each_op(&mut |op| m.op(op).op.each_region(&mut |r| owners[r.index()] = Some(op)));
    owners
}

struct Walk<'a, 'm> {
    machine: &'a Machine,
    launch: &'a Launch<'m>,
    /// By value: the op whose time it decides.
    needed: Vec<Option<OpId>>,
    todo: Vec<ValueId>,
    owners: Vec<Option<OpId>>,
    faults: Diagnostics,
}

impl Walk<'_, '_> {
    fn need(&mut self, v: ValueId, root: OpId) {
        let slot = &mut self.needed[v.index()];
        if slot.is_none() {
            *slot = Some(root);
            self.todo.push(v);
        }
    }
    fn roots(&mut self, op: OpId) {
        let m = self.launch.module;
        let data = &m.op(op).op;
        if let Some(at) = data.access() {
            at.index.iter().chain(at.limits.iter().map(|(_, n)| n)).for_each(|v| self.need(*v, op));
        }
        if let Op::If(o) = data {
            self.need(o.cond, op);
        }
        if let Op::For(o) = data {
            [o.range.lo, o.range.hi].into_iter().chain(o.range.step).for_each(|v| self.need(v, op));
        }
        if let Op::While(o) = data {
            m.region(o.cond).yields.iter().for_each(|v| self.need(*v, op));
        }
    }
    fn inputs(&mut self, v: ValueId) {
        let m = self.launch.module;
        let Some(root) = self.needed[v.index()] else { return };
        match m.def(v) {
            Def::Param(_) | Def::Const(_) => {}
            Def::Result(op, i) => self.result(op, i as usize, root),
            Def::Arg(region, i) => self.arg(region, i as usize, root),
        }
    }
    fn result(&mut self, op: OpId, i: usize, root: OpId) {
        let m = self.launch.module;
        if self.launch.traced(op) {
            return;
        }
        // Whether a `trans` is a copy does not matter here.
        match cost::price(self.machine, m, op, false).work {
            Work::If(o) => {
                let arms = [o.then, o.other].map(|r| m.region(r).yields.get(i).copied());
                arms.into_iter().flatten().for_each(|v| self.need(v, root));
            }
            // What a loop results in lies where it carries it (`compile.rs`).
            Work::For(o) => m.region(o.body).args.get(i + 1).into_iter().for_each(|v| self.need(*v, root)),
            Work::While(o) => m.region(o.cond).args.get(i).into_iter().for_each(|v| self.need(*v, root)),
            Work::Load(o) => {
                if let Some(why) = self.launch.unreadable(o.at.view) {
                    self.fault(Fault::DataNeeded { load: op, decides: root, why });
                }
                o.fill.0.into_iter().for_each(|v| self.need(v, root));
            }
            Work::Place(_) => {}
            Work::Scalar => m.op(op).op.each_operand(&mut |v| self.need(v, root)),
            // Made from tiles or messages.
            Work::Math(_) | Work::Copy(_) | Work::Gemm(..) | Work::Recv(_) | Work::Name(_) | Work::Composite(_) => {
                self.fault(Fault::ControlTrace { source: op, decides: root });
            }
            // These make no value.
            Work::Keep(_) | Work::Unseen | Work::Store { .. } | Work::Send(_) | Work::Barrier(_) => {}
        }
    }
    fn carried(&mut self, inits: &[ValueId], body: RegionId, i: usize, root: OpId) {
        let yields = &self.launch.module.region(body).yields;
        [inits.get(i), yields.get(i)].into_iter().flatten().for_each(|v| self.need(*v, root));
    }
    fn arg(&mut self, region: RegionId, i: usize, root: OpId) {
        let m = self.launch.module;
        let Some(owner) = self.owners[region.index()] else { return };
        // Argument 0 of a counted loop is the index, whose bounds are roots.
        if let (Op::For(o), Some(i)) = (&m.op(owner).op, i.checked_sub(1)) {
            self.carried(&o.carry.0, o.body, i, root);
        }
        if let Op::While(o) = &m.op(owner).op {
            self.carried(&o.carry.0, o.body, i, root);
        }
    }
    fn fault(&mut self, fault: Fault) {
        self.faults.push(fault.diagnostic(self.launch.scene()));
    }
}
