//! The simulator as a backend: values by the core's interpreter, time by the timing pass or a rougher estimate of the same
//! programs, over one and the same module.

use super::hardware::mesh;
use super::launch::{Launch, Operand, User};
use super::result::Limits;
use super::sim::Compiled;
use super::watch::Watch;
use crate::fidelity::{self, Choice, Estimate};
use crate::machine::Machine;
use crate::units::Ps;
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::{ControlTrace, Interp, Options, Printed};
use tilewright_core::ir::Literal;
use tilewright_core::launch::{Arg, Backend, Ready};
use tilewright_core::passes;
use tilewright_core::tensor::AnyTensor;

/// Whether a launch computes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Values, then time.
    Computed,
    /// Time alone; tensors may be shapes, unless time depends on them.
    TimingOnly,
}

/// Runs launches on the model of a machine.
#[derive(Clone, Debug)]
pub struct SimBackend {
    pub machine: Machine,
    pub values: Values,
    /// How time is found.
    pub fidelity: Choice,
    pub limits: Limits,
    /// Who looks on while time passes.
    pub watch: Option<Arc<Watch>>,
    /// Of the functional run; its mesh is the machine's.
    pub options: Options,
    prints: Vec<Printed>,
}

/// What a run tells besides values.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub estimate: Estimate,
    /// What the programs printed; nothing without values.
    pub prints: Vec<Printed>,
}

impl SimBackend {
    /// Values and time, with the usual limits.
    pub fn new(machine: Machine) -> SimBackend {
        let options = Options { mesh: mesh(&machine), ..Options::default() };
        SimBackend {
            machine,
            values: Values::Computed,
            fidelity: Choice::default(),
            limits: Limits::default(),
            watch: None,
            options,
            prints: Vec::new(),
        }
    }
    /// Time alone.
    pub fn timing_only(self) -> SimBackend {
        SimBackend { values: Values::TimingOnly, ..self }
    }
    /// The same at another fidelity.
    pub fn at(self, fidelity: Choice) -> SimBackend {
        SimBackend { fidelity, ..self }
    }
    /// What the last launch printed, also if it failed.
    pub fn prints(&self) -> &[Printed] {
        &self.prints
    }
    fn estimate(&self, user: User<'_>) -> Result<Estimate, Diagnostics> {
        let users = [user];
        let compiled = Compiled::of(&self.machine, &users)?.watched(self.watch.as_deref());
        fidelity::estimate(&compiled, self.fidelity, self.limits)
    }
    fn computed(&mut self, launch: Ready<'_>) -> Result<Report, Diagnostics> {
        // The functional run takes the arguments; timing needs only what they look like, and its control trace.
        let shapes: Vec<Shape> = launch.args.iter().map(Shape::of).collect();
        let (module, config) = (Arc::clone(&launch.module), launch.config);
        let user = |trace| User {
            module: &module,
            args: shapes.iter().map(Shape::operand).collect(),
            config,
            first_cube: 0,
            start: Ps::ZERO,
            trace,
        };
        // What cannot be timed is not computed first.
        Launch::check(&self.machine, &user(None))?;
        let mut interp = Interp::new(self.options);
        let outcome = interp.execute(launch);
        self.prints = interp.prints().to_vec();
        let outcome = outcome?;
        let control: &ControlTrace = &outcome.control;
        let estimate = self.estimate(user(Some(control)))?;
        Ok(Report { estimate, prints: outcome.prints })
    }
}

impl Backend for SimBackend {
    type Report = Report;
    fn execute(&mut self, launch: Ready<'_>) -> Result<Report, Diagnostics> {
        self.prints.clear();
        let mut launch = Ready { module: Arc::new(passes::for_timing(&launch.module)), ..launch };
        // Both passes run with the same queues.
        launch.config.queue_depth.get_or_insert(self.machine.queue.depth);
        match self.values {
            Values::Computed => self.computed(launch),
            Values::TimingOnly => {
                let estimate = self.estimate(User::alone(&launch.module, &launch))?;
                Ok(Report { estimate, prints: Vec::new() })
            }
        }
    }
}

/// An argument without its elements.
enum Shape {
    View(AnyTensor),
    Scalar(Literal),
}

impl Shape {
    fn of(arg: &Arg<'_>) -> Shape {
        let shape = |t: &AnyTensor| {
            let (dims, placement) = (t.dims.clone(), t.placement.clone());
            Shape::View(AnyTensor::new(t.elem, dims, None, placement))
        };
        match arg {
            Arg::View(t) => shape(t),
            Arg::ViewMut(t) => shape(t),
            Arg::Scalar(s) => Shape::Scalar(*s),
        }
    }
    fn operand(&self) -> Operand<'_> {
        match self {
            Shape::View(t) => Operand::View(t),
            Shape::Scalar(s) => Operand::Scalar(*s),
        }
    }
}
