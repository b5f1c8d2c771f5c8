//! What the flags of a sweep ask for, and the points that follow from it.

use super::{Basis, Study};
use crate::errors;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use std::path::PathBuf;
use tilewright_core::diag::{Diagnostic, Diagnostics};
use tilewright_harness::cli::{Cell, Common, Facts, machine_args, output_args};
use tilewright_harness::registry::{Inputs, Instance, Kernels, Limits};
use tilewright_harness::runtime::machine_facts;
use tilewright_harness::target::Target;
use tilewright_kernels::gqa_decode::Mode;
use tilewright_sim::machine::Machine;

/// Tiers that exist: primitive commands only.
const TIERS: [&str; 1] = ["baseline"];

/// Everything that decides the figures of a sweep, and how it runs.
pub struct Plan {
    pub machine: Machine,
    pub kernels: Kernels,
    pub contexts: Vec<usize>,
    pub modes: Vec<Mode>,
    pub acc: String,
    pub tier: String,
    pub inputs: Inputs,
    /// Points at once; 0: one per core.
    pub threads: usize,
}

/// One row to compute.
#[derive(Clone, Debug)]
pub struct Point {
    /// The cells of the key columns.
    pub key: Vec<Cell>,
    pub mode: Mode,
    pub s_kv: usize,
    /// Concurrent users, each on cubes of its own.
    pub users: usize,
}

impl Point {
    /// The key, as it stands in CSV.
    pub fn name(&self) -> String {
        name(&self.key)
    }
}

pub(super) fn name(key: &[Cell]) -> String {
    key.iter().map(Cell::csv).collect::<Vec<_>>().join(",")
}

/// The flags of every sweep.
pub(super) fn args() -> Vec<Arg> {
    let list = |name: &'static str| Arg::new(name).long(name).value_delimiter(',');
    let number = |name: &'static str| Arg::new(name).long(name).value_name("N");
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let path = |name: &'static str| Arg::new(name).long(name).value_parser(value_parser!(PathBuf));
    let own = [
        Arg::new("tier").long("tier").value_name("TIER").default_value(TIERS[0]).help("Command form of the kernel"),
        list("s-kv").value_name("TOKENS,…").help("Context lengths"),
        list("modes").value_name("MODE,…").help("Mappings of KV heads to cubes, from A1, A2, A4, B [default: all]"),
        Arg::new("acc").long("acc").value_name("ELEM").default_value("f16").help("Accumulator: f16 (published) or f32"),
        switch("timing-only").help("Time without data: what a sweep does unless asked for data"),
        switch("with-data")
            .conflicts_with("timing-only")
            .help("Also compute values on random data and compare them with the f64 reference"),
        number("seed").default_value("1").value_parser(value_parser!(u64)).help("Seed of the random data"),
        number("threads")
            .value_parser(value_parser!(u16).range(1..=1024))
            .help("Points at once [default: one per core]"),
        path("out").value_name("FILE").help("Keep the rows in this CSV file too, and take those it already has"),
        path("check").value_name("DIR").help("Compare with the golden file in this folder; exit code 4 on a miss"),
    ];
    machine_args().into_iter().chain(output_args()).chain(own).map(|arg| arg.global(true)).collect()
}

impl Plan {
    pub(super) fn of(
        study: &dyn Study,
        matches: &ArgMatches,
        common: &Common,
        kernels: &Kernels,
    ) -> Result<Plan, Diagnostics> {
        let text = |name| matches.get_one::<String>(name).cloned().unwrap_or_default();
        let seed = matches.get_one::<u64>("seed").copied().unwrap_or_default();
        Ok(Plan {
            machine: common.open_machine()?,
            kernels: kernels.clone(),
            contexts: contexts(matches, study.contexts())?,
            modes: modes(matches)?,
            acc: text("acc"),
            tier: tier(text("tier"))?,
            inputs: if matches.get_flag("with-data") { Inputs::Random { seed } } else { Inputs::ShapesOnly },
            threads: matches.get_one::<u16>("threads").map_or(0, |n| usize::from(*n)),
        })
    }
    /// The kernel of a point with its settings.
    ///
    /// # Errors
    /// The kernel does not take the accumulator, or the program does not have it.
    pub fn instance(&self, mode: Mode, s_kv: usize) -> Result<Instance, Diagnostics> {
        self.kernels.instance(&format!("gqa_decode:mode={},s-kv={s_kv},acc={}", mode.name(), self.acc))
    }
    pub fn limits(&self) -> Limits {
        Limits { target: Target::Sim, arch: None, scratch_bytes: self.machine.scratch.capacity.0 }
    }
    /// What the table says of itself.
    pub(super) fn facts(&self, study: &dyn Study, basis: &Basis) -> Facts {
        let table = format!("{}, tier {}, accumulator {}", study.name(), self.tier, self.acc);
        let mut facts = vec![("table".to_string(), table), ("backend".to_string(), "sim".to_string())];
        facts.extend(machine_facts(&self.machine, &basis.fields));
        facts.push(("event hash".to_string(), basis.to_string()));
        facts.push((
            "inputs".to_string(),
            match self.inputs {
                Inputs::Random { seed } => format!("random, seed {seed}; values agree with f64"),
                Inputs::ShapesOnly => "shapes only".to_string(),
            },
        ));
        facts
    }
    /// A hash of everything but the key that decides a row's figures: rows of another program version, machine or
    /// accumulator are not taken for this sweep's.
    pub(super) fn hash(&self, study: &dyn Study) -> String {
        let Plan { machine, acc, tier, inputs, .. } = self;
        let (study, version, machine) = (study.name(), env!("CARGO_PKG_VERSION"), machine.hash());
        let all = format!("{study} {version} {acc} {tier} {inputs:?} {machine}");
        format!("{:016x}", fnv1a(&all))
    }
}

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(FNV_START, |h, b| fnv1a_step(h, u64::from(b)))
}

/// Of the 64-bit FNV-1a hash.
pub(super) const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

pub(super) fn fnv1a_step(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0100_0000_01b3)
}

fn tier(name: String) -> Result<String, Diagnostic> {
    if TIERS.contains(&name.as_str()) { Ok(name) } else { Err(errors::unknown_tier(&name, &TIERS)) }
}

fn contexts(matches: &ArgMatches, default: &[usize]) -> Result<Vec<usize>, Diagnostics> {
    let Some(given) = matches.get_many::<String>("s-kv") else { return Ok(default.to_vec()) };
    let read = |text: &str| text.parse().ok().filter(|n| *n > 0);
    each(given, |text| {
        read(text).ok_or_else(|| errors::list_value("s-kv", text, "whole numbers from 1 on", "8192,16384"))
    })
}

fn modes(matches: &ArgMatches) -> Result<Vec<Mode>, Diagnostics> {
    let Some(given) = matches.get_many::<String>("modes") else { return Ok(Mode::ALL.to_vec()) };
    let names = Mode::ALL.map(Mode::name).join(", ");
    each(given, |text| Mode::from_name(text).ok_or_else(|| errors::list_value("modes", text, &names, "A1,B")))
}

/// The values of a list without repetitions, or all that is wrong in it.
fn each<'a, T: PartialEq>(
    given: impl Iterator<Item = &'a String>,
    read: impl Fn(&str) -> Result<T, Diagnostic>,
) -> Result<Vec<T>, Diagnostics> {
    let (mut values, mut wrong) = (Vec::new(), Diagnostics::default());
    for text in given {
        match read(text) {
            Ok(value) if values.contains(&value) => {}
            Ok(value) => values.push(value),
            Err(d) => wrong.push(d),
        }
    }
    wrong.finish()?;
    Ok(values)
}
