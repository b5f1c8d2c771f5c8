//! The check against its definition, an element at a time: vector clocks instead of counts of barriers, a history of
//! every element instead of runs of equal ones.

use super::super::memory::{Elements, View};
use super::super::queues::Barriers;
use super::{Kind, Races};
use crate::ir::ops::Scope;
use crate::ir::{Dims, OpId};
use crate::launch::Grid;
use crate::unwritten::Unwritten;
use std::collections::{BTreeMap, BTreeSet};

const GRID: Grid = Grid::cubes(3).pes(2);
const PROGRAMS: usize = 6;

struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

#[derive(Clone, Copy)]
struct Access {
    pe: usize,
    op: OpId,
    kind: Kind,
    /// What the program had done and seen of all.
    clock: [usize; PROGRAMS],
}

impl Access {
    /// Whether it happens before `later`, which has not happened before it.
    fn before(&self, later: &Access) -> bool {
        later.clock[self.pe] >= self.clock[self.pe]
    }
    fn races(&self, later: &Access) -> bool {
        let plain = self.kind == Kind::Write || later.kind == Kind::Write || self.kind != later.kind;
        plain && self.pe != later.pe && !self.before(later)
    }
}

/// Lines in the order of a report: who writes first.
fn lines(a: &Access, b: &Access) -> (OpId, OpId) {
    if (a.kind, a.op, a.pe) <= (b.kind, b.op, b.pe) { (a.op, b.op) } else { (b.op, a.op) }
}

#[derive(Clone, Default)]
struct Element {
    unwritten: bool,
    /// The last plain write and the atomics since; the reads since the write.
    writes: Vec<Access>,
    reads: Vec<Access>,
    /// All of them.
    history: Vec<Access>,
}

/// What there is to find.
#[derive(Default, Debug, PartialEq)]
struct Found {
    /// Pairs of lines, where of those that are ordered only the last is kept.
    races: BTreeSet<(OpId, OpId)>,
    /// By line: elements read before anything wrote them, and the smallest program that did.
    unwritten: BTreeMap<OpId, (u64, usize)>,
}

impl Element {
    fn access(&mut self, new: Access, found: &mut Found, all: &mut BTreeSet<(OpId, OpId)>) {
        let old = self.writes.iter().chain(self.reads.iter().filter(|_| new.kind != Kind::Read));
        found.races.extend(old.filter(|a| a.races(&new)).map(|a| lines(a, &new)));
        all.extend(self.history.iter().filter(|a| a.races(&new)).map(|a| lines(a, &new)));
        self.history.push(new);
        if self.unwritten && new.kind != Kind::Write {
            let (count, pe) = found.unwritten.entry(new.op).or_insert((0, new.pe));
            (*count, *pe) = (*count + 1, new.pe.min(*pe));
        }
        match new.kind {
            Kind::Read => {
                self.reads.retain(|a| !a.before(&new));
                self.reads.push(new);
            }
            Kind::Atomic => {
                self.unwritten = false;
                self.writes.retain(|a| a.kind != Kind::Atomic || !a.before(&new));
                self.writes.push(new);
            }
            Kind::Write => {
                self.unwritten = false;
                (self.writes, self.reads) = (vec![new], Vec::new());
            }
        }
    }
}

/// Programs at random, each op at tiles that overlap with others', some of them partly outside the view.
fn run(random: &mut Random) -> (Found, BTreeSet<(OpId, OpId)>) {
    let dims = [[40, 1, 1], [1, 9, 300], [3, 8, 12], [60, 5, 7]][random.below(4)];
    let len = dims.iter().product();
    let view = View::new(&dims, Elements::Missing).expect("three axes");
    let mut unwritten = Unwritten::all(if random.below(2) == 0 { 0 } else { len });
    unwritten.remove(0..random.below(len));

    let mut races = Races::new(GRID);
    races.skip();
    races.watch(true, len, &unwritten);
    let mut elements = vec![Element::default(); len];
    unwritten.ranges().flatten().for_each(|i| elements[i].unwritten = true);
    let (mut clocks, mut found, mut all) = ([[0; PROGRAMS]; PROGRAMS], Found::default(), BTreeSet::new());
    let density = [2, 8, 30][random.below(3)];
    for _ in 0..random.below(120) {
        let pe = random.below(PROGRAMS);
        if random.below(density) == 0 {
            let scope = [Scope::Cube, Scope::Launch][random.below(2)];
            let members = Barriers::members(GRID, scope, pe);
            races.passed(pe, scope);
            let joined = std::array::from_fn(|i| members.clone().map(|p| clocks[p][i]).max().unwrap_or(0));
            clocks[members].fill(joined);
            continue;
        }
        clocks[pe][pe] += 1;
        let op = OpId(random.below(12) as u32);
        let kind = [Kind::Read, Kind::Read, Kind::Write, Kind::Write, Kind::Atomic][op.index() % 5];
        let new = Access { pe, op, kind, clock: clocks[pe] };
        let tile = [random.below(4) + 1, random.below(8) + 1, [1, 2, 16, 256][random.below(4)]];
        let at: Vec<i64> = dims.iter().map(|n| random.below(n + 2) as i64 - 2).collect();
        let window = view.window(Dims::new(&tile).expect("three axes"), &at, &[]).expect("it fits the view's rank");
        races.access((pe, op), kind, (1, &view), &window);
        window.runs(&view, |_, first, n| {
            elements[first..first + n].iter_mut().for_each(|e| e.access(new, &mut found, &mut all));
        });
    }
    let fast = Found {
        races: races.findings.lines().map(|(first, second, _)| (first, second)).collect(),
        unwritten: races.findings.counts().map(|((op, _), count)| (op, count)).collect(),
    };
    assert_eq!(fast, found);
    assert_eq!(fast.races.is_empty(), all.is_empty(), "{all:?}");
    assert!(fast.races.is_subset(&all));
    let left: Vec<usize> = races.into_unwritten()[1].ranges().flatten().collect();
    assert_eq!(left, (0..len).filter(|i| elements[*i].unwritten).collect::<Vec<_>>());
    (found, all)
}

#[test]
fn runs_of_elements_tell_what_single_elements_do() {
    let (mut random, mut racy, mut unwritten) = (Random(5), 0, 0);
    for _ in 0..400 {
        let (found, _) = run(&mut random);
        racy += usize::from(!found.races.is_empty());
        unwritten += usize::from(!found.unwritten.is_empty());
    }
    assert!((100..390).contains(&racy) && unwritten > 50, "{racy} race, {unwritten} read what is not written");
}
