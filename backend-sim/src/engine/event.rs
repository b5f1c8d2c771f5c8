//! Events, the order in which they run, and the hash that stands for a whole run.

use crate::units::Ps;

/// What an event means to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The CPU of a PE goes on. Target: PE.
    Cpu,
    /// The port of a PE has served its current job. Target: port.
    Port,
    /// The egress of a cube has served its current flit. Target: egress.
    Egress,
    /// A read has arrived. Target: request.
    ReadDone,
    /// A write has reached its slice. Target: request.
    WriteDone,
    /// A message is set up, or begins its next hop. Target: channel.
    TxStart,
    /// A message becomes visible to its receiver. Target: channel.
    Message,
    /// A slot of a queue is free again. Target: channel.
    Credit,
    /// The fetch/store unit of a PE has served its current job. Target: PE.
    FetchStore,
    /// The GEMM engine of a PE has served its current composite tile. Target: PE.
    GemmTile,
    /// The prologue of a PE's composite has ended. Target: PE.
    Prologue,
    /// A composite's operands begin to stream. Target: PE.
    Feed,
    /// A composite is done. Target: PE.
    CompositeDone,
}

/// One event: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    // The derived order is (time, seq), since no two events share `seq`.
    pub time: Ps,
    /// The global insertion number: events of equal time run in order of insertion.
    pub seq: u64,
    pub target: u32,
    pub kind: Kind,
}

/// A set of future events that gives them back in order of (time, insertion number).
pub trait EventSet: Default {
    /// Adds an event that is not earlier than the last one popped.
    fn push(&mut self, event: Event);
    /// Takes the first event.
    fn pop(&mut self) -> Option<Event>;
}

/// An order-sensitive 64-bit fold over (time, kind, target) of every event that ran. Equal runs have equal hashes on
/// every host, event set and profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHash(u64);

impl Default for EventHash {
    fn default() -> EventHash {
        EventHash(0x9e37_79b9_7f4a_7c15)
    }
}
impl EventHash {
    /// Folds in one event.
    pub fn add(&mut self, e: &Event) {
        let word = e.time.0 ^ (u64::from(e.target) << 40) ^ ((e.kind as u64) << 32);
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    /// The hash so far; the last rounds spread the high bits.
    pub fn value(self) -> u64 {
        let h = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        h ^ (h >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Heap, Wheel};
    use proptest::prelude::*;

    #[test]
    fn an_event_is_24_bytes() {
        assert_eq!(size_of::<Event>(), 24);
    }

    #[test]
    fn the_hash_depends_on_order() {
        let event = |time, target| Event { time: Ps(time), seq: 0, target, kind: Kind::Cpu };
        let fold = |events: &[Event]| {
            let mut h = EventHash::default();
            events.iter().for_each(|e| h.add(e));
            h.value()
        };
        let (a, b) = (event(5, 1), event(5, 2));
        assert_ne!(fold(&[a, b]), fold(&[b, a]));
    }

    /// Pops one event for every step and pushes what the step says, behind the popped time.
    fn order<Q: EventSet>(steps: &[Vec<u64>]) -> Vec<(Ps, u64)> {
        let (mut set, mut seq, mut now, mut out) = (Q::default(), 0, Ps::ZERO, Vec::new());
        for step in steps {
            for &delay in step {
                seq += 1;
                set.push(Event { time: now + Ps(delay), seq, target: 0, kind: Kind::Cpu });
            }
            if let Some(e) = set.pop() {
                now = e.time;
                out.push((e.time, e.seq));
            }
        }
        out.extend(std::iter::from_fn(|| set.pop()).map(|e| (e.time, e.seq)));
        out
    }
    proptest! {
        /// Delays of every size class: now, inside the open slot, inside the wheel, far behind it.
        #[test]
        fn wheel_and_heap_give_the_same_order(
            steps in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![Just(0u64), 0u64..300, 0u64..40_000, 0u64..20_000_000], 0..4), 1..200)
        ) {
            let (wheel, heap) = (order::<Wheel>(&steps), order::<Heap>(&steps));
            prop_assert!(heap.is_sorted());
            prop_assert_eq!(wheel, heap);
        }
    }
}
