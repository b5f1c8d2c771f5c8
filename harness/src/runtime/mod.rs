//! What a program hands to `.run(&mut runtime)`: one of the backends, chosen at run time; and what a run tells.
//! `gpu.rs`: backends that run PTX.

mod gpu;

pub use gpu::{Gpu, GpuReport};

use crate::cli::{Cell, Facts};
use crate::errors;
use crate::registry::Limits;
use crate::target::{Arch, Target};
use std::fmt;
use std::sync::Arc;
use tilewright_core::check::{self, Remark, Shape};
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::{self, Interp, Mesh, Printed};
use tilewright_core::launch::{Backend, DEFAULT_QUEUE_DEPTH, Ready};
use tilewright_core::passes;
use tilewright_cuda::driver;
use tilewright_cuda::emulator::{Emulator, Schedule};
use tilewright_cuda::launch::Device;
use tilewright_sim::fidelity::{Choice, Estimate, Gap, Roofline};
use tilewright_sim::machine::{FieldId, FieldSet, Machine, Status};
use tilewright_sim::report::{EngineSummary, Fidelity, Summary};
use tilewright_sim::timing::{SimBackend, Timing, Watch};

/// A backend. Values never depend on which one it is, apart from rounding inside sums and products.
#[derive(Debug)]
pub enum Runtime {
    Sim(Box<SimBackend>),
    Reference(Interp),
    PtxEmu(Box<Gpu<Emulator>>),
    Cuda(Box<Gpu<driver::Gpu>>),
}

/// What a run tells besides the values in its tensors. Its text is for the eye; [`Report::metrics`] are for a program.
#[derive(Clone, Debug)]
pub enum Report {
    Sim(Box<SimReport>),
    Reference(interp::Outcome),
    Gpu(Box<GpuReport>),
}

/// What a run on the machine model tells.
#[derive(Clone, Debug)]
pub struct SimReport {
    pub timing: Timing,
    pub summary: Summary,
    /// If it was asked for.
    pub roofline: Option<Roofline>,
    /// Between the three fidelities, if all were asked for.
    pub gap: Option<Gap>,
    /// The lines that the kernel printed, program by program.
    pub prints: Vec<Printed>,
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
        Runtime::Sim(Box::new(SimBackend::new(machine)))
    }
    /// The interpreter that defines every op: values, no time.
    pub fn reference() -> Runtime {
        Runtime::Reference(Interp::default())
    }
    /// The emulator of the PTX that is compiled for this architecture.
    pub fn ptx_emu(arch: Arch) -> Runtime {
        Runtime::PtxEmu(Box::new(Gpu::new(Emulator::new(arch))))
    }
    /// The first NVIDIA GPU.
    ///
    /// # Errors
    /// There is no driver or no GPU, or one of them is too old.
    pub fn cuda() -> Result<Runtime, Diagnostics> {
        driver::Gpu::open(0).map(Runtime::gpu)
    }
    /// This NVIDIA GPU.
    #[cfg_attr(not(feature = "cuda"), expect(unreachable_code, reason = "no such program has one"))]
    pub fn gpu(gpu: driver::Gpu) -> Runtime {
        Runtime::Cuda(Box::new(Gpu::new(gpu)))
    }
    /// The backend of a target; `arch` is what the emulator emulates.
    ///
    /// # Errors
    /// It is not there.
    pub fn on(target: Target, machine: &Machine, arch: Arch) -> Result<Runtime, Diagnostics> {
        match target {
            Target::Sim => Ok(Runtime::sim_with(machine.clone())),
            Target::Reference => Ok(Runtime::reference()),
            Target::Cuda => Runtime::cuda(),
            Target::PtxEmu => Ok(Runtime::ptx_emu(arch)),
        }
    }
    /// The same without data: time alone.
    ///
    /// # Errors
    /// The backend has no clock.
    pub fn timing_only(self) -> Result<Runtime, Diagnostics> {
        match self {
            Runtime::Sim(sim) => Ok(Runtime::Sim(Box::new(sim.timing_only()))),
            Runtime::Reference(_) | Runtime::PtxEmu(_) | Runtime::Cuda(_) => {
                Err(errors::no_clock("--timing-only", self.target()).into())
            }
        }
    }
    /// The same at another fidelity.
    ///
    /// # Errors
    /// The backend has no clock.
    pub fn fidelity(self, choice: Choice) -> Result<Runtime, Diagnostics> {
        match self {
            Runtime::Sim(sim) => Ok(Runtime::Sim(Box::new(sim.at(choice)))),
            Runtime::Reference(_) | Runtime::PtxEmu(_) | Runtime::Cuda(_) => {
                Err(errors::no_clock("--fidelity", self.target()).into())
            }
        }
    }
    /// The same with the emulator's warps, blocks and copies mixed as a seed says.
    ///
    /// # Errors
    /// The backend is not the emulator.
    pub fn scheduled(mut self, seed: u64) -> Result<Runtime, Diagnostics> {
        let target = self.target();
        match &mut self {
            Runtime::PtxEmu(gpu) => gpu.device.limits.schedule = Schedule::Random(seed),
            Runtime::Sim(_) | Runtime::Reference(_) | Runtime::Cuda(_) => {
                return Err(errors::no_schedule(target).into());
            }
        }
        Ok(self)
    }
    /// The same, with races between programs and reads of unwritten elements as errors.
    pub fn check_races(mut self) -> Runtime {
        match &mut self {
            Runtime::Sim(sim) => sim.options.check_races = true,
            Runtime::Reference(interp) => interp.options.check_races = true,
            // One always looks for what it can find, the other cannot.
            Runtime::PtxEmu(_) | Runtime::Cuda(_) => {}
        }
        self
    }
    /// What the last launch printed, program by program, also if it failed.
    pub fn prints(&self) -> &[Printed] {
        match self {
            Runtime::Sim(sim) => sim.prints(),
            Runtime::Reference(interp) => interp.prints(),
            Runtime::PtxEmu(gpu) => &gpu.prints,
            Runtime::Cuda(gpu) => &gpu.prints,
        }
    }
    /// What a timing run tells another thread of how far it has come; a backend without a clock tells nothing.
    pub fn watch(&mut self) -> Option<Arc<Watch>> {
        match self {
            Runtime::Sim(sim) => Some(Arc::clone(sim.watch.get_or_insert_default())),
            Runtime::Reference(_) | Runtime::PtxEmu(_) | Runtime::Cuda(_) => None,
        }
    }
    pub fn target(&self) -> Target {
        match self {
            Runtime::Sim(_) => Target::Sim,
            Runtime::Reference(_) => Target::Reference,
            Runtime::PtxEmu(_) => Target::PtxEmu,
            Runtime::Cuda(_) => Target::Cuda,
        }
    }
    /// What stands behind it, as results name it.
    pub fn device(&self) -> String {
        match self {
            Runtime::Sim(sim) => sim.machine.name.to_string(),
            Runtime::Reference(_) => "interpreter".to_string(),
            Runtime::PtxEmu(gpu) => gpu.device_name(),
            Runtime::Cuda(gpu) => gpu.device_name(),
        }
    }
    /// What a launch contract needs to know of the place where the kernel will run.
    pub fn limits(&self) -> Limits {
        let target = self.target();
        match self {
            Runtime::Sim(sim) => Limits { target, arch: None, scratch_bytes: sim.machine.scratch.capacity.0 },
            Runtime::Reference(_) => Limits { target, arch: None, scratch_bytes: u64::MAX },
            Runtime::PtxEmu(gpu) => Limits::gpu(target, gpu.device.target()),
            Runtime::Cuda(gpu) => Limits::gpu(target, gpu.device.target()),
        }
    }
    /// Checks the messages and barriers of a launch before it runs; what only the run can tell comes back as remarks.
    ///
    /// # Errors
    /// Sends and receives that do not match, barriers that do not meet, queues that are too small.
    pub fn check(&self, launch: &Ready<'_>) -> Result<Vec<Remark>, Diagnostics> {
        let (mesh, depth) = match self {
            Runtime::Sim(sim) => (sim.options.mesh, sim.machine.queue.depth),
            Runtime::Reference(interp) => (interp.options.mesh, DEFAULT_QUEUE_DEPTH),
            Runtime::PtxEmu(_) | Runtime::Cuda(_) => (Mesh::default(), DEFAULT_QUEUE_DEPTH),
        };
        let found = check::check(&Shape::of(launch, mesh, depth), &check::Limits::default());
        found.errors.finish().map(|()| found.remarks)
    }
}

impl Backend for Runtime {
    type Report = Report;
    fn execute(&mut self, launch: Ready<'_>) -> Result<Report, Diagnostics> {
        passes::refuse_denied(&launch)?;
        match self {
            Runtime::Sim(sim) => {
                let run = sim.execute(launch)?;
                let Estimate { fidelity, timing, roofline, gap } = run.estimate;
                let summary = Summary::of_run(&sim.machine, &timing, fidelity, None);
                Ok(Report::Sim(Box::new(SimReport { timing, summary, roofline, gap, prints: run.prints })))
            }
            Runtime::Reference(interp) => interp.execute(launch).map(Report::Reference),
            Runtime::PtxEmu(gpu) => gpu.execute(Target::PtxEmu, launch).map(Box::new).map(Report::Gpu),
            Runtime::Cuda(gpu) => gpu.execute(Target::Cuda, launch).map(Box::new).map(Report::Gpu),
        }
    }
}

impl Report {
    /// The same, of a run on random inputs of this seed.
    pub fn seeded(mut self, seed: Option<u64>) -> Report {
        if let Report::Sim(sim) = &mut self {
            sim.summary.provenance.seed = seed;
        }
        self
    }
    /// The lines that the kernel printed, program by program.
    pub fn prints(&self) -> &[Printed] {
        match self {
            Report::Sim(sim) => &sim.prints,
            Report::Reference(outcome) => &outcome.prints,
            Report::Gpu(gpu) => &gpu.prints,
        }
    }
    /// What was measured.
    pub fn metrics(&self) -> Vec<Metric> {
        match self {
            Report::Sim(sim) => sim.metrics(),
            Report::Reference(outcome) => vec![metric("steps", outcome.steps)],
            Report::Gpu(gpu) => gpu.metrics(),
        }
    }
    /// Backend, machine, fidelity, what the result rests on: what every result says of itself.
    pub fn facts(&self) -> Facts {
        match self {
            Report::Sim(sim) => sim.facts(),
            Report::Reference(_) => vec![fact("backend", Target::Reference.name())],
            Report::Gpu(gpu) => gpu.facts(),
        }
    }
}

/// For the eye.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Sim(sim) => sim.fmt(f),
            Report::Reference(outcome) => write!(f, "{}, {} ops run", Target::Reference, outcome.steps),
            Report::Gpu(gpu) => gpu.fmt(f),
        }
    }
}

impl SimReport {
    fn metrics(&self) -> Vec<Metric> {
        let Timing { wall, n_pe, sums, events, .. } = &self.timing;
        let moved = (sums.read_bytes + sums.write_bytes + sums.stream_bytes) as f64;
        let mut metrics = vec![
            metric("wall_us", wall.as_us()),
            metric("n_pe", *n_pe),
            metric("hbm_read_bytes", sums.read_bytes + sums.stream_bytes),
            metric("hbm_write_bytes", sums.write_bytes),
            metric("ipcq_bytes", sums.ipcq_bytes),
            // Bytes per ns are GB/s.
            metric("hbm_gb_per_s", if wall.0 == 0 { 0.0 } else { moved / wall.as_ns() }),
            metric("events", *events),
        ];
        metrics.extend(self.summary.engines.iter().flat_map(shares));
        metrics.extend(self.roofline.iter().flat_map(bounds));
        metrics.extend(self.gap.iter().flat_map(gaps));
        metrics
    }
    fn facts(&self) -> Facts {
        let from = &self.summary.provenance;
        let mut facts = vec![
            fact("backend", from.backend),
            fact("machine", format!("{} ({}); {}", from.machine, from.machine_hash, from.note)),
            fact("fidelity", from.fidelity),
        ];
        facts.extend(from.event_hash.map(|hash| fact("event hash", hash)));
        facts.extend(assumed(&from.assumed));
        facts.extend(set(from.set.iter().map(|s| format!("{} = {}", s.field, s.value))));
        facts
    }
}

/// The gap, if there is one; the bounds of a roofline; then the summary.
impl fmt::Display for SimReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.gap, &self.roofline) {
            (Some(gap), _) => writeln!(f, "{gap}")?,
            (None, Some(roofline)) => {
                writeln!(f, "{}", roofline.why())?;
                roofline.own.iter().skip(1).try_for_each(|bound| writeln!(f, "then {bound}"))?;
            }
            (None, None) => {}
        }
        write!(f, "{}", self.summary)
    }
}

/// The largest bound of each resource.
fn bounds(roofline: &Roofline) -> impl Iterator<Item = Metric> {
    let all = roofline.own.iter().chain(&roofline.shared);
    all.map(|b| metric(&format!("bound_{}_us", b.resource.name().replace('-', "_")), b.time.as_us()))
}

/// The three times, the gaps between them, and why.
fn gaps(gap: &Gap) -> [Metric; 8] {
    [
        metric("roofline_us", gap.roofline.as_us()),
        metric("schedule_us", gap.schedule.as_us()),
        metric("events_us", gap.events.as_us()),
        metric("schedule_over_roofline_percent", gap.schedule_percent()),
        metric("events_over_schedule_percent", gap.events_percent()),
        metric("roofline_why", gap.bounds.why()),
        metric("schedule_why", gap.why_schedule()),
        metric("events_why", gap.why_events()),
    ]
}

/// Percent of an engine's time in each class.
fn shares(engine: &EngineSummary) -> impl Iterator<Item = Metric> {
    engine.classes.iter().map(|share| {
        let name = format!("{}_{}_percent", engine.engine, share.class.replace('-', "_"));
        metric(&name, f64::from(share.percent.0) / 10.0)
    })
}

/// What a result says of the machine model behind it; `used`: the fields that its prices came from.
pub fn machine_facts(machine: &Machine, used: &FieldSet) -> Facts {
    let with = |status: Status| move |id: &FieldId| machine.status(*id) == status;
    let model = format!("{} ({:016x}); model, not validated on hardware", machine.name, machine.hash());
    let mut facts = vec![fact("machine", model), fact("fidelity", Fidelity::Events)];
    facts.extend(assumed(&used.iter().filter(with(Status::Assumed)).map(FieldId::path).collect::<Vec<_>>()));
    facts.extend(set(FieldId::all()
        .filter(with(Status::Set))
        .map(|id| format!("{} = {}", id.path(), machine.show(id)))));
    facts
}

fn assumed(fields: &[&str]) -> Option<(String, String)> {
    (!fields.is_empty()).then(|| fact("assumed", format!("{} (never measured or published)", fields.join(", "))))
}

fn set(fields: impl Iterator<Item = String>) -> Option<(String, String)> {
    let fields: Vec<String> = fields.collect();
    (!fields.is_empty()).then(|| fact("set", fields.join(", ")))
}

fn metric(name: &str, value: impl Into<Cell>) -> Metric {
    (name.to_string(), value.into())
}

fn fact(name: &str, text: impl ToString) -> (String, String) {
    (name.to_string(), text.to_string())
}
