//! Which messages lead from one program to another. They order no memory; a report names the one that its author may
//! have taken for an order.

use crate::ir::OpId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Messages that are remembered of each receiver. A report whose messages lie further back does not name them.
const REMEMBERED: usize = 64;

/// Sent with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(in crate::interp) struct Stamp {
    /// Messages that its sender had sent and received before.
    pub events: u64,
}

/// A message, as its receiver knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::interp) struct Received {
    pub from: usize,
    pub stamp: Stamp,
    pub send: OpId,
    pub recv: OpId,
}

#[derive(Debug, Default)]
pub(super) struct Messages {
    /// By receiver: messages, and how many the receiver had sent and received before each.
    of: FxHashMap<usize, VecDeque<(u64, Received)>>,
}

impl Messages {
    pub(super) fn add(&mut self, to: usize, events: u64, message: Received) {
        let log = self.of.entry(to).or_default();
        if log.len() == REMEMBERED {
            log.pop_front();
        }
        log.push_back((events, message));
    }
    /// The message of `from`, sent when it had `events` behind it or later, that begins a chain to `to`.
    pub(super) fn chain(&self, from: usize, events: u64, to: usize) -> Option<Received> {
        // By program: how many of its events lead to `to`.
        let mut leads: FxHashMap<usize, u64> = FxHashMap::default();
        let mut work = vec![(to, u64::MAX)];
        while let Some((pe, until)) = work.pop() {
            for (_, message) in self.of.get(&pe).into_iter().flatten().filter(|(at, _)| *at < until) {
                if message.from == from && message.stamp.events >= events {
                    return Some(*message);
                }
                let lead = leads.entry(message.from).or_default();
                if *lead < message.stamp.events {
                    *lead = message.stamp.events;
                    work.push((message.from, *lead));
                }
            }
        }
        None
    }
}
