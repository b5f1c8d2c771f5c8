//! Flags that several commands share, and their values once read.

use super::Failure;
use crate::errors;
use crate::target::{Arch, Target};
use clap::{Arg, ArgAction, ArgMatches, builder::EnumValueParser, builder::PossibleValuesParser, value_parser};
use std::io::IsTerminal;
use tilewright_core::diag::{Diagnostic, Diagnostics};
use tilewright_core::launch::Grid;
use tilewright_sim::fidelity::{Choice, Fidelity};
use tilewright_sim::machine::Machine;

/// The machine that is used where none is named.
const SHIPPED: &str = "ahbm";

const FIDELITIES: [&str; 4] = [Fidelity::Roofline.name(), Fidelity::Schedule.name(), Fidelity::Events.name(), "all"];

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Table,
    Csv,
    Json,
}

/// The values of [`machine_args`] and [`output_args`].
#[derive(Clone, Debug)]
pub struct Common {
    /// A shipped machine's name, or a path.
    pub machine: String,
    /// `section.field=value`, in the order given.
    pub sets: Vec<String>,
    pub format: Format,
    pub quiet: bool,
}

/// `--machine`, `--set`.
pub fn machine_args() -> Vec<Arg> {
    vec![
        Arg::new("machine")
            .long("machine")
            .value_name("MACHINE")
            .default_value(SHIPPED)
            .help("A shipped machine by name, or a machine file"),
        Arg::new("set")
            .long("set")
            .value_name("SECTION.FIELD=VALUE")
            .action(ArgAction::Append)
            .help("Change one field of the machine; may be repeated"),
    ]
}

/// `--json`, `--csv`, `--quiet`.
pub fn output_args() -> Vec<Arg> {
    vec![
        Arg::new("json").long("json").action(ArgAction::SetTrue).conflicts_with("csv").help("Results as JSON"),
        Arg::new("csv").long("csv").action(ArgAction::SetTrue).help("Results as CSV, in full precision"),
        Arg::new("quiet").long("quiet").short('q').action(ArgAction::SetTrue).help("No progress on standard error"),
    ]
}

/// `--seed`.
pub(super) fn seed_arg() -> Arg {
    Arg::new("seed")
        .long("seed")
        .value_name("N")
        .default_value("1")
        .value_parser(value_parser!(u64))
        .help("Seed of the random inputs")
}

/// `--no-check`.
pub(super) fn no_check_arg() -> Arg {
    Arg::new("no-check")
        .long("no-check")
        .action(ArgAction::SetTrue)
        .help("Run without checking messages, barriers and queue depths first")
}

/// `--target`.
pub(super) fn target_arg() -> Arg {
    Arg::new("target")
        .long("target")
        .value_name("TARGET")
        .value_parser(EnumValueParser::<Target>::new())
        .help("Where to run")
}

/// `--fast-math`.
pub(super) fn fast_math_arg() -> Arg {
    Arg::new("fast-math")
        .long("fast-math")
        .action(ArgAction::SetTrue)
        .help("On a GPU: products and sums may round once, functions are the hardware's (docs/gpu-math.md)")
}

/// `--threads`.
pub(super) fn threads_arg() -> Arg {
    Arg::new("threads")
        .long("threads")
        .value_name("N")
        .value_parser(value_parser!(u32))
        .help("Threads that a program has on a GPU [default: the kernel's own choice, or 256]")
}

/// `--arch`.
pub(super) fn arch_arg() -> Arg {
    Arg::new("arch")
        .long("arch")
        .value_name("ARCH")
        .value_parser(PossibleValuesParser::new(Arch::ALL.map(Arch::name)))
        .default_value(Arch::Sm90a.name())
        .help("What GPU code is compiled for")
}

/// `--schedule`.
pub(super) fn schedule_arg() -> Arg {
    Arg::new("schedule")
        .long("schedule")
        .value_name("SEED")
        .value_parser(value_parser!(u64))
        .help("Mix the emulator's warps, blocks and copies as the seed says [default: one after the other]")
}

/// The value of `--schedule`, if it was given.
pub(super) fn schedule(matches: &ArgMatches) -> Option<u64> {
    matches.get_one("schedule").copied()
}

/// The value of `--arch`.
pub(super) fn arch(matches: &ArgMatches) -> Arch {
    matches.get_one::<String>("arch").and_then(|name| Arch::from_name(name)).unwrap_or(Arch::Sm90a)
}

/// `--grid`, `--queue-depth`, `--threads`, `--timing-only`, `--check-races`, `--fidelity`.
pub(super) fn launch_args() -> Vec<Arg> {
    vec![
        Arg::new("grid")
            .long("grid")
            .value_name("CUBESxPES")
            .help("Programs to launch instead of the kernel's own choice, as 8x8 or SIPSxCUBESxPES"),
        Arg::new("queue-depth")
            .long("queue-depth")
            .value_name("MESSAGES")
            .value_parser(value_parser!(u32).range(1..))
            .help("Messages a queue holds before a send waits"),
        threads_arg(),
        fast_math_arg(),
        Arg::new("timing-only")
            .long("timing-only")
            .action(ArgAction::SetTrue)
            .help("Time the kernel without data; values are not computed"),
        Arg::new("check-races")
            .long("check-races")
            .action(ArgAction::SetTrue)
            .conflicts_with("timing-only")
            .help("Report PEs that access memory without a barrier between them, and reads of unwritten elements"),
        Arg::new("fidelity")
            .long("fidelity")
            .value_name("FIDELITY")
            .value_parser(PossibleValuesParser::new(FIDELITIES))
            .help("How time is estimated [default: events]; `all`: each of them and the gaps between"),
    ]
}

impl Common {
    pub fn of(matches: &ArgMatches) -> Common {
        let (machine, sets) = machine(matches);
        Common { machine, sets, format: format(matches), quiet: matches.get_flag("quiet") }
    }
    /// No progress: asked for, or rows appear on the same terminal as they come.
    pub fn rows_only(&self) -> bool {
        let streamed = match self.format {
            Format::Table => false,
            Format::Csv | Format::Json => true,
        };
        self.quiet || (streamed && std::io::stdout().is_terminal())
    }
    /// The machine that `--machine` and `--set` describe.
    ///
    /// # Errors
    /// What is wrong with the file or with a `--set`.
    pub fn open_machine(&self) -> Result<Machine, Diagnostics> {
        Machine::load(&self.machine, &self.sets)
    }
}

/// How [`output_args`] ask for results.
pub(super) fn format(matches: &ArgMatches) -> Format {
    match (matches.get_flag("json"), matches.get_flag("csv")) {
        (true, _) => Format::Json,
        (false, true) => Format::Csv,
        (false, false) => Format::Table,
    }
}

/// The values of [`machine_args`]; of a command that takes none, the shipped machine.
pub(super) fn machine(matches: &ArgMatches) -> (String, Vec<String>) {
    let machine =
        matches.try_get_one::<String>("machine").ok().flatten().cloned().unwrap_or_else(|| SHIPPED.to_string());
    let sets = matches.try_get_many::<String>("set").ok().flatten();
    (machine, sets.map(|sets| sets.cloned().collect()).unwrap_or_default())
}

/// The value of `--fidelity`, if it was given.
pub(super) fn fidelity(matches: &ArgMatches) -> Option<Choice> {
    let word = matches.get_one::<String>("fidelity")?;
    Some(Fidelity::ALL.into_iter().find(|f| f.name() == word).map_or(Choice::All, Choice::One))
}

/// The value of `--grid`, if it was given.
pub(super) fn grid(matches: &ArgMatches) -> Result<Option<Grid>, Failure> {
    let Some(text) = matches.get_one::<String>("grid") else { return Ok(None) };
    Ok(Some(read_grid(text)?))
}

fn read_grid(text: &str) -> Result<Grid, Diagnostic> {
    let lengths: Option<Vec<usize>> = text.split('x').map(|n| n.parse().ok().filter(|n| *n > 0)).collect();
    match lengths.as_deref() {
        Some(&[cubes, pes]) => Ok(Grid::cubes(cubes).pes(pes)),
        Some(&[sips, cubes, pes]) => Ok(Grid::cubes(cubes).pes(pes).sips(sips)),
        _ => Err(errors::grid(text)),
    }
}
