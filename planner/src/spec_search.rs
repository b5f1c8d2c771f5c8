//! Four rates of the machine, searched over three shapes at once: a decode step, a prefill, and agents over a shared prefix.
//! The deployment stays; what moves is products, the MATH engine, and the two outer links.

use crate::fanout::{Agents, fanout};
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::{Opt, Options};
use crate::pareto::frontier;
use crate::step::step;
use crate::topology::{Phase, Topology, Work};

/// A rate that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Gemm,
    Math,
    Inter,
    Intersip,
}

impl Axis {
    pub const ALL: [Axis; 4] = [Axis::Gemm, Axis::Math, Axis::Inter, Axis::Intersip];
    pub const fn name(self) -> &'static str {
        match self {
            Axis::Gemm => "peak_tflops_f16",
            Axis::Math => "math_gelem_per_s",
            Axis::Inter => "bw_inter_gb_per_s",
            Axis::Intersip => "bw_intersip_gb_per_s",
        }
    }
    fn scale(self, m: &mut Machine, by: f64) {
        match self {
            Axis::Gemm => m.peak_flop_per_s *= by,
            Axis::Math => m.math_elem_per_s *= by,
            Axis::Inter => m.inter.bytes_per_s *= by,
            Axis::Intersip => m.intersip.bytes_per_s *= by,
        }
    }
}

/// Factors of each axis.
pub const FACTORS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// A machine of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// Over the base, in the order of [`Axis::ALL`].
    pub factors: [f64; 4],
    pub decode_s: f64,
    pub prefill_s: f64,
    pub fanout_s: f64,
    /// Geometric mean of the three over the base's: 1 at the base.
    pub latency_ratio: f64,
    /// Mean of the factors: 1 at the base. A proxy, which weighs the axes alike.
    pub area_ratio: f64,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct SpecSearch {
    pub specs: Vec<Spec>,
    /// Indices of those that none beats in latency and area.
    pub pareto: Vec<usize>,
    /// For each axis: what the latency ratio becomes when it alone is doubled from the base.
    pub doubled: [f64; 4],
    /// The smallest machine from which doubling any one axis gains less than the stated part.
    pub balanced: Option<usize>,
}

/// Searches the grid. `gain`: the part of the latency that is too little to be worth a doubling.
pub fn search(
    model: &Model,
    base: &Machine,
    topology: &Topology,
    s_kv: u64,
    agents: &Agents<f64>,
    gain: f64,
    o: Options,
) -> SpecSearch {
    let o = o.with(Opt::Vector);
    let times = |factors: &[f64; 4]| {
        let mut machine = *base;
        Axis::ALL.iter().zip(factors).for_each(|(axis, by)| axis.scale(&mut machine, *by));
        let inputs = |phase| Inputs::new(model, &machine, topology, &Work::new(phase, s_kv));
        let decode = inputs(Phase::Decode);
        [step(&decode, o).latency_s, step(&inputs(Phase::Prefill), o).latency_s, fanout(&decode, agents).stationary_s]
    };
    let at_base = times(&[1.0; 4]);
    let spec = |factors: [f64; 4]| {
        let now = times(&factors);
        let product: f64 = now.iter().zip(at_base).map(|(now, base)| now / base).product();
        Spec {
            factors,
            decode_s: now[0],
            prefill_s: now[1],
            fanout_s: now[2],
            latency_ratio: product.cbrt(),
            area_ratio: factors.iter().sum::<f64>() / 4.0,
        }
    };
    let specs: Vec<Spec> = grid().into_iter().map(spec).collect();
    let axes: Vec<[f64; 3]> = specs.iter().map(|s| [s.latency_ratio, s.area_ratio, 0.0]).collect();
    let with_doubled = |factors: &[f64; 4], axis: usize| {
        let mut factors = *factors;
        factors[axis] *= 2.0;
        spec(factors).latency_ratio
    };
    let enough = |s: &Spec| (0..4).all(|axis| 1.0 - with_doubled(&s.factors, axis) / s.latency_ratio < gain);
    let balanced = (0..specs.len())
        .filter(|i| enough(&specs[*i]))
        .min_by(|a, b| specs[*a].area_ratio.total_cmp(&specs[*b].area_ratio));
    SpecSearch {
        pareto: frontier(&axes),
        doubled: [0, 1, 2, 3].map(|axis| with_doubled(&[1.0; 4], axis)),
        balanced,
        specs,
    }
}

/// Every combination of factors.
fn grid() -> Vec<[f64; 4]> {
    let all = FACTORS.iter().flat_map(|a| FACTORS.iter().map(move |b| (*a, *b)));
    let all = all.flat_map(|(a, b)| FACTORS.iter().map(move |c| (a, b, *c)));
    all.flat_map(|(a, b, c)| FACTORS.iter().map(move |d| [a, b, c, *d])).collect()
}
