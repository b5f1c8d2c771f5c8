//! Barriers of a block and of a warp.

use super::cta::Side;
use super::warp::{Next, Run, State, Warp};
use crate::fault::{Fault, Kind};
use crate::inst::{BarVote, LANES, Op};
use crate::shadow::{Map, join};

/// One of a block's sixteen.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// Threads that have come.
    pub arrived: u32,
    /// Threads it is for, where the instruction says.
    count: Option<u32>,
    /// What those that came know to be over.
    epochs: Vec<u32>,
    others: Map,
    /// What they voted, if they vote.
    vote: Option<bool>,
}
pub(super) const BARRIERS: usize = 16;

impl Run<'_, '_> {
    pub(super) fn barrier(&mut self, op: &Op, here: u32, mask: u32) -> Result<Next, Fault> {
        if mask != here {
            return Err(self.fault(Kind::Diverged { missing: here & !mask }, mask.trailing_zeros()));
        }
        let alive = self.warp.alive();
        match op {
            Op::BarWarp { mask } => {
                let named = self.mask_operand(*mask, here)?;
                self.named(named, here)?;
                if named & alive & !here != 0 {
                    return Ok(Next::Wait { missing: named & alive & !here, needed: true });
                }
                self.warp.knowledge.gather();
                self.warp.knowledge.advance(self.warp.id as usize);
                Ok(Next::Go)
            }
            _ if here != alive => Ok(Next::Wait { missing: alive & !here, needed: true }),
            Op::Bar { id, count, waits, vote } => {
                let id = self.mask_operand(*id, here)?;
                let voted = vote.map(|vote| self.decided(vote.a, here)).transpose()?;
                let count = count.map(|count| self.mask_operand(count, here)).transpose()?;
                if id as usize >= BARRIERS || count.is_some_and(|n| n == 0 || n % LANES as u32 != 0) {
                    return Err(self.fault(Kind::Unknown(format!("barrier {id} for {count:?} threads")), 0));
                }
                let barrier = &mut self.side.barriers[id as usize];
                if barrier.arrived > 0 && barrier.count != count {
                    let all = self.cx.threads;
                    let (expected, found) = (barrier.count.unwrap_or(all), count.unwrap_or(all));
                    return Err(self.fault(Kind::BarrierCount { barrier: id, expected, found }, 0));
                }
                if let (Some(BarVote { any, d, .. }), Some(lanes)) = (vote, voted) {
                    let mine = if *any { lanes & here != 0 } else { lanes & here == here };
                    let before = barrier.vote.unwrap_or(mine);
                    barrier.vote = Some(if *any { before | mine } else { before & mine });
                    self.warp.votes = Some(*d);
                }
                barrier.arrived += LANES as u32;
                barrier.count = count;
                self.warp.knowledge.gather();
                barrier.come(self.warp);
                self.warp.knowledge.advance(self.warp.id as usize);
                self.world.changes += 1;
                if *waits {
                    self.warp.state = State::Barrier(id as usize);
                }
                Ok(Next::Barrier)
            }
            _ => Ok(Next::Go),
        }
    }
}
impl Barrier {
    fn come(&mut self, warp: &Warp<'_>) {
        let knowledge = &warp.knowledge;
        self.epochs.resize(knowledge.epochs.len(), 0);
        for (mine, theirs) in self.epochs.iter_mut().zip(&knowledge.epochs) {
            *mine = (*mine).max(*theirs);
        }
        join(&mut self.others, knowledge.others());
    }
}
impl Side {
    /// Lets those go on whose barrier is complete.
    pub(super) fn open_barriers(&mut self, warps: &mut [Warp<'_>]) {
        let alive = warps.iter().filter(|warp| warp.state != State::Done).count() as u32 * LANES as u32;
        for (id, barrier) in self.barriers.iter_mut().enumerate() {
            if barrier.arrived == 0 || barrier.arrived < barrier.count.unwrap_or(alive) {
                continue;
            }
            let done = std::mem::take(barrier);
            for warp in warps.iter_mut().filter(|warp| warp.state == State::Barrier(id)) {
                warp.knowledge.learn(&done.epochs, &done.others);
                if let (Some(d), Some(result)) = (warp.votes.take(), done.vote) {
                    warp.preds[d as usize] = if result { u32::MAX } else { 0 };
                    warp.known_preds[d as usize] = u32::MAX;
                }
                warp.state = State::Ready;
            }
        }
    }
}
