//! Every deployment of a grid, scored: nine knobs, 28,800 points.

use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::{Opt, Options};
use crate::pareto::{frontier, frontier4};
use crate::step::step;
use crate::suggest::{CP, TP, too_wide};
use crate::topology::{CpRing, FfnShardScope, KvShardMode, Phase, Placement, Topology, Work};
use rayon::prelude::*;
use std::collections::HashMap;

pub const PP: [u64; 5] = [1, 2, 4, 8, 16];
pub const DP: [u64; 3] = [1, 2, 4];

/// A deployment and its figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub topology: Topology,
    pub latency_s: f64,
    pub throughput_tok_per_s: f64,
    pub efficiency: f64,
    pub pes_used: f64,
    pub sips_used: f64,
    pub hbm_utilization: f64,
    pub weights_bytes: f64,
    pub kv_bytes: f64,
    pub transient_bytes: f64,
    pub fits: bool,
    pub placement_valid: bool,
    /// Points of the grid that are this one (option `dedup`).
    pub count: u64,
}

impl Point {
    pub fn feasible(&self) -> bool {
        self.fits && self.placement_valid
    }
}

/// The score of a deployment; the model, machine and work are in `inputs`.
#[inline]
pub fn score(inputs: &mut Inputs<f64>, topology: Topology, o: Options) -> Point {
    inputs.set_topology(&topology);
    let s = step(inputs, o);
    Point {
        topology,
        latency_s: s.latency_s,
        throughput_tok_per_s: s.throughput_tok_per_s,
        efficiency: s.efficiency,
        pes_used: s.placed.total_pes,
        sips_used: s.placed.sips_used,
        hbm_utilization: s.hbm_utilization,
        weights_bytes: s.memory.weights_bytes,
        kv_bytes: s.memory.kv_bytes,
        transient_bytes: s.memory.transient_bytes,
        fits: !s.memory.over_budget,
        placement_valid: s.placed.valid,
        count: 1,
    }
}

/// The grid of the full search, in its order: the first knob varies slowest.
pub fn grid(model: &Model, b: u64) -> Vec<Topology> {
    let mut points = Vec::with_capacity(28_800);
    for (cp, tp, pp, dp) in degrees(model) {
        for kv_shard_mode in [KvShardMode::Split, KvShardMode::Replicate] {
            for ffn_shard_scope in [FfnShardScope::Tp, FfnShardScope::TpCp, FfnShardScope::TpCpDp] {
                if ffn_shard_scope == FfnShardScope::TpCpDp && dp == 1 {
                    continue;
                }
                for tp_placement in [Placement::Pe, Placement::Cube] {
                    for cp_placement in [Placement::Cube, Placement::Pe] {
                        for cp_ring_variant in [CpRing::Kv, CpRing::Qoml] {
                            if cp_ring_variant == CpRing::Qoml && cp == 1 {
                                continue;
                            }
                            points.push(Topology {
                                cp,
                                tp,
                                pp,
                                dp,
                                b,
                                kv_shard_mode,
                                ffn_shard_scope,
                                tp_placement,
                                cp_placement,
                                cp_ring_variant,
                                ..Topology::single()
                            });
                        }
                    }
                }
            }
        }
    }
    points
}

/// (cp, tp, pp, dp) of the searches.
pub fn degrees(model: &Model) -> impl Iterator<Item = (u64, u64, u64, u64)> {
    let all = CP.into_iter().flat_map(|cp| TP.into_iter().map(move |tp| (cp, tp)));
    let all = all.flat_map(|(cp, tp)| PP.into_iter().map(move |pp| (cp, tp, pp)));
    let kept = all.filter(|(_, tp, pp)| !too_wide(model, *tp, *pp));
    kept.flat_map(|(cp, tp, pp)| DP.into_iter().map(move |dp| (cp, tp, pp, dp)))
}

/// All points of a search, and the best of them.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// In the order of the grid.
    pub points: Vec<Point>,
    /// Indices of the feasible ones by latency, ties in the order of the grid.
    pub ranked: Vec<usize>,
    /// Indices of those that no feasible point beats in latency, PEs and efficiency.
    pub pareto: Vec<usize>,
}

/// Scores the whole grid.
pub fn explore(model: &Model, machine: &Machine, b: u64, work: &Work, o: Options) -> Exploration {
    let inputs = Inputs::new(model, machine, &Topology::single(), work);
    let grid = grid(model, b).into_iter();
    let grid: Vec<(Topology, u64)> =
        if o.has(Opt::Dedup) { distinct(grid, model, work, o) } else { grid.map(|t| (t, 1)).collect() };
    let score = |inputs: &mut Inputs<f64>, (topology, count): &(Topology, u64)| Point {
        count: *count,
        ..score(inputs, *topology, o)
    };
    let points: Vec<Point> = grid.par_iter().with_min_len(256).map_init(|| inputs, score).collect();
    let mut ranked: Vec<usize> = (0..points.len()).filter(|i| points[*i].feasible()).collect();
    let pareto = best(&points, &ranked, o);
    ranked.sort_by(|a, b| points[*a].latency_s.total_cmp(&points[*b].latency_s));
    Exploration { points, ranked, pareto }
}

/// The points that none beats: in latency, PEs and efficiency; with `throughput`, in that too.
fn best(points: &[Point], feasible: &[usize], o: Options) -> Vec<usize> {
    let of = |i: &usize| &points[*i];
    let kept = if o.has(Opt::Throughput) {
        let axes = |p: &Point| [p.latency_s, p.pes_used, -p.efficiency, -p.throughput_tok_per_s];
        frontier4(&feasible.iter().map(of).map(axes).collect::<Vec<_>>())
    } else {
        let axes = |p: &Point| [p.latency_s, p.pes_used, -p.efficiency];
        frontier(&feasible.iter().map(of).map(axes).collect::<Vec<_>>())
    };
    kept.into_iter().map(|at| feasible[at]).collect()
}

/// The grid in canonical form, each point once, with how many it stands for; in the order of the first.
fn distinct(grid: impl Iterator<Item = Topology>, model: &Model, work: &Work, o: Options) -> Vec<(Topology, u64)> {
    let mut at: HashMap<Topology, usize> = HashMap::new();
    let mut points: Vec<(Topology, u64)> = Vec::new();
    for topology in grid {
        let topology = canonical(topology, model, work, o);
        let place = *at.entry(topology).or_insert(points.len());
        match points.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => points.push((topology, 1)),
        }
    }
    points
}

/// The same deployment with every choice that has no effect at its first value.
pub fn canonical(t: Topology, model: &Model, work: &Work, o: Options) -> Topology {
    let mut t = t;
    // No head is shared, or the latent is on every rank anyway.
    if t.tp <= model.kv_heads || (o.has(Opt::Mla) && model.latent.is_some()) {
        t.kv_shard_mode = KvShardMode::Split;
    }
    // There is no ring, or it is chosen by its size.
    if work.phase == Phase::Decode || t.cp == 1 || o.has(Opt::Chunked) {
        t.cp_ring_variant = CpRing::Kv;
    }
    if t.tp == 1 {
        t.tp_placement = Placement::Pe;
    }
    if t.cp == 1 {
        t.cp_placement = Placement::Cube;
        // The baseline prices the two scopes by different links.
        if t.ffn_shard_scope == FfnShardScope::TpCp && (o.has(Opt::Placement) || o.has(Opt::Collectives)) {
            t.ffn_shard_scope = FfnShardScope::Tp;
        }
    }
    t
}
