//! The price of every op (AHBM.md 1 and 2): what the CPU spends to issue it, and which engine then works how long.
//! One exhaustive match: a new op does not compile until it has a price. Not here: memory, queues and composites, whose time
//! depends on what else is under way (`engine`).

use crate::machine::{FieldId, Machine, field};
use crate::units::{Cycles, Ps};
use tilewright_core::ir::ops::{self, Bounds, Dot, Op, Scope};
use tilewright_core::ir::{Module, OpId, Type, ValueId};

/// What an op is to a PE, with the engine time of those commands that have a fixed one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work<'m> {
    /// A scalar that the CPU computes from scalars.
    Scalar,
    /// A scalar that the launch or the PE's place in it fixes.
    Place(Place),
    /// No command: another name for the bytes of a value, or (`None`) a tile that is made where it is used.
    Name(Option<ValueId>),
    /// Observed: the value must be there. No command.
    Keep(ValueId),
    /// For people; values come from the functional pass. No command.
    Unseen,
    /// A product on the GEMM engine.
    Gemm(&'m Dot, Ps),
    /// An elementwise command or a reduction.
    Math(Ps),
    /// A copy on the MATH engine.
    Copy(Ps),
    Load(&'m ops::Load),
    /// A store or an atomic; `extra`: latency on top of a write's.
    Store {
        at: &'m ops::Access,
        bounds: Bounds,
        value: ValueId,
        extra: Ps,
    },
    Send(&'m ops::Send),
    Recv(&'m ops::Recv),
    Barrier(Scope),
    Composite(&'m ops::Composite),
    If(&'m ops::If),
    For(&'m ops::For),
    While(&'m ops::While),
}

/// A scalar that needs no operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Pe,
    Cube,
    Program,
    Pes,
    Cubes,
    Programs,
    Len { view: ValueId, axis: u32 },
}

/// What an op costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price<'m> {
    /// Spent by the CPU before the command is handed over.
    pub issue: Cycles,
    pub work: Work<'m>,
    /// The field that the issue cost is.
    pub field: FieldId,
}

/// The price of a copy of a yielded tile, and its engine time.
pub fn yielded_copy(machine: &Machine, ty: Type) -> (Price<'static>, Ps) {
    let time = machine.math_time(ty.elems());
    (Price { issue: machine.cpu.copy, work: Work::Copy(time), field: field::cpu::copy }, time)
}

/// The price of an op. `into_dot`: whether dots are all that uses its result.
pub fn price<'m>(machine: &Machine, m: &'m Module, op: OpId, into_dot: bool) -> Price<'m> {
    let data = m.op(op);
    let result = data.results.get(0).map(|v| m.ty(v));
    let ops = Pricing { machine, m, result };
    match &data.op {
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Maximum(_) => {
            ops.elementwise(machine.cpu.binary, field::cpu::binary)
        }
        Op::Rem(_) | Op::MulHi(_) | Op::Fma(_) | Op::Minimum(_) | Op::MaxNan(_) | Op::MinNan(_) => ops.other(),
        Op::Neg(_) | Op::Abs(_) | Op::And(_) | Op::Or(_) | Op::Xor(_) | Op::Not(_) | Op::Shl(_) | Op::Shr(_) => {
            ops.other()
        }
        Op::Exp(_) => ops.elementwise(machine.cpu.exp, field::cpu::exp),
        Op::Exp2(_) | Op::Log(_) | Op::Log2(_) | Op::Sqrt(_) | Op::Rsqrt(_) => ops.other(),
        Op::Tanh(_) | Op::Erf(_) | Op::Sin(_) | Op::Cos(_) | Op::Floor(_) => ops.other(),
        Op::Trunc(_) | Op::RoundEven(_) => ops.other(),
        Op::Cmp(_) => ops.other(),
        Op::Select(_) => ops.elementwise(machine.cpu.select, field::cpu::select),
        Op::Cast(o) if Some(m.ty(o.x)) == result => ops.name(machine.cpu.reshape, field::cpu::reshape, o.x),
        Op::Cast(_) => ops.elementwise(machine.cpu.cast, field::cpu::cast),
        // The same bytes under another type.
        Op::Bitcast(o) => ops.name(machine.cpu.reshape, field::cpu::reshape, o.x),
        Op::Reshape(o) => ops.name(machine.cpu.reshape, field::cpu::reshape, o.x),
        Op::Rows(o) => ops.name(machine.cpu.reshape, field::cpu::reshape, o.x),
        Op::Splat(o) => ops.name(machine.cpu.full, field::cpu::full, o.x),
        Op::Broadcast(o) => ops.name(machine.cpu.broadcast, field::cpu::broadcast, o.x),
        Op::Iota(_) => Price { issue: machine.cpu.iota, work: Work::Name(None), field: field::cpu::iota },
        Op::Trans(o) if into_dot => ops.name(machine.cpu.trans_into_dot, field::cpu::trans_into_dot, o.x),
        Op::Trans(_) => {
            let work = Work::Copy(machine.math_time(ops.result_elems()));
            Price { issue: machine.cpu.trans, work, field: field::cpu::trans }
        }
        Op::ReduceMax(_) | Op::ReduceMin(_) | Op::ReduceSum(_) => {
            let work = Work::Math(machine.math.reduction);
            Price { issue: machine.cpu.reduction, work, field: field::cpu::reduction }
        }
        // A combine for every element that goes in.
        Op::ReduceWith(o) => ops.combine(o.x),
        Op::ScanSum(o) => ops.combine(o.x),
        Op::ScanWith(o) => ops.combine(o.x),
        Op::Dot(o) => {
            let work = Work::Gemm(o, dot_time(machine, m, o));
            Price { issue: machine.cpu.dot, work, field: field::cpu::dot }
        }
        Op::Load(o) if o.to.0.is_scalar() => {
            Price { issue: machine.cpu.load_scalar, work: Work::Load(o), field: field::cpu::load_scalar }
        }
        Op::Load(o) => Price { issue: machine.cpu.load, work: Work::Load(o), field: field::cpu::load },
        Op::Store(o) => {
            let work = Work::Store { at: &o.at, bounds: o.bounds, value: o.value, extra: Ps::ZERO };
            Price { issue: machine.cpu.store, work, field: field::cpu::store }
        }
        Op::AtomicAdd(o) => ops.atomic(&o.at, o.bounds, o.value),
        Op::AtomicMax(o) => ops.atomic(&o.at, o.bounds, o.value),
        Op::Send(o) => Price { issue: machine.cpu.send, work: Work::Send(o), field: field::cpu::send },
        Op::Recv(o) => Price { issue: machine.cpu.recv, work: Work::Recv(o), field: field::cpu::recv },
        Op::Barrier(o) => {
            Price { issue: machine.cpu.barrier, work: Work::Barrier(o.scope), field: field::cpu::barrier }
        }
        Op::Composite(o) => {
            Price { issue: machine.cpu.composite, work: Work::Composite(o), field: field::cpu::composite }
        }
        Op::Len(o) => ops.scalar(Work::Place(Place::Len { view: o.view, axis: o.axis.0 })),
        Op::PeId(_) => ops.scalar(Work::Place(Place::Pe)),
        Op::CubeId(_) => ops.scalar(Work::Place(Place::Cube)),
        Op::NumPes(_) => ops.scalar(Work::Place(Place::Pes)),
        Op::NumCubes(_) => ops.scalar(Work::Place(Place::Cubes)),
        Op::ProgramId(_) => ops.scalar(Work::Place(Place::Program)),
        Op::NumPrograms(_) => ops.scalar(Work::Place(Place::Programs)),
        Op::Keep(o) => ops.free(Work::Keep(o.x)),
        Op::Print(_) | Op::Assert(_) => ops.free(Work::Unseen),
        Op::If(o) => Price { issue: machine.cpu.branch, work: Work::If(o), field: field::cpu::branch },
        Op::For(o) => Price { issue: machine.cpu.loop_trip, work: Work::For(o), field: field::cpu::loop_trip },
        Op::While(o) => Price { issue: machine.cpu.loop_trip, work: Work::While(o), field: field::cpu::loop_trip },
        // It is timed turn by turn (`passes::expand`); a launch of the op itself is refused.
        Op::MapReduce(_) => ops.free(Work::Unseen),
    }
}

/// The time of a product on the GEMM engine, nothing padded.
fn dot_time(machine: &Machine, m: &Module, dot: &Dot) -> Ps {
    let len = |v: ValueId, axis: usize| m.ty(v).dims().and_then(|d| d.get(axis)).map_or(1, u64::from);
    machine.gemm_time(m.ty(dot.a).elem(), len(dot.a, 0), len(dot.b, 1), len(dot.a, 1))
}

struct Pricing<'a, 'm> {
    machine: &'a Machine,
    m: &'m Module,
    result: Option<Type>,
}

impl<'m> Pricing<'_, 'm> {
    fn result_elems(&self) -> u64 {
        self.result.map_or(0, Type::elems)
    }
    fn makes_tile(&self) -> bool {
        self.result.is_some_and(Type::is_tile)
    }
    fn scalar(&self, work: Work<'m>) -> Price<'m> {
        Price { issue: self.machine.cpu.scalar, work, field: field::cpu::scalar }
    }
    fn free(&self, work: Work<'m>) -> Price<'m> {
        Price { issue: Cycles(0), work, field: field::cpu::scalar }
    }
    /// Another name for a tile; on scalars the CPU computes it.
    fn name(&self, issue: Cycles, field: FieldId, of: ValueId) -> Price<'m> {
        if self.makes_tile() { Price { issue, work: Work::Name(Some(of)), field } } else { self.scalar(Work::Scalar) }
    }
    /// One pass over the output; on scalars the CPU does it itself.
    fn elementwise(&self, issue: Cycles, field: FieldId) -> Price<'m> {
        if self.makes_tile() {
            let work = Work::Math(self.machine.math_time(self.result_elems()));
            Price { issue, work, field }
        } else {
            self.scalar(Work::Scalar)
        }
    }
    fn other(&self) -> Price<'m> {
        self.elementwise(self.machine.cpu.elementwise, field::cpu::elementwise)
    }
    fn combine(&self, x: ValueId) -> Price<'m> {
        let work = Work::Math(self.machine.math_time(self.m.ty(x).elems()));
        Price { issue: self.machine.cpu.combine, work, field: field::cpu::combine }
    }
    fn atomic(&self, at: &'m ops::Access, bounds: Bounds, value: ValueId) -> Price<'m> {
        let work = Work::Store { at, bounds, value, extra: self.machine.hbm.atomic_latency };
        Price { issue: self.machine.cpu.atomic, work, field: field::cpu::atomic }
    }
}
