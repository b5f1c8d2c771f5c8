//! Accesses by number, and sets of them. A set is a number too: what happened last to an element is two numbers, and
//! equal elements are found by comparing them.

use super::order::{Access, Clocks, Kind};
use crate::ir::OpId;
use rustc_hash::FxHashMap;

/// An access; numbers are given out in the order of first runs, fewer than ops are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AccessId(u32);

/// A set of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct SetId(u32);

impl SetId {
    const EMPTY: SetId = SetId(0);
    /// Without members too, for elements that nobody has written.
    const UNWRITTEN: SetId = SetId(u32::MAX);
}

/// A set is another one and an access more, so that sets that grew alike share all of it.
#[derive(Clone, Copy, Debug)]
struct Node {
    rest: SetId,
    access: AccessId,
}

#[derive(Debug, Default)]
pub(super) struct Sets {
    accesses: Vec<Access>,
    /// The last access of a program at an op.
    latest: FxHashMap<(usize, OpId), AccessId>,
    /// By set, from number 1 on.
    nodes: Vec<Node>,
    known: FxHashMap<(SetId, AccessId), SetId>,
    added: FxHashMap<(SetId, AccessId), SetId>,
}

impl Sets {
    /// The number of an access that happens now.
    pub(super) fn number(&mut self, access: Access) -> AccessId {
        let key = (access.pe, access.op);
        if let Some(id) = self.latest.get(&key)
            && self.accesses[id.0 as usize].epoch == access.epoch
        {
            // Only what came before the last run came before all runs.
            self.accesses[id.0 as usize].events = access.events;
            return *id;
        }
        let id = AccessId(self.accesses.len() as u32);
        self.accesses.push(access);
        self.latest.insert(key, id);
        id
    }
    pub(super) fn get(&self, id: AccessId) -> &Access {
        &self.accesses[id.0 as usize]
    }
    fn members(&self, set: SetId) -> impl Iterator<Item = AccessId> + '_ {
        // Of the two without members, both lie outside.
        let node = |set: SetId| self.nodes.get((set.0 as usize).wrapping_sub(1)).copied();
        std::iter::successors(node(set), move |n| node(n.rest)).map(|n| n.access)
    }
    /// The set of one access.
    fn one(&mut self, id: AccessId) -> SetId {
        self.push(SetId::EMPTY, id)
    }
    fn push(&mut self, rest: SetId, access: AccessId) -> SetId {
        let nodes = &mut self.nodes;
        *self.known.entry((rest, access)).or_insert_with(|| {
            nodes.push(Node { rest, access });
            SetId(nodes.len() as u32)
        })
    }
    /// The set with an access that happens now. Members that are ordered before it and do the same are left out: what
    /// races with them races with it, or is ordered after it.
    fn add(&mut self, set: SetId, id: AccessId, clocks: &Clocks) -> SetId {
        if let Some(done) = self.added.get(&(set, id)) {
            return *done;
        }
        let new = *self.get(id);
        let is_known = self.members(set).any(|m| m == id);
        let implied = |m: AccessId| self.get(m).kind == new.kind && clocks.ordered(self.get(m), &new);
        let kept: Vec<AccessId> = self.members(set).filter(|m| !implied(*m)).collect();
        let grown = if is_known {
            set
        } else if kept.len() == self.members(set).count() {
            self.push(set, id)
        } else {
            // Members come out last in, first out.
            let rest = kept.into_iter().rev().fold(SetId::EMPTY, |rest, m| self.push(rest, m));
            self.push(rest, id)
        };
        self.added.insert((set, id), grown);
        grown
    }
}

/// What happened last to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Cell {
    /// The last plain write, and atomics since that are not ordered among each other.
    writes: SetId,
    /// Reads since that write.
    reads: SetId,
}

impl Cell {
    /// Of an element that nobody has written, and nobody read.
    pub(super) const UNWRITTEN: Cell = Cell { writes: SetId::UNWRITTEN, reads: SetId::EMPTY };

    pub(super) fn is_unwritten(self) -> bool {
        self.writes == SetId::UNWRITTEN
    }
    pub(super) fn readers(self, sets: &Sets) -> impl Iterator<Item = &Access> {
        sets.members(self.reads).map(|m| sets.get(m))
    }
    /// What `new`, which happens now, races with.
    pub(super) fn races<'s>(
        self,
        new: &'s Access,
        sets: &'s Sets,
        clocks: &'s Clocks,
    ) -> impl Iterator<Item = &'s Access> + 's {
        let reads = match new.kind {
            Kind::Read => SetId::EMPTY,
            Kind::Write | Kind::Atomic => self.reads,
        };
        let both = sets.members(self.writes).chain(sets.members(reads)).map(|m| sets.get(m));
        both.filter(|a| a.kind.conflicts(new.kind) && !clocks.ordered(a, new))
    }
    /// The element after `id`.
    pub(super) fn after(self, id: AccessId, sets: &mut Sets, clocks: &Clocks) -> Cell {
        match sets.get(id).kind {
            Kind::Read => Cell { reads: sets.add(self.reads, id, clocks), ..self },
            Kind::Atomic => {
                let writes = if self.is_unwritten() { SetId::EMPTY } else { self.writes };
                Cell { writes: sets.add(writes, id, clocks), ..self }
            }
            // What races with something before the write races with the write, or is ordered after it.
            Kind::Write => Cell { writes: sets.one(id), reads: SetId::EMPTY },
        }
    }
}
