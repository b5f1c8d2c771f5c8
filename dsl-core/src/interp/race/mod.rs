//! Races between programs, and reads of elements that nothing has written.
//!
//! Two accesses of one element by two programs race if at least one is plain, at least one writes, and no barrier orders
//! them; whether they do depends on the kernel, not on the order in which programs happened to run. An element is written
//! if the host says so (every tensor but what is left of a `Tensor::uninit`), or once a kernel has written it. What lies
//! in a PE's scratch needs no check: every tile has one definition, and nothing can use it before.
//!
//! `order`: which accesses barriers order. `sets` and `shadow`: what happened last to each element. `messages`: what a
//! report says about messages. `report`: texts and codes. Read-only views of written tensors cost nothing.
//! Not here: accesses outside a view (`record`), who waits for whom (`stall`).

mod messages;
mod order;
mod report;
mod sets;
mod shadow;

pub(super) use messages::{Received, Stamp};
pub(super) use order::Kind;
pub use report::CODES;

use super::memory::{View, Window};
use super::stall::Scene;
use crate::diag::Diagnostics;
use crate::ir::ops::Scope;
use crate::ir::{Module, OpId};
use crate::launch::Grid;
use crate::unwritten::Unwritten;
use messages::Messages;
use order::{Access, Clocks};
use report::Findings;
use sets::{Cell, Sets};
use shadow::Shadow;
use std::ops::Range;

/// What is watched of one parameter.
#[derive(Debug)]
struct Watched {
    /// None for a view that no program can write.
    shadow: Option<Shadow>,
    unwritten: Unwritten,
}

/// The checks of one run.
#[derive(Debug)]
pub(super) struct Races {
    clocks: Clocks,
    sets: Sets,
    messages: Messages,
    /// By parameter; none where nothing can go wrong.
    params: Vec<Option<Watched>>,
    findings: Findings,
}

impl Races {
    pub(super) fn new(grid: Grid, params: usize) -> Races {
        Races {
            clocks: Clocks::new(grid),
            sets: Sets::default(),
            messages: Messages::default(),
            params: (0..params).map(|_| None).collect(),
            findings: Findings::default(),
        }
    }
    /// Watches the tensor of a parameter. `len`: its elements. `unwritten`: those that nobody has written.
    pub(super) fn watch(&mut self, param: usize, writable: bool, len: usize, unwritten: Unwritten) {
        let shadow = writable.then(|| Shadow::new(len));
        if let Some(slot) = self.params.get_mut(param) {
            *slot = (shadow.is_some() || !unwritten.is_empty()).then_some(Watched { shadow, unwritten });
        }
    }
    /// A program accesses what of a window lies in its view.
    pub(super) fn access(&mut self, (pe, op): (usize, OpId), kind: Kind, at: (usize, &View<'_>), window: &Window) {
        let (param, view) = at;
        let Some(watched) = self.params.get_mut(param).and_then(Option::as_mut) else { return };
        let access = self.clocks.access(pe, op, kind);
        if !watched.unwritten.is_empty() {
            let findings = &mut self.findings;
            window.runs(view, |_, first, n| written(watched, &access, (param, view), first..first + n, findings));
        }
        let Some(shadow) = &mut watched.shadow else { return };
        let (id, sets, clocks) = (self.sets.number(access), &mut self.sets, &self.clocks);
        let (messages, findings) = (&self.messages, &mut self.findings);
        // Most runs of a window meet the same cell.
        let mut last: Option<(Cell, Cell)> = None;
        let mut step = |cell: Cell, part: Range<usize>| {
            if let Some((from, to)) = last
                && from == cell
            {
                return to;
            }
            let races = cell.races(id, sets, clocks);
            for other in &races {
                findings.race(param, (sets.get(*other), &access), view.bounds(part.clone()), clocks, messages);
            }
            let to = cell.after(id, sets, clocks);
            // A race is told with all its elements.
            last = races.is_empty().then_some((cell, to));
            to
        };
        window.runs(view, |_, first, n| shadow.update(first..first + n, &mut step));
    }
    pub(super) fn reached(&mut self, pe: usize, op: OpId, scope: Scope) {
        self.clocks.reached(pe, op, scope);
    }
    pub(super) fn passed(&mut self, pe: usize, scope: Scope) {
        self.clocks.passed(pe, scope);
    }
    pub(super) fn sent(&mut self, pe: usize) -> Stamp {
        Stamp { events: self.clocks.message(pe) }
    }
    pub(super) fn received(&mut self, pe: usize, message: Received) {
        let events = self.clocks.message(pe);
        self.messages.add(pe, events, message);
    }
    /// What was found, by the lines it was found at.
    pub(super) fn report(&self, scene: Scene<'_>) -> Diagnostics {
        self.findings.report(scene, &self.clocks)
    }
    /// What of each tensor is still not written.
    pub(super) fn into_unwritten(self) -> Vec<Unwritten> {
        self.params.into_iter().map(|p| p.map(|p| p.unwritten).unwrap_or_default()).collect()
    }
}

/// Checks and notes one run of neighbours.
fn written(watched: &mut Watched, access: &Access, at: (usize, &View<'_>), run: Range<usize>, findings: &mut Findings) {
    match access.kind {
        Kind::Write => {}
        Kind::Read | Kind::Atomic => {
            let (param, view) = at;
            watched.unwritten.within(run.clone()).for_each(|part| {
                findings.unwritten(param, access, part.len() as u64, view.bounds(part));
            });
        }
    }
    match access.kind {
        Kind::Read => {}
        Kind::Write | Kind::Atomic => watched.unwritten.remove(run),
    }
}

/// A box of elements: along each axis the first coordinate and the one after the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bounds(pub Vec<Range<usize>>);

impl Bounds {
    /// The smallest box around both.
    fn cover(&mut self, other: &Bounds) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = a.start.min(b.start)..a.end.max(b.end);
        }
    }
}
/// `[3, 0..64]`; nothing for a tensor without axes.
impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let axis =
            |r: &Range<usize>| if r.len() == 1 { r.start.to_string() } else { format!("{}..{}", r.start, r.end) };
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "[{}]", self.0.iter().map(axis).collect::<Vec<_>>().join(", "))
    }
}

/// The name of a parameter.
fn name(m: &Module, param: usize) -> &str {
    m.params.get(param).and_then(|v| m.value(*v).name.as_deref()).unwrap_or("a view")
}
