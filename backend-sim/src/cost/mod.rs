//! The price of every op (AHBM.md 1 and 2): what the CPU spends to issue it, and which engine then works how long.
//! One exhaustive match: a new op does not compile until it has a price. Not here: memory, queues and composites, whose time
//! depends on what else is under way (`engine`).

use crate::machine::{FieldId, Machine, field};
use crate::units::{Cycles, Ps};
use tilewright_core::ir::ops::{Dot, Op};
use tilewright_core::ir::{Module, OpId, Type, ValueId};

/// The engine time of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Emits no command: scalars, control, names for tiles that exist.
    None,
    /// A product on the GEMM engine.
    Gemm(Ps),
    /// An elementwise command or a reduction.
    Math(Ps),
    /// A copy on the MATH engine.
    Copy(Ps),
    /// Memory, queue, barrier, composite: as long as it takes.
    Open,
}

/// What an op costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Spent by the CPU before the command is handed over.
    pub issue: Cycles,
    pub work: Work,
    /// The field that the issue cost is.
    pub field: FieldId,
}

/// The price of a copy of a yielded tile.
pub fn yielded_copy(machine: &Machine, ty: Type) -> Price {
    let work = Work::Copy(machine.math_time(ty.elems()));
    Price { issue: machine.cpu.copy, work, field: field::cpu::copy }
}

/// The price of an op. `into_dot`: whether dots are all that uses its result.
pub fn price(machine: &Machine, m: &Module, op: OpId, into_dot: bool) -> Price {
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
        Op::Tanh(_) | Op::Erf(_) | Op::Sin(_) | Op::Cos(_) | Op::Floor(_) | Op::Cmp(_) => ops.other(),
        Op::Select(_) => ops.elementwise(machine.cpu.select, field::cpu::select),
        Op::Cast(o) if Some(m.ty(o.x)) == result => ops.name(machine.cpu.reshape, field::cpu::reshape),
        Op::Cast(_) => ops.elementwise(machine.cpu.cast, field::cpu::cast),
        // The same bytes under another type.
        Op::Bitcast(_) | Op::Reshape(_) | Op::Rows(_) => ops.name(machine.cpu.reshape, field::cpu::reshape),
        Op::Splat(_) => ops.name(machine.cpu.full, field::cpu::full),
        Op::Broadcast(_) => ops.name(machine.cpu.broadcast, field::cpu::broadcast),
        Op::Iota(_) => ops.name(machine.cpu.iota, field::cpu::iota),
        Op::Trans(_) if into_dot => ops.name(machine.cpu.trans_into_dot, field::cpu::trans_into_dot),
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
            let work = Work::Gemm(dot_time(machine, m, o));
            Price { issue: machine.cpu.dot, work, field: field::cpu::dot }
        }
        Op::Load(_) => match result {
            Some(ty) if ty.is_scalar() => ops.open(machine.cpu.load_scalar, field::cpu::load_scalar),
            _ => ops.open(machine.cpu.load, field::cpu::load),
        },
        Op::Store(_) => ops.open(machine.cpu.store, field::cpu::store),
        Op::AtomicAdd(_) | Op::AtomicMax(_) => ops.open(machine.cpu.atomic, field::cpu::atomic),
        Op::Send(_) => ops.open(machine.cpu.send, field::cpu::send),
        Op::Recv(_) => ops.open(machine.cpu.recv, field::cpu::recv),
        Op::Barrier(_) => ops.open(machine.cpu.barrier, field::cpu::barrier),
        Op::Composite(_) => ops.open(machine.cpu.composite, field::cpu::composite),
        Op::Len(_) | Op::PeId(_) | Op::CubeId(_) | Op::NumPes(_) | Op::NumCubes(_) => ops.scalar(),
        Op::ProgramId(_) | Op::NumPrograms(_) => ops.scalar(),
        // Observation costs nothing on this machine: values come from the functional pass.
        Op::Keep(_) | Op::Print(_) | Op::Assert(_) => ops.name(Cycles(0), field::cpu::scalar),
        Op::If(_) => ops.name(machine.cpu.branch, field::cpu::branch),
        Op::For(_) | Op::While(_) => ops.name(machine.cpu.loop_trip, field::cpu::loop_trip),
    }
}

/// The time of a product on the GEMM engine, nothing padded.
fn dot_time(machine: &Machine, m: &Module, dot: &Dot) -> Ps {
    let len = |v: ValueId, axis: usize| m.ty(v).dims().and_then(|d| d.get(axis)).map_or(1, u64::from);
    machine.gemm_time(m.ty(dot.a).elem(), len(dot.a, 0), len(dot.b, 1), len(dot.a, 1))
}

struct Pricing<'a> {
    machine: &'a Machine,
    m: &'a Module,
    result: Option<Type>,
}

impl Pricing<'_> {
    fn result_elems(&self) -> u64 {
        self.result.map_or(0, Type::elems)
    }
    fn scalar(&self) -> Price {
        self.name(self.machine.cpu.scalar, field::cpu::scalar)
    }
    fn name(&self, issue: Cycles, field: FieldId) -> Price {
        Price { issue, work: Work::None, field }
    }
    fn open(&self, issue: Cycles, field: FieldId) -> Price {
        Price { issue, work: Work::Open, field }
    }
    /// One pass over the output; on scalars the CPU does it itself.
    fn elementwise(&self, issue: Cycles, field: FieldId) -> Price {
        match self.result {
            Some(ty) if ty.is_tile() => Price { issue, work: Work::Math(self.machine.math_time(ty.elems())), field },
            _ => self.scalar(),
        }
    }
    fn other(&self) -> Price {
        self.elementwise(self.machine.cpu.elementwise, field::cpu::elementwise)
    }
    fn combine(&self, x: ValueId) -> Price {
        let work = Work::Math(self.machine.math_time(self.m.ty(x).elems()));
        Price { issue: self.machine.cpu.combine, work, field: field::cpu::combine }
    }
}
