//! The waits-for graph of programs that cannot go on. Nodes: the waiting programs, then the barriers that some of them
//! wait at. A program waits for one node, a barrier for every program that is not there yet.

use super::{Waiting, WaitsFor};
use crate::interp::queues::Barriers;
use crate::ir::ops::Scope;
use crate::launch::Grid;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// A barrier by its cube; `None`: the barrier of the launch.
pub(super) type Place = Option<usize>;

pub(super) struct Graph {
    /// By node: the nodes it waits for.
    next: Vec<Vec<usize>>,
    /// By node: the nodes that wait for it.
    waiters: Vec<Vec<usize>>,
    /// By node: whether it waits for a program that has ended.
    cause: Vec<bool>,
    programs: usize,
    /// By barrier, in the order of their nodes: the programs that are not there.
    missing: BTreeMap<Place, Vec<usize>>,
}

/// Nodes that all wait for each other.
pub(super) struct Knot {
    pub nodes: Vec<usize>,
    /// The waiting programs of a shortest cycle; each waits for the next. Who waits for a message or for space comes before
    /// who waits at a barrier, then the first program.
    pub cycle: Vec<usize>,
}

impl Graph {
    pub(super) fn of(grid: Grid, waiting: &[Waiting], open: &[usize]) -> Graph {
        let index: FxHashMap<usize, usize> = waiting.iter().enumerate().map(|(i, w)| (w.program, i)).collect();
        let missing = missing(grid, waiting, &index);
        let keys: Vec<Place> = missing.keys().copied().collect();
        let is_open = |p: &usize| open.binary_search(p).is_ok();
        let (mut next, mut cause) = (Vec::new(), Vec::new());
        for w in waiting {
            let target = match w.on {
                WaitsFor::Message { from: other, .. } | WaitsFor::Space { to: other, .. } => {
                    cause.push(!index.contains_key(&other) && !is_open(&other));
                    index.get(&other).copied()
                }
                WaitsFor::Barrier { scope } => {
                    cause.push(false);
                    keys.binary_search(&place(grid, scope, w.program)).ok().map(|k| waiting.len() + k)
                }
            };
            next.push(target.into_iter().collect::<Vec<_>>());
        }
        for programs in missing.values() {
            cause.push(programs.iter().any(|p| !index.contains_key(p) && !is_open(p)));
            next.push(programs.iter().filter_map(|p| index.get(p).copied()).collect());
        }
        let mut waiters = vec![Vec::new(); next.len()];
        for (i, targets) in next.iter().enumerate() {
            targets.iter().for_each(|j| waiters[*j].push(i));
        }
        Graph { next, waiters, cause, programs: waiting.len(), missing }
    }
    /// The programs that wait for one that has ended.
    pub(super) fn causes(&self) -> impl Iterator<Item = usize> {
        (0..self.programs).filter(|i| self.cause[*i])
    }
    /// The barriers that a program can no longer reach: node, barrier, who is not there.
    pub(super) fn unreached(&self) -> impl Iterator<Item = (usize, Place, &[usize])> {
        let nodes = self.missing.iter().zip(self.programs..);
        nodes.filter(|(_, node)| self.cause[*node]).map(|((key, missing), node)| (node, *key, missing.as_slice()))
    }
    /// The programs that wait behind `seeds`: at some remove for one of them, and `free` of other blame.
    pub(super) fn behind(&self, seeds: &[usize], free: &mut [bool]) -> Vec<usize> {
        seeds.iter().for_each(|i| free[*i] = false);
        let (mut work, mut found) = (seeds.to_vec(), Vec::new());
        while let Some(i) = work.pop() {
            for &j in &self.waiters[i] {
                if std::mem::replace(&mut free[j], false) {
                    work.push(j);
                    found.extend(Some(j).filter(|j| *j < self.programs));
                }
            }
        }
        found.sort_unstable();
        found
    }
    /// By node: whether it can be blamed on nothing yet.
    pub(super) fn all_free(&self) -> Vec<bool> {
        vec![true; self.next.len()]
    }
    /// By node: whether no cause is at or before it.
    pub(super) fn apart_from_causes(&self) -> Vec<bool> {
        let mut free = self.all_free();
        let causes: Vec<usize> = (0..self.next.len()).filter(|i| self.cause[*i]).collect();
        self.behind(&causes, &mut free);
        free
    }

    /// The strongly connected components of more than one node among the `free` nodes, shortest cycle first.
    pub(super) fn knots(&self, free: &[bool]) -> Vec<Knot> {
        // Kosaraju: nodes by the time a walk leaves them; then, backwards in that order, whatever leads to each.
        let mut unseen = free.to_vec();
        let mut knots = Vec::new();
        for &root in self.by_leaving_time(free).iter().rev() {
            if !std::mem::replace(&mut unseen[root], false) {
                continue;
            }
            let (mut nodes, mut work) = (vec![root], vec![root]);
            while let Some(i) = work.pop() {
                for &j in &self.waiters[i] {
                    if std::mem::replace(&mut unseen[j], false) {
                        nodes.push(j);
                        work.push(j);
                    }
                }
            }
            if nodes.len() > 1 {
                nodes.sort_unstable();
                knots.push(Knot { cycle: self.cycle(&nodes), nodes });
            }
        }
        knots.sort_by_key(|knot| (knot.cycle.len(), knot.cycle.first().copied()));
        knots
    }
    fn by_leaving_time(&self, free: &[bool]) -> Vec<usize> {
        let (mut unseen, mut order) = (free.to_vec(), Vec::new());
        for start in 0..unseen.len() {
            let mut path: Vec<(usize, usize)> = Vec::new();
            if std::mem::replace(&mut unseen[start], false) {
                path.push((start, 0));
            }
            while let Some((node, at)) = path.last_mut() {
                match self.next[*node].get(*at) {
                    Some(&target) => {
                        *at += 1;
                        if std::mem::replace(&mut unseen[target], false) {
                            path.push((target, 0));
                        }
                    }
                    None => {
                        order.push(*node);
                        path.pop();
                    }
                }
            }
        }
        order
    }
    /// The programs of a shortest cycle in a component. Only barriers wait for more than one: without any the component is
    /// the cycle, and otherwise every cycle passes one.
    fn cycle(&self, nodes: &[usize]) -> Vec<usize> {
        let barriers: Vec<usize> = nodes.iter().copied().filter(|i| *i >= self.programs).collect();
        let starts = if barriers.is_empty() { &nodes[..1] } else { &barriers[..] };
        let cycles = starts.iter().filter_map(|start| self.shortest_from(*start, nodes));
        let mut cycle = cycles.min_by_key(Vec::len).unwrap_or_default();
        cycle.retain(|i| *i < self.programs);
        let at_barrier = |i: usize| self.next[i].first().is_some_and(|node| *node >= self.programs);
        let first = (0..cycle.len()).min_by_key(|i| (at_barrier(cycle[*i]), cycle[*i])).unwrap_or(0);
        cycle.rotate_left(first);
        cycle
    }
    fn shortest_from(&self, start: usize, nodes: &[usize]) -> Option<Vec<usize>> {
        let mut from: FxHashMap<usize, usize> = FxHashMap::default();
        let mut work = VecDeque::from([start]);
        while let Some(i) = work.pop_front() {
            for &j in self.next[i].iter().filter(|j| nodes.binary_search(j).is_ok()) {
                if j == start {
                    let mut path = vec![i];
                    while let Some(before) = path.last().and_then(|at| from.get(at)) {
                        path.push(*before);
                    }
                    path.reverse();
                    return Some(path);
                }
                if let Entry::Vacant(unseen) = from.entry(j) {
                    unseen.insert(i);
                    work.push_back(j);
                }
            }
        }
        None
    }
}

/// The barriers that programs wait at, each with the programs that are not there.
fn missing(grid: Grid, waiting: &[Waiting], index: &FxHashMap<usize, usize>) -> BTreeMap<Place, Vec<usize>> {
    let mut missing: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for w in waiting {
        if let WaitsFor::Barrier { scope } = w.on {
            missing.entry(place(grid, scope, w.program)).or_default();
        }
    }
    for (key, programs) in &mut missing {
        let scope = if key.is_some() { Scope::Cube } else { Scope::Launch };
        let members = Barriers::members(grid, scope, key.unwrap_or(0) * grid.pes);
        let there = |p: &usize| {
            index.get(p).is_some_and(|i| matches!(waiting[*i].on, WaitsFor::Barrier { scope: s } if s == scope))
        };
        programs.extend(members.filter(|p| !there(p)));
    }
    missing
}

pub(super) fn place(grid: Grid, scope: Scope, program: usize) -> Place {
    match scope {
        Scope::Cube => Some(program / grid.pes.max(1)),
        Scope::Launch => None,
    }
}
