//! One block: its warps in turn, each up to its next barrier. Its shared memory is its cluster's.

use super::banks::Banks;
use super::barrier::{BARRIERS, Barrier};
use super::cluster::Joint;
use super::warp::{Awaited, Run, State, Stop, Warp};
use super::{Context, Random, World};
use crate::fault::{Fault, Kind};
use crate::inst::LANES;
use crate::shadow::Map;
use std::hash::Hash;

pub(crate) struct Cta<'l> {
    pub block: u32,
    /// In its cluster.
    pub rank: usize,
    warps: Vec<Warp<'l>>,
    side: Side,
}
/// What the warps of a block share.
pub(super) struct Side {
    pub barriers: Vec<Barrier>,
    pub random: Random,
    /// Instructions of all threads so far.
    pub steps: u64,
    pub banks: Banks,
}

/// A read that a warp repeats.
pub(super) struct Polling {
    pub pc: u32,
    /// The warp's first.
    pub thread: u32,
    pub awaits: Option<Awaited>,
}

/// How far a block came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Done,
    /// All that can run wait for what another block has to write.
    Polls,
    /// All that is left waits at barriers, one of them the cluster's.
    Waits,
    /// It had its share.
    Paused,
}
/// Instructions of a warp at once, where a seed mixes warps.
const SHARE: usize = 24;

impl<'l> Cta<'l> {
    pub(super) fn new(cx: &Context<'l>, block: u32) -> Cta<'l> {
        let random = Random::new(cx.seed.unwrap_or(0) ^ (u64::from(block) << 32));
        Cta {
            block,
            rank: (block % cx.entry.cluster) as usize,
            warps: (0..cx.threads.div_ceil(LANES as u32)).map(|id| Warp::new(cx, block, id)).collect(),
            side: Side { barriers: vec![Barrier::default(); BARRIERS], random, steps: 0, banks: Banks::default() },
        }
    }
    pub(super) fn steps(&self) -> u64 {
        self.side.steps
    }
    pub(super) fn banks(&self) -> Banks {
        self.side.banks
    }
    /// Runs it until it is done or nothing in it can go on; with a seed, at most so many shares of warps.
    pub(super) fn turn(
        &mut self,
        cx: &Context<'l>,
        joint: &mut Joint<'l>,
        world: &mut World,
        shares: usize,
    ) -> Result<Turn, Fault> {
        let mut polls = vec![false; self.warps.len()];
        let mut left = shares;
        loop {
            for warp in self.warps.iter_mut().filter(|warp| warp.state == State::Cluster) {
                if joint.gathering.is_open(warp.came) {
                    warp.met(self.block, joint.gathering.opened());
                }
            }
            let ready: Vec<usize> =
                (0..self.warps.len()).filter(|at| self.warps[*at].state == State::Ready && !polls[*at]).collect();
            if ready.is_empty() {
                break;
            }
            let (order, share) = match cx.seed {
                None => (ready, u64::MAX),
                Some(_) if left == 0 => return Ok(Turn::Paused),
                Some(_) => {
                    left -= 1;
                    let pick = ready[self.side.random.below(ready.len())];
                    (vec![pick], 1 + self.side.random.below(SHARE) as u64)
                }
            };
            for at in order {
                let (warp, side) = (&mut self.warps[at], &mut self.side);
                let stop = Run { cx, block: self.block, rank: self.rank, warp, side, joint, world }.run(share)?;
                polls[at] = stop == Stop::Polls;
                if matches!(stop, Stop::Barrier | Stop::Done) {
                    self.side.open_barriers(&mut self.warps);
                }
            }
        }
        match self.warps.iter().all(|warp| warp.state == State::Done) {
            true => Ok(Turn::Done),
            false if polls.contains(&true) => Ok(Turn::Polls),
            false if self.warps.iter().any(|warp| warp.state == State::Cluster) => Ok(Turn::Waits),
            false => {
                let (waiting, of) = (self.waiting(cx), cx.threads);
                Err(self.stuck(cx, Kind::Deadlock { waiting, of, others: self.tell(cx) }))
            }
        }
    }
    /// Where its warps are.
    pub(super) fn tell(&self, cx: &Context<'_>) -> String {
        let line = |warp: &Warp<'_>| cx.entry.insts.get(warp.pc as usize - 1).map_or(0, |inst| inst.line);
        let tell = |warp: &Warp<'_>| match warp.state {
            State::Barrier(id) => format!("warp {} waits at barrier {id}, line {}", warp.id, line(warp)),
            State::Cluster => format!("warp {} waits at the cluster's barrier, line {}", warp.id, line(warp)),
            State::Done => format!("warp {} has ended", warp.id),
            State::Ready => format!("warp {} runs", warp.id),
        };
        self.warps.iter().map(tell).collect::<Vec<_>>().join("; ")
    }
    fn waits(warp: &&Warp<'_>) -> bool {
        matches!(warp.state, State::Barrier(_) | State::Cluster)
    }
    /// Threads that wait at a barrier.
    pub(super) fn waiting(&self, cx: &Context<'_>) -> u32 {
        let warps = self.warps.iter().filter(Self::waits).count();
        ((warps * LANES) as u32).min(cx.threads)
    }
    pub(super) fn stuck(&self, cx: &Context<'_>, kind: Kind) -> Fault {
        let first = self.warps.iter().find(Self::waits);
        let (pc, thread) = first.map_or((0, 0), |warp| (warp.pc - 1, warp.id * LANES as u32));
        cx.fault(kind, pc, self.block, thread)
    }
    /// A warp that repeats a read.
    pub(super) fn polling(&self) -> Option<Polling> {
        let warp = self.warps.iter().find(|warp| warp.state == State::Ready)?;
        Some(Polling { pc: warp.polled.0, thread: warp.id * LANES as u32, awaits: warp.awaits })
    }
    /// Into one map, what its warps know.
    pub(super) fn pour(&self, into: &mut Map) {
        self.warps.iter().for_each(|warp| warp.knowledge.pour(into));
    }
    pub(super) fn hash(&self, into: &mut rustc_hash::FxHasher) {
        for warp in &self.warps {
            (warp.pc, warp.here, &warp.regs, &warp.preds).hash(into);
            warp.others.iter().for_each(|group| (group.pc, group.mask).hash(into));
        }
    }
}
