//! All blocks of a launch. Blocks that only load and store run at the same time, and what each did is compared afterwards;
//! blocks that can see each other (atomics, relaxed accesses) run one after the other, the next when the earlier ones wait.

use crate::exec::{Banks, Cluster, Context, Random, Turn, World};
use crate::fault::{Fault, Kind};
use crate::inst::{Op, Space, Special, Src};
use crate::memory::Memory;
use crate::module::Entry;
use crate::shadow::Meeting;
use rayon::prelude::*;
use std::hash::Hasher;

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub struct Launch<'l> {
    /// Thread blocks.
    pub blocks: u32,
    /// Threads of a block, where the kernel leaves it open (`.maxntid`).
    pub threads: Option<u32>,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// The parameter block.
    pub params: &'l [u8],
}

/// In which order warps and blocks run, and copies land. A kernel without a fault gives the same in any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// By number, each warp up to its next barrier; copies land when they are waited for.
    #[default]
    InOrder,
    /// As a seed gives it.
    Random(u64),
}

/// How a run goes, and what it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of all threads together.
    pub steps: u64,
    pub schedule: Schedule,
    /// Whether accesses are compared with each other.
    pub races: bool,
}
impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 20_000_000_000, schedule: Schedule::InOrder, races: true }
    }
}

/// What a run tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Instructions of all threads together.
    pub steps: u64,
    /// Bytes of global memory whose accesses by different blocks were not compared, for lack of memory.
    pub unchecked: u64,
    /// What accesses to shared memory took.
    pub banks: Banks,
}

const MOST_THREADS: u32 = 1024;
const MOST_BLOCKS: u32 = 1 << 24;
/// Blocks that run at the same time; the faults found do not depend on how many processors there are.
const TOGETHER: usize = 64;
/// Rounds in which nothing changes before all blocks are taken to wait for ever.
const IDLE: u32 = 100_000;
/// By how much clocks go on in such a round, so that whoever waits no longer than a time gives up.
const WAITED: u64 = 1 << 28;

/// Runs a launch to its end.
///
/// # Errors
/// What a GPU would refuse, or leave undefined.
pub fn run(entry: &Entry, launch: &Launch<'_>, memory: &mut Memory, limits: Limits) -> Result<Ran, Fault> {
    let threads = check(entry, launch).map_err(Fault::of_launch)?;
    for (at, initial) in &entry.variables.global {
        memory.variable(*at, initial).map_err(Fault::of_launch)?;
    }
    let seed = match limits.schedule {
        Schedule::InOrder => None,
        Schedule::Random(seed) => Some(seed),
    };
    let cx = Context { entry, launch, memory, threads, steps: limits.steps, races: limits.races, seed };
    let mut clusters: Vec<u32> = (0..launch.blocks / entry.cluster).collect();
    if let Some(seed) = seed {
        Random::new(seed).shuffle(&mut clusters);
    }
    if sees_others(entry) { in_turn(cx, &clusters) } else { at_once(cx, &clusters) }
}

/// The threads of a block.
fn check(entry: &Entry, launch: &Launch<'_>) -> Result<u32, Kind> {
    if launch.params.len() != entry.param_bytes {
        return Err(Kind::Params { expected: entry.param_bytes, found: launch.params.len() });
    }
    let threads = launch.threads.unwrap_or(entry.threads);
    if threads == 0 || threads > entry.threads.min(MOST_THREADS) || threads != entry.threads && !entry.fewer {
        return Err(Kind::Launch(format!("{threads} threads a block, the kernel is for {}", entry.threads)));
    }
    if launch.blocks > MOST_BLOCKS {
        return Err(Kind::Launch(format!("{} blocks, the emulator runs up to {MOST_BLOCKS}", launch.blocks)));
    }
    if !launch.blocks.is_multiple_of(entry.cluster) {
        return Err(Kind::Launch(format!("{} blocks do not make clusters of {}", launch.blocks, entry.cluster)));
    }
    let shared = u64::from(entry.dynamic_at) + u64::from(launch.shared_bytes);
    if shared > entry.shared_limit.into() {
        return Err(Kind::OutOfMemory { bytes: shared, limit: entry.shared_limit.into() });
    }
    Ok(threads)
}
/// Whether a block may see what another stores while it runs.
fn sees_others(entry: &Entry) -> bool {
    let wide = |space: &Space| matches!(space, Space::Global | Space::Generic);
    entry.insts.iter().any(|inst| match &inst.op {
        Op::Ld { space, order, .. } | Op::St { space, order, .. } => order.strong && wide(space),
        Op::Atom { space, .. } => wide(space),
        _ => false,
    })
}

fn at_once(cx: Context<'_>, clusters: &[u32]) -> Result<Ran, Fault> {
    let (mut ran, mut met) = (Ran::default(), Meeting::default());
    for clusters in clusters.chunks(TOGETHER) {
        let limit = cx.steps - ran.steps;
        let cx = Context { steps: limit, ..cx };
        let done: Vec<_> = clusters.par_iter().map(|number| alone(&cx, *number)).collect();
        for done in done {
            let (steps, banks, world) = done?;
            ran.steps += steps;
            ran.banks.add(banks);
            met.add(&world.pages)
                .map_err(|(at, mine, conflict)| cx.conflict(Space::Global.name(), at, &mine, conflict))?;
        }
        if ran.steps > cx.steps {
            return Err(Fault::of_launch(Kind::Steps(cx.steps)));
        }
    }
    ran.unchecked = met.unchecked;
    Ok(ran)
}
/// A cluster that sees no other.
fn alone(cx: &Context<'_>, number: u32) -> Result<(u64, Banks, World), Fault> {
    let (mut cluster, mut world) = (Cluster::new(cx, number), World::default());
    let (mut idle, mut changes) = (Idle::new(cx), 0);
    let shares = if cx.entry.cluster == 1 { usize::MAX } else { SHARES };
    loop {
        match cluster.turn(cx, &mut world, shares)? {
            Turn::Done => return Ok((cluster.steps(), cluster.banks(), world)),
            Turn::Paused => idle.ends(),
            Turn::Polls | Turn::Waits if world.changes != changes => idle.ends(),
            Turn::Polls | Turn::Waits => {
                if idle.for_ever(std::slice::from_ref(&cluster)) {
                    return Err(cluster.spins(cx));
                }
                world.waited += WAITED;
            }
        }
        changes = world.changes;
    }
}

/// Rounds in which nothing changes.
struct Idle {
    rounds: u32,
    /// Whether time alone may make somebody go on.
    clock: bool,
    before: Option<u64>,
}
impl Idle {
    fn new(cx: &Context<'_>) -> Idle {
        let reads = |op: &Op| matches!(op, Op::Mov { a: Src::Special(Special::Clock), .. });
        Idle { rounds: 0, clock: cx.entry.insts.iter().any(|inst| reads(&inst.op)), before: None }
    }
    fn ends(&mut self) {
        (self.rounds, self.before) = (0, None);
    }
    /// One more round: whether all that are left have been here before, or have had time enough.
    fn for_ever(&mut self, left: &[Cluster<'_>]) -> bool {
        self.rounds += 1;
        if self.clock {
            return self.rounds > IDLE;
        }
        let mut hasher = rustc_hash::FxHasher::default();
        left.iter().for_each(|cluster| cluster.hash(&mut hasher));
        let now = Some(hasher.finish());
        std::mem::replace(&mut self.before, now) == now || self.rounds > IDLE
    }
}

/// Blocks of a seed's order that are on their way together.
const MIXED: usize = 8;
/// Shares of warps that each has at a time.
const SHARES: usize = 16;

fn in_turn(cx: Context<'_>, clusters: &[u32]) -> Result<Ran, Fault> {
    let mut world = World::default();
    let mut ran = Ran::default();
    let mut next = clusters.iter();
    let mut running: Vec<Cluster<'_>> = Vec::new();
    let mut random = cx.seed.map(Random::new);
    let mut idle = Idle::new(&cx);
    loop {
        if random.is_some() {
            running.extend(
                next.by_ref().take(MIXED.saturating_sub(running.len())).map(|number| Cluster::new(&cx, *number)),
            );
        }
        if let Some(random) = &mut random {
            random.shuffle(&mut running);
        }
        let (before, mut paused) = (world.changes, false);
        let mut at = 0;
        while at < running.len() {
            let had = running[at].steps();
            let cx = Context { steps: had + (cx.steps - ran.steps), ..cx };
            let turn = running[at].turn(&cx, &mut world, SHARES)?;
            ran.steps += running[at].steps() - had;
            match turn {
                Turn::Done => {
                    ran.banks.add(running.remove(at).banks());
                    world.changes += 1;
                }
                turn => {
                    paused |= turn == Turn::Paused;
                    at += 1;
                }
            }
        }
        // Whoever waits may wait for a block that has not begun.
        if paused || !running.is_empty() && world.changes != before {
            idle.ends();
            continue;
        }
        match next.next() {
            Some(number) => running.push(Cluster::new(&cx, *number)),
            None if running.is_empty() => return Ok(ran),
            None => {
                if idle.for_ever(&running) {
                    return Err(running[0].spins(&cx));
                }
                world.waited += WAITED;
            }
        }
    }
}
