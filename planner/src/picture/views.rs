//! All pictures, by name.

use super::{Scene, charts, pe, pipeline, searches, sip, tensors};
use crate::errors::Fault;
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::Options;
use crate::roofline::{Roofline, roofline};
use crate::step::{Step, step};
use crate::topology::{Topology, Work};

/// What pictures are of.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub model: &'a Model,
    pub machine: &'a Machine,
    pub topology: Topology,
    pub work: Work,
    pub options: Options,
    pub inputs: Inputs<f64>,
    pub step: Step<f64>,
}

impl<'a> Subject<'a> {
    pub fn new(
        model: &'a Model,
        machine: &'a Machine,
        topology: Topology,
        work: Work,
        options: Options,
    ) -> Subject<'a> {
        let inputs = Inputs::new(model, machine, &topology, &work);
        Subject { model, machine, topology, work, options, inputs, step: evaluate(&inputs, options) }
    }
    /// The step with some inputs changed.
    pub(super) fn step_with(&self, change: impl FnOnce(&mut Inputs<f64>)) -> Step<f64> {
        let mut inputs = self.inputs;
        change(&mut inputs);
        evaluate(&inputs, self.options)
    }
    pub(super) fn roofline(&self, change: impl FnOnce(&mut Inputs<f64>)) -> Roofline<f64> {
        let mut inputs = self.inputs;
        change(&mut inputs);
        evaluate_roofline(&inputs, self.options)
    }
}

/// `step` is written to be inlined into searches; here once is enough.
#[inline(never)]
fn evaluate(inputs: &Inputs<f64>, o: Options) -> Step<f64> {
    step(inputs, o)
}
#[inline(never)]
fn evaluate_roofline(inputs: &Inputs<f64>, o: Options) -> Roofline<f64> {
    roofline(inputs, inputs.experts / inputs.active, o)
}

/// A picture: its name on the command line, what it shows, and how it is drawn at a width in pixels.
pub struct View {
    pub name: &'static str,
    pub what: &'static str,
    pub draw: fn(&Subject<'_>, f64) -> Scene,
}

pub const VIEWS: [View; 15] = [
    View {
        name: "sip",
        what: "SIPs, cubes and PEs, coloured by rank; groups as blocks",
        draw: |s, width| sip::topology(&s.inputs, &s.step, sip::Packing::Blocks, width),
    },
    View {
        name: "sip-rows",
        what: "the same, groups as rows",
        draw: |s, width| sip::topology(&s.inputs, &s.step, sip::Packing::Rows, width),
    },
    View { name: "pe", what: "heads and bytes of each PE", draw: |s, width| pe::layout(&s.inputs, &s.step, width) },
    View {
        name: "tensors",
        what: "how each tensor is cut",
        draw: |s, width| tensors::sharding(&s.inputs, &s.step, width),
    },
    View {
        name: "pipeline",
        what: "the stages of a layer, coloured by bound",
        draw: |s, width| pipeline::pipeline(&s.step, if s.inputs.decode { 1.0 } else { s.inputs.cp }, width),
    },
    View { name: "roofline", what: "part of the peak against context", draw: charts::utilisation },
    View { name: "batch", what: "step and token against requests, with the knee", draw: charts::batch },
    View { name: "intensity", what: "B* against products and bandwidth", draw: charts::intensity },
    View { name: "memory-context", what: "memory of a PE against context", draw: charts::memory_context },
    View { name: "memory-requests", what: "memory of a PE against requests", draw: charts::memory_requests },
    View { name: "steps", what: "TTFT and TPOT against context", draw: charts::steps },
    View { name: "pareto", what: "every deployment: PEs, latency, efficiency", draw: searches::pareto },
    View { name: "knobs", what: "one knob of parallelism at a time", draw: searches::knobs },
    View { name: "tornado", what: "each value of the machine doubled and halved", draw: searches::machine_tornado },
    View { name: "joint", what: "machines and their best deployments: cost and latency", draw: searches::joint },
];

/// # Errors
/// No picture has this name.
pub fn view(name: &str) -> Result<&'static View, Fault> {
    let found = VIEWS.iter().find(|v| v.name == name);
    found.ok_or_else(|| Fault::Choice {
        what: "--view",
        found: name.to_string(),
        known: VIEWS.iter().map(|v| v.name.to_string()).collect(),
    })
}
