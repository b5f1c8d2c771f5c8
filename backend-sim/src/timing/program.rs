//! A kernel as the CPU of a PE runs it: a flat list of instructions with jumps, compiled once per launch and shared by all
//! its PEs. A loop stays a loop. Shapes, prices and bytes are resolved; only scalars and tile slots are left to a PE.

use crate::engine::Engine;
use crate::engine::composite::Composite;
use crate::machine::FieldSet;
use crate::units::{Bytes, Ps};
use std::ops::Range;
use tilewright_core::interp::RecordKind;
use tilewright_core::ir::ops::{Port, Scope};
use tilewright_core::ir::{Literal, OpId, Type, ValueId};

/// Where a PE keeps a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarSlot(pub u32);

/// Where a PE keeps the name of a tile in its scratch. Several slots may name the same tile. A scalar that is loaded has
/// one too, because it arrives later than it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileSlot(pub u32);

/// A part of one of the program's lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub start: u32,
    pub len: u32,
}
impl Part {
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// Where a PE is in its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceValue {
    Pe,
    Cube,
    Program,
}

/// One step of the CPU. All but `Command`, `Await` and `Spend` take no time.
#[derive(Clone, Copy, Debug)]
pub enum Instr {
    /// Computes a scalar from scalars (`Program::scalars`).
    Eval {
        op: OpId,
        args: Part,
        to: ScalarSlot,
    },
    Place {
        what: PlaceValue,
        to: ScalarSlot,
    },
    Move {
        from: ScalarSlot,
        to: ScalarSlot,
    },
    /// `to` names the tile that `from` names.
    Bind {
        from: TileSlot,
        to: TileSlot,
    },
    /// These slots name nothing any more (`Program::tiles`).
    Drop {
        slots: Part,
    },
    /// Waits until the tiles in these slots have arrived.
    Await {
        slots: Part,
        op: OpId,
    },
    /// CPU time that no command accounts for.
    Spend {
        time: Ps,
    },
    Jump {
        to: u32,
    },
    /// The next turn of a conditional loop.
    Again {
        top: u32,
        op: OpId,
    },
    /// Jumps when the condition is false.
    Branch {
        cond: ScalarSlot,
        otherwise: u32,
    },
    /// A counted loop must advance.
    CheckStep {
        step: ScalarSlot,
        op: OpId,
    },
    /// Leaves a counted loop when its index has reached the end.
    Turn {
        index: ScalarSlot,
        end: ScalarSlot,
        exit: u32,
        op: OpId,
    },
    /// The next turn of a counted loop; leaves it when the index does not fit its type.
    Next {
        index: ScalarSlot,
        step: ScalarSlot,
        top: u32,
    },
    /// The next block of a product (`Program::blocks`); behind the last one, leaves.
    NextBlock {
        blocks: u32,
        exit: u32,
    },
    Command(u32),
    End,
}

/// What a command asks of the hardware.
#[derive(Clone, Copy, Debug)]
pub enum Job {
    /// Blocks the CPU for the engine's time and the command overhead.
    Engine {
        engine: Engine,
        record: EngineRecord,
        time: Ps,
    },
    /// The block of a product at which the PE is, on the GEMM engine.
    Block {
        blocks: u32,
    },
    Load {
        access: u32,
    },
    Store {
        access: u32,
        extra: Ps,
    },
    Send {
        port: Port,
        ty: Type,
    },
    Recv {
        port: Port,
        ty: Type,
        overhead: Ps,
    },
    Barrier {
        scope: Scope,
    },
    Composite {
        job: u32,
    },
}

/// The log that an engine command is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineRecord {
    Gemm,
    Math,
    Copy,
}

/// The tile that a command makes.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    pub slot: TileSlot,
    pub bytes: u64,
    pub value: ValueId,
}

/// A command: what the CPU issues.
#[derive(Clone, Debug)]
pub struct Command {
    pub op: OpId,
    /// As in the op table; `copy` for the copy of a yielded tile.
    pub mnemonic: &'static str,
    pub issue: Ps,
    pub cycles: u64,
    pub job: Job,
    /// Tiles that must have arrived (`Program::tiles`).
    pub waits: Part,
    /// Tiles that it makes (`Program::made`).
    pub makes: Part,
    /// Slots whose last use this is (`Program::tiles`).
    pub drops: Part,
    /// Where a scalar goes that a control trace supplies.
    pub traced: Option<ScalarSlot>,
}

/// Where an element goes that time depends on, and what it is outside the view.
pub type ElementValue = Option<(ScalarSlot, Option<ScalarSlot>)>;

/// A load or store, with its indices still to be read.
#[derive(Clone, Debug)]
pub struct Access {
    pub op: OpId,
    /// What an element outside the view is recorded as; `None` where that is allowed.
    pub outside: Option<RecordKind>,
    /// The kernel's parameter.
    pub param: u32,
    /// One per axis of the view.
    pub index: Vec<ScalarSlot>,
    /// Lengths of the tile along the trailing axes; none for one element.
    pub lens: Vec<u32>,
    /// Along these axes of the tile only so many places exist.
    pub limits: Vec<(u32, ScalarSlot)>,
    /// Moved for one element, whatever its size.
    pub element_bytes: Option<Bytes>,
    /// Only the part of the tile that the current block of a product takes.
    pub block: Option<BlockPart>,
    /// The element itself, where time depends on it; and what it is outside the view.
    pub value: ElementValue,
}

/// A side of a product: rows of the first operand, columns of the second, what is summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    M,
    N,
    K,
}

/// Which part of a tile a block of a product takes: the side along each of the tile's two axes.
#[derive(Clone, Copy, Debug)]
pub struct BlockPart {
    pub blocks: u32,
    pub sides: [Side; 2],
}

/// A product that is issued in blocks: rows of blocks, then columns, then along what is summed over.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    pub edge: u32,
    /// Lengths by side.
    pub lens: [u32; 3],
    /// Time of a block by how many of its sides are whole: bit 0 for M, 1 for N, 2 for K.
    pub times: [Ps; 8],
}

impl Blocks {
    pub fn count(&self) -> u64 {
        self.lens.iter().map(|len| u64::from(len.div_ceil(self.edge))).product()
    }
    /// Start and length of a block along a side.
    pub fn span(&self, block: u64, side: Side) -> (u32, u32) {
        let [_, n, k] = self.lens.map(|len| u64::from(len.div_ceil(self.edge)));
        let at = match side {
            Side::M => block / (n * k),
            Side::N => block / k % n,
            Side::K => block % k,
        };
        let start = at as u32 * self.edge;
        (start, self.edge.min(self.lens[side as usize].saturating_sub(start)))
    }
    pub fn time(&self, block: u64) -> Ps {
        let whole = |side: Side| usize::from(self.span(block, side).1 == self.edge) << side as usize;
        self.times[whole(Side::M) | whole(Side::N) | whole(Side::K)]
    }
}

/// A composite as compiled: what does not depend on the PE.
#[derive(Clone, Debug)]
pub struct CompositeJob {
    pub job: Composite,
    /// The streamed operand.
    pub streamed: Option<u32>,
    /// Results (positions in the command's `makes`) that are ready when the prologue ends.
    pub early: Vec<u32>,
    /// MATH operations that it counts as.
    pub math_ops: u64,
}

/// A kernel, compiled for a launch.
#[derive(Debug, Default)]
pub struct Program {
    pub code: Vec<Instr>,
    pub commands: Vec<Command>,
    pub accesses: Vec<Access>,
    pub composites: Vec<CompositeJob>,
    pub blocks: Vec<Blocks>,
    pub scalars: Vec<ScalarSlot>,
    pub tiles: Vec<TileSlot>,
    pub made: Vec<Made>,
    /// What the scalars of a PE begin as: parameters, constants, lengths.
    pub initial: Vec<Literal>,
    pub num_tile_slots: usize,
    /// Machine fields that its prices came from.
    pub fields: FieldSet,
}

impl Program {
    /// MATH operations inside a command.
    pub fn math_ops(&self, command: &Command) -> u64 {
        match command.job {
            Job::Composite { job } => self.composites[job as usize].math_ops,
            Job::Engine { .. }
            | Job::Block { .. }
            | Job::Load { .. }
            | Job::Store { .. }
            | Job::Send { .. }
            | Job::Recv { .. }
            | Job::Barrier { .. } => 0,
        }
    }
    /// The op whose command makes an entry of `made`.
    pub fn maker(&self, made: u32) -> Option<OpId> {
        self.commands.iter().find(|c| c.makes.range().contains(&(made as usize))).map(|c| c.op)
    }
}
