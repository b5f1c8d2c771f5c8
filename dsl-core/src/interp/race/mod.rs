//! Races between programs, and reads of elements that nothing has written.
//!
//! Two accesses of one element by two programs race if at least one is plain, at least one writes, and no barrier orders
//! them; whether they do depends on the kernel, not on the order in which programs happened to run. An element is written
//! if the host says so (every tensor but what is left of a `Tensor::uninit`), or once a kernel has written it. What lies
//! in a PE's scratch needs no check: every tile has one definition, and nothing can use it before.
//!
//! `order`: which accesses barriers order. `sets` and `shadow`: what happened last to each element. `messages`: what a
//! report says about messages. `report`: texts and codes. Tensors that no op writes cost nothing where they are written.
//! `against_elements`: the same by its definition, an element at a time.
//! Not here: accesses outside a view (`record`), who waits for whom (`stall`).

#[cfg(test)]
mod against_elements;
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
use order::Clocks;
use report::Findings;
use sets::{Cell, Sets};
use shadow::Shadow;
use std::ops::Range;

/// What is watched of one parameter.
#[derive(Debug)]
enum Watched {
    /// Nothing can go wrong: no program writes the tensor, and all of it is written.
    Nothing,
    /// No program writes the tensor; this of it is not written.
    ReadOnly(Unwritten),
    Written(Shadow),
}

/// The checks of one run.
#[derive(Debug)]
pub(super) struct Races {
    clocks: Clocks,
    sets: Sets,
    messages: Messages,
    /// By parameter.
    params: Vec<Watched>,
    findings: Findings,
}

impl Races {
    pub(super) fn new(grid: Grid) -> Races {
        Races {
            clocks: Clocks::new(grid),
            sets: Sets::default(),
            messages: Messages::default(),
            params: Vec::new(),
            findings: Findings::default(),
        }
    }
    /// The next parameter: one without elements to watch.
    pub(super) fn skip(&mut self) {
        self.params.push(Watched::Nothing);
    }
    /// The next parameter: a tensor of `len` elements. `written`: some program may write it. `unwritten`: what nobody has
    /// written so far.
    pub(super) fn watch(&mut self, written: bool, len: usize, unwritten: &Unwritten) {
        self.params.push(match written {
            true => Watched::Written(Shadow::new(len, unwritten)),
            false if unwritten.is_empty() => Watched::Nothing,
            false => Watched::ReadOnly(unwritten.clone()),
        });
    }
    /// A program accesses what of a window lies in its view.
    pub(super) fn access(&mut self, (pe, op): (usize, OpId), kind: Kind, at: (usize, &View<'_>), window: &Window) {
        let (param, view) = at;
        let findings = &mut self.findings;
        match self.params.get_mut(param) {
            None | Some(Watched::Nothing) => {}
            Some(Watched::ReadOnly(unwritten)) => {
                let access = self.clocks.access(pe, op, kind);
                window.runs(view, |_, first, n| {
                    unwritten.within(first..first + n).for_each(|part| findings.unwritten(param, &access, view, part));
                });
            }
            Some(Watched::Written(shadow)) => {
                let access = self.clocks.access(pe, op, kind);
                let (id, sets, clocks) = (self.sets.number(access), &mut self.sets, &self.clocks);
                let messages = &self.messages;
                // Most runs of a window meet the same cell.
                let mut last: Option<(Cell, Cell)> = None;
                let mut step = |cell: Cell, part: Range<usize>| {
                    if let Some((from, to)) = last
                        && from == cell
                    {
                        return to;
                    }
                    let mut is_well = true;
                    if cell.is_unwritten() && kind.reads() {
                        is_well = false;
                        findings.unwritten(param, &access, view, part.clone());
                    }
                    if cell.is_unwritten() && kind != Kind::Read {
                        cell.readers(sets).for_each(|read| findings.written_later(param, read, &access));
                    }
                    for other in cell.races(&access, sets, clocks) {
                        is_well = false;
                        findings.race(param, (other, &access), view.bounds(part.clone()), clocks, messages);
                    }
                    let to = cell.after(id, sets, clocks);
                    // A fault is told with all its elements.
                    last = is_well.then_some((cell, to));
                    to
                };
                window.runs(view, |_, first, n| shadow.update(first..first + n, &mut step));
            }
        }
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
    /// What of each parameter is still not written.
    pub(super) fn into_unwritten(self) -> Vec<Unwritten> {
        let left = self.params.into_iter().map(|watched| match watched {
            Watched::Nothing => Unwritten::default(),
            Watched::ReadOnly(unwritten) => unwritten,
            Watched::Written(shadow) => shadow.unwritten(),
        });
        left.collect()
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
