//! Which queue depths a launch needs. More depth never makes a program wait that did not wait before (each queue has one
//! sender and one receiver, and programs are deterministic), so a depth is found by halving, and tried before it is told.

use super::abstract_run::{AbstractRun, Depths, Outcome};
use super::slice::Slice;
use super::{Limits, Remark, Shape, errors};
use crate::diag::Diagnostics;
use crate::ir::ops::Port;

/// Whether a launch completes with queues of its depth.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    Enough,
    /// It does not; with these depths it does, as a run with them showed.
    Needs(Sufficient),
    /// It does not complete with any depth, or leaves messages.
    Never(Diagnostics),
    /// What it sends and receives follows data, or takes too long to find out.
    Unknown(Vec<Remark>),
}

/// Depths that suffice.
#[derive(Clone, Debug, PartialEq)]
pub struct Sufficient {
    /// The smallest depth that suffices for all queues together.
    pub all: u32,
    /// The queues, by the port that their senders name, that do not do with the launch's depth, and what each needs when
    /// no other holds more than it needs. In the order of the ports.
    pub ports: Vec<(Port, u32)>,
}

pub(super) fn of(shape: &Shape<'_>, slice: &Slice, limits: &Limits) -> Capacity {
    let run = |depths| AbstractRun::new(shape, slice, depths, limits).run();
    let bounded = run(Depths::uniform(shape.depth));
    if bounded.completes() && bounded.errors(shape).is_empty() {
        return Capacity::Enough;
    }
    let unbounded = run(Depths::UNBOUNDED);
    let errors = unbounded.errors(shape);
    if !errors.is_empty() {
        return Capacity::Never(errors);
    }
    if !unbounded.completes() {
        return Capacity::Unknown(unbounded.remarks(shape));
    }
    match search(shape, slice, &unbounded, limits) {
        Some(found) => Capacity::Needs(found),
        None => Capacity::Unknown(vec![errors::search_gave_up(shape)]),
    }
}

/// The smallest depths with which nothing waits forever; `unbounded` is the run in which nothing does. `None` if that
/// takes too many steps to find.
pub(super) fn search(shape: &Shape<'_>, slice: &Slice, unbounded: &Outcome<'_>, limits: &Limits) -> Option<Sufficient> {
    let suffices = |depths: &Depths| {
        let run = AbstractRun::new(shape, slice, depths.clone(), limits).run();
        // Programs that follow data have stopped in both runs.
        run.errors(shape).is_empty() && (run.completes() || !unbounded.completes())
    };
    let peak = unbounded.channels.values().map(|q| q.peak).max()?;
    let launch = u64::from(shape.depth);
    let all = smallest(launch + 1, peak, |depth| suffices(&Depths { all: depth, by_port: Vec::new() }))?;
    // Port by port as low as it goes with the others as they are; each is tried with all that were lowered before.
    let mut ports: Vec<Port> = unbounded.channels.values().filter(|q| q.peak > launch).map(|q| q.port).collect();
    ports.sort_unstable();
    ports.dedup();
    let mut depths = Depths { all: launch, by_port: ports.iter().map(|port| (*port, all)).collect() };
    for at in 0..ports.len() {
        let found = smallest(launch, all, |depth| {
            let mut trial = depths.clone();
            trial.by_port[at].1 = depth;
            suffices(&trial)
        })?;
        depths.by_port[at].1 = found;
    }
    let needs = depths.by_port.into_iter().filter(|(_, depth)| *depth > launch);
    let ports = needs.map(|(port, depth)| Some((port, u32::try_from(depth).ok()?))).collect::<Option<_>>()?;
    Some(Sufficient { all: u32::try_from(all).ok()?, ports })
}

/// The smallest number from `low` to `high` for which `holds`, which once true stays true.
fn smallest(low: u64, high: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if low > high || !holds(high) {
        return None;
    }
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}
