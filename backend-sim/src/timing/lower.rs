//! What one op becomes: a command, a name for a tile that exists, an evaluated scalar, or nothing.

use super::compile::Compiler;
use super::program::{Access, ElementValue, EngineRecord, Instr, Job, Made, Part, PlaceValue};
use super::uses::{has_slot, loaded_scalar};
use crate::cost::{self, Price, Work};
use crate::engine::Engine;
use crate::units::Ps;
use tilewright_core::interp::RecordKind;
use tilewright_core::ir::ops::{self, Bounds, Op, Port};
use tilewright_core::ir::{Literal, OpId, Type, ValueId};

impl Compiler<'_, '_> {
    /// An op that is neither `if` nor a loop. `dead`: what it uses last.
    pub(super) fn lower(&mut self, op: OpId, dead: &[ValueId]) {
        let into_dot = self.feeds_dots_only(op);
        let price = cost::price(self.machine, self.m, op, into_dot);
        match price.work {
            Work::None => {
                self.spend(price);
                self.free(op);
                self.drop_values(dead);
            }
            Work::Gemm(time) => {
                self.note_gemm(op);
                self.engine(op, price, Engine::Gemm, EngineRecord::Gemm, time, dead)
            }
            Work::Math(time) => self.engine(op, price, Engine::Math, EngineRecord::Math, time, dead),
            Work::Copy(time) => self.engine(op, price, Engine::Math, EngineRecord::Copy, time, dead),
            Work::Open => self.open(op, price, dead),
        }
    }
    /// A product of other than 16-bit operands rests on one more field.
    fn note_gemm(&mut self, op: OpId) {
        if let Op::Dot(o) = &self.m.op(op).op {
            self.p.fields.extend(self.machine.gemm_peak(self.m.ty(o.a).elem()).1);
        }
    }
    fn engine(&mut self, op: OpId, price: Price, engine: Engine, record: EngineRecord, time: Ps, dead: &[ValueId]) {
        let job = Job::Engine { engine, record, time };
        self.plain_command(op, price, job, dead);
    }
    /// A command whose operands are those of the op, and whose results are tiles.
    fn plain_command(&mut self, op: OpId, price: Price, job: Job, dead: &[ValueId]) {
        let m = self.m;
        let used = self.uses.of_op(op).to_vec();
        let waits = self.slots_of(&used);
        let waits = self.tile_list(&waits);
        let results: Vec<ValueId> = m.op(op).results.iter().filter(|v| has_slot(m, *v)).collect();
        let makes = self.makes(&results);
        self.command(op, m.op(op).op.mnemonic(), price, job, waits, makes, dead);
    }
    pub(super) fn makes(&mut self, results: &[ValueId]) -> Part {
        let m = self.m;
        let made: Vec<Made> = results
            .iter()
            // A scalar that arrives needs no scratch.
            .map(|v| Made {
                slot: self.tile(*v),
                bytes: if m.ty(*v).is_tile() { m.ty(*v).bytes() } else { 0 },
                value: *v,
            })
            .collect();
        self.made_list(&made)
    }

    /// An op without a command.
    fn free(&mut self, op: OpId) {
        let data = self.m.op(op);
        let Some(result) = data.results.get(0) else {
            if let Op::Keep(o) = &data.op {
                self.keep(op, o);
            }
            return;
        };
        if self.m.ty(result).is_tile() {
            // The tile is another's bytes, or made where it is used (`splat` of a known scalar, `iota`).
            if let Some(&x) = data.op.operands().first()
                && has_slot(self.m, x)
            {
                let (from, to) = (self.tile(x), self.tile(result));
                self.p.code.push(Instr::Bind { from, to });
            }
            return;
        }
        self.scalar_op(op, result);
    }
    /// Observing a value means that it is there.
    fn keep(&mut self, op: OpId, o: &ops::Keep) {
        let slots = self.slots_of(&[o.x]);
        if !slots.is_empty() {
            let slots = self.tile_list(&slots);
            self.p.code.push(Instr::Await { slots, op });
        }
    }
    fn scalar_op(&mut self, op: OpId, result: ValueId) {
        let data = self.m.op(op);
        let operands = data.op.operands();
        self.await_scalars(op, &operands);
        if !self.slice.needs(result) {
            return;
        }
        let launch = self.launch;
        match &data.op {
            Op::PeId(_) => self.place(PlaceValue::Pe, result),
            Op::CubeId(_) => self.place(PlaceValue::Cube, result),
            Op::ProgramId(_) => self.place(PlaceValue::Program, result),
            Op::NumPes(_) => self.fix(result, Literal::from(launch.grid.pes as i32)),
            Op::NumCubes(_) => self.fix(result, Literal::from(launch.cubes() as i32)),
            Op::NumPrograms(_) => self.fix(result, Literal::from(launch.programs() as i32)),
            Op::Len(o) => {
                let len = launch.len(o.view, o.axis.0 as usize);
                self.fix(result, Literal::from(len as i32));
            }
            _ => {
                let args: Vec<_> = operands.iter().map(|v| self.scalar(*v)).collect();
                let (args, to) = (self.scalar_list(&args), self.scalar(result));
                self.p.code.push(Instr::Eval { op, args, to });
            }
        }
    }
    fn place(&mut self, what: PlaceValue, result: ValueId) {
        let to = self.scalar(result);
        self.p.code.push(Instr::Place { what, to });
    }

    /// A command that takes as long as it takes.
    fn open(&mut self, op: OpId, price: Price, dead: &[ValueId]) {
        let m = self.m;
        let job = match &m.op(op).op {
            Op::Load(o) => self.load(op, o),
            Op::Store(o) => self.store(op, &o.at, o.bounds, m.ty(o.value), Ps::ZERO),
            Op::AtomicAdd(o) => self.store(op, &o.at, o.bounds, m.ty(o.value), self.machine.hbm.atomic_latency),
            Op::AtomicMax(o) => self.store(op, &o.at, o.bounds, m.ty(o.value), self.machine.hbm.atomic_latency),
            Op::Send(o) => self.send(o.port, m.ty(o.value)),
            Op::Recv(o) => {
                let overhead = self.machine.cycles(self.machine.cpu.recv_overhead);
                Job::Recv { port: o.port, ty: o.to.0, overhead }
            }
            Op::Barrier(o) => Job::Barrier { scope: o.scope },
            Op::Composite(o) => return self.composite(op, o, dead),
            // `cost::price` calls no other op open.
            _ => return,
        };
        self.plain_command(op, price, job, dead);
    }
    fn load(&mut self, op: OpId, o: &ops::Load) -> Job {
        let result = self.m.op(op).results.get(0);
        let value = match result {
            Some(v) if loaded_scalar(self.m, v) && self.slice.needs(v) && !self.launch.traced(op) => {
                Some((self.scalar(v), o.fill.0.map(|fill| self.scalar(fill))))
            }
            _ => None,
        };
        let outside = o.fill.0.is_none().then_some(RecordKind::LoadOutside);
        let access = self.access(op, &o.at, o.to.0, outside, value);
        if o.to.0.is_scalar() {
            self.p.accesses[access as usize].element_bytes = Some(self.machine.hbm.scalar_read);
        }
        Job::Load { access }
    }
    fn store(&mut self, op: OpId, at: &ops::Access, bounds: Bounds, ty: Type, extra: Ps) -> Job {
        let outside = match bounds {
            Bounds::All => Some(RecordKind::StoreOutside),
            Bounds::Inside => None,
        };
        Job::Store { access: self.access(op, at, ty, outside, None), extra }
    }
    fn send(&mut self, port: Port, ty: Type) -> Job {
        Job::Send { port, ty }
    }
    pub(super) fn access(
        &mut self,
        op: OpId,
        at: &ops::Access,
        ty: Type,
        outside: Option<RecordKind>,
        value: ElementValue,
    ) -> u32 {
        let index = at.index.iter().map(|v| self.scalar(*v)).collect();
        let limits = at.limits.iter().map(|(axis, v)| (*axis, self.scalar(*v))).collect();
        let lens = ty.dims().map_or(Vec::new(), |d| d.as_slice().to_vec());
        let param = self.launch.param(at.view);
        self.p.accesses.push(Access { op, outside, param, index, lens, limits, element_bytes: None, value });
        self.p.accesses.len() as u32 - 1
    }
}
