//! What happens before what. A warp's clock counts the barriers it has passed; what other warps of its block did up to the
//! last common one is known by their clocks. What other blocks did is known from what was acquired.

use super::{ASYNC, Access};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Barriers passed, and below them the releases since the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Clock(pub u32);
const TICKS: u32 = 12;
impl Clock {
    pub(crate) const FIRST: Clock = Clock(1 << TICKS);
    pub(crate) fn epoch(self) -> u32 {
        self.0 >> TICKS
    }
    pub(crate) fn next_epoch(self) -> Clock {
        Clock((self.epoch() + 1) << TICKS)
    }
    /// Stays within the epoch: what is released more often is taken to be released once.
    pub(crate) fn tick(self) -> Clock {
        let next = Clock(self.0 + 1);
        if next.epoch() == self.epoch() { next } else { self }
    }
}

/// What is known of a block: all that its warps did in these epochs, and of some threads what they did up to a clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    pub epochs: Vec<u32>,
    pub threads: Vec<(u16, Clock)>,
}
impl Known {
    fn covers(&self, a: &Access) -> bool {
        // What is asynchronous belongs to no warp.
        let warp = self.epochs.get(usize::from(a.thread) / 32).copied().unwrap_or(0);
        a.clock.epoch() <= warp || self.threads.iter().any(|(thread, clock)| *thread == a.thread && a.clock <= *clock)
    }
    fn join(&mut self, other: &Known) {
        self.epochs.resize(self.epochs.len().max(other.epochs.len()), 0);
        for (mine, theirs) in self.epochs.iter_mut().zip(&other.epochs) {
            *mine = (*mine).max(*theirs);
        }
        for (thread, clock) in &other.threads {
            match self.threads.iter_mut().find(|(mine, _)| mine == thread) {
                Some((_, mine)) => *mine = (*mine).max(*clock),
                None => self.threads.push((*thread, *clock)),
            }
        }
    }
}
/// By block, and beside its number what the knowledge is good for (`NEAR`, `PACE`, `INIT`; none: everything). Whoever learns the same shares it: a thousand blocks that met know the same of each other.
pub(crate) type Map = Arc<FxHashMap<u32, Known>>;

pub(crate) fn join(map: &mut Map, other: &Map) {
    if map.is_empty() {
        map.clone_from(other);
    } else if !Arc::ptr_eq(map, other) && !other.is_empty() {
        let map = Arc::make_mut(map);
        for (block, known) in other.iter() {
            map.entry(*block).or_default().join(known);
        }
    }
}

/// Good for shared memory alone: an mbarrier's arrival that is not for the cluster orders no global memory between blocks.
const NEAR: u32 = 1 << 31;
/// Good for the question whether something has happened, and for no memory: a relaxed arrival.
const PACE: u32 = 1 << 30;
/// Good for mbarriers alone: `fence.mbarrier_init`.
const INIT: u32 = 1 << 29;
const KINDS: u32 = NEAR | PACE | INIT;
/// The kinds of knowledge that answer a question, besides that which is good for everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct By(u32);
impl By {
    pub(crate) const GLOBAL: By = By(0);
    pub(crate) const SHARED: By = By(NEAR);
    pub(crate) const MBARRIER: By = By(NEAR | INIT);
    pub(crate) const END: By = By(NEAR | PACE);
}
/// Whether a map has it that the access is over.
pub(crate) fn covers(map: &Map, of: &Access, by: By) -> bool {
    let kinds = [0, NEAR, PACE, INIT].into_iter().filter(|kind| by.0 & kind == *kind);
    !map.is_empty() && kinds.into_iter().any(|kind| map.get(&(of.block | kind)).is_some_and(|known| known.covers(of)))
}
fn weakened(map: &Map, to: impl Fn(u32) -> u32) -> Map {
    let mut out = FxHashMap::<u32, Known>::default();
    for (key, known) in map.iter() {
        out.entry(key & !KINDS | to(key & KINDS)).or_default().join(known);
    }
    Arc::new(out)
}
/// What is left of it where only shared memory is ordered.
pub(crate) fn near(map: &Map) -> Map {
    weakened(map, |kind| if kind == 0 { NEAR } else { kind })
}
/// What is left of it where no memory is ordered.
pub(crate) fn paced(map: &Map) -> Map {
    weakened(map, |kind| if kind == INIT { INIT } else { PACE })
}
/// That the asynchronous access is over.
pub(crate) fn landed(access: &Access) -> Map {
    let known = Known { epochs: Vec::new(), threads: vec![(access.thread, access.clock)] };
    Arc::new(std::iter::once((access.block, known)).collect())
}

/// What was released at an address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    pub map: Map,
    /// Of the store that began it; atomics since have only added.
    pub chain: u64,
}

/// What a lane found released at an address.
#[derive(Clone, Debug)]
struct Found {
    lane: u32,
    address: u64,
    of: Released,
}
/// Keeps what is new; of one chain the last has all that was before it.
fn keep(all: &mut Vec<Found>, new: Found) {
    let earlier = |f: &&mut Found| (f.lane, f.address, f.of.chain) == (new.lane, new.address, new.of.chain);
    match all.iter_mut().find(earlier) {
        Some(known) => known.of = new.of,
        None => all.push(new),
    }
}

/// What a warp knows to be over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    /// The warp's own time.
    pub clock: Clock,
    /// By warp of the block, itself included.
    pub epochs: Vec<u32>,
    /// Of other blocks, for all lanes.
    others: Map,
    /// What one lane has acquired since the warp's last barrier.
    acquired: Vec<Found>,
    /// What a lane has read relaxed: a fence acquires it.
    seen: Vec<Found>,
    /// What a lane's last fence releases with its relaxed stores.
    fenced: Vec<(u32, Map)>,
    /// What fences of mbarriers' initialisation have released.
    inits: Map,
}

impl Knowledge {
    pub(crate) fn new(warps: usize, warp: usize) -> Knowledge {
        let mut epochs = vec![0; warps];
        epochs[warp] = Clock::FIRST.epoch();
        Knowledge { clock: Clock::FIRST, epochs, ..Knowledge::default() }
    }
    /// Whether the access is over before what this lane does now.
    #[inline(always)]
    pub(crate) fn ordered(&self, me: &Access, other: &Access, by: By) -> bool {
        let mine = me.thread & !ASYNC;
        if other.block != me.block || other.thread & ASYNC != 0 {
            return self.learned(mine, other, by);
        }
        let (my_warp, theirs) = (mine / 32, other.thread / 32);
        other.thread == mine
            || if my_warp == theirs {
                other.clock.epoch() < me.clock.epoch()
            } else {
                other.clock.epoch() <= self.epochs[usize::from(theirs)]
            }
            || self.learned(mine, other, by)
    }
    /// From others, or of what is asynchronous: few accesses need it.
    #[cold]
    #[inline(never)]
    fn learned(&self, thread: u16, other: &Access, by: By) -> bool {
        let lane = u32::from(thread) % 32;
        covers(&self.others, other, by) || self.acquired.iter().any(|f| f.lane == lane && covers(&f.of.map, other, by))
    }
    /// Whether it is known that a block has begun.
    pub(crate) fn heard_of(&self, lane: u32, block: u32) -> bool {
        let knows = |map: &Map| [0, NEAR, PACE, INIT].iter().any(|kind| map.contains_key(&(block | kind)));
        knows(&self.others) || self.acquired.iter().any(|f| f.lane == lane && knows(&f.of.map))
    }
    /// What its lanes know, all of them know: at a barrier.
    pub(crate) fn gather(&mut self) {
        for found in std::mem::take(&mut self.acquired) {
            join(&mut self.others, &found.of.map);
        }
    }
    /// A new epoch: what was before is over for whoever learns of it.
    pub(crate) fn advance(&mut self, warp: usize) {
        self.clock = self.clock.next_epoch();
        self.epochs[warp] = self.clock.epoch();
        self.fenced.clear();
    }
    /// What the others brought to a barrier.
    pub(crate) fn learn(&mut self, epochs: &[u32], others: &Map) {
        for (mine, theirs) in self.epochs.iter_mut().zip(epochs) {
            *mine = (*mine).max(*theirs);
        }
        join(&mut self.others, others);
    }
    pub(crate) fn others(&self) -> &Map {
        &self.others
    }
    /// All that is over for a lane of this block, with what it did itself.
    fn all(&self, block: u32, thread: u16) -> Map {
        let lane = u32::from(thread) % 32;
        let mut out = self.others.clone();
        self.acquired.iter().filter(|f| f.lane == lane).for_each(|f| join(&mut out, &f.of.map));
        let mut epochs = self.epochs.clone();
        epochs[usize::from(thread) / 32] = self.clock.epoch() - 1;
        let known = Known { epochs, threads: vec![(thread, self.clock)] };
        Arc::make_mut(&mut out).entry(block).or_default().join(&known);
        out
    }
    /// What a store that releases publishes.
    pub(crate) fn release(&mut self, block: u32, thread: u16) -> Map {
        let out = self.all(block, thread);
        self.clock = self.clock.tick();
        out
    }
    /// What a relaxed store publishes: what the lane's last fence does.
    pub(crate) fn relaxed(&self, thread: u16) -> Map {
        let lane = u32::from(thread) % 32;
        self.fenced.iter().find(|(of, _)| *of == lane).map(|(_, map)| map.clone()).unwrap_or_default()
    }
    pub(crate) fn acquire(&mut self, lane: u32, address: u64, of: &Released) {
        keep(&mut self.acquired, Found { lane, address, of: of.clone() });
    }
    pub(crate) fn see(&mut self, lane: u32, address: u64, of: &Released) {
        keep(&mut self.seen, Found { lane, address, of: of.clone() });
    }
    /// Of one lane: acquires what it has seen, and releases what it has done.
    pub(crate) fn fence(&mut self, block: u32, thread: u16) {
        let lane = u32::from(thread) % 32;
        let (mine, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.seen).into_iter().partition(|f| f.lane == lane);
        self.seen = rest;
        mine.into_iter().for_each(|found| keep(&mut self.acquired, found));
        let all = self.all(block, thread);
        self.fenced.retain(|(of, _)| *of != lane);
        self.fenced.push((lane, all));
    }

    /// What these lanes of a warp publish together, at an mbarrier.
    pub(crate) fn publish(&mut self, block: u32, warp: u32, lanes: impl Iterator<Item = usize>) -> Map {
        let mut out: Map = Map::default();
        for lane in lanes {
            join(&mut out, &self.all(block, (warp * 32 + lane as u32) as u16));
        }
        self.clock = self.clock.tick();
        out
    }
    /// What comes now has a clock of its own.
    pub(crate) fn apart(&mut self) -> Clock {
        self.clock = self.clock.tick();
        self.clock
    }
    /// All lanes of the warp learn it.
    pub(crate) fn learn_all(&mut self, map: &Map) {
        join(&mut self.others, map);
    }
    /// `fence.mbarrier_init` of one lane.
    pub(crate) fn fence_inits(&mut self, block: u32, thread: u16) {
        let all = weakened(&self.all(block, thread), |_| INIT);
        join(&mut self.inits, &all);
        self.clock = self.clock.tick();
    }
    /// What a warp brings to the barrier of its cluster.
    pub(crate) fn come(&mut self, block: u32, warp: usize, release: bool) -> Map {
        self.gather();
        let mut out = self.others.clone();
        let mine = Known { epochs: self.epochs.clone(), threads: Vec::new() };
        Arc::make_mut(&mut out).entry(block).or_default().join(&mine);
        if !release {
            out = paced(&out);
        }
        join(&mut out, &self.inits);
        self.advance(warp);
        out
    }
    /// What it takes from there.
    pub(crate) fn meet(&mut self, block: u32, map: &Map) {
        if let Some(known) = map.get(&block) {
            self.learn(&known.epochs, map);
        } else {
            join(&mut self.others, map);
        }
    }
    /// All that some lane of the warp knows, into one map.
    pub(crate) fn pour(&self, into: &mut Map) {
        join(into, &self.others);
        self.acquired.iter().for_each(|found| join(into, &found.of.map));
    }
}
