//! What every tilewright program shares: the targets, the registry of kernels, and the command line over both
//! (`run`, `ir`, `verify`, `explain`). It lies below the facade `tilewright`, which hands `cli_main` to users, and so
//! below every kernel; the shipped binary adds its kernels and the sweeps in `cli/`.
//!
//! `registry`: kernels, parameters, instances. `inputs.rs`: random tensors. `agree.rs`: the table of tolerances.
//! `target.rs`, `runtime.rs`: where a launch runs. `cli`: commands and their output. `errors.rs`: texts and codes.

pub mod agree;
pub mod cli;
pub mod errors;
pub mod inputs;
mod nearest;
pub mod registry;
pub mod runtime;
pub mod target;

pub use cli::cli_main;
pub use tilewright_sim as sim;

use tilewright_core::diag::CodePage;

/// The pages of every crate from here down, a table each.
pub fn codes() -> impl Iterator<Item = &'static [CodePage]> {
    let ours = [errors::CODES, tilewright_core::lang::errors::CODES, tilewright_core::passes::bounds::CODES];
    let runs = [tilewright_core::interp::CODES, tilewright_core::interp::RACE_CODES, tilewright_core::check::CODES];
    let tables = [tilewright_sim::CODES, tilewright_core::ir::codes::CODES, tilewright_cuda::CODES];
    ours.into_iter().chain(runs).chain(tables.into_iter().flatten().copied())
}
