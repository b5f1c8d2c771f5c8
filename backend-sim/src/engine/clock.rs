//! Simulated time: inserts events, hands them out in order, counts and hashes them.

use super::event::{Event, EventHash, EventSet, Kind};
use crate::units::Ps;

/// Time and the events to come.
#[derive(Debug, Default)]
pub struct Clock<Q> {
    now: Ps,
    inserted: u64,
    ran: u64,
    hash: EventHash,
    set: Q,
}

impl<Q: EventSet> Clock<Q> {
    /// The time of the event that runs.
    pub fn now(&self) -> Ps {
        self.now
    }
    /// Inserts an event `delay` from now.
    pub fn after(&mut self, delay: Ps, kind: Kind, target: u32) {
        self.inserted += 1;
        // A delay that does not fit means "never"; the time limit ends the run before it.
        let time = Ps(self.now.0.saturating_add(delay.0));
        self.set.push(Event { time, seq: self.inserted, target, kind });
    }
    /// Takes the next event and advances to its time; `None` if nothing is left to happen.
    pub fn advance(&mut self) -> Option<Event> {
        let event = self.set.pop()?;
        self.now = event.time;
        self.ran += 1;
        self.hash.add(&event);
        Some(event)
    }
    /// Events that ran.
    pub fn events(&self) -> u64 {
        self.ran
    }
    pub fn hash(&self) -> u64 {
        self.hash.value()
    }
}
