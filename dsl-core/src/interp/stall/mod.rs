//! Programs that can no longer go on: who waits where, for whom, and why in vain. Facts in, errors out, so that the
//! interpreter, the simulator and the check before a run report the same faults in the same words.
//!
//! `graph.rs`: the waits-for graph. Some wait for a program that has ended: those are the causes. Others wait for each
//! other in a strongly connected component: a deadlock. Everyone else waits behind one of these. `text.rs`: the words.
//! Not here: whether a larger depth would do (`check::capacity`).

mod graph;
mod text;

use super::errors::codes;
use crate::diag::Diagnostics;
use crate::ir::ops::{Port, Scope};
use crate::ir::{Module, OpId};
use crate::launch::Grid;
use graph::Graph;
pub use text::leftovers;

/// A program that waits when none can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub program: usize,
    /// The `send`, `recv` or `barrier` it waits at.
    pub op: OpId,
    pub on: WaitsFor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The next message of a queue.
    Message {
        port: Port,
        from: usize,
        /// Messages taken from this queue so far.
        received: u64,
        /// Where the last of them was sent, if that is known.
        last_send: Option<OpId>,
    },
    /// Space in a full queue.
    Space {
        port: Port,
        to: usize,
        /// Messages in the queue.
        queued: u64,
        /// Messages taken from this queue so far, the last of them here, if that is known.
        received: u64,
        last_recv: Option<OpId>,
    },
    Barrier {
        scope: Scope,
    },
}

/// Messages of one queue that nobody received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub from: usize,
    pub to: usize,
    pub count: u64,
    /// Where the first of them was sent.
    pub send: OpId,
    pub last_recv: Option<OpId>,
}

/// Where the errors happened: the module and how programs are named.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'m> {
    pub module: &'m Module,
    pub grid: Grid,
}

/// The errors of a launch in which no program can go on. `waiting`: all programs that have not ended.
pub fn report(scene: Scene<'_>, waiting: &[Waiting]) -> Diagnostics {
    report_apart_from(scene, waiting, &[])
}

/// The same, where nothing is known of what some programs (`open`, ascending) would do next: a fault of their own stopped
/// them, or they follow data. Who waits for one of these alone is not reported.
pub fn report_apart_from(scene: Scene<'_>, waiting: &[Waiting], open: &[usize]) -> Diagnostics {
    let graph = Graph::of(scene.grid, waiting, open);
    let mut out = Diagnostics::default();
    text::causes(scene, waiting, &graph, &mut out);
    text::deadlocks(scene, waiting, &graph, &mut out);
    out
}
