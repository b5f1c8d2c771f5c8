//! Blocks while they run. `cluster.rs`: the blocks of a cluster, in turn; its barrier. `cta.rs`: the warps of a block, in turn. `warp.rs`: one warp, its lanes together where they can be.
//! `step.rs`: what each instruction does. `memory.rs`: loads and stores. `copies.rs`: asynchronous copies of a thread.
//! `mbarrier.rs`: mbarriers. `mail.rs`: what an mbarrier counts. `strong.rs`: what
//! orders blocks. `collective.rs`: shuffles, votes. `matrix.rs`: matrices of a warp. `banks.rs`: how long
//! shared memory takes. `barrier.rs`: barriers. `random.rs`: the order that a seed gives.

mod banks;
mod barrier;
mod cluster;
mod collective;
mod copies;
mod cta;
mod mail;
mod matrix;
mod mbarrier;
mod memory;
mod random;
mod step;
mod strong;
mod warp;

pub use banks::Banks;
pub(crate) use cluster::Cluster;
pub(crate) use cta::Turn;
pub(crate) use random::Random;

use crate::fault::{Fault, Kind, Party};
use crate::launch::Launch;
use crate::memory::Memory;
use crate::module::Entry;
use crate::shadow::{Access, Cell, Conflict, Pages, Released};
use rustc_hash::FxHashMap;

/// What all blocks of a launch have in common.
#[derive(Clone, Copy)]
pub(crate) struct Context<'l> {
    pub entry: &'l Entry,
    pub launch: &'l Launch<'l>,
    pub memory: &'l Memory,
    /// Of a block.
    pub threads: u32,
    /// Instructions that a cluster may execute.
    pub steps: u64,
    /// Whether accesses are recorded, and compared.
    pub races: bool,
    /// The order of warps, blocks and copies.
    pub seed: Option<u64>,
}

/// What blocks that see each other's stores share; each has its own where they cannot.
#[derive(Default)]
pub(crate) struct World {
    pub pages: Pages<Cell>,
    /// By address: what whoever acquires there learns.
    pub released: FxHashMap<u64, Released>,
    /// Stores and the like so far: without a new one, whoever waits goes on waiting.
    pub changes: u64,
    /// By how much clocks are ahead of the instructions: while all wait, only time goes on.
    pub waited: u64,
}

impl Context<'_> {
    /// The fault of an instruction of one thread.
    pub(crate) fn fault(&self, kind: Kind, pc: u32, block: u32, thread: u32) -> Fault {
        let line = self.entry.insts.get(pc as usize).map_or(0, |inst| inst.line);
        let statement = self.entry.statements.get(&line).cloned().unwrap_or_default();
        Fault { kind, line, statement, thread: Some((block, thread)) }
    }
    /// The fault of an access that conflicts with an earlier one.
    pub(crate) fn conflict(&self, space: &'static str, address: u64, mine: &Access, with: Conflict) -> Fault {
        let (Conflict::Race(other) | Conflict::InFlight(other) | Conflict::ReadOnly(other)) = with;
        let there = self.fault(Kind::Trap, other.pc, other.block, other.of_thread());
        let other =
            Party { block: other.block, thread: other.of_thread(), line: there.line, statement: there.statement };
        let kind = match with {
            Conflict::Race(_) => Kind::Race { space, address, other },
            Conflict::InFlight(_) => Kind::InFlight { address, other },
            Conflict::ReadOnly(_) => Kind::ReadOnly { address, other },
        };
        self.fault(kind, mine.pc, mine.block, mine.of_thread())
    }
}

/// The lanes of a mask.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}
