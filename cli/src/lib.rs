//! The `tilewright` command: the command line of the harness for the shipped kernels, with the published sweeps, the
//! simulator's own benchmark and the planner. A library, so that its command line can be tested in the process that made it.

mod bench;
mod errors;
mod gpu;
mod lines;
mod plan;
mod plot;
mod probe;
mod sweep;

pub use bench::read_peers;

use tilewright_harness::cli::App;

/// The whole command line.
pub fn app() -> App {
    App::new(tilewright_kernels::all().with_codes(errors::CODES).with_codes(plan::pages()))
        .command(&sweep::Sweep)
        .command(&bench::Bench)
        .command(&probe::Probe)
        .command(&plan::Plan)
}
