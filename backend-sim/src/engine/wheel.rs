//! The event set as a timing wheel. A slot holds `WIDTH` picoseconds; the slot of the present lies open, sorted, and
//! events of equal time stand in it in order of insertion. What lies behind the wheel's horizon waits in a heap.

use super::event::{Event, EventSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// log2 of a slot's picoseconds. A flit takes 16 ns and a CPU command 10 ns, so most slots hold one instant.
const WIDTH_LOG2: u32 = 8;
const SLOTS: usize = 4096;
const WORDS: usize = SLOTS / 64;

/// A timing wheel with a horizon of about a microsecond.
#[derive(Debug)]
pub struct Wheel {
    slots: Vec<Vec<Event>>,
    /// A bit per slot that holds events, and a bit per word of those.
    occupied: [u64; WORDS],
    words: u64,
    /// The events of slot number `open_slot` (counted from time zero) from `head` on, sorted.
    open: Vec<Event>,
    head: usize,
    open_slot: u64,
    far: BinaryHeap<Reverse<Event>>,
}

impl Default for Wheel {
    fn default() -> Wheel {
        let slots = (0..SLOTS).map(|_| Vec::new()).collect();
        let (open, far) = (Vec::new(), BinaryHeap::new());
        Wheel { slots, occupied: [0; WORDS], words: 0, open, head: 0, open_slot: 0, far }
    }
}

fn slot_of(e: &Event) -> u64 {
    e.time.0 >> WIDTH_LOG2
}

impl EventSet for Wheel {
    fn push(&mut self, event: Event) {
        let slot = slot_of(&event);
        if slot <= self.open_slot {
            // The newest event stands behind all others of its time.
            let at = self.head + self.open[self.head..].partition_point(|e| e.time <= event.time);
            self.open.insert(at, event);
        } else if slot < self.open_slot + SLOTS as u64 {
            let at = slot as usize % SLOTS;
            self.slots[at].push(event);
            self.occupied[at / 64] |= 1 << (at % 64);
            self.words |= 1 << (at / 64);
        } else {
            self.far.push(Reverse(event));
        }
    }
    fn pop(&mut self) -> Option<Event> {
        if self.head == self.open.len() && !self.open_next() {
            return None;
        }
        let event = self.open[self.head];
        self.head += 1;
        Some(event)
    }
}

impl Wheel {
    /// Opens the next slot that holds events; false if there is none.
    fn open_next(&mut self) -> bool {
        self.open.clear();
        self.head = 0;
        let far = self.far.peek().map(|Reverse(e)| slot_of(e));
        let Some(next) = self.next_occupied().into_iter().chain(far).min() else { return false };
        self.open_slot = next;
        let at = next as usize % SLOTS;
        // An occupied bucket is this slot's: all others of the same place lie a whole turn away, in `far`.
        if self.occupied[at / 64] & (1 << (at % 64)) != 0 {
            std::mem::swap(&mut self.open, &mut self.slots[at]);
            self.occupied[at / 64] &= !(1 << (at % 64));
            if self.occupied[at / 64] == 0 {
                self.words &= !(1 << (at / 64));
            }
        }
        while self.far.peek().is_some_and(|Reverse(e)| slot_of(e) == next) {
            self.open.extend(self.far.pop().map(|Reverse(e)| e));
        }
        self.open.sort_unstable();
        true
    }
    /// The number of the first slot behind the open one that holds events inside the horizon.
    fn next_occupied(&self) -> Option<u64> {
        if self.words == 0 {
            return None;
        }
        let from = (self.open_slot as usize + 1) % SLOTS;
        let (word, bit) = (from / 64, from % 64);
        let here = self.occupied[word] & (u64::MAX << bit);
        let at = if here != 0 {
            word * 64 + here.trailing_zeros() as usize
        } else {
            // The other words in turn; this one again at last, for its bits before `bit`.
            let behind = self.words & (u64::MAX << word << 1);
            let word = if behind != 0 { behind.trailing_zeros() } else { self.words.trailing_zeros() } as usize;
            word * 64 + self.occupied[word].trailing_zeros() as usize
        };
        let distance = (at + SLOTS - from) % SLOTS;
        Some(self.open_slot + 1 + distance as u64)
    }
}
