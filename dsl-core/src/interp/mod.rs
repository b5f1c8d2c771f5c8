//! The reference interpreter: it defines what every op means. `docs/meaning.md` is the table it implements.
//!
//! Meaning: `number` (arithmetic on one element), `convert` (casts), `elementwise` (which op is which of these), `shape`,
//! `reduce`, `dot`, `memory`, `pure` (the match over all pure ops). `scalar` is one op on scalars, for passes and timing.
//! Running: `pe` and `access` (one program), `machine` (all of them), `queues`, `mesh`, `plan` (what is known before).
//! Faults: `record` (the run goes on), `stall` (nobody can go on), `errors` (texts and codes).
//! Not here: time (backend-sim).

mod access;
pub mod convert;
mod dispatch;
mod dot;
mod elementwise;
mod errors;
mod launch;
mod machine;
pub mod meaning;
mod memory;
mod mesh;
mod number;
mod pe;
mod plan;
mod print;
mod pure;
mod queues;
mod record;
mod reduce;
pub mod scalar;
mod shape;
pub mod stall;

pub use errors::{CODES, halted, launch as launch_fault, record as record_fault};
pub use launch::{Interp, run};
pub use mesh::{Mesh, NoLink};
pub use pe::Halt;
pub use plan::{ControlSources, ControlTrace};
pub use record::{Record, RecordKind};
use std::time::Duration;

/// In which order programs start. Values do not depend on it; tests show that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// By program id.
    #[default]
    Ascending,
    Descending,
    /// Ascending from this program on, then the ones before it.
    From(usize),
}

impl Order {
    /// The program that starts as the `n`-th of `count`, counted from 0.
    fn program(self, n: usize, count: usize) -> usize {
        match self {
            Order::Ascending => n,
            Order::Descending => count - 1 - n,
            Order::From(first) => (first % count + n) % count,
        }
    }
}

/// How a run is limited and arranged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub mesh: Mesh,
    pub order: Order,
    /// Ops that all programs together may run.
    pub max_steps: u64,
    pub max_time: Option<Duration>,
}

impl Default for Options {
    /// A thousand million ops, which takes under a minute; no limit on time.
    fn default() -> Options {
        Options { mesh: Mesh::default(), order: Order::default(), max_steps: 1_000_000_000, max_time: None }
    }
}

/// What a run tells besides the values in its tensors.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Outcome {
    /// The lines that programs printed, program by program.
    pub prints: Vec<String>,
    /// Ops that were run.
    pub steps: u64,
    /// What a timing run needs where control depends on data.
    pub control: ControlTrace,
}
