//! The blocks of a cluster: each in turn, with the shared memory of all and the barrier of all. A launch without clusters has
//! clusters of one block. A block may leave only when all that others do in its shared memory is known to be over.

use super::banks::Banks;
use super::cta::{Cta, Turn};
use super::mail::Mail;
use super::mbarrier::MBarrier;
use super::warp::{Next, Run, State};
use super::{Context, Random, World};
use crate::between::Between;
use crate::fault::{Fault, Kind};
use crate::inst::{LANES, Src};
use crate::memory::Piece;
use crate::shadow::{ASYNC, Access, By, Cell, Clock, Map, Words, covers, join};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What the blocks of a cluster share.
pub(super) struct Joint<'l> {
    /// By rank.
    pub members: Vec<Shared>,
    pub gathering: Gathering,
    /// What is on its way to an mbarrier.
    pub mail: Vec<Mail<'l>>,
    pub random: Random,
}
/// The shared memory of a block.
pub(super) struct Shared {
    pub block: u32,
    pub piece: Piece,
    pub cells: Words<Cell>,
    /// By their place.
    pub mbarriers: FxHashMap<u64, MBarrier>,
    /// From the first mbarrier to the end of the last: most accesses lie outside.
    pub span: Range<u64>,
    /// By thread: the stores that a bulk copy may read.
    pub proxied: Vec<Clock>,
    pub ended: bool,
}
/// The cluster's barrier, in warps.
pub(super) struct Gathering {
    generation: u64,
    came: usize,
    alive: usize,
    coming: Map,
    opened: Map,
}

/// The blocks that run together.
pub(crate) struct Cluster<'l> {
    ctas: Vec<Cta<'l>>,
    joint: Joint<'l>,
}

impl<'l> Cluster<'l> {
    pub(crate) fn new(cx: &Context<'l>, number: u32) -> Cluster<'l> {
        let size = cx.entry.cluster;
        let bytes = cx.entry.dynamic_at + cx.launch.shared_bytes;
        let blocks = (0..size).map(|rank| number * size + rank);
        let warps = (size * cx.threads.div_ceil(LANES as u32)) as usize;
        let shared = |block| Shared {
            block,
            piece: Piece::new(bytes.into()),
            cells: Words::new(if cx.races { bytes.div_ceil(4) as usize } else { 0 }),
            mbarriers: FxHashMap::default(),
            span: 0..0,
            proxied: vec![Clock::default(); cx.threads as usize],
            ended: false,
        };
        Cluster {
            ctas: blocks.clone().map(|block| Cta::new(cx, block)).collect(),
            joint: Joint {
                members: blocks.map(shared).collect(),
                gathering: Gathering {
                    generation: 0,
                    came: 0,
                    alive: warps,
                    coming: Map::default(),
                    opened: Map::default(),
                },
                mail: Vec::new(),
                random: Random::new(!cx.seed.unwrap_or(0) ^ (u64::from(number) << 32)),
            },
        }
    }
    pub(crate) fn steps(&self) -> u64 {
        self.ctas.iter().map(Cta::steps).sum()
    }
    pub(crate) fn banks(&self) -> Banks {
        let mut all = Banks::default();
        self.ctas.iter().for_each(|cta| all.add(cta.banks()));
        all
    }
    /// Runs its blocks until they are done or nothing in them can go on; with a seed, each at most so many shares of warps.
    pub(crate) fn turn(&mut self, cx: &Context<'l>, world: &mut World, shares: usize) -> Result<Turn, Fault> {
        let before = world.changes;
        let mut order: Vec<usize> = (0..self.ctas.len()).filter(|at| !self.joint.members[*at].ended).collect();
        if cx.seed.is_some() {
            self.joint.random.shuffle(&mut order);
        }
        let (mut paused, mut polls, mut left) = (false, false, order.len());
        for at in order {
            let steps = cx.steps.saturating_sub(self.steps()) + self.ctas[at].steps();
            let cx = Context { steps, ..*cx };
            match self.ctas[at].turn(&cx, &mut self.joint, world, shares)? {
                Turn::Done => {
                    self.joint.ends(&cx, at, &self.ctas[at])?;
                    left -= 1;
                    world.changes += 1;
                }
                Turn::Paused => paused = true,
                Turn::Polls => polls = true,
                Turn::Waits => {}
            }
        }
        if left == 0 {
            return Ok(Turn::Done);
        }
        if cx.seed.is_some() {
            paused |= self.joint.land_some(cx, world)?;
        }
        if paused || world.changes != before {
            return Ok(if paused { Turn::Paused } else { Turn::Polls });
        }
        // Nothing can go on: what is on its way comes at last.
        match (self.joint.land_one_barrier(cx, world)?, polls) {
            (true, _) => Ok(Turn::Paused),
            (false, true) => Ok(Turn::Polls),
            (false, false) => Err(self.deadlock(cx)),
        }
    }
    fn deadlock(&self, cx: &Context<'_>) -> Fault {
        let waits = |cta: &&Cta<'_>| !self.joint.members[cta.rank].ended;
        let first = self.ctas.iter().find(waits).unwrap_or(&self.ctas[0]);
        let told: Vec<_> = match self.ctas.len() {
            1 => vec![first.tell(cx)],
            _ => self.ctas.iter().map(|cta| format!("block {}: {}", cta.block, cta.tell(cx))).collect(),
        };
        let waiting = self.ctas.iter().map(|cta| cta.waiting(cx)).sum();
        let of = cx.threads * self.ctas.len() as u32;
        first.stuck(cx, Kind::Deadlock { waiting, of, others: told.join("; ") })
    }
    /// Every thread that is left repeats a read.
    pub(crate) fn spins(&self, cx: &Context<'_>) -> Fault {
        let polling = self.ctas.iter().find_map(|cta| Some((cta, cta.polling()?)));
        let Some((cta, polling)) = polling else { return self.deadlock(cx) };
        let waits = polling.awaits.filter(|awaited| awaited.pc == polling.pc).and_then(|awaited| {
            let what = self.joint.members[cta.rank].mbarriers.get(&awaited.place)?.missing();
            Some(Kind::Mbarrier { address: awaited.address, what })
        });
        cx.fault(waits.unwrap_or(Kind::Spin), polling.pc, cta.block, polling.thread)
    }
    /// All that decides what it does next, besides memory and clocks.
    pub(crate) fn hash(&self, into: &mut rustc_hash::FxHasher) {
        self.ctas.iter().for_each(|cta| cta.hash(into));
    }
}

impl Joint<'_> {
    /// A block is done: nothing may happen in its shared memory from now on.
    fn ends(&mut self, cx: &Context<'_>, rank: usize, cta: &Cta<'_>) -> Result<(), Fault> {
        let member = &mut self.members[rank];
        member.ended = true;
        if !cx.races || self.members.len() == 1 && self.mail.is_empty() {
            return Ok(());
        }
        let mut known = Map::default();
        cta.pour(&mut known);
        let member = &self.members[rank];
        let foreign = |a: &&Access| a.happened() && (a.block != member.block || a.thread & ASYNC != 0);
        let cells = member.cells.all().flat_map(|(_, _, cell)| std::iter::once(&cell.write).chain(&cell.reads));
        let mut places: Vec<_> = member.mbarriers.iter().collect();
        places.sort_by_key(|(place, _)| **place);
        let arrivals = places.into_iter().flat_map(|(_, mbarrier)| &mbarrier.foreign);
        match cells.chain(arrivals).filter(foreign).find(|access| !covers(&known, access, By::END)) {
            None => Ok(()),
            Some(access) => {
                let why = "may have ended before: it waits for nothing that follows this";
                let kind = Kind::Absent { block: member.block, why };
                Err(cx.fault(kind, access.pc, access.block, access.of_thread()))
            }
        }
    }
}

impl Gathering {
    fn open_if_due(&mut self) {
        if self.came > 0 && self.came >= self.alive {
            self.came = 0;
            self.generation += 1;
            let coming = std::mem::take(&mut self.coming);
            join(&mut self.opened, &coming);
        }
    }
    /// A warp ended, which came to this generation, or to none.
    pub(super) fn leaves(&mut self, came: Option<u64>) {
        self.alive -= 1;
        if came == Some(self.generation) {
            self.came -= 1;
        }
        self.open_if_due();
    }
    pub(super) fn is_open(&self, for_those_of: Option<u64>) -> bool {
        for_those_of.is_none_or(|generation| generation < self.generation)
    }
    pub(super) fn opened(&self) -> &Map {
        &self.opened
    }
}

impl Run<'_, '_> {
    pub(super) fn between(&mut self, op: &Between, here: u32, mask: u32) -> Result<Next, Fault> {
        match op {
            Between::Come { release } => self.come(*release, here, mask),
            Between::Meet => self.meet(here, mask),
            Between::Store { .. } | Between::Bulk { .. } => {
                self.post(op, mask)?;
                Ok(Next::Go)
            }
            Between::InitFence => {
                for lane in super::lanes(mask) {
                    let thread = self.thread(lane as u32) as u16;
                    self.warp.knowledge.fence_inits(self.block, thread);
                }
                Ok(Next::Go)
            }
            Between::ProxyFence => {
                let now = self.warp.knowledge.clock;
                for lane in super::lanes(mask) {
                    let thread = self.thread(lane as u32) as usize;
                    self.joint.members[self.rank].proxied[thread] = now;
                }
                self.warp.knowledge.apart();
                Ok(Next::Go)
            }
            Between::Map { d, a, rank } => self.map(*d, *a, *rank, mask),
            Between::Rank { d, a } => {
                let (a, known) = self.src(*a);
                let own = self.rank as u64;
                let ranks = a.map(|a| (a >> RANK & 0xFF).checked_sub(1).unwrap_or(own));
                self.set(*d, mask, &ranks, known);
                Ok(Next::Go)
            }
            _ => self.mbarrier(op, mask),
        }
    }
    /// All lanes of the warp have to be here.
    fn whole(&self, here: u32, mask: u32) -> Result<Option<Next>, Fault> {
        let alive = self.warp.alive();
        if mask != here {
            return Err(self.fault(Kind::Diverged { missing: here & !mask }, mask.trailing_zeros()));
        }
        Ok((here != alive).then_some(Next::Wait { missing: alive & !here, needed: true }))
    }
    fn come(&mut self, release: bool, here: u32, mask: u32) -> Result<Next, Fault> {
        if let Some(wait) = self.whole(here, mask)? {
            return Ok(wait);
        }
        if self.warp.came.is_some() {
            let what = "this warp has come to the cluster's barrier before, and has not waited".to_string();
            return Err(self.fault(Kind::Cluster(what), here.trailing_zeros()));
        }
        let gathering = &mut self.joint.gathering;
        self.warp.came = Some(gathering.generation);
        let brought = self.warp.knowledge.come(self.block, self.warp.id as usize, release);
        join(&mut gathering.coming, &brought);
        gathering.came += 1;
        gathering.open_if_due();
        self.world.changes += 1;
        Ok(Next::Go)
    }
    fn meet(&mut self, here: u32, mask: u32) -> Result<Next, Fault> {
        if let Some(wait) = self.whole(here, mask)? {
            return Ok(wait);
        }
        if self.warp.came.is_none() {
            let what = "this warp waits at the cluster's barrier, to which it has not come".to_string();
            return Err(self.fault(Kind::Cluster(what), here.trailing_zeros()));
        }
        if self.joint.gathering.is_open(self.warp.came) {
            self.warp.met(self.block, self.joint.gathering.opened());
            return Ok(Next::Go);
        }
        self.warp.state = State::Cluster;
        Ok(Next::Barrier)
    }
    fn map(&mut self, d: u32, a: Src, rank: Src, mask: u32) -> Result<Next, Fault> {
        let ranks = *self.defined(rank, mask)?;
        let size = self.joint.members.len() as u64;
        if let Some(lane) = super::lanes(mask).find(|lane| ranks[*lane] >= size) {
            let what = format!("there is no block {} in a cluster of {size}", ranks[lane]);
            return Err(self.fault(Kind::Cluster(what), lane as u32));
        }
        let (a, known) = self.src(a);
        let out = std::array::from_fn(|i| a[i] & !(0xFF << RANK) | (ranks[i] + 1) << RANK);
        self.set(d, mask, &out, known);
        Ok(Next::Go)
    }
    /// Another block of the cluster has to be there while its shared memory is touched.
    #[inline]
    pub(super) fn present(&self, rank: usize, lane: usize) -> Result<(), Fault> {
        if rank == self.rank { Ok(()) } else { self.other_present(rank, lane) }
    }
    #[inline(never)]
    fn other_present(&self, rank: usize, lane: usize) -> Result<(), Fault> {
        let member = &self.joint.members[rank];
        let why = if member.ended {
            "has ended"
        } else if self.cx.races && !self.warp.knowledge.heard_of(lane as u32, member.block) {
            "may not have begun: nothing that it did is known to be over here"
        } else {
            return Ok(());
        };
        Err(self.fault(Kind::Absent { block: member.block, why }, lane as u32))
    }
}

/// Where addresses of shared memory have the rank of the block and one; zero: the block's own.
pub(super) const RANK: u32 = 24;
