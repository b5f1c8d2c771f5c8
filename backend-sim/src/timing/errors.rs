//! What can go wrong when a kernel is timed: one variant a fault, worded and coded here.

use crate::machine::Machine;
use crate::units::{Bytes, Ps};
use tilewright_core::diag::{CodePage, Diagnostic};
use tilewright_core::interp::stall::Scene;
use tilewright_core::interp::{self, Halt};
use tilewright_core::ir::text::value_names;
use tilewright_core::ir::{LocId, Module, OpId, Type, ValueId};
use tilewright_core::launch::Grid;

/// Why the elements of a view cannot be read while timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Only its shape is known.
    NoData,
    /// The kernel writes it, and the timing pass does not carry out stores.
    Written,
}

/// The grids of a machine, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub sips: usize,
    pub cubes_per_sip: usize,
    pub pes_per_cube: usize,
}
impl From<&Machine> for Size {
    fn from(m: &Machine) -> Size {
        Size { sips: m.topology.sips as usize, cubes_per_sip: m.cubes_per_sip(), pes_per_cube: m.pes_per_cube() }
    }
}

/// Tiles that hold scratch when a command finds none left.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    pub value: ValueId,
    pub op: OpId,
    pub bytes: u64,
}

/// Why a program stopped: a fault of the timing run, or one that the interpreter words too.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    Fault(Fault),
    Halted { op: OpId, halt: Halt, program: usize },
}
impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}
impl Stop {
    pub fn diagnostic(&self, scene: Scene<'_>) -> Diagnostic {
        match self {
            Stop::Fault(fault) => fault.diagnostic(scene),
            Stop::Halted { op, halt, program } => interp::halted(scene, *op, halt, &[*program]),
        }
    }
}

/// A reason why a kernel cannot be timed, or why its run was given up.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A launch that the machine has no PEs for.
    GridTooLarge { grid: Grid, first_cube: usize, machine: Size },
    /// Queues without a slot.
    NoQueueDepth,
    /// Two launches share a cube.
    SharedCube { cube: usize },
    /// Time depends on a scalar that only a run with values knows.
    ControlTrace { source: OpId, decides: OpId },
    /// Time depends on an element of a tensor that cannot be read.
    DataNeeded { load: OpId, decides: OpId, why: Unreadable },
    /// A composite loads something that its product's second operand does not come from.
    CompositeLoad { load: OpId, composite: OpId },
    /// The tiles that are alive at a command do not fit into scratch together.
    Scratch { op: OpId, program: usize, needs: u64, capacity: Bytes, holders: Vec<Holder> },
    /// The run took longer than allowed.
    TimeLimit { limit: Ps, op: Option<OpId> },
    /// The run had more events and turns of loops than allowed.
    StepLimit { limit: u64, op: Option<OpId> },
    /// A loop that issues no command went round too often.
    Endless { op: OpId, program: usize, turns: u64 },
}

impl Fault {
    pub fn code(&self) -> &'static str {
        match self {
            Fault::ControlTrace { .. } => "TW-E0350",
            Fault::DataNeeded { .. } => "TW-E0351",
            Fault::CompositeLoad { .. } => "TW-E0352",
            Fault::Scratch { .. } => "TW-E0353",
            Fault::TimeLimit { .. } => "TW-E0354",
            Fault::StepLimit { .. } => "TW-E0355",
            Fault::Endless { .. } => "TW-E0356",
            Fault::GridTooLarge { .. } => "TW-E0540",
            Fault::SharedCube { .. } => "TW-E0541",
            Fault::NoQueueDepth => "TW-E0542",
        }
    }
    /// The fault with the user's lines.
    pub fn diagnostic(&self, scene: Scene<'_>) -> Diagnostic {
        let m = scene.module;
        let loc = |op: OpId| m.op(op).loc;
        let new = |message: String| Diagnostic::new(self.code(), message);
        match self {
            Fault::GridTooLarge { grid, first_cube, machine } => grid_too_large(new, grid, *first_cube, machine),
            Fault::NoQueueDepth => {
                new("a queue depth of 0 lets no message pass".into()).next("use a depth of 1 or more")
            }
            Fault::SharedCube { cube } => {
                new(format!("two launches use cube {cube} at once")).next("let each begin behind the other's last cube")
            }
            Fault::ControlTrace { source, decides } => {
                let mnemonic = m.op(*source).op.mnemonic();
                new(format!("the time of this kernel depends on a value that `{mnemonic}` makes"))
                    .at(m, loc(*source), "only a run with values knows this scalar")
                    .at(m, loc(*decides), "it decides what happens here")
                    .note("without data there is no control trace to take it from")
                    .next("run with data, or compute bounds, conditions and positions from parameters, ids and lengths")
            }
            Fault::DataNeeded { load, decides, why } => {
                let d = new("the time of this kernel depends on an element of a tensor".into())
                    .at(m, loc(*load), "this element is not known while timing")
                    .at(m, loc(*decides), "it decides what happens here");
                match why {
                    Unreadable::NoData => d
                        .note("the tensor has a shape but no data")
                        .next("give this tensor data; the others may stay shapes"),
                    Unreadable::Written => d
                        .note("the kernel writes this tensor, and the timing pass does not carry out stores")
                        .next("run with data, or read it from a tensor that the kernel does not write"),
                }
            }
            Fault::CompositeLoad { load, composite } => {
                new("a composite streams the second operand of its dot, and no other tile".into())
                    .at(m, loc(*load), "this tile does not feed it")
                    .at(m, loc(*composite), "the composite")
                    .next("load the tile before the composite")
            }
            Fault::Scratch { op, program, needs, capacity, holders } => {
                let d = new(scratch_title(*needs, *capacity, holders)).at(
                    m,
                    loc(*op),
                    format!("{} has no room for this result", scene.name(*program)),
                );
                scratch(d, m, *op, *needs, *capacity, holders)
            }
            Fault::TimeLimit { limit, op } => at(new(format!("the kernel runs longer than {limit}")), m, *op)
                .next("check the loop bounds, or raise the limit"),
            Fault::StepLimit { limit, op } => {
                at(new(format!("the run takes more than {limit} events and turns of loops")), m, *op)
                    .next("check the loop bounds, or raise the limit")
            }
            Fault::Endless { op, program, turns } => {
                new(format!("{} took {turns} turns of loops without issuing a command", scene.name(*program)))
                    .at(m, loc(*op), "in this loop")
                    .next("check the loop's bounds or condition")
            }
        }
    }
}

fn at(d: Diagnostic, m: &Module, op: Option<OpId>) -> Diagnostic {
    let loc = op.map_or(LocId::UNKNOWN, |op| m.op(op).loc);
    d.at(m, loc, "a PE is here then")
}

fn grid_too_large(new: impl Fn(String) -> Diagnostic, grid: &Grid, first_cube: usize, size: &Size) -> Diagnostic {
    let d = new(format!("the grid {grid} does not fit the machine")).note(format!(
        "the machine has {} SIPs of {} cubes of {} PEs",
        size.sips, size.cubes_per_sip, size.pes_per_cube
    ));
    let d = if first_cube > 0 { d.note(format!("the launch begins at cube {first_cube} of its SIP")) } else { d };
    d.next("loop over the work from `program_id()` in steps of `num_programs()`, or use more SIPs")
}

fn free(capacity: Bytes, holders: &[Holder]) -> u64 {
    let held: u64 = holders.iter().map(|h| h.bytes).sum();
    capacity.0.saturating_sub(held)
}
fn scratch_title(needs: u64, capacity: Bytes, holders: &[Holder]) -> String {
    let free = free(capacity, holders);
    format!("scratch is full: the result needs {needs} B, {free} B of {capacity} are free")
}
fn scratch(mut d: Diagnostic, m: &Module, op: OpId, needs: u64, capacity: Bytes, holders: &[Holder]) -> Diagnostic {
    const SHOWN: usize = 6;
    let names = value_names(m);
    for h in holders.iter().take(SHOWN) {
        let name = names.get(h.value.index()).map_or("a tile", String::as_str);
        d = d.at(m, m.op(h.op).loc, format!("{name} holds {} B", h.bytes));
    }
    if holders.len() > SHOWN {
        d = d.note(format!("{} smaller tiles hold scratch as well", holders.len() - SHOWN));
    }
    let d = match largest(m, op, needs, free(capacity, holders)) {
        Some(text) => d.note(text),
        None => d,
    };
    d.next("use a smaller tile, or end the use of one of these before this line")
}
/// The largest tile of the same row length that would fit.
fn largest(m: &Module, op: OpId, needs: u64, free: u64) -> Option<String> {
    let result = m.op(op).results.get(0)?;
    let (ty, dims) = (m.ty(result), m.ty(result).dims()?);
    let rows = u64::from(dims.get(0)?);
    let fit = free / (needs / rows.max(1)).max(1);
    let dims = u32::try_from(fit).ok().filter(|n| *n > 0).and_then(|n| dims.with(0, n));
    Some(match dims {
        Some(dims) => format!("the largest tile that would fit is {}", Type::of(ty.elem(), dims)),
        None => "not one row of it would fit".to_string(),
    })
}

/// What `tilewright explain` says of these codes.
pub const CODES: &[CodePage] = &[
    CodePage {
        code: "TW-E0350",
        title: "time depends on a value that only a functional run knows",
        page: "The timing pass evaluates the scalars that decide what happens when: loop bounds, conditions, positions in \
            views. It knows parameters, ids, lengths and elements of tensors with data. A scalar that is received, or \
            computed from tiles, exists only in a run with values. Compute it from what is known, or let the host pass it \
            as a parameter.",
    },
    CodePage {
        code: "TW-E0351",
        title: "time depends on an element of a tensor that cannot be read",
        page: "A bound, condition or position is loaded from a tensor, so timing needs that tensor's data even when values \
            are not asked for. Give it data. A tensor that the same kernel writes cannot be used for this, since the \
            timing pass does not carry out stores.",
    },
    CodePage {
        code: "TW-E0352",
        title: "a composite loads a tile that its product does not stream",
        page: "The scheduler of a PE streams the second operand of a composite's product tile by tile. Every other operand \
            must be on chip when the composite is issued: load it before.",
    },
    CodePage {
        code: "TW-E0353",
        title: "the live tiles do not fit into scratch",
        page: "A tile owns scratch from the issue of the command that makes it to the end of its last use. At this line the \
            tiles that the program still needs, with the new one, exceed the capacity, and nothing under way will free \
            any. The labels name the holders. Use smaller tiles, or use a tile for the last time before the next is made.",
    },
    CodePage {
        code: "TW-E0354",
        title: "the simulated time exceeds its limit",
        page: "The kernel did not end within the limit of simulated time: ten seconds unless the caller says \
               otherwise, where kernels take micro- to milliseconds. Most likely a loop turns more often than was \
               meant. Check its bounds, or raise the limit.",
    },
    CodePage {
        code: "TW-E0355",
        title: "the run exceeds its number of events and turns of loops",
        page: "The simulation took more steps than allowed (2 * 10^9 unless the caller says otherwise, some \
               minutes). A step is an event, that is a command that starts or ends or a packet that arrives, or a turn \
               of a loop, which may do nothing that takes time. Most likely a loop turns more often than was meant. Check its bounds, choose smaller sizes, or raise the limit.",
    },
    CodePage {
        code: "TW-E0356",
        title: "a loop without commands does not end",
        page: "A PE turned its loops very many times (2 * 10^7 unless the caller says otherwise) without issuing a command, \
            which takes no simulated time. Most likely the loop never ends, or its bounds are not what was meant.",
    },
    CodePage {
        code: "TW-E0540",
        title: "the grid is larger than the machine",
        page: "A program runs on one PE, so a grid can have at most as many SIPs, cubes and PEs as the machine. Let each \
            program loop over its share of the work from `program_id()` in steps of `num_programs()`.",
    },
    CodePage {
        code: "TW-E0541",
        title: "two launches share a cube",
        page: "Users of one machine run on disjoint cubes: a cube has one program per PE and no scheduler that \
               could switch between two. Let each begin behind the last cube of the one before.",
    },
    CodePage {
        code: "TW-E0542",
        title: "a queue depth of 0",
        page: "The depth of a queue is the number of messages it holds before a send waits; with 0 no send would \
               ever end. Leave the depth out to get that of the machine file (`queue.depth`).",
    },
];
