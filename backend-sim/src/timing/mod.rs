//! The timing pass: how long a kernel takes, command by command as its author wrote it.
//! `launch.rs`: what is timed. `slice.rs`, `uses.rs`, `compile.rs`, `lower.rs`, `blocks.rs`, `composite.rs`: from a module to a program.
//! `cpu`, `scratch.rs`: a PE that runs one. `hardware.rs`: what it hands commands to. `sim.rs`: the run. `result.rs`,
//! `tally.rs`, `errors.rs`: what comes out. `watch.rs`: how far it has come. `backend.rs`: the launch interface. Not here: values (the core's interpreter),
//! prices (`cost`), rougher times of the same programs (`fidelity`).

mod backend;
mod blocks;
mod compile;
mod composite;
mod cpu;
mod errors;
mod hardware;
mod launch;
mod lower;
mod program;
mod result;
mod scratch;
mod sim;
mod slice;
mod tally;
mod uses;
mod watch;

pub use backend::{Report, SimBackend, Values};
pub use errors::CODES;
pub use launch::{Operand, User};
pub use result::{Demand, Limits, PeTiming, Place, Timing, Traffic};
pub use sim::{Compiled, time_with};
pub use tally::Tally;
pub use watch::Watch;

use crate::engine::Wheel;
use crate::machine::Machine;
use tilewright_core::diag::Diagnostics;

/// Times launches that run at once on one machine.
///
/// # Errors
/// What does not fit a launch or the machine, what cannot be timed, and what went wrong in the run.
pub fn time(machine: &Machine, users: &[User<'_>], limits: Limits) -> Result<Timing, Diagnostics> {
    time_with::<Wheel>(machine, users, limits)
}
