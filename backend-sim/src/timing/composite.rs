//! A composite as one command (AHBM.md 5): its product in padded tiles, what runs before it as a prologue, what runs
//! after it as an epilogue. A load inside that feeds the product's second operand is streamed.

use super::compile::Compiler;
use super::errors::Fault;
use super::program::{CompositeJob, Job};
use super::uses::has_slot;
use crate::cost::{Price, Work};
use crate::engine::composite::Composite;
use crate::machine::field;
use crate::units::{Bytes, Ps};
use rustc_hash::FxHashSet;
use tilewright_core::interp::RecordKind;
use tilewright_core::ir::ops::{self, Dot, Op};
use tilewright_core::ir::{Def, OpId, ValueId};

/// The ops of a composite, sorted by their part.
struct Parts<'m> {
    dot: &'m Dot,
    /// MATH work that the product waits for, or that needs nothing of it.
    prologue: Vec<OpId>,
    epilogue: Vec<OpId>,
    loads: Vec<(OpId, &'m ops::Load)>,
}

impl<'m> Compiler<'_, 'm> {
    pub(super) fn composite(&mut self, op: OpId, o: &ops::Composite, price: Price<'_>, dead: &[ValueId]) {
        let m = self.m;
        self.scalars_inside(o);
        let Some((parts, after_dot)) = self.parts(o) else { return };
        let streamed = match self.streamed(&parts) {
            Ok(streamed) => streamed,
            Err(load) => {
                self.faults.push(Fault::CompositeLoad { load, composite: op }.diagnostic(self.launch.scene()));
                return;
            }
        };
        let rows = u64::from(m.ty(parts.dot.a).dims().and_then(|d| d.get(0)).unwrap_or(1));
        let prologue = self.prologue(&parts.prologue, rows);
        let epilogue = parts.dot.c.is_some() || !parts.epilogue.is_empty();

        let yields = &m.region(o.body).yields;
        let results: Vec<ValueId> = m.op(op).results.iter().collect();
        let early = (0..).zip(yields).filter(|(_, y)| prologue.is_some() && !after_dot.contains(*y));
        let early = early.map(|(i, _)| i).collect();
        let mut job = self.product(parts.dot);
        (job.prologue, job.epilogue) = (prologue.map(|p| p.time), epilogue);
        let streamed = streamed.map(|(load, l)| {
            let outside = l.fill.0.is_none().then_some(RecordKind::LoadOutside);
            self.access(load, &l.at, l.to.0, outside, None)
        });
        let math_ops = prologue.map_or(0, |p| p.ops) + if epilogue { job.outputs } else { 0 };
        let fused = prologue.is_some() || epilogue;
        self.p.composites.push(CompositeJob { job, streamed, early, math_ops });
        let job = Job::Composite { job: self.p.composites.len() as u32 - 1 };

        let mut used = self.uses.of_op(op).to_vec();
        used.retain(|v| has_slot(m, *v));
        let waits = self.slots_of(&used);
        let (waits, makes) = (self.tile_list(&waits), self.makes(&results));
        let price = if fused {
            Price { issue: self.machine.cpu.composite_fused, field: field::cpu::composite_fused, ..price }
        } else {
            price
        };
        self.command(op, "composite", price, job, waits, makes, dead);
    }
    /// Places and lengths that the streamed operand needs are computed by the CPU, before it issues the composite.
    fn scalars_inside(&mut self, o: &ops::Composite) {
        for &id in &self.m.region(o.body).ops {
            if let Work::Scalar | Work::Place(_) = self.price(id).work {
                self.lower(id, &[]);
            }
        }
    }
    /// The parts, and the values that depend on the product. `None` without a product (the verifier says so).
    fn parts(&self, o: &ops::Composite) -> Option<(Parts<'m>, FxHashSet<ValueId>)> {
        let m = self.m;
        let mut after = FxHashSet::default();
        let (mut prologue, mut epilogue, mut loads, mut dot) = (Vec::new(), Vec::new(), Vec::new(), None);
        for &id in &m.region(o.body).ops {
            let data = m.op(id);
            let depends = data.op.operands().iter().any(|v| after.contains(v));
            match self.price(id).work {
                Work::Gemm(d, _) => dot = Some(d),
                Work::Load(l) => loads.push((id, l)),
                Work::Math(_) | Work::Copy(_) if depends => epilogue.push(id),
                Work::Math(_) | Work::Copy(_) => prologue.push(id),
                Work::Scalar | Work::Place(_) | Work::Name(_) => {}
                // The rule of composites lets none of these in.
                Work::Keep(_) | Work::Unseen | Work::Store { .. } | Work::Send(_) | Work::Recv(_) => {}
                Work::Barrier(_) | Work::Composite(_) | Work::If(_) | Work::For(_) | Work::While(_) => {}
            }
            if depends || matches!(data.op, Op::Dot(_)) {
                after.extend(data.results.iter());
            }
        }
        Some((Parts { dot: dot?, prologue, epilogue, loads }, after))
    }
    /// The load that the product's second operand comes from.
    ///
    /// # Errors
    /// Another load inside the composite.
    fn streamed(&self, parts: &Parts<'m>) -> Result<Option<(OpId, &'m ops::Load)>, OpId> {
        let source = self.behind_names(parts.dot.b);
        match parts.loads.iter().find(|(load, _)| Some(*load) != source) {
            Some((other, _)) => Err(*other),
            None => Ok(parts.loads.first().copied()),
        }
    }
    /// The op that made a tile, seen through names for it.
    fn behind_names(&self, v: ValueId) -> Option<OpId> {
        let Def::Result(op, _) = self.m.def(v) else { return None };
        if let Work::Name(Some(of)) = self.price(op).work { self.behind_names(of) } else { Some(op) }
    }
    /// The product in padded tiles.
    fn product(&mut self, dot: &Dot) -> Composite {
        let (m, machine) = (self.m, self.machine);
        let len = |v: ValueId, axis: usize| m.ty(v).dims().and_then(|d| d.get(axis)).map_or(1, u64::from);
        let [tile_m, tile_n, tile_k] = [machine.gemm.tile_m, machine.gemm.tile_n, machine.gemm.tile_k].map(u64::from);
        let outputs = len(dot.a, 0).div_ceil(tile_m) * len(dot.b, 1).div_ceil(tile_n);
        let (operand, result) = (m.ty(dot.a).elem().bytes(), dot.to.0.elem().bytes());
        let streamed_tile = tile_k * tile_n * operand;
        self.p.fields.extend(machine.gemm_peak(m.ty(dot.a).elem()).1);
        Composite {
            outputs,
            depth: len(dot.a, 1).div_ceil(tile_k),
            fetch: machine.scratch.rate.time_for(tile_m * tile_k * operand + streamed_tile),
            multiply: machine.composite_tile_time(m.ty(dot.a).elem()),
            store: machine.scratch.rate.time_for(tile_m * tile_n * result),
            prologue: None,
            epilogue: false,
            streamed: Vec::new(),
            streamed_tile: Bytes(streamed_tile),
        }
    }
    /// One pass per chain of ops on more values than the product has rows, and a small op for each of the others; a `mul`
    /// that only an `add` uses rides on it.
    fn prologue(&self, ops: &[OpId], rows: u64) -> Option<Prologue> {
        if ops.is_empty() {
            return None;
        }
        let m = self.m;
        let elems = |op: OpId| m.op(op).results.get(0).map_or(0, |v| m.ty(v).elems());
        let mut out = Prologue { time: Ps::ZERO, ops: 0 };
        let mut in_chain: FxHashSet<ValueId> = FxHashSet::default();
        for &op in ops {
            let data = m.op(op);
            if elems(op) > rows {
                if !data.op.operands().iter().any(|v| in_chain.contains(&self.behind_broadcast(*v))) {
                    out.time += self.machine.math_time(elems(op));
                    out.ops += 1;
                }
                in_chain.extend(data.results.iter());
            } else if !self.rides(op, ops) {
                out.time += self.machine.composite.prologue_small_op;
                out.ops += 1;
            }
        }
        Some(out)
    }
    fn behind_broadcast(&self, v: ValueId) -> ValueId {
        if let Def::Result(op, _) = self.m.def(v)
            && let Op::Broadcast(o) = &self.m.op(op).op
        {
            return self.behind_broadcast(o.x);
        }
        v
    }
    fn rides(&self, op: OpId, ops: &[OpId]) -> bool {
        let data = self.m.op(op);
        let users = data.results.get(0).and_then(|v| self.uses.only_users(v));
        let one_add = |users: &[OpId]| {
            users.len() == 1 && users.iter().all(|u| matches!(self.m.op(*u).op, Op::Add(_)) && ops.contains(u))
        };
        matches!(data.op, Op::Mul(_)) && users.is_some_and(one_add)
    }
}

/// The MATH work before a product: its time, and how many operations it counts as.
#[derive(Clone, Copy)]
struct Prologue {
    time: Ps,
    ops: u64,
}
