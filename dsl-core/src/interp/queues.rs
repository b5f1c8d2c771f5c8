//! Point-to-point queues and barriers: who has sent, who waits. Each queue has one sender and one receiver, so what a
//! program receives does not depend on the order in which programs run.

use super::pe::Value;
use super::race::Stamp;
use crate::ir::ops::{Port, Scope};
use crate::ir::{OpId, Type};
use crate::launch::Grid;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Message {
    pub value: Value,
    pub ty: Type,
    pub send: OpId,
    /// Where its sender was, for the check of races.
    pub stamp: Stamp,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub from: usize,
    pub messages: VecDeque<Message>,
    pub sent: u64,
    pub received: u64,
    pub last_send: Option<OpId>,
    pub last_recv: Option<OpId>,
    sender_waits: bool,
    receiver_waits: bool,
}

/// All queues of a launch, by receiver and the receiver's port.
#[derive(Debug)]
pub(super) struct Queues {
    depth: usize,
    map: FxHashMap<(usize, Port), Queue>,
}

impl Queues {
    pub(super) fn new(depth: u32) -> Queues {
        Queues { depth: depth as usize, map: FxHashMap::default() }
    }
    fn queue(&mut self, from: usize, to: (usize, Port)) -> &mut Queue {
        self.map.entry(to).or_insert_with(|| Queue { from, ..Queue::default() })
    }
    pub(super) fn get(&self, to: (usize, Port)) -> Option<&Queue> {
        self.map.get(&to)
    }
    /// Whether a message of `from` fits; if not, `from` is woken when one does.
    pub(super) fn has_space(&mut self, from: usize, to: (usize, Port)) -> bool {
        let depth = self.depth;
        let q = self.queue(from, to);
        q.sender_waits = q.messages.len() >= depth;
        !q.sender_waits
    }
    /// Appends a message. True if the receiver waited for it.
    pub(super) fn push(&mut self, from: usize, to: (usize, Port), message: Message) -> bool {
        let q = self.queue(from, to);
        (q.sent, q.last_send) = (q.sent + 1, Some(message.send));
        q.messages.push_back(message);
        std::mem::take(&mut q.receiver_waits)
    }
    /// Takes the next message, and says whether the sender waited for the space; without one, `to` is woken when there is.
    pub(super) fn pop(&mut self, from: usize, to: (usize, Port), recv: OpId) -> Option<(Message, bool)> {
        let q = self.queue(from, to);
        let Some(message) = q.messages.pop_front() else {
            q.receiver_waits = true;
            return None;
        };
        (q.received, q.last_recv) = (q.received + 1, Some(recv));
        Some((message, std::mem::take(&mut q.sender_waits)))
    }
    /// The queues that still hold messages, in the order of their receivers.
    pub(super) fn leftovers(&self) -> Vec<(usize, &Queue)> {
        let mut left: Vec<(&(usize, Port), &Queue)> = self.map.iter().filter(|(_, q)| !q.messages.is_empty()).collect();
        left.sort_by_key(|(to, _)| **to);
        left.into_iter().map(|(to, q)| (to.0, q)).collect()
    }
}

/// Barriers match by count: the n-th one of a scope is passed when every program of the scope has reached its n-th.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    /// By cube (`None`: the launch), who waits.
    waiting: FxHashMap<Option<usize>, Vec<usize>>,
}

impl Barriers {
    /// The programs of the scope that `program` is in.
    pub(crate) fn members(grid: Grid, scope: Scope, program: usize) -> std::ops::Range<usize> {
        match scope {
            Scope::Cube => {
                let first = program / grid.pes * grid.pes;
                first..first + grid.pes
            }
            Scope::Launch => 0..grid.num_programs().unwrap_or(0),
        }
    }
    /// The program reaches a barrier. If it is the last, all who waited, in ascending order; they may go on.
    pub(crate) fn arrive(&mut self, grid: Grid, scope: Scope, program: usize) -> Option<Vec<usize>> {
        let key = match scope {
            Scope::Cube => Some(program / grid.pes),
            Scope::Launch => None,
        };
        let waiting = self.waiting.entry(key).or_default();
        waiting.push(program);
        if waiting.len() < Barriers::members(grid, scope, program).len() {
            return None;
        }
        let mut all = std::mem::take(waiting);
        all.sort_unstable();
        Some(all)
    }
}
