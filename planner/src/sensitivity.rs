//! One knob of the parallelism at a time, around one deployment.

use crate::explore::score;
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::{Opt, Options};
use crate::suggest::too_wide;
use crate::topology::{Topology, Work};

/// A knob: its name, the values it is given, and how a deployment gets them.
pub struct Knob {
    pub name: &'static str,
    pub values: &'static [u64],
    pub get: fn(&Topology) -> u64,
    set: fn(&mut Topology, u64),
}

pub const KNOBS: [Knob; 5] = [
    Knob {
        name: "cp",
        values: &[1, 2, 4, 6, 8, 10, 12, 14, 16, 24, 32, 48, 64, 96, 128, 192, 256],
        get: |t| t.cp,
        set: |t, v| t.cp = v,
    },
    Knob { name: "tp", values: &[1, 2, 4, 6, 8, 10, 12, 14, 16, 24, 32, 48, 64], get: |t| t.tp, set: |t, v| t.tp = v },
    Knob { name: "pp", values: &[1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32], get: |t| t.pp, set: |t, v| t.pp = v },
    Knob { name: "dp", values: &[1, 2, 4, 6, 8, 12, 16], get: |t| t.dp, set: |t, v| t.dp = v },
    Knob { name: "ep", values: &[1, 2, 4, 6, 8, 12, 16, 32], get: |t| t.ep, set: |t, v| t.ep = v },
];

/// One value of a knob.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub value: u64,
    /// None where the value is refused.
    pub latency_s: Option<f64>,
    /// Memory and placement.
    pub fits: bool,
}

/// The deployment itself, and every knob's samples, in the order of [`KNOBS`].
#[derive(Clone, Debug)]
pub struct Sensitivity {
    pub around: Topology,
    pub latency_s: f64,
    pub samples: Vec<(&'static str, Vec<Sample>)>,
}

/// b and ep of the deployment fall back to 1, as in the study, unless `carry` keeps them.
pub fn parallelism(model: &Model, machine: &Machine, around: &Topology, work: &Work, o: Options) -> Sensitivity {
    let around = if o.has(Opt::Carry) { *around } else { Topology { b: 1, ep: 1, ..*around } };
    let mut inputs = Inputs::new(model, machine, &around, work);
    let latency_s = score(&mut inputs, around, o).latency_s;
    let mut sample = |knob: &Knob, value: u64| {
        let mut topology = around;
        (knob.set)(&mut topology, value);
        if too_wide(model, topology.tp, topology.pp) {
            return Sample { value, latency_s: None, fits: false };
        }
        let point = score(&mut inputs, topology, o);
        Sample { value, latency_s: Some(point.latency_s), fits: point.feasible() }
    };
    let samples = KNOBS.iter().map(|k| (k.name, k.values.iter().map(|v| sample(k, *v)).collect())).collect();
    Sensitivity { around, latency_s, samples }
}
