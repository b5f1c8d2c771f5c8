//! `machine show`: the machine in effect, as a complete file. `machine schema`: the JSON Schema of machine files.

use super::{Command, Context, Failure, Outcome, args};
use crate::registry::Kernels;
use clap::ArgMatches;
use tilewright_sim::machine::{Machine, schema};

pub(super) struct MachineFile;

impl Command for MachineFile {
    fn name(&self) -> &'static str {
        "machine"
    }
    fn flags(&self, command: clap::Command, _: &Kernels) -> clap::Command {
        let show =
            clap::Command::new("show").about("The machine in effect, as a complete file with the status of each value");
        let schema =
            clap::Command::new("schema").about("The JSON Schema of machine files, for editors and other tools");
        command
            .about("Print a machine, or the schema of machine files")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .subcommands([show.args(args::machine_args()), schema])
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        match matches.subcommand() {
            Some(("show", sub)) => {
                let (name, sets) = args::machine(sub);
                write!(cx.out, "{}", Machine::load(&name, &sets)?.to_toml())?;
            }
            _ => writeln!(cx.out, "{:#}", schema())?,
        }
        Ok(Outcome::Done)
    }
}
