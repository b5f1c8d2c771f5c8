//! The reference interpreter: it defines what every op means. `docs/meaning.md` is the table it implements.
//!
//! Meaning: `number` (arithmetic on one element), `math` (functions of one float), `convert` (casts), `elementwise` (which op
//! is which of these), `shape`,
//! `reduce`, `dot`, `memory`, `pure` (the match over all pure ops). `scalar` is one op on scalars, for passes and timing.
//! Running: `pe` and `access` (one program), `machine` (all of them), `queues`, `mesh`, `plan` (what is known before).
//! Orders: `order` (who runs next), `every_order` (the same launch in many). Races: `race`.
//! Faults: `record` (the run goes on), `stall` (nobody can go on), `errors` (texts and codes).
//! Not here: time (backend-sim).

mod access;
pub mod convert;
mod dispatch;
mod dot;
mod elementwise;
mod errors;
mod every_order;
mod launch;
mod machine;
mod math;
pub mod meaning;
mod memory;
mod mesh;
mod number;
mod order;
mod pe;
mod plan;
pub mod print;
mod pure;
mod queues;
mod race;
mod record;
mod reduce;
pub mod scalar;
mod shape;
pub mod stall;

use errors::codes;
pub use errors::{CODES, halted, launch as launch_fault, record as record_fault};
pub use every_order::EveryOrder;
pub use launch::{Interp, check_args, run};
pub use mesh::{Mesh, NoLink};
pub use order::Order;
pub use pe::Halt;
pub use plan::{ControlSources, ControlTrace};
pub use print::Printed;
pub(crate) use queues::Barriers;
pub use race::CODES as RACE_CODES;
pub use record::{Record, RecordKind};
use std::time::Duration;

/// How a run is limited and arranged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub mesh: Mesh,
    pub order: Order,
    /// Whether races between programs and reads of unwritten elements are errors. Without it, all that a launch may write
    /// counts as written afterwards.
    pub check_races: bool,
    /// Ops that all programs together may run.
    pub max_steps: u64,
    pub max_time: Option<Duration>,
}

impl Default for Options {
    /// A thousand million ops, which takes under a minute; no limit on time.
    fn default() -> Options {
        Options {
            mesh: Mesh::default(),
            order: Order::default(),
            check_races: false,
            max_steps: 1_000_000_000,
            max_time: None,
        }
    }
}

/// What a run tells besides the values in its tensors.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Outcome {
    /// The lines that programs printed, program by program.
    pub prints: Vec<Printed>,
    /// Ops that were run.
    pub steps: u64,
    /// What a timing run needs where control depends on data.
    pub control: ControlTrace,
}
