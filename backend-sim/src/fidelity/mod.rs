//! Three estimates of one compiled program on one machine, rough to fine: the *roofline* (`roofline.rs`), sums in closed
//! form; the *schedule*, the same PEs with the same latencies on a machine where no PE waits for another's traffic
//! (`engine::lanes`); and *events*, every server shared. `gap.rs`: the three side by side, and what lies between them.
//!
//! Kept true: roofline <= schedule <= events, up to the anomaly that docs/fidelity.md names. Not here: the runs
//! themselves (`timing`).

mod gap;
mod roofline;

pub use gap::{Gap, Queueing};
pub use roofline::{Bound, Resource, Roofline};

use crate::engine::{Stalls, Wheel};
use crate::timing::{Compiled, Limits, Timing};
use serde::Serialize;
use std::fmt;
use tilewright_core::diag::Diagnostics;

/// How much of the machine a time accounts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// The largest of the sums of each PE: bytes, operations and cycles over their rates.
    Roofline,
    /// Latencies, dependencies and in-order issue, but no PE waits for another's traffic.
    Schedule,
    /// Every event of every server, contention included.
    Events,
}

impl Fidelity {
    pub const ALL: [Fidelity; 3] = [Fidelity::Roofline, Fidelity::Schedule, Fidelity::Events];
    pub const fn name(self) -> &'static str {
        match self {
            Fidelity::Roofline => "roofline",
            Fidelity::Schedule => "schedule",
            Fidelity::Events => "events",
        }
    }
}
impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which estimates a run makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    One(Fidelity),
    /// All three, and the gaps between them.
    All,
}
impl Default for Choice {
    fn default() -> Choice {
        Choice::One(Fidelity::Events)
    }
}

/// What a run of a choice tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Of `timing`: the finest that was made.
    pub fidelity: Fidelity,
    /// Of a roofline: its time, with the counts of the programs; stalls and events it has none.
    pub timing: Timing,
    /// If it was asked for.
    pub roofline: Option<Roofline>,
    /// If all three were asked for.
    pub gap: Option<Gap>,
}

/// Makes the estimates of a choice. The roofline counts by running the schedule, since how often a loop turns is known
/// only then; so it takes as long as that.
///
/// # Errors
/// What went wrong in a run.
pub fn estimate(program: &Compiled<'_>, choice: Choice, limits: Limits) -> Result<Estimate, Diagnostics> {
    let one = |fidelity, timing| Estimate { fidelity, timing, roofline: None, gap: None };
    match choice {
        Choice::One(Fidelity::Events) => Ok(one(Fidelity::Events, program.time::<Wheel>(limits)?)),
        Choice::One(Fidelity::Schedule) => Ok(one(Fidelity::Schedule, program.time_uncontended::<Wheel>(limits)?.0)),
        Choice::One(Fidelity::Roofline) => {
            let (schedule, demand) = program.time_uncontended::<Wheel>(limits)?;
            let roofline = Roofline::of(program.machine(), &demand);
            let timing = counts_of(schedule, &roofline);
            Ok(Estimate { roofline: Some(roofline), ..one(Fidelity::Roofline, timing) })
        }
        Choice::All => {
            let (schedule, demand) = program.time_uncontended::<Wheel>(limits)?;
            let events = program.time::<Wheel>(limits)?;
            let roofline = Roofline::of(program.machine(), &demand);
            let gap = Gap::of(&roofline, &schedule, &events);
            Ok(Estimate { roofline: Some(roofline), gap: Some(gap), ..one(Fidelity::Events, events) })
        }
    }
}

/// What a run counted, with the roofline's time and nothing that depends on when things happened.
fn counts_of(mut timing: Timing, roofline: &Roofline) -> Timing {
    timing.wall = roofline.time();
    timing.users.fill(timing.wall);
    timing.pes.iter_mut().for_each(|pe| pe.stalls = Stalls::default());
    (timing.events, timing.event_hash) = (0, 0);
    timing
}
