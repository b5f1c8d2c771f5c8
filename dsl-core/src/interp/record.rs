//! Faults that do not stop a run: the access is suppressed, the run goes on, and what happened comes back afterwards,
//! gathered by op.

use crate::ir::OpId;
use rustc_hash::FxHashMap;

/// What went wrong at one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// An integer divided by zero, or its remainder; the result is 0.
    DivisionByZero,
    /// A load outside its view; the element reads as 0.
    LoadOutside,
    /// A store or atomic outside its view; the element is dropped.
    StoreOutside,
    /// The condition of an `assert` is false.
    AssertFailed,
    /// A loop's step is below 1, which ends the program; the coordinate is the step.
    LoopStep,
    /// The range of a `map_reduce` is empty, which ends the program.
    NoTurn,
}

/// All faults of one kind at one op.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub kind: RecordKind,
    pub op: OpId,
    /// The smallest program id that met it.
    pub pe: usize,
    /// Where that program met it first: a position in the view for an access, in the tile for a division; empty for
    /// scalars and assertions.
    pub coordinate: Vec<i64>,
    /// Elements, over all programs.
    pub count: u64,
}

/// The records of a run. Their content does not depend on the order in which programs run.
#[derive(Debug, Default)]
pub(super) struct Records(FxHashMap<(OpId, RecordKind), Record>);

impl Records {
    pub(super) fn add(&mut self, kind: RecordKind, op: OpId, pe: usize, count: u64, coordinate: Vec<i64>) {
        let new = Record { kind, op, pe, coordinate, count };
        match self.0.entry((op, kind)) {
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(new);
            }
            std::collections::hash_map::Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.count = known.count.saturating_add(count);
                if pe < known.pe {
                    (known.pe, known.coordinate) = (pe, new.coordinate);
                }
            }
        }
    }
    /// In the order of the ops.
    pub(super) fn into_sorted(self) -> Vec<Record> {
        let mut all: Vec<Record> = self.0.into_values().collect();
        all.sort_by_key(|r| (r.op, r.kind));
        all
    }
}
