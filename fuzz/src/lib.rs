//! Inputs from anywhere: `.tir` texts, machine files, models, other programs' rows, arguments. Each is read, or refused with a code; nothing panics,
//! takes longer than a second, or more memory than a GiB.
//!
//! `tir`, `machine`, `flags`, `modules`, `model`, `peers`: the targets; how inputs are made is in `tests/random`. A run is a pure function of its seed, so a
//! find is shown again by `--seed` and the number of the input (`--skip`). `main.rs` is the long version,
//! `tests/short.rs` the one that always runs.

mod flags;
mod machine;
mod model;
mod modules;
mod peers;
mod tir;

use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};
use tilewright_test_random::Source;

/// What one input may take.
pub const MAX_TIME: Duration = Duration::from_secs(1);
/// What the process may have held at once.
pub const MAX_MEMORY_KIB: u64 = 1 << 20;

/// What is fed with inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// The parser and the verifier of `.tir` texts.
    Tir,
    /// Machine files and `--set`.
    Machine,
    /// Command lines.
    Flags,
    /// Modules in memory, through all that takes one.
    Modules,
    /// Models for the planner.
    Model,
    /// Rows that other programs measured.
    Peers,
}

impl Target {
    pub const ALL: [Target; 6] =
        [Target::Tir, Target::Machine, Target::Flags, Target::Modules, Target::Model, Target::Peers];

    /// An input, and what is wrong with how it was taken.
    fn input(self, from: &mut Source<'_>) -> Input {
        match self {
            Target::Tir => tir::input(from),
            Target::Machine => machine::input(from),
            Target::Flags => flags::input(from),
            Target::Modules => modules::input(from),
            Target::Model => model::input(from),
            Target::Peers => peers::input(from),
        }
    }
}

/// Takes a `.tir` text as it is, for fuzzers that make their own inputs.
///
/// # Panics
/// If it is not taken well.
pub fn take_tir(text: &[u8]) {
    taken(tir::check(&String::from_utf8_lossy(text)));
}
/// Takes a machine file as it is.
///
/// # Panics
/// If it is not taken well.
pub fn take_machine(text: &[u8]) {
    taken(machine::check(Some(&String::from_utf8_lossy(text)), &[]));
}
fn taken(answer: Result<Answer, String>) {
    if let Err(fault) = answer {
        panic!("{fault}");
    }
}

/// One input: as text, to show it, and what is done with it.
struct Input {
    shown: String,
    /// Gives what is wrong with the answer, apart from panics, time and memory.
    check: Box<dyn FnOnce() -> Result<Answer, String>>,
}

/// How an input was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Accepted,
    Refused,
}

/// An input that was not taken well.
#[derive(Clone, Debug)]
pub struct Find {
    /// Counted from 0.
    pub number: u64,
    pub fault: String,
    pub input: String,
}

/// What a run tells.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub inputs: u64,
    pub accepted: u64,
    pub slowest: Duration,
    pub elapsed: Duration,
    pub finds: Vec<Find>,
}

/// Finds after which a run ends: more would be the same.
const MAX_FINDS: usize = 20;

/// Feeds a target with the inputs `skip..skip + count` of a seed.
pub fn run(target: Target, seed: u64, skip: u64, count: u64) -> Tally {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ())); // a find tells it
    let begin = Instant::now();
    let mut tally = Tally::default();
    for number in skip..skip + count {
        let mut taken = take(target, seed, number);
        if taken.took > MAX_TIME {
            // A machine that is busy elsewhere is no fault of the input: it must be slow again.
            let again = take(target, seed, number);
            taken.took = taken.took.min(again.took);
        }
        let Taken { shown, answer, took } = taken;
        tally.inputs += 1;
        tally.slowest = tally.slowest.max(took);
        tally.accepted += u64::from(answer == Ok(Answer::Accepted));
        let slow = (took > MAX_TIME).then(|| format!("took {took:.1?}"));
        if let Some(fault) = answer.err().or(slow) {
            tally.finds.push(Find { number, fault, input: shown });
        }
        if tally.finds.len() >= MAX_FINDS {
            break;
        }
    }
    tally.elapsed = begin.elapsed();
    panic::set_hook(hook);
    tally
}

/// An input as text, what came of it, and how long that took.
struct Taken {
    shown: String,
    answer: Result<Answer, String>,
    took: Duration,
}

/// Makes an input and takes it; a panic while it is made is a find as well.
fn take(target: Target, seed: u64, number: u64) -> Taken {
    let mut source = Source::seeded(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let made = panic::catch_unwind(AssertUnwindSafe(|| target.input(&mut source)));
    let Input { shown, check } = match made {
        Ok(input) => input,
        Err(p) => {
            let answer = Err(format!("while it was made, {}", panicked(p.as_ref())));
            return Taken { shown: String::new(), answer, took: Duration::ZERO };
        }
    };
    let start = Instant::now();
    let answer = panic::catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|p| Err(panicked(p.as_ref())));
    Taken { shown, answer, took: start.elapsed() }
}

fn panicked(payload: &dyn std::any::Any) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or(payload.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("without a message"))
}

/// The most memory that this process has held, where the system tells it.
pub fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
