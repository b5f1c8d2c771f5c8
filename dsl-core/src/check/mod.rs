//! What can be said of a launch's messages and barriers before it runs: do sends and receives match, do barriers meet,
//! and are the queues deep enough. Each program is walked over the scalars that decide what it sends and receives (ids,
//! parameters, constants, lengths), never over tiles; loops take turns as in a run, so memory stays bounded.
//!
//! `slice.rs`: which ops a walk needs. `walker.rs`: one program. `abstract_run.rs`: all programs, with queues of a depth.
//! `capacity.rs`: which depths suffice. `errors.rs`: codes and texts of its own; faults that a run meets too have the
//! run's codes and words (`interp::stall`, `interp::halted`).
//!
//! Kept true: an error here is an error of every run that reaches it. What follows data is left to the run (a remark).
//! Programs are deterministic and each queue has one sender and one receiver, so the order in which programs are walked
//! never shows in what is found.

mod abstract_run;
mod capacity;
mod errors;
mod slice;
mod walker;

pub use capacity::{Capacity, Sufficient};
pub use errors::CODES;

use crate::diag::{Diagnostics, Label};
use crate::interp::Mesh;
use crate::interp::stall::Scene;
use crate::ir::{Literal, Module};
use crate::launch::{Arg, Grid, Ready};
use crate::passes;
use abstract_run::{AbstractRun, Depths};
use slice::Slice;
use std::borrow::Cow;

/// A launch as far as control can depend on it: what is known of it before it runs.
#[derive(Clone, Debug)]
pub struct Shape<'m> {
    /// After `passes::expand`.
    pub module: Cow<'m, Module>,
    pub grid: Grid,
    pub mesh: Mesh,
    /// Messages a queue holds.
    pub depth: u32,
    /// One per parameter.
    pub params: Vec<Param>,
}

/// What is known of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    Scalar(Literal),
    /// The lengths of a view, outermost axis first.
    View(Vec<usize>),
}

impl<'m> Shape<'m> {
    /// `default_depth`: what the backend takes where the launch does not say.
    pub fn of(ready: &'m Ready<'_>, mesh: Mesh, default_depth: u32) -> Shape<'m> {
        let param = |arg: &Arg<'_>| match arg {
            Arg::Scalar(value) => Param::Scalar(*value),
            Arg::View(t) => Param::View(t.dims.clone()),
            Arg::ViewMut(t) => Param::View(t.dims.clone()),
        };
        Shape {
            module: passes::expand(&ready.module),
            grid: ready.config.grid,
            mesh,
            depth: ready.config.queue_depth.unwrap_or(default_depth),
            params: ready.args.iter().map(param).collect(),
        }
    }
    fn scene(&self) -> Scene<'_> {
        Scene { module: &self.module, grid: self.grid }
    }
}

/// How far a check goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Ops that all programs together may take in one pass over the launch; a few seconds' worth.
    pub max_steps: u64,
    /// Programs of a launch; with messages or barriers, all of them have to be resident at once.
    pub max_programs: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_steps: 20_000_000, max_programs: 1 << 18 }
    }
}

/// Something that is left to the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    pub text: String,
    /// Where; `None` if the module has no locations.
    pub at: Option<Label>,
}

impl std::fmt::Display for Remark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.at {
            Some(at) => write!(f, "remark: {}: {}", at.place, self.text),
            None => write!(f, "remark: {}", self.text),
        }
    }
}

/// What a check finds.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Findings {
    /// Faults that every run meets, unless another stops it first.
    pub errors: Diagnostics,
    pub remarks: Vec<Remark>,
    /// Ops that were walked.
    pub steps: u64,
}

/// Checks the messages and barriers of a launch at its queue depth.
pub fn check(shape: &Shape<'_>, limits: &Limits) -> Findings {
    let slice = Slice::of(&shape.module);
    if !slice.communicates() || shape.grid.num_programs() == Some(0) {
        return Findings::default();
    }
    if too_many(shape, limits) {
        return Findings { remarks: vec![errors::too_many_programs(shape)], ..Findings::default() };
    }
    let bounded = AbstractRun::new(shape, &slice, Depths::uniform(shape.depth), limits).run();
    let (found, remarks, steps) = (bounded.errors(shape), bounded.remarks(shape), bounded.steps);
    if found.is_empty() {
        return Findings { errors: found, remarks, steps };
    }
    // With queues that are never full, only true faults stay.
    let unbounded = AbstractRun::new(shape, &slice, Depths::UNBOUNDED, limits).run();
    let (errors, remarks) = (unbounded.errors(shape), unbounded.remarks(shape));
    if !errors.is_empty() {
        return Findings { errors, remarks, steps: steps + unbounded.steps };
    }
    let enough = capacity::search(shape, &slice, &unbounded, limits);
    let errors = errors::capacity(shape, &bounded, enough.as_ref()).into();
    Findings { errors, remarks, steps: steps + unbounded.steps }
}

/// Whether the launch completes with queues of its depth, and if not, with which it does: for a backend that would like
/// to make do with fewer slots than the launch asks for.
pub fn capacity(shape: &Shape<'_>, limits: &Limits) -> Capacity {
    let slice = Slice::of(&shape.module);
    if !slice.communicates() || shape.grid.num_programs() == Some(0) {
        return Capacity::Enough;
    }
    if too_many(shape, limits) {
        return Capacity::Unknown(vec![errors::too_many_programs(shape)]);
    }
    capacity::of(shape, &slice, limits)
}

fn too_many(shape: &Shape<'_>, limits: &Limits) -> bool {
    shape.grid.num_programs().is_none_or(|n| n > limits.max_programs)
}
