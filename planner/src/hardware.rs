//! Machine and parallelism together: each machine of a grid with its best deployment.

use crate::explore::{Point, degrees, score};
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::Options;
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
    pub options: Options,
}

/// A machine with its best deployment.
#[derive(Clone, Copy, Debug)]
pub struct Joint {
    pub machine: Machine,
    /// Sum of value over base: 6 at the base.
    pub cost: f64,
    pub point: Point,
}

/// A knob doubled at the best point, the deployment kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubling {
    pub knob: Knob,
    pub value: f64,
    pub doubled: f64,
    pub latency_s: f64,
    pub doubled_latency_s: f64,
    /// 1 - doubled over single.
    pub speedup: f64,
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
pub fn machines(base: &Machine, depth: Depth) -> Vec<(Machine, f64)> {
    let none = vec![(*base, 0.0)];
    Knob::ALL.iter().fold(none, |machines, knob| {
        let vary = |(machine, cost): &(Machine, f64)| {
            let (machine, cost) = (*machine, *cost);
            depth.factors().iter().map(move |factor| {
                let mut scaled = machine;
                knob.scale(&mut scaled, *factor);
                (scaled, cost + factor)
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
    let best = |(machine, cost): &(Machine, f64)| {
        let point = best_of(q, machine, &deployments)?;
        Some(Joint { machine: *machine, cost: *cost, point })
    };
    let mut bests: Vec<Joint> = machines.par_iter().filter_map(best).collect();
    bests.sort_by(|a, b| a.point.latency_s.total_cmp(&b.point.latency_s));
    let axes: Vec<[f64; 3]> = bests.iter().map(|j| [j.point.latency_s, j.cost, 0.0]).collect();
    let sensitivity = bests.first().map_or_else(Vec::new, |best| doublings(q, best));
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

/// b of the deployment falls back to 1, as in the study.
fn doublings(q: &Query<'_>, best: &Joint) -> Vec<Doubling> {
    let topology = Topology { b: 1, ..best.point.topology };
    let latency = |machine: &Machine| {
        score(&mut Inputs::new(q.model, machine, &topology, &q.work), topology, q.options).latency_s
    };
    let latency_s = latency(&best.machine);
    let double = |knob: Knob| {
        let mut machine = best.machine;
        knob.scale(&mut machine, 2.0);
        let doubled_latency_s = latency(&machine);
        Doubling {
            knob,
            value: knob.get(&best.machine),
            doubled: knob.get(&machine),
            latency_s,
            doubled_latency_s,
            speedup: 1.0 - doubled_latency_s / latency_s,
        }
    };
    let mut rows: Vec<Doubling> = Knob::ALL.iter().map(|k| double(*k)).collect();
    rows.sort_by(|a, b| b.speedup.total_cmp(&a.speedup));
    rows
}
