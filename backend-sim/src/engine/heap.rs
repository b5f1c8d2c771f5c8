//! The event set as a binary heap: slower than the wheel, simple enough to be its oracle.

use super::event::{Event, EventSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A binary heap over (time, insertion number).
#[derive(Debug, Default)]
pub struct Heap(BinaryHeap<Reverse<Event>>);

impl EventSet for Heap {
    fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }
    fn pop(&mut self) -> Option<Event> {
        self.0.pop().map(|Reverse(e)| e)
    }
}
