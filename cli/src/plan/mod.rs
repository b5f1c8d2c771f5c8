//! `plan QUERY`: the planner. A query is one file with its flags and its answer; `asked.rs` reads the flags that queries
//! share, `answer.rs` writes what they give, `fault.rs` tells what is wrong.

mod answer;
mod asked;
mod check;
mod explain;
mod explore;
mod fanout;
mod fault;
mod flags;
mod hardware;
mod memory;
mod models;
mod report;
mod roofline;
mod size;
mod spec;
mod stages;
mod suggest;

pub use fault::pages;

use answer::Answer;
use asked::Asked;
use clap::ArgMatches;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::{Command, Context, Failure, Outcome};
use tilewright_harness::registry::Kernels;

/// A question to the planner.
trait Query: Sync {
    fn name(&self) -> &'static str;
    fn about(&self) -> &'static str;
    /// Flags beyond those that all queries have.
    fn flags(&self) -> Vec<clap::Arg> {
        Vec::new()
    }
    /// # Errors
    /// What keeps the query from its answer.
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics>;
}

const QUERIES: [&dyn Query; 14] = [
    &stages::Stages,
    &memory::Memory,
    &suggest::Suggest,
    &explore::Explore,
    &hardware::Hardware,
    &roofline::Roofline,
    &size::SizeQuery,
    &fanout::FanOut,
    &spec::SpecSearch,
    &models::Models,
    &explain::Explain,
    &report::Report,
    &report::Picture,
    &check::Check,
];

pub struct Plan;

impl Command for Plan {
    fn name(&self) -> &'static str {
        "plan"
    }
    fn flags(&self, command: clap::Command, _: &Kernels) -> clap::Command {
        let command = command
            .about("Where to put a model: latency, memory and searches from a closed-form model")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .subcommand_value_name("QUERY")
            .subcommand_help_heading("Queries");
        QUERIES.iter().fold(command, |command, query| {
            let sub = clap::Command::new(query.name()).about(query.about());
            command.subcommand(sub.args(query.flags()).args(flags::common()))
        })
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        let chosen = matches.subcommand();
        let chosen = chosen.and_then(|(name, sub)| Some((QUERIES.iter().find(|q| q.name() == name)?, sub)));
        let Some((query, matches)) = chosen else { return Ok(Outcome::Done) }; // the parser requires one
        let asked = Asked::of(matches)?;
        let answer = query.answer(&asked, matches)?;
        answer.write(&asked, cx.out)?;
        Ok(Outcome::Done)
    }
}
