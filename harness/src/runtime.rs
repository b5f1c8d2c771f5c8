//! What a program hands to `.run(&mut runtime)`: one of the backends, chosen at run time; and what a run tells.

use crate::cli::{Cell, Facts};
use crate::errors;
use crate::registry::Limits;
use crate::target::Target;
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::{Backend, Ready};
use tilewright_sim::machine::{FieldId, Machine, Status};

/// A backend. Values never depend on which one it is, apart from rounding inside sums and products.
#[derive(Clone)]
pub enum Runtime {
    Sim(Box<Machine>),
    Reference,
}

/// What a run tells besides the values in its tensors.
pub enum Report {
    Reference,
}

/// A figure of a report: its name, with the unit, and its value.
pub type Metric = (String, Cell);

impl Runtime {
    /// The simulator of the shipped AHBM machine.
    pub fn sim() -> Runtime {
        Runtime::sim_with(Machine::ahbm())
    }
    /// The simulator of this machine.
    pub fn sim_with(machine: Machine) -> Runtime {
        Runtime::Sim(Box::new(machine))
    }
    /// The interpreter that defines every op: values, no time.
    pub fn reference() -> Runtime {
        Runtime::Reference
    }
    /// The first NVIDIA GPU.
    ///
    /// # Errors
    /// The driver backend is not built yet.
    pub fn cuda() -> Result<Runtime, Diagnostics> {
        Err(errors::driver_not_built().into())
    }
    /// The backend of a target.
    ///
    /// # Errors
    /// It is not built.
    pub fn on(target: Target, machine: &Machine) -> Result<Runtime, Diagnostics> {
        match target {
            Target::Sim => Ok(Runtime::sim_with(machine.clone())),
            Target::Reference => Ok(Runtime::reference()),
            Target::Cuda => Runtime::cuda(),
            Target::PtxEmu => Err(errors::emulator_not_built().into()),
        }
    }
    /// The same without data: time alone.
    ///
    /// # Errors
    /// The backend has no clock.
    pub fn timing_only(self) -> Result<Runtime, Diagnostics> {
        Ok(self)
    }
    pub fn target(&self) -> Target {
        Target::Sim
    }
    /// What a launch contract needs to know of the place where the kernel will run.
    pub fn limits(&self) -> Limits {
        Limits { target: Target::Sim, scratch_bytes: 1 << 20 }
    }
    /// Backend, machine, fidelity: what every result says of itself.
    pub fn facts(&self) -> Facts {
        vec![]
    }
}
impl Report {
    pub fn metrics(&self) -> Vec<Metric> {
        vec![]
    }
}
impl Backend for Runtime {
    type Report = Report;
    fn execute(&mut self, launch: Ready<'_>) -> Result<Report, Diagnostics> {
        let _ = launch;
        Err(errors::internal("the backends are not connected yet").into())
    }
}

/// What a result says of the machine model behind it.
pub fn machine_facts(machine: &Machine) -> Facts {
    let set = FieldId::all().filter(|id| machine.status(*id) == Status::Set).map(FieldId::path);
    let set: Vec<&str> = set.collect();
    let mut facts = vec![(
        "machine".to_string(),
        format!("{} ({:016x}); model, not validated on hardware", machine.name, machine.hash()),
    )];
    if !set.is_empty() {
        facts.push(("set".to_string(), set.join(", ")));
    }
    facts
}
