//! What an op does besides making its results: which views it reads and writes, which queues it uses, whether it
//! synchronises or is seen from outside. An op with regions does what is in them. How effects order ops is in `deps`.
//!
//! Views come from parameters only (no op makes one, no region takes or yields one), so a parameter's position says all
//! of a view's provenance. Two parameters never share memory that is written: a launch refuses that.

use super::module::{Def, Module, OpId, RegionId, ValueId};
use super::ops::{Effect, Op, Port, Scope};
use std::collections::BTreeSet;

/// The effects of an op with everything in its regions. Sets are in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Parameters whose views are read, by position.
    pub reads: BTreeSet<u32>,
    /// Parameters whose views are written.
    pub writes: BTreeSet<u32>,
    /// Parameters whose views are read and written in one indivisible step.
    pub atomics: BTreeSet<u32>,
    /// Queues that a message is put into.
    pub sends: BTreeSet<Port>,
    /// Queues that a message is taken from.
    pub recvs: BTreeSet<Port>,
    /// The widest barrier.
    pub sync: Option<Scope>,
    /// Something is seen from outside: kept, printed, asserted.
    pub observes: bool,
}

impl Effects {
    /// The effects of one op.
    pub fn of(m: &Module, op: OpId) -> Effects {
        let mut out = Effects::default();
        out.add(m, op);
        out
    }
    /// The effects of all ops of a region.
    pub fn of_region(m: &Module, region: RegionId) -> Effects {
        let mut out = Effects::default();
        m.walk(region, &mut |op| out.add_own(m, op));
        out
    }
    pub fn is_empty(&self) -> bool {
        *self == Effects::default()
    }
    /// Parameters whose views may change.
    pub fn changes(&self) -> impl Iterator<Item = u32> + '_ {
        self.writes.union(&self.atomics).copied()
    }

    fn add(&mut self, m: &Module, op: OpId) {
        self.add_own(m, op);
        m.op(op).op.each_region(&mut |r| m.walk(r, &mut |inner| self.add_own(m, inner)));
    }
    /// Adds what the op's row in the table declares, with the particulars of this op.
    fn add_own(&mut self, m: &Module, op: OpId) {
        let op = &m.op(op).op;
        let view = op.access().and_then(|at| param(m, at.view));
        match op.effect() {
            Effect::Pure | Effect::Control => {}
            Effect::Read => self.reads.extend(view),
            Effect::Write => self.writes.extend(view),
            Effect::Atomic => self.atomics.extend(view),
            Effect::Observe => self.observes = true,
            Effect::Queue | Effect::Sync => self.add_message(op),
        }
    }
    fn add_message(&mut self, op: &Op) {
        if let Op::Send(o) = op {
            self.sends.insert(o.port);
        }
        if let Op::Recv(o) = op {
            self.recvs.insert(o.port);
        }
        if let Op::Barrier(o) = op {
            self.sync = self.sync.max(Some(o.scope));
        }
    }
}

/// The position of the parameter that a view is.
pub(crate) fn param(m: &Module, view: ValueId) -> Option<u32> {
    match m.def(view) {
        Def::Param(i) => Some(i),
        Def::Const(_) | Def::Result(..) | Def::Arg(..) => None,
    }
}
