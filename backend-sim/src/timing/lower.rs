//! What one op becomes: a command, a name for a tile that exists, an evaluated scalar, or nothing.

use super::compile::Compiler;
use super::program::{Access, ElementValue, EngineRecord, Instr, Job, Made, Part, PlaceValue};
use super::uses::{has_slot, loaded_scalar};
use crate::cost::{Place, Price, Work};
use crate::engine::Engine;
use crate::machine::field;
use crate::units::Ps;
use tilewright_core::interp::RecordKind;
use tilewright_core::ir::ops::{self, Bounds};
use tilewright_core::ir::{Literal, OpId, Type, ValueId};

impl Compiler<'_, '_> {
    /// One op. `dead`: what it uses last.
    pub(super) fn lower(&mut self, op: OpId, dead: &[ValueId]) {
        let price = self.price(op);
        match price.work {
            Work::If(o) => self.branch(op, o, dead),
            Work::For(o) => self.counted_loop(op, o, dead),
            Work::While(o) => self.while_loop(op, o, dead),
            Work::Scalar => self.free(price, dead, |c| c.scalar_op(op)),
            Work::Place(place) => self.free(price, dead, |c| c.place(op, place)),
            Work::Name(of) => self.free(price, dead, |c| c.name(op, of)),
            Work::Keep(x) => self.free(price, dead, |c| c.keep(op, x)),
            Work::Unseen => self.free(price, dead, |_| ()),
            Work::Gemm(dot, _) if self.machine.gemm.dot_block > 0 => self.blocked(op, dot, price, dead),
            Work::Gemm(dot, time) => {
                // A product of other than 16-bit operands rests on one more field.
                self.p.fields.extend(self.machine.gemm_peak(self.m.ty(dot.a).elem()).1);
                self.engine(op, price, Engine::Gemm, EngineRecord::Gemm, time, dead)
            }
            Work::Math(time) => self.engine(op, price, Engine::Math, EngineRecord::Math, time, dead),
            Work::Copy(time) => self.engine(op, price, Engine::Math, EngineRecord::Copy, time, dead),
            Work::Load(o) => {
                let job = self.load(op, o);
                self.plain_command(op, price, job, dead);
            }
            Work::Store { at, bounds, value, extra } => {
                let outside = match bounds {
                    Bounds::All => Some(RecordKind::StoreOutside),
                    Bounds::Inside => None,
                };
                let access = self.access(op, at, self.m.ty(value), outside, None);
                if extra > Ps::ZERO {
                    self.p.fields.insert(field::hbm::atomic_latency);
                }
                self.plain_command(op, price, Job::Store { access, extra }, dead);
            }
            Work::Send(o) => {
                self.plain_command(op, price, Job::Send { port: o.port, ty: self.m.ty(o.value) }, dead);
            }
            Work::Recv(o) => {
                let overhead = self.machine.cycles(self.machine.cpu.recv_overhead);
                self.plain_command(op, price, Job::Recv { port: o.port, ty: o.to.0, overhead }, dead);
            }
            Work::Barrier(scope) => {
                self.p.fields.insert(self.launch.barrier(scope).1);
                self.plain_command(op, price, Job::Barrier { scope }, dead);
            }
            Work::Composite(o) => self.composite(op, o, price, dead),
        }
    }
    /// An op without a command.
    fn free(&mut self, price: Price<'_>, dead: &[ValueId], emit: impl FnOnce(&mut Self)) {
        self.spend(price);
        emit(self);
        self.drop_values(dead);
    }
    fn engine(&mut self, op: OpId, price: Price<'_>, engine: Engine, record: EngineRecord, time: Ps, dead: &[ValueId]) {
        let job = Job::Engine { engine, record, time };
        self.plain_command(op, price, job, dead);
    }
    /// A command whose operands are those of the op, and whose results are tiles.
    fn plain_command(&mut self, op: OpId, price: Price<'_>, job: Job, dead: &[ValueId]) {
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

    fn name(&mut self, op: OpId, of: Option<ValueId>) {
        let (m, result) = (self.m, self.m.op(op).results.get(0));
        // A tile of equal known scalars is made where it is used.
        if let (Some(of), Some(result)) = (of.filter(|v| has_slot(m, *v)), result) {
            let (from, to) = (self.tile(of), self.tile(result));
            self.p.code.push(Instr::Bind { from, to });
        }
    }
    fn keep(&mut self, op: OpId, x: ValueId) {
        let slots = self.slots_of(&[x]);
        if !slots.is_empty() {
            let slots = self.tile_list(&slots);
            self.p.code.push(Instr::Await { slots, op });
        }
    }
    fn scalar_op(&mut self, op: OpId) {
        let operands = self.m.op(op).op.operands();
        self.await_scalars(op, &operands);
        if let Some(result) = self.needed_result(op) {
            let args: Vec<_> = operands.iter().map(|v| self.scalar(*v)).collect();
            let (args, to) = (self.scalar_list(&args), self.scalar(result));
            self.p.code.push(Instr::Eval { op, args, to });
        }
    }
    fn needed_result(&self, op: OpId) -> Option<ValueId> {
        self.m.op(op).results.get(0).filter(|v| self.slice.needs(*v))
    }
    fn place(&mut self, op: OpId, place: Place) {
        let (launch, Some(result)) = (self.launch, self.needed_result(op)) else { return };
        let number = |n: usize| Literal::from(n as i32);
        match place {
            Place::Pe => self.seat_value(PlaceValue::Pe, result),
            Place::Cube => self.seat_value(PlaceValue::Cube, result),
            Place::Program => self.seat_value(PlaceValue::Program, result),
            Place::Pes => self.fix(result, number(launch.grid.pes)),
            Place::Cubes => self.fix(result, number(launch.cubes())),
            Place::Programs => self.fix(result, number(launch.programs())),
            Place::Len { view, axis } => self.fix(result, number(launch.len(view, axis as usize))),
        }
    }
    fn seat_value(&mut self, what: PlaceValue, result: ValueId) {
        let to = self.scalar(result);
        self.p.code.push(Instr::Place { what, to });
    }
    fn load(&mut self, op: OpId, o: &ops::Load) -> Job {
        let read = self.needed_result(op).filter(|v| loaded_scalar(self.m, *v) && !self.launch.traced(op));
        let value = read.map(|v| (self.scalar(v), o.fill.0.map(|fill| self.scalar(fill))));
        let outside = o.fill.0.is_none().then_some(RecordKind::LoadOutside);
        let access = self.access(op, &o.at, o.to.0, outside, value);
        if o.to.0.is_scalar() {
            self.p.fields.insert(field::hbm::scalar_read);
            self.p.accesses[access as usize].element_bytes = Some(self.machine.hbm.scalar_read);
        }
        Job::Load { access }
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
        self.p.accesses.push(Access {
            op,
            outside,
            param,
            index,
            lens,
            limits,
            element_bytes: None,
            block: None,
            value,
        });
        self.p.accesses.len() as u32 - 1
    }
}
