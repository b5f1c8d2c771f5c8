//! Races and unwritten reads as they are told: gathered by the pair of lines, then worded.

use super::super::errors::plural;
use super::super::memory::View;
use super::super::stall::Scene;
use super::messages::{Messages, Received};
use super::order::{Access, Clocks, Kind};
use super::{Bounds, name};
use crate::diag::{CodePage, Diagnostic, Diagnostics};
use crate::ir::loc::LocId;
use crate::ir::{Module, OpId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) mod codes {
    pub const READ_WRITE: &str = "TW-E0320";
    pub const WRITE_WRITE: &str = "TW-E0321";
    pub const ATOMIC: &str = "TW-E0322";
    pub const UNWRITTEN: &str = "TW-E0323";
}

/// The codes of races, for `tilewright explain`.
pub const CODES: &[CodePage] = &[
    CodePage {
        code: codes::READ_WRITE,
        title: "a race between a read and a write",
        page: "One PE reads elements that another writes, and no barrier stands between the two, so which value is read \
               depends on who is faster. Only barriers order memory: `barrier(Scope::Cube)` between the PEs of a cube, \
               `barrier(Scope::Launch)` between all. A message orders only itself, as does waiting for space in a queue: \
               that PE 1 has received a message of PE 0 does not make visible what PE 0 had written to memory before. \
               Send the values, or put a barrier between the two lines that both PEs pass.",
    },
    CodePage {
        code: codes::WRITE_WRITE,
        title: "a race between two writes",
        page: "Two PEs write the same elements, and no barrier stands between the two, so either value may remain, even \
               where both are equal today. Let one PE write each element, guard the store with `if pe_id() == 0`, use an \
               atomic, or put a barrier between.",
    },
    CodePage {
        code: codes::ATOMIC,
        title: "a race between an atomic and a plain access",
        page: "Atomics do not race with each other, but a plain load or store beside them does: a load sees some of the \
               atomics, a store loses some. Put a barrier between the atomics and the plain access, for example between \
               clearing a counter and adding to it.",
    },
    CodePage {
        code: codes::UNWRITTEN,
        title: "a read of elements that nothing has written",
        page: "A tensor made by `Tensor::uninit` holds no values until a kernel writes them: a load or an atomic of an \
               element before that reads whatever is there. All other tensors count as written by the host, and what one \
               launch writes stays written for the next. Give the tensor values (`Tensor::zeros` for something that is \
               added to), or write each element first. Tiles need no such check: a tile has a value where it is defined.",
    },
];

/// Two lines that race, the one that writes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Lines {
    first: Line,
    second: Line,
    param: usize,
}

/// A line of the kernel. Copies that unrolling makes of an op are one; ops without a place differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Line {
    loc: LocId,
    kind: Kind,
    placeless: Option<OpId>,
}

/// All races of two lines.
#[derive(Debug)]
struct Race {
    /// The smallest program ids that met it, and where.
    first: Access,
    second: Access,
    bounds: Bounds,
    /// The cube barrier that the later of the two had passed.
    cube_barrier: Option<OpId>,
    /// Which of the two ran first.
    first_is_earlier: bool,
    /// A chain of messages led from the earlier to the later; its first.
    message: Option<Received>,
    pes: FxHashSet<usize>,
    /// Two of them are in different cubes.
    crosses: bool,
}

/// All reads of unwritten elements at one op.
#[derive(Debug)]
struct Unwritten {
    pe: usize,
    bounds: Bounds,
    count: u64,
    /// Who writes some of them later: of the smallest program id, the first.
    later: Option<Access>,
}

#[derive(Debug, Default)]
pub(super) struct Findings {
    /// By the ops, the one that writes first, and the parameter.
    races: FxHashMap<(OpId, OpId, usize), Race>,
    unwritten: BTreeMap<(OpId, usize), Unwritten>,
}

impl Findings {
    /// `earlier`, which has happened, races with `later`, which happens now.
    pub(super) fn race(
        &mut self,
        param: usize,
        (earlier, later): (&Access, &Access),
        bounds: Bounds,
        clocks: &Clocks,
        messages: &Messages,
    ) {
        let order = |a: &Access| (a.kind, a.op, a.pe);
        let first_is_earlier = order(earlier) <= order(later);
        let (first, second) = if first_is_earlier { (*earlier, *later) } else { (*later, *earlier) };
        let found = || Race {
            first,
            second,
            bounds: bounds.clone(),
            cube_barrier: clocks.cube_barrier(later.pe),
            first_is_earlier,
            message: messages.chain(earlier.pe, earlier.events, later.pe),
            pes: FxHashSet::default(),
            crosses: false,
        };
        let race = self.races.entry((first.op, second.op, param)).or_insert_with(found);
        match (first.pe, second.pe).cmp(&(race.first.pe, race.second.pe)) {
            std::cmp::Ordering::Less => {
                let (pes, crosses) = (std::mem::take(&mut race.pes), race.crosses);
                *race = Race { pes, crosses, ..found() };
            }
            std::cmp::Ordering::Equal => race.bounds.cover(&bounds),
            std::cmp::Ordering::Greater => {}
        }
        race.pes.extend([first.pe, second.pe]);
        race.crosses |= !clocks.same_cube(first.pe, second.pe);
    }
    /// `access` reads elements that nothing has written.
    pub(super) fn unwritten(&mut self, param: usize, access: &Access, view: &View<'_>, part: Range<usize>) {
        let (count, bounds) = (part.len() as u64, view.bounds(part));
        let new = || Unwritten { pe: access.pe, bounds: bounds.clone(), count: 0, later: None };
        let known = self.unwritten.entry((access.op, param)).or_insert_with(new);
        known.count += count;
        match access.pe.cmp(&known.pe) {
            std::cmp::Ordering::Less => (known.pe, known.bounds) = (access.pe, bounds),
            std::cmp::Ordering::Equal => known.bounds.cover(&bounds),
            std::cmp::Ordering::Greater => {}
        }
    }

    /// `write` is the first to write elements that `read` has read.
    pub(super) fn written_later(&mut self, param: usize, read: &Access, write: &Access) {
        if let Some(known) = self.unwritten.get_mut(&(read.op, param))
            && known.later.is_none_or(|later| write.pe < later.pe)
        {
            known.later = Some(*write);
        }
    }

    /// The pairs of lines that race, and the parameter.
    #[cfg(test)]
    pub(super) fn lines(&self) -> impl Iterator<Item = (OpId, OpId, usize)> {
        self.races.keys().copied()
    }
    /// By line and parameter: elements read before anything wrote them, and the smallest program that did.
    #[cfg(test)]
    pub(super) fn counts(&self) -> impl Iterator<Item = ((OpId, usize), (u64, usize))> {
        self.unwritten.iter().map(|(at, of)| (*at, (of.count, of.pe)))
    }

    pub(super) fn report(&self, scene: Scene<'_>, clocks: &Clocks) -> Diagnostics {
        let races = self.by_lines(scene.module);
        let mut out: Vec<Diagnostic> = races.iter().map(|(lines, of)| race(scene, clocks, lines.param, of)).collect();
        for ((op, param), of) in &self.unwritten {
            // It would have been written, had the other program been faster: that is the race.
            let is_race = self.races.keys().any(|(_, second, p)| (second, p) == (op, param));
            if !is_race {
                out.push(unwritten(scene, *op, *param, of));
            }
        }
        Diagnostics(out)
    }
    /// One race for each pair of lines: that of the smallest programs, with the programs of all.
    fn by_lines(&self, m: &Module) -> BTreeMap<Lines, Race> {
        let mut found: Vec<(&(OpId, OpId, usize), &Race)> = self.races.iter().collect();
        found.sort_by_key(|(key, race)| (race.first.pe, race.second.pe, **key));
        let line = |a: &Access| {
            let loc = m.op(a.op).loc;
            Line { loc, kind: a.kind, placeless: (loc == LocId::UNKNOWN).then_some(a.op) }
        };
        let mut all: BTreeMap<Lines, Race> = BTreeMap::new();
        for (&(.., param), race) in found {
            let lines = Lines { first: line(&race.first), second: line(&race.second), param };
            match all.get_mut(&lines) {
                Some(known) => {
                    known.pes.extend(&race.pes);
                    known.crosses |= race.crosses;
                }
                None => {
                    let Race { ref bounds, ref pes, .. } = *race;
                    all.insert(lines, Race { bounds: bounds.clone(), pes: pes.clone(), ..*race });
                }
            }
        }
        all
    }
}

fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::Write => "writes",
        Kind::Atomic => "updates",
        Kind::Read => "reads",
    }
}

fn race(scene: Scene<'_>, clocks: &Clocks, param: usize, race: &Race) -> Diagnostic {
    let (m, what) = (scene.module, name(scene.module, param));
    let (code, message) = match (race.first.kind, race.second.kind) {
        (Kind::Write, Kind::Write) => {
            (codes::WRITE_WRITE, format!("race on `{what}`: two PEs write the same elements"))
        }
        (Kind::Atomic, _) | (_, Kind::Atomic) => {
            (codes::ATOMIC, format!("race on `{what}`: an atomic and a plain access of the same elements"))
        }
        (Kind::Write | Kind::Read, Kind::Write | Kind::Read) => {
            (codes::READ_WRITE, format!("race on `{what}`: one PE reads what another writes"))
        }
    };
    let text = |a: &Access| format!("{} {} `{what}`{} here", scene.name(a.pe), verb(a.kind), race.bounds);
    let mut d = Diagnostic::new(code, message);
    d = if race.first.op == race.second.op {
        let both = format!("{}, and so does {}", text(&race.first), scene.name(race.second.pe));
        d.at(m, m.op(race.first.op).loc, both)
    } else {
        let second = format!("{} {} it here", scene.name(race.second.pe), verb(race.second.kind));
        d.at(m, m.op(race.first.op).loc, text(&race.first)).at(m, m.op(race.second.op).loc, second)
    };
    d = missing_edge(scene, clocks, race, d);
    if race.pes.len() > 2 {
        d = d.note(format!("{} take part in races of these lines", plural(race.pes.len() as u64, "PE", "PEs")));
    }
    if race.first.op == race.second.op {
        return d.next("give each PE elements of its own, or let one do it: `if program_id() == 0 { .. }`");
    }
    let scope = if race.crosses { "Launch" } else { "Cube" };
    d.next(format!("put `barrier(Scope::{scope})` between the two, where every PE passes it"))
}

/// Why the two are not ordered: nothing stands between them, or something that orders no memory.
fn missing_edge(scene: Scene<'_>, clocks: &Clocks, race: &Race, mut d: Diagnostic) -> Diagnostic {
    let m = scene.module;
    let (earlier, later) =
        if race.first_is_earlier { (&race.first, &race.second) } else { (&race.second, &race.first) };
    let near = !clocks.same_cube(earlier.pe, later.pe) && clocks.passed_cube_barrier_since(earlier);
    let cube_barrier = race.cube_barrier.filter(|_| near);
    if let Some(message) = race.message {
        let from = scene.name(message.from);
        d = d.at(m, m.op(message.send).loc, format!("a message of {from} goes out here"));
        d = d.at(m, m.op(message.recv).loc, "and arrives here");
        d = d.note(format!("the message from {from} orders only itself, not memory; a barrier is missing"));
    } else if cube_barrier.is_none() {
        d = d.note("no barrier that both pass stands between them");
    }
    if let Some(op) = cube_barrier {
        d = d.at(m, m.op(op).loc, "this barrier orders the PEs of one cube; the two are in different cubes");
    }
    d
}

fn unwritten(scene: Scene<'_>, op: OpId, param: usize, of: &Unwritten) -> Diagnostic {
    let (m, what) = (scene.module, name(scene.module, param));
    let count = plural(of.count, "element", "elements");
    let first = format!("first by {}: `{what}`{}", scene.name(of.pe), of.bounds);
    let d = Diagnostic::new(codes::UNWRITTEN, format!("{count} of `{what}` read before anything has written them")).at(
        m,
        m.op(op).loc,
        first,
    );
    let made = format!("`{what}` was made without values (`Tensor::uninit`)");
    match of.later {
        None => d.note(made).next("write each element first, or launch with `Tensor::zeros`"),
        Some(write) if write.op == op => d.note(made).next("launch with `Tensor::zeros`"),
        Some(write) => d
            .at(m, m.op(write.op).loc, format!("{} writes some of them only later, here", scene.name(write.pe)))
            .note(made)
            .next("let the write come first, with a barrier between the two if they are of different PEs"),
    }
}
