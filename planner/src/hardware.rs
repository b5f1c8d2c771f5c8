//! Machine and parallelism together: each machine of a grid with its best deployment.

use crate::cost::CostModel;
use crate::explore::{Point, degrees, score};
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::{Opt, Options};
use crate::pareto::frontier;
use crate::suggest::{SLACK, suggest};
use crate::topology::{CpRing, KvShardMode, Parts, Phase, Placement, Topology, Work};
use rayon::prelude::*;

/// A value of the machine that the search varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    PeHbm,
    BwHbm,
    Peak,
    BwIntra,
    BwInter,
    BwIntersip,
}

impl Knob {
    /// In the order of the search; the last varies fastest.
    pub const ALL: [Knob; 6] = [Knob::PeHbm, Knob::BwHbm, Knob::Peak, Knob::BwIntra, Knob::BwInter, Knob::BwIntersip];
    /// With its unit, as in results.
    pub const fn name(self) -> &'static str {
        match self {
            Knob::PeHbm => "pe_hbm_gb",
            Knob::BwHbm => "bw_hbm_gb_per_s",
            Knob::Peak => "peak_tflops_f16",
            Knob::BwIntra => "bw_intra_gb_per_s",
            Knob::BwInter => "bw_inter_gb_per_s",
            Knob::BwIntersip => "bw_intersip_gb_per_s",
        }
    }
    /// In the unit of its name.
    pub fn get(self, m: &Machine) -> f64 {
        match self {
            Knob::PeHbm => m.hbm_bytes / GIGA,
            Knob::BwHbm => m.hbm_bytes_per_s / GIGA,
            Knob::Peak => m.peak_flop_per_s / TERA,
            Knob::BwIntra => m.intra.bytes_per_s / GIGA,
            Knob::BwInter => m.inter.bytes_per_s / GIGA,
            Knob::BwIntersip => m.intersip.bytes_per_s / GIGA,
        }
    }
    pub fn scale(self, m: &mut Machine, by: f64) {
        match self {
            Knob::PeHbm => m.hbm_bytes *= by,
            Knob::BwHbm => m.hbm_bytes_per_s *= by,
            Knob::Peak => m.peak_flop_per_s *= by,
            Knob::BwIntra => m.intra.bytes_per_s *= by,
            Knob::BwInter => m.inter.bytes_per_s *= by,
            Knob::BwIntersip => m.intersip.bytes_per_s *= by,
        }
    }
}

const GIGA: f64 = 1e9;
const TERA: f64 = 1e12;

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The machine itself, with the smallest deployment that fits it.
    TwoStage,
    /// Each knob once and doubled.
    Balanced,
    /// Each knob once, doubled, and doubled again.
    Coarse,
}

impl Depth {
    pub const ALL: [Depth; 3] = [Depth::TwoStage, Depth::Balanced, Depth::Coarse];
    pub const NAMES: [&str; 3] = ["two_stage", "balanced", "coarse"];
    pub const fn name(self) -> &'static str {
        match self {
            Depth::TwoStage => "two_stage",
            Depth::Balanced => "balanced",
            Depth::Coarse => "coarse",
        }
    }
    fn factors(self) -> &'static [f64] {
        match self {
            Depth::TwoStage => &[1.0],
            Depth::Balanced => &[1.0, 2.0],
            Depth::Coarse => &[1.0, 2.0, 4.0],
        }
    }
}

/// What is searched for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub model: &'a Model,
    pub base: &'a Machine,
    pub work: Work,
    pub b: u64,
    pub depth: Depth,
    /// What machines cost, with the option `cost`; without it all knobs weigh alike.
    pub cost: CostModel,
    pub options: Options,
}

/// A machine with its best deployment.
#[derive(Clone, Copy, Debug)]
pub struct Joint {
    pub machine: Machine,
    /// Weighted sum of value over base: 6 at the base.
    pub cost: f64,
    pub point: Point,
}

/// A knob doubled at the best point: the deployment kept, or with `cost` searched again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubling {
    pub knob: Knob,
    pub value: f64,
    pub doubled: f64,
    pub latency_s: f64,
    pub doubled_latency_s: f64,
    /// 1 - doubled over single.
    pub speedup: f64,
    /// With `cost`: the knob halved; none if nothing fits then.
    pub halved_latency_s: Option<f64>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Search {
    pub candidates: usize,
    /// One a machine that fits, by latency, ties in the order of the grid.
    pub bests: Vec<Joint>,
    /// Indices into `bests` of those that none beats in latency and cost.
    pub pareto: Vec<usize>,
    /// At the first of `bests`, most sensitive first.
    pub sensitivity: Vec<Doubling>,
}

/// The machines of a grid, the base first.
pub fn machines(base: &Machine, depth: Depth) -> Vec<Machine> {
    Knob::ALL.iter().fold(vec![*base], |machines, knob| {
        let vary = |machine: &Machine| {
            let machine = *machine;
            depth.factors().iter().map(move |factor| {
                let mut scaled = machine;
                knob.scale(&mut scaled, *factor);
                scaled
            })
        };
        machines.iter().flat_map(vary).collect()
    })
}

/// Searches the grid.
pub fn search(q: &Query<'_>) -> Search {
    let machines = machines(q.base, q.depth);
    let candidates = machines.len();
    let deployments = deployments(q);
    let cost = if q.options.has(Opt::Cost) { q.cost } else { CostModel::EQUAL };
    let best = |machine: &Machine| {
        let cost_of = cost.of(machine, q.base);
        if !cost.allows(cost_of) {
            return None;
        }
        Some(Joint { machine: *machine, cost: cost_of, point: best_of(q, machine, &deployments)? })
    };
    let mut bests: Vec<Joint> = machines.par_iter().filter_map(best).collect();
    bests.sort_by(|a, b| a.point.latency_s.total_cmp(&b.point.latency_s));
    let axes: Vec<[f64; 3]> = bests.iter().map(|j| [j.point.latency_s, j.cost, 0.0]).collect();
    let sensitivity = bests.first().map_or_else(Vec::new, |best| doublings(q, best, &deployments));
    Search { candidates, pareto: frontier(&axes), bests, sensitivity }
}

/// What is tried on every machine.
fn deployments(q: &Query<'_>) -> Vec<Topology> {
    let ring = |cp: u64| match q.work.phase {
        Phase::Decode if cp > 1 => CpRing::Qoml,
        Phase::Decode | Phase::Prefill => CpRing::Kv,
    };
    let placed = |cp, tp, pp, dp, kv_shard_mode| Topology {
        cp,
        tp,
        pp,
        dp,
        b: q.b,
        kv_shard_mode,
        tp_placement: Placement::Cube,
        cp_placement: Placement::Pe,
        cp_ring_variant: ring(cp),
        ..Topology::single()
    };
    match q.depth {
        Depth::TwoStage => {
            if q.options.has(Opt::Carry) {
                let t = suggest(q.model, q.base, q.b, &q.work, SLACK, q.options).topology;
                return vec![Topology { cp_ring_variant: ring(t.cp), ..t }];
            }
            let whole = Work { parts: Parts::ALL, ..q.work };
            let t = suggest(q.model, q.base, 1, &whole, SLACK, q.options).topology;
            vec![placed(t.cp, t.tp, t.pp, 1, KvShardMode::Split)]
        }
        Depth::Balanced | Depth::Coarse => degrees(q.model)
            .flat_map(|(cp, tp, pp, dp)| {
                [KvShardMode::Split, KvShardMode::Replicate].map(|mode| placed(cp, tp, pp, dp, mode))
            })
            .collect(),
    }
}

/// The first of the feasible ones by latency, then PEs, then use of HBM.
fn best_of(q: &Query<'_>, machine: &Machine, deployments: &[Topology]) -> Option<Point> {
    let mut inputs = Inputs::new(q.model, machine, &Topology::single(), &q.work);
    let scored = deployments.iter().map(|t| score(&mut inputs, *t, q.options)).filter(Point::feasible);
    let key = |p: &Point| [p.latency_s, p.pes_used, p.hbm_utilization];
    scored.reduce(|best, p| if key(&p) < key(&best) { p } else { best })
}

/// b of the deployment falls back to 1, as in the study, unless `carry` keeps it.
fn doublings(q: &Query<'_>, best: &Joint, deployments: &[Topology]) -> Vec<Doubling> {
    let b = if q.options.has(Opt::Carry) { best.point.topology.b } else { 1 };
    let topology = Topology { b, ..best.point.topology };
    let kept = |machine: &Machine| {
        score(&mut Inputs::new(q.model, machine, &topology, &q.work), topology, q.options).latency_s
    };
    let searched = |machine: &Machine| best_of(q, machine, deployments).map(|p| p.latency_s);
    let again = q.options.has(Opt::Cost);
    let latency_s = kept(&best.machine);
    let change = |knob: Knob| {
        let scaled = |factor: f64| {
            let mut machine = best.machine;
            knob.scale(&mut machine, factor);
            machine
        };
        let doubled = scaled(2.0);
        // What fits the machine fits a larger one.
        let doubled_latency_s = if again { searched(&doubled) } else { None }.unwrap_or_else(|| kept(&doubled));
        Doubling {
            knob,
            value: knob.get(&best.machine),
            doubled: knob.get(&doubled),
            latency_s,
            doubled_latency_s,
            speedup: 1.0 - doubled_latency_s / latency_s,
            halved_latency_s: if again { searched(&scaled(0.5)) } else { None },
        }
    };
    let mut rows: Vec<Doubling> = Knob::ALL.iter().map(|k| change(*k)).collect();
    rows.sort_by(|a, b| b.speedup.total_cmp(&a.speedup));
    rows
}
