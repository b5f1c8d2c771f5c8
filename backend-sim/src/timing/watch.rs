//! How far a timing run has come, for another thread to look at.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts of the run under way, brought up to date every `EVERY` events.
#[derive(Debug, Default)]
pub struct Watch {
    events: AtomicU64,
    ended: AtomicUsize,
}

/// Events between two updates: a few thousandths of a second.
pub const EVERY: u64 = 1 << 15;

impl Watch {
    /// Events so far, and programs that have ended.
    pub fn look(&self) -> (u64, usize) {
        (self.events.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed))
    }
    pub(super) fn update(&self, events: u64, ended: usize) {
        self.events.store(events, Ordering::Relaxed);
        self.ended.store(ended, Ordering::Relaxed);
    }
}
