//! What a timing run tells.

use super::tally::Tally;
use crate::engine::ipcq::Link;
use crate::engine::record::LogSums;
use crate::engine::{Class, Engine, Stalls, Usage};
use crate::machine::FieldSet;
use crate::units::{Bytes, Ps};
use std::collections::BTreeMap;

/// The result of a timing run.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// From the first log start to the last log end over all users (AHBM.md 8); so clock zero is the first load's issue.
    pub wall: Ps,
    /// The same over each user's own records.
    pub users: Vec<Ps>,
    /// PEs that logged at least one operation.
    pub n_pe: u64,
    pub sums: LogSums,
    /// Commands by mnemonic of the op table, over all PEs; `copy` are copies of yielded tiles.
    pub commands: BTreeMap<&'static str, u64>,
    /// MATH operations inside composites, as the published counts take them.
    pub composite_math_ops: u64,
    /// One per program, in order of users and program ids.
    pub pes: Vec<PeTiming>,
    /// Machine fields that prices came from.
    pub fields: FieldSet,
    pub events: u64,
    /// Equal for equal runs, on every host and in every profile.
    pub event_hash: u64,
}

impl Timing {
    /// Time per engine and class, summed over the PEs.
    pub fn stalls(&self) -> Stalls {
        let mut all = Stalls::default();
        self.pes.iter().for_each(|pe| all.add(&pe.stalls));
        all
    }
    /// The share of `engine`'s time that is in `class`, over all programs; 0 for a run without records.
    pub fn share(&self, engine: Engine, class: Class) -> f64 {
        let all = self.stalls();
        let total = all.total(engine).0;
        if total == 0 { 0.0 } else { all.get(engine, class).0 as f64 / total as f64 }
    }
}

/// What one program did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeTiming {
    pub user: usize,
    pub cube: u32,
    pub pe: u32,
    /// Commands that its CPU issued, and the cycles it spent to issue them.
    pub commands: u64,
    pub cycles: u64,
    /// For each engine the classes sum to the wall.
    pub stalls: Stalls,
    /// The port of this PE's slice: time taken by reads, writes and messages.
    pub port_busy: Ps,
    /// The most scratch that was held at once.
    pub scratch_peak: Bytes,
}

/// A PE by its place in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Cubes of all SIPs are counted through.
    pub cube: usize,
    pub pe: usize,
}

/// What programs asked of the hardware, however long it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// By user of a slice, and how it uses it.
    pub traffic: Vec<Traffic>,
    /// By program.
    pub pes: Vec<(Place, Tally)>,
}

/// Bytes that one PE moved through the port of a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Whose port.
    pub home: Place,
    /// Whose load, store or message.
    pub user: Place,
    pub usage: Usage,
    /// Of a message: what lies between the PEs.
    pub link: Option<Link>,
    pub bytes: Bytes,
}

/// When a run is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Simulated time.
    pub time: Ps,
    /// Events, and turns of loops of all PEs: what bounds the work of a run.
    pub steps: u64,
    /// Turns of loops of one PE between two commands.
    pub free_turns: u64,
}

impl Default for Limits {
    /// Ten simulated seconds, 2 * 10^9 steps (some minutes), 2 * 10^7 turns without a command.
    fn default() -> Limits {
        Limits { time: Ps::from_ns(10_000_000_000), steps: 2_000_000_000, free_turns: 20_000_000 }
    }
}
