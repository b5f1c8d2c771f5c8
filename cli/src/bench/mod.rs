//! `bench`: how fast kernels are on a GPU (`gpu`), and how fast tilewright itself is. `sim`: events per second of the
//! simulator. `races`: what the check for races costs the interpreter.

mod gpu;
mod races;
mod sim;

pub use gpu::read_peers;

use clap::{Arg, ArgMatches, value_parser};
use tilewright_harness::cli::{Command, Context, Facts, Failure, Outcome};
use tilewright_harness::registry::Kernels;

pub struct Bench;

impl Command for Bench {
    fn name(&self) -> &'static str {
        "bench"
    }
    fn flags(&self, command: clap::Command, _: &Kernels) -> clap::Command {
        command
            .about("Measure how fast kernels are on a GPU, and how fast tilewright itself is")
            .args(gpu::args())
            .args_conflicts_with_subcommands(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .subcommands([sim::flags(), races::flags()])
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        match matches.subcommand() {
            Some((sim::NAME, sub)) => sim::run(sub, cx),
            Some((races::NAME, sub)) => races::run(sub, cx),
            _ => gpu::run(matches, cx),
        }
    }
}

fn runs_arg(default: &'static str) -> Arg {
    Arg::new("runs")
        .long("runs")
        .value_name("N")
        .default_value(default)
        .value_parser(value_parser!(u32).range(1..=10_000))
}
fn runs(matches: &ArgMatches) -> u32 {
    matches.get_one("runs").copied().unwrap_or(1)
}
/// Which build gave the figures.
fn build() -> Facts {
    let build = if cfg!(debug_assertions) { "debug: compare figures of a release build only" } else { "release" };
    vec![("build".to_string(), build.to_string())]
}
