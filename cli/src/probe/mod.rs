//! `probe bw`, `probe slabs`: what reading streams, one kernel source everywhere. `arms.rs`: what is tried.
//! `cuda.rs`: on a GPU, by its events. `sim.rs`: on the machine model. `emu.rs`: that every arm runs, without a clock.

mod arms;
mod cuda;
mod emu;
mod sim;

use crate::errors;
use crate::lines::Lines;
use arms::{Amount, Plan};
use clap::builder::EnumValueParser;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use tilewright_harness::cli::{Command, Common, Context, Failure, Outcome, machine_args, output_args};
use tilewright_harness::registry::{Kernels, Target};

pub struct Probe;

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Contiguous,
    Slabs,
}

/// As other programs that measure the same print theirs, and what only a model has besides.
const COLUMNS: [&str; 10] =
    ["peer", "arm", "load", "ilp", "blocks", "threads", "gbs", "median_gbs", "scope", "skipped"];

impl Command for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }
    fn flags(&self, command: clap::Command, _: &Kernels) -> clap::Command {
        let with = |name: &'static str, about: &'static str| {
            clap::Command::new(name).about(about).args(flags()).args(machine_args()).args(output_args())
        };
        command
            .about("Measure what reading streams, by one kernel source on every target")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .subcommand(with("bw", "Contiguous reads: width of loads, loads in flight, blocks, threads"))
            .subcommand(with("slabs", "Slabs that lie scattered in a pool, and contiguous reads beside them"))
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        let (pattern, sub) = match matches.subcommand() {
            Some(("slabs", sub)) => (Pattern::Slabs, sub),
            Some((_, sub)) => (Pattern::Contiguous, sub),
            None => return Ok(Outcome::Done), // the parser requires one
        };
        let common = Common::of(sub);
        let target = sub.get_one::<Target>("target").copied().unwrap_or(Target::Cuda);
        let plan = plan(pattern, target, sub);
        let mut lines = Lines::begin(cx.out, common.format, &COLUMNS)?;
        let facts = match target {
            Target::Cuda => cuda::run(&plan, &common, &mut lines)?,
            Target::Sim => sim::run(&plan, &common.open_machine()?, &mut lines)?,
            Target::PtxEmu => emu::run(&plan, &mut lines)?,
            Target::Reference => return Err(errors::no_probe(target.name()).into()),
        };
        lines.end(&facts)?;
        Ok(Outcome::Done)
    }
}

fn flags() -> [Arg; 7] {
    let number = |name: &'static str, unit: &'static str, most: i64| {
        Arg::new(name).long(name).value_name(unit).value_parser(value_parser!(u64).range(1..=most as u64))
    };
    [
        Arg::new("target")
            .long("target")
            .value_name("TARGET")
            .value_parser(EnumValueParser::<Target>::new())
            .help("Where to run [default: cuda]"),
        Arg::new("quick").long("quick").action(ArgAction::SetTrue).help("Only the arms that are usually best"),
        number("pool-mib", "MIB", 1 << 20)
            .help("Memory that is read, or that slabs lie in; of the model, each PE's [default: 32768 on a GPU]"),
        number("slab-kib", "KIB", 1 << 30).help("Length of a slab [default: 14336 on a GPU]"),
        number("slabs", "N", 1 << 20).help("Slabs [default: 405 on a GPU]"),
        number("runs", "N", 10_000).default_value("7").help("Times to run each arm; the best one counts"),
        Arg::new("ilp")
            .long("ilp")
            .value_name("N")
            .value_parser(["1", "2", "4", "8"])
            .help("Only arms with so many loads in flight"),
    ]
}

fn plan(pattern: Pattern, target: Target, matches: &ArgMatches) -> Plan {
    let asked = |name: &str| matches.get_one::<u64>(name).copied();
    let amount = Amount::on(target);
    let ilp = matches.get_one::<String>("ilp").and_then(|n| n.parse().ok());
    Plan {
        pattern,
        quick: matches.get_flag("quick"),
        ilp,
        runs: asked("runs").unwrap_or(1) as u32,
        amount: Amount {
            pool: asked("pool-mib").map_or(amount.pool, |mib| mib << 20),
            slab: asked("slab-kib").map_or(amount.slab, |kib| kib << 10),
            slabs: asked("slabs").map_or(amount.slabs, |n| n as usize),
        },
    }
}
