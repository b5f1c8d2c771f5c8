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
use tilewright_kernels::attention::{MAX_CUBES, Mode, Tier};
use tilewright_kernels::long_decode::Addressing;
use tilewright_sim::machine::Machine;

/// Flags that some sweeps have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    Tier,
    Modes,
    Addressing,
    Cubes,
    Agents,
    Batch,
    Factors,
    Area,
}

const ADDRESSING: [(&str, Addressing); 2] = [("sharded", Addressing::Sharded), ("published", Addressing::Published)];

impl Flag {
    fn arg(self) -> Arg {
        match self {
            Flag::Tier => Arg::new("tier").long("tier").value_name("TIER").default_value(Tier::Plain.name()).help(
                "Commands of a KV tile: baseline, composite (Q . K^T as one) or composite-fused (all of it as two)",
            ),
            Flag::Modes => list("modes")
                .value_name("MODE,…")
                .help("Mappings of KV heads to cubes, from A1, A2, A4, B [default: all]"),
            Flag::Addressing => Arg::new("addressing")
                .long("addressing")
                .value_parser(ADDRESSING.map(|(name, _)| name))
                .default_value(ADDRESSING[0].0)
                .help("Keys and values in each PE's own slice, or as published all in that of one PE"),
            Flag::Cubes => {
                list("cubes").value_name("C,…").help("Cubes that hold the context, from 1 to 16 [default: 8]")
            }
            Flag::Agents => list("agents").value_name("N,…").help("Agents that share the prefix [default: 1,2,4,8,16]"),
            Flag::Batch => {
                list("batch").value_name("B,…").help("Requests that share the context [default: 1,2,4,8,16]")
            }
            Flag::Factors => list("factors")
                .value_name("X,…")
                .help("What each rate of the machine is multiplied by [default: 0.5,1,2,4]"),
            Flag::Area => Arg::new("area").long("area").value_name("KNOB=SHARE,…").help(format!(
                "Shares of the machine's area that grow with a rate [default: {}]",
                super::hw::shares(&super::hw::AREA)
            )),
        }
    }
}

/// Everything that decides the figures of a sweep, and how it runs.
#[derive(Clone)]
pub struct Plan {
    pub machine: Machine,
    pub kernels: Kernels,
    pub contexts: Vec<usize>,
    pub modes: Vec<Mode>,
    pub acc: String,
    pub tier: Tier,
    pub addressing: Addressing,
    /// Cubes of a long context.
    pub cubes: Vec<usize>,
    /// Agents that share a prefix.
    pub agents: Vec<usize>,
    /// Requests that share a context.
    pub batch: Vec<usize>,
    /// Of the machine's rates, in a search.
    pub factors: Vec<f64>,
    /// The share of each knob in the machine's area.
    pub area: [f64; 4],
    pub inputs: Inputs,
    /// Points at once; 0: one per core.
    pub threads: usize,
}

/// One row to compute.
#[derive(Clone)]
pub struct Point {
    /// The cells of the key columns.
    pub key: Vec<Cell>,
    pub instance: Instance,
    /// Cubes of one user.
    pub cubes: usize,
    /// Concurrent users, each on cubes of its own.
    pub users: usize,
    /// What it is timed on, if not the sweep's own machine.
    pub machine: Option<Box<Machine>>,
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

fn list(name: &'static str) -> Arg {
    Arg::new(name).long(name).value_delimiter(',')
}

/// The flags of one sweep alone.
pub(super) fn own_args(study: &dyn Study) -> impl Iterator<Item = Arg> {
    study.flags().iter().map(|flag| flag.arg())
}

/// The flags of every sweep.
pub(super) fn args() -> Vec<Arg> {
    let number = |name: &'static str| Arg::new(name).long(name).value_name("N");
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let path = |name: &'static str| Arg::new(name).long(name).value_parser(value_parser!(PathBuf));
    let own = [
        list("s-kv").value_name("TOKENS,…").help("Context lengths"),
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
        path("plot").value_name("DIR").help("Also draw the rows, as SVG and PNG files in this folder"),
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
        let has = |flag| study.flags().contains(&flag);
        let seed = matches.get_one::<u64>("seed").copied().unwrap_or_default();
        Ok(Plan {
            machine: common.open_machine()?,
            kernels: kernels.clone(),
            contexts: contexts(matches, study.contexts())?,
            modes: if has(Flag::Modes) { modes(matches)? } else { Vec::new() },
            acc: text("acc"),
            tier: if has(Flag::Tier) { tier(&text("tier"))? } else { Tier::Plain },
            addressing: if has(Flag::Addressing) { addressing(&text("addressing")) } else { Addressing::Sharded },
            cubes: if has(Flag::Cubes) { cubes(matches)? } else { Vec::new() },
            agents: if has(Flag::Agents) { sharers("agents", matches)? } else { Vec::new() },
            batch: if has(Flag::Batch) { sharers("batch", matches)? } else { Vec::new() },
            factors: if has(Flag::Factors) { factors(matches)? } else { Vec::new() },
            area: if has(Flag::Area) { super::hw::area(matches.get_one::<String>("area"))? } else { [0.0; 4] },
            inputs: if matches.get_flag("with-data") { Inputs::Random { seed } } else { Inputs::ShapesOnly },
            threads: matches.get_one::<u16>("threads").map_or(0, |n| usize::from(*n)),
        })
    }
    /// A short-context kernel in a mapping and the sweep's tier.
    ///
    /// # Errors
    /// The kernel does not take the accumulator, or the program does not have it.
    pub fn short(&self, kernel: &str, mode: Mode, s_kv: usize) -> Result<Instance, Diagnostics> {
        // A setting that is the default is not written, so that names of instances stay short.
        let tier = if self.tier == Tier::Plain { String::new() } else { format!("tier={},", self.tier.name()) };
        self.kernels.instance(&format!("{kernel}:mode={},{tier}s-kv={s_kv},acc={}", mode.name(), self.acc))
    }
    /// A short-context instance in a mapping: how the mapping is named, how many KV heads a cube has, cubes that one user's KV heads
    /// take, the context, and what else tells it from others.
    ///
    /// # Errors
    /// The kernel does not have the parameter.
    pub fn mapped(
        &self,
        instance: Instance,
        mode: Mode,
        s_kv: usize,
        more: impl IntoIterator<Item = usize>,
    ) -> Result<Point, Diagnostics> {
        let cubes = instance.settings.integer("h-kv")?.div_ceil(mode.kv_per_cube());
        let sizes = [mode.kv_per_cube(), cubes, s_kv].into_iter().chain(more);
        let key = [Cell::from(mode.name())].into_iter().chain(sizes.map(Cell::from)).collect();
        Ok(Point { key, instance, cubes, users: 1, machine: None })
    }
    /// The long-context kernel in a form, with the sweep's addressing.
    ///
    /// # Errors
    /// As of `short`.
    pub fn long(&self, form: &str, s_kv: usize, cubes: usize, sizes: &str) -> Result<Instance, Diagnostics> {
        let (acc, addressing) = (&self.acc, self.addressing_name());
        let word =
            format!("long_decode:form={form},addressing={addressing},s-kv={s_kv},cubes={cubes},{sizes},acc={acc}");
        self.kernels.instance(&word)
    }
    pub fn addressing_name(&self) -> &'static str {
        ADDRESSING.iter().find(|(_, a)| *a == self.addressing).map_or("", |(name, _)| name)
    }
    pub fn limits(&self) -> Limits {
        Limits { target: Target::Sim, arch: None, scratch_bytes: self.machine.scratch.capacity.0 }
    }
    /// What the table says of itself.
    pub(super) fn facts(&self, study: &dyn Study, basis: &Basis) -> Facts {
        let mut table = study.name().to_string();
        for flag in study.flags() {
            match flag {
                Flag::Tier => table += &format!(", tier {}", self.tier.name()),
                Flag::Addressing => table += &format!(", addressing {}", self.addressing_name()),
                Flag::Modes | Flag::Cubes | Flag::Agents | Flag::Batch | Flag::Factors => {}
                Flag::Area => table += &format!(", area shares {}", super::hw::shares(&self.area)),
            }
        }
        table += &format!(", accumulator {}", self.acc);
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
        let Plan { machine, acc, inputs, area, .. } = self;
        let (tier, addressing) = (self.tier.name(), self.addressing_name());
        let (study, version, machine) = (study.name(), env!("CARGO_PKG_VERSION"), machine.hash());
        let all = format!("{study} {version} {acc} {tier} {addressing} {inputs:?} {area:?} {machine}");
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

fn tier(name: &str) -> Result<Tier, Diagnostic> {
    Tier::from_name(name).ok_or_else(|| errors::unknown_tier(name, &Tier::ALL.map(Tier::name)))
}

fn addressing(name: &str) -> Addressing {
    ADDRESSING.iter().find(|(known, _)| *known == name).map_or(Addressing::Sharded, |(_, a)| *a)
}

fn cubes(matches: &ArgMatches) -> Result<Vec<usize>, Diagnostics> {
    let Some(given) = matches.get_many::<String>("cubes") else { return Ok(vec![8]) };
    let read = |text: &str| text.parse().ok().filter(|n| (1..=MAX_CUBES).contains(n));
    let allowed = format!("whole numbers from 1 to {MAX_CUBES}");
    each(given, |text| read(text).ok_or_else(|| errors::list_value("cubes", text, &allowed, "8,12")))
}

/// Agents or requests.
fn sharers(flag: &str, matches: &ArgMatches) -> Result<Vec<usize>, Diagnostics> {
    let Some(given) = matches.get_many::<String>(flag) else { return Ok(vec![1, 2, 4, 8, 16]) };
    let read = |text: &str| text.parse().ok().filter(|n| (1..=1024).contains(n));
    each(given, |text| read(text).ok_or_else(|| errors::list_value(flag, text, "whole numbers from 1 to 1024", "1,8")))
}

fn factors(matches: &ArgMatches) -> Result<Vec<f64>, Diagnostics> {
    let Some(given) = matches.get_many::<String>("factors") else { return Ok(vec![0.5, 1.0, 2.0, 4.0]) };
    let read = |text: &str| text.parse().ok().filter(|x| (0.01..=100.0).contains(x));
    let mut factors = each(given, |text| {
        read(text).ok_or_else(|| errors::list_value("factors", text, "numbers from 0.01 to 100", "0.5,1,2"))
    })?;
    // The machine itself is what the others are compared with.
    if !factors.contains(&1.0) {
        factors.push(1.0);
    }
    factors.sort_by(f64::total_cmp);
    Ok(factors)
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
