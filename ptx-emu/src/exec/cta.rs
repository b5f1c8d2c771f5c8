//! One block: its warps in turn, each up to its next barrier.

use super::barrier::{BARRIERS, Barrier};
use super::warp::{Run, State, Stop, Warp};
use super::{Context, Random, World};
use crate::fault::{Fault, Kind};
use crate::inst::LANES;
use crate::memory::Piece;
use crate::shadow::{Cell, Words};

pub(crate) struct Cta<'l> {
    pub block: u32,
    warps: Vec<Warp<'l>>,
    side: Side,
}
/// What the warps of a block share.
pub(super) struct Side {
    pub shared: Piece,
    pub cells: Words<Cell>,
    pub barriers: Vec<Barrier>,
    pub random: Random,
    /// Instructions of all threads so far.
    pub steps: u64,
}

/// How far a block came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Done,
    /// All that can run wait for what another block has to write.
    Polls,
    /// It had its share.
    Paused,
}
/// Instructions of a warp at once, where a seed mixes warps.
const SHARE: usize = 24;

impl<'l> Cta<'l> {
    pub(crate) fn new(cx: &Context<'l>, block: u32) -> Cta<'l> {
        let bytes = cx.entry.dynamic_at + cx.launch.shared_bytes;
        let random = Random::new(cx.seed.unwrap_or(0) ^ (u64::from(block) << 32));
        Cta {
            block,
            warps: (0..cx.threads.div_ceil(LANES as u32)).map(|id| Warp::new(cx, block, id)).collect(),
            side: Side {
                shared: Piece::new(bytes.into()),
                cells: Words::new(if cx.races { bytes.div_ceil(4) as usize } else { 0 }),
                barriers: vec![Barrier::default(); BARRIERS],
                random,
                steps: 0,
            },
        }
    }
    pub(crate) fn steps(&self) -> u64 {
        self.side.steps
    }
    /// Runs it until it is done or nothing in it can go on; with a seed, at most so many shares of warps.
    pub(crate) fn turn(&mut self, cx: &Context<'l>, world: &mut World, shares: usize) -> Result<Turn, Fault> {
        let mut polls = vec![false; self.warps.len()];
        let mut left = shares;
        loop {
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
                let stop = Run { cx, block: self.block, warp, side, world }.run(share)?;
                polls[at] = stop == Stop::Polls;
                if matches!(stop, Stop::Barrier | Stop::Done) {
                    self.side.open_barriers(&mut self.warps);
                }
            }
        }
        match self.warps.iter().all(|warp| warp.state == State::Done) {
            true => Ok(Turn::Done),
            false if polls.contains(&true) => Ok(Turn::Polls),
            false => Err(self.deadlock(cx)),
        }
    }
    fn deadlock(&self, cx: &Context<'_>) -> Fault {
        let waits = |warp: &&Warp<'_>| matches!(warp.state, State::Barrier(_));
        let waiting = self.warps.iter().filter(waits).count();
        let tell = |warp: &Warp<'_>| match warp.state {
            State::Barrier(id) => {
                let line = cx.entry.insts.get(warp.pc as usize - 1).map_or(0, |inst| inst.line);
                format!("warp {} waits at barrier {id}, line {line}", warp.id)
            }
            State::Done => format!("warp {} has ended", warp.id),
            State::Ready => format!("warp {} runs", warp.id),
        };
        let others = self.warps.iter().map(tell).collect::<Vec<_>>().join("; ");
        let threads = (waiting * LANES) as u32;
        let kind = Kind::Deadlock { waiting: threads.min(cx.threads), of: cx.threads, others };
        let first = self.warps.iter().find(waits);
        let (pc, thread) = first.map_or((0, 0), |warp| (warp.pc - 1, warp.id * LANES as u32));
        cx.fault(kind, pc, self.block, thread)
    }
    /// Every thread that is left repeats a read.
    pub(crate) fn spins(&self, cx: &Context<'_>) -> Fault {
        let warp = self.warps.iter().find(|warp| warp.state == State::Ready);
        let (pc, thread) = warp.map_or((0, 0), |warp| (warp.polled.0, warp.id * LANES as u32));
        cx.fault(Kind::Spin, pc, self.block, thread)
    }
}
