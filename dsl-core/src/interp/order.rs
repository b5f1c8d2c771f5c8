//! Who runs next. Values of a kernel without races do not depend on it; the orders here are those that would show it.

use crate::ir::Op;
use std::collections::VecDeque;

/// In which order programs run. A program runs until it waits or ends, and in the late orders and the shuffled one also
/// until it comes to certain ops, where it lets others go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// Programs start by id.
    #[default]
    Ascending,
    Descending,
    /// Ascending from this program on, then the ones before it.
    From(usize),
    /// Stores and atomics wait until no program can do anything else: who reads too early sees the old values.
    LateStores,
    /// Loads wait until no program can do anything else: who reads too late sees the new values.
    LateLoads,
    /// Messages wait until no program can do anything else.
    LateSends,
    /// Any program that can go on, chosen at random; one gives way at random before loads, stores and messages.
    Shuffled(u64),
}

impl Order {
    /// The orders to try a kernel in: the extremes, and `shuffled` random ones.
    pub fn adversarial(shuffled: u64) -> Vec<Order> {
        let extremes = [Order::Ascending, Order::Descending, Order::LateStores, Order::LateLoads, Order::LateSends];
        extremes.into_iter().chain((0..shuffled).map(Order::Shuffled)).collect()
    }
}

/// The next to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Start(usize),
    Resume(usize),
}

/// Programs that may run.
#[derive(Debug)]
pub(super) struct Schedule {
    order: Order,
    programs: usize,
    started: usize,
    /// In a shuffled order: the programs in the order of their start.
    shuffled: Vec<usize>,
    random: Random,
    ready: VecDeque<usize>,
    /// They have given way.
    late: VecDeque<usize>,
}

impl Schedule {
    pub(super) fn new(order: Order, programs: usize) -> Schedule {
        let mut random = Random(if let Order::Shuffled(seed) = order { seed } else { 0 });
        let shuffled = if let Order::Shuffled(_) = order { random.permutation(programs) } else { Vec::new() };
        let (ready, late) = (VecDeque::new(), VecDeque::new());
        Schedule { order, programs, started: 0, shuffled, random, ready, late }
    }
    pub(super) fn wake(&mut self, program: usize) {
        self.ready.push_back(program);
    }
    pub(super) fn give_way(&mut self, program: usize) {
        self.late.push_back(program);
    }
    pub(super) fn next(&mut self) -> Option<Turn> {
        if let Order::Shuffled(_) = self.order {
            return self.any();
        }
        if let Some(program) = self.ready.pop_front() {
            return Some(Turn::Resume(program));
        }
        self.start().or_else(|| self.late.pop_front().map(Turn::Resume))
    }
    fn any(&mut self) -> Option<Turn> {
        let open = self.programs - self.started;
        let choices = self.ready.len() + self.late.len() + open;
        let n = self.random.below(choices);
        if n < open {
            return self.start();
        }
        let n = n - open;
        let program = match n.checked_sub(self.ready.len()) {
            None => self.ready.swap_remove_back(n),
            Some(n) => self.late.swap_remove_back(n),
        };
        program.map(Turn::Resume)
    }
    fn start(&mut self) -> Option<Turn> {
        let n = self.started;
        (n < self.programs).then(|| {
            self.started += 1;
            Turn::Start(match self.order {
                Order::Ascending | Order::LateStores | Order::LateLoads | Order::LateSends => n,
                Order::Descending => self.programs - 1 - n,
                Order::From(first) => (first % self.programs + n) % self.programs,
                Order::Shuffled(_) => self.shuffled.get(n).copied().unwrap_or(n),
            })
        })
    }
    /// Whether a program that comes to this op lets others go first.
    pub(super) fn gives_way(&mut self, op: &Op) -> bool {
        match self.order {
            Order::Ascending | Order::Descending | Order::From(_) => false,
            Order::LateStores => matches!(op, Op::Store(_) | Op::AtomicAdd(_) | Op::AtomicMax(_)),
            Order::LateLoads => matches!(op, Op::Load(_)),
            Order::LateSends => matches!(op, Op::Send(_)),
            Order::Shuffled(_) => (op.access().is_some() || matches!(op, Op::Send(_))) && self.random.below(2) == 0,
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers on every host.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// A number in `0..n`; 0 if `n` is 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    /// The numbers in `0..n`, in a random order (Fisher and Yates).
    fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            all.swap(i, self.below(i + 1));
        }
        all
    }
}
