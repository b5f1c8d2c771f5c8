//! What happens before what, as far as memory is concerned.
//!
//! A program's accesses are in its own order. Between programs only barriers order memory; messages order themselves, and
//! space in a queue orders nothing. Therefore two counts are a full vector clock: with `L` and `C` the launch and cube
//! barriers that a program has passed, access `a` of program p is before what program q does now if
//!
//! - `L(q now) > L(a)`: p reached its barrier number `L(a) + 1` after `a`, and q has passed it; or
//! - p and q are in one cube and `C(q now) > C(a)`, likewise.
//!
//! No chain of barriers orders more. A cube barrier leads from p to a neighbour p', a launch barrier from there to q; but
//! p too must reach that launch barrier, and it cannot have done so before `a`: p' would still owe it at the cube barrier
//! that it passed together with p, which p reaches after `a`. So the launch barrier orders `a` before q by itself.

use super::super::queues::Barriers;
use crate::ir::OpId;
use crate::ir::ops::Scope;
use crate::launch::Grid;

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Write,
    /// Atomics do not race with each other.
    Atomic,
    Read,
}

impl Kind {
    /// Whether two accesses of these kinds race where nothing orders them.
    pub(super) fn conflicts(self, other: Kind) -> bool {
        match (self, other) {
            (Kind::Read, Kind::Read) | (Kind::Atomic, Kind::Atomic) => false,
            (Kind::Write | Kind::Atomic | Kind::Read, Kind::Write | Kind::Atomic | Kind::Read) => true,
        }
    }
    pub(super) fn reads(self) -> bool {
        match self {
            Kind::Write => false,
            Kind::Read | Kind::Atomic => true,
        }
    }
}

/// How many barriers a program has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Epoch {
    cube: u64,
    launch: u64,
}

/// Where a program is.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    epoch: Epoch,
    /// Messages sent and received so far.
    events: u64,
    /// The cube barrier that it reached last.
    cube_barrier: Option<OpId>,
}

/// An access of one program; all runs of an op between two barriers are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Access {
    pub pe: usize,
    pub op: OpId,
    pub kind: Kind,
    pub epoch: Epoch,
    /// Messages the program had sent and received when it ran the op last.
    pub events: u64,
}

/// Where all programs are.
#[derive(Debug)]
pub(super) struct Clocks {
    grid: Grid,
    now: Vec<Position>,
}

impl Clocks {
    pub(super) fn new(grid: Grid) -> Clocks {
        Clocks { grid, now: vec![Position::default(); grid.num_programs().unwrap_or(0)] }
    }
    /// An access that the program makes now.
    pub(super) fn access(&self, pe: usize, op: OpId, kind: Kind) -> Access {
        Access { pe, op, kind, epoch: self.now[pe].epoch, events: self.now[pe].events }
    }
    pub(super) fn same_cube(&self, a: usize, b: usize) -> bool {
        a / self.grid.pes == b / self.grid.pes
    }
    /// Whether `a`, which has happened, is ordered before `b`, which happens now.
    pub(super) fn ordered(&self, a: &Access, b: &Access) -> bool {
        a.pe == b.pe || b.epoch.launch > a.epoch.launch || (b.epoch.cube > a.epoch.cube && self.same_cube(a.pe, b.pe))
    }
    /// The program reaches a barrier.
    pub(super) fn reached(&mut self, pe: usize, op: OpId, scope: Scope) {
        match scope {
            Scope::Cube => self.now[pe].cube_barrier = Some(op),
            Scope::Launch => {}
        }
    }
    /// All programs of `pe`'s scope pass a barrier.
    pub(super) fn passed(&mut self, pe: usize, scope: Scope) {
        for position in &mut self.now[Barriers::members(self.grid, scope, pe)] {
            match scope {
                Scope::Cube => position.epoch.cube += 1,
                Scope::Launch => position.epoch.launch += 1,
            }
        }
    }
    /// Counts a message that the program sends or receives; how many came before.
    pub(super) fn message(&mut self, pe: usize) -> u64 {
        let events = &mut self.now[pe].events;
        *events += 1;
        *events - 1
    }
    /// The cube barrier that the program passed last.
    pub(super) fn cube_barrier(&self, pe: usize) -> Option<OpId> {
        self.now[pe].cube_barrier.filter(|_| self.now[pe].epoch.cube > 0)
    }
    /// Whether the program of `a` has passed a cube barrier since.
    pub(super) fn passed_cube_barrier_since(&self, a: &Access) -> bool {
        self.now[a.pe].epoch.cube > a.epoch.cube
    }
}
