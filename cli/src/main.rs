//! The `tilewright` command: the command line of the harness for the shipped kernels, with the published sweeps and the
//! simulator's own benchmark.

mod bench;
mod errors;
mod sweep;

use std::process::ExitCode;
use tilewright_harness::cli::App;

fn main() -> ExitCode {
    let kernels = tilewright_kernels::all().with_codes(errors::CODES);
    App::new(kernels).command(&sweep::Sweep).command(&bench::Bench).main()
}
