//! `plan check`: the stages of attention that shipped kernels run, on the event simulator, against the closed form.
//!
//! One launch of `gqa_decode` is S5 to S9 of a layer with a KV head a rank of tp, and each head over 8, 4, 2 or 1 PEs of a
//! cube as cp; of `long_decode`, one KV head over cubes; of `gqa_prefill`, S5 to S9 and C1. The same work of a PE without
//! a merge is the launch of a PE a head with as many tokens a PE; what the whole takes longer is the merge.

mod reason;

use super::{Answer, Asked, Query};
use crate::sweep::measure::timed;
use clap::ArgMatches;
use reason::reason;
use serde_json::json;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::registry::{Inputs as Tensors, Limits};
use tilewright_harness::target::Target;
use tilewright_planner::inputs::Inputs;
use tilewright_planner::model::Model;
use tilewright_planner::options::Options;
use tilewright_planner::stages::StageId;
use tilewright_planner::step::step;
use tilewright_planner::topology::{Phase, Placement, Topology, Work};
use tilewright_planner::view::Keyed;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::Timing;

pub(super) struct Check;

/// The gap that the refined method keeps to, or is told why it does not.
const TOLERANCE: f64 = 0.15;

/// Names of the kernels' mappings, and KV heads a cube.
const MAPPINGS: [(&str, u64); 4] = [("A1", 1), ("A2", 2), ("A4", 4), ("B", 8)];
const PES: u64 = 8;
/// Cubes of the mapping of one head over cubes.
const CUBES: u64 = 8;
/// Query tokens of a prefill where none are given: the published study's.
const PREFILL_TOKENS: u64 = 8;

/// Stages of a launch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Core,
    Merge,
    Whole,
    /// With the ring.
    Prefill,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Part::Core => "S5-S7",
            Part::Merge => "S8-S9",
            Part::Whole => "S5-S9",
            Part::Prefill => "S5-S9+C1",
        }
    }
    const fn has(self, id: StageId) -> bool {
        let core = matches!(id, StageId::S5 | StageId::S6 | StageId::S7 | StageId::Sa);
        let merge = matches!(id, StageId::S8 | StageId::S9);
        match self {
            Part::Core => core,
            Part::Merge => merge,
            Part::Whole => core || merge,
            Part::Prefill => core || merge || matches!(id, StageId::C1),
        }
    }
}

/// A launch and the deployment that it is.
struct Mapping {
    name: &'static str,
    model: Model,
    topology: Topology,
    work: Work,
    cubes: usize,
    /// The launch; and the same work of each PE without a merge, and its cubes.
    whole: String,
    alone: Option<(String, usize)>,
    part: Part,
}

impl Query for Check {
    fn name(&self) -> &'static str {
        "check"
    }
    fn about(&self) -> &'static str {
        "Attention of a layer on the event simulator, and the gap of each stage"
    }
    fn answer(&self, asked: &Asked, _: &ArgMatches) -> Result<Answer, Diagnostics> {
        let machine = asked.common.open_machine()?;
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for mapping in mappings(asked, &mut lines) {
            let (compared, reasons) = compare(asked, &machine, &mapping)?;
            rows.extend(compared);
            lines.extend(reasons);
        }
        lines.push(format!(
            "Not run: S1 to S4, S10, C2, C3 and the FFN, which no shipped kernel does for a group of PEs. Simulator: events, \
             machine {}, shapes only (times do not depend on values); values that flags of the plan set do not reach it.",
            asked.machine_name()
        ));
        Ok(Answer::new(asked)
            .value("tolerance_ratio", TOLERANCE)
            .main_rows("stages", "attention of a layer: closed form and event simulator", rows)
            .lines(lines))
    }
}

/// What the model's heads allow; a line for each mapping that they do not.
fn mappings(asked: &Asked, lines: &mut Vec<String>) -> Vec<Mapping> {
    let m = &asked.model;
    let mut all = Vec::new();
    for (name, per_cube) in MAPPINGS {
        if m.kv_heads.is_multiple_of(per_cube) {
            all.push(match asked.work.phase {
                Phase::Decode => decode(asked, name, per_cube),
                Phase::Prefill => prefill(asked, name, per_cube),
            });
        } else {
            lines.push(format!("{name}: not run, {} KV heads do not fill cubes of {per_cube}", m.kv_heads));
        }
    }
    if asked.work.phase == Phase::Decode {
        all.push(over_cubes(asked));
    }
    all
}

fn topology(asked: &Asked, pes: u64) -> Topology {
    Topology {
        cp: pes,
        tp: asked.model.kv_heads,
        cp_placement: Placement::Pe,
        // A head a PE: ranks of tp share the cube.
        tp_placement: if pes == 1 { Placement::Pe } else { Placement::Cube },
        ..Topology::single()
    }
}

fn decode(asked: &Asked, name: &'static str, per_cube: u64) -> Mapping {
    let (m, s, pes) = (&asked.model, asked.work.s_kv, PES / per_cube);
    let launch = |per_cube: u64, s: u64| {
        let (q, kv, d) = (m.q_heads, m.kv_heads, m.d_head);
        format!("gqa_decode:kv-per-cube={per_cube},s-kv={s},h-q={q},h-kv={kv},d-head={d},acc=f16")
    };
    let splits = pes > 1 && m.kv_heads.is_multiple_of(PES);
    Mapping {
        name,
        model: m.clone(),
        topology: topology(asked, pes),
        work: Work { t_q: None, ..asked.work },
        cubes: (m.kv_heads / per_cube) as usize,
        whole: launch(per_cube, s),
        alone: splits.then(|| (launch(PES, s / pes), (m.kv_heads / PES) as usize)),
        part: Part::Whole,
    }
}

/// One KV head, its context over cubes of which each gives a PE.
fn over_cubes(asked: &Asked) -> Mapping {
    let (m, s) = (&asked.model, asked.work.s_kv);
    let heads = m.q_heads / m.kv_heads;
    let launch =
        |cubes: u64, s: u64| format!("long_decode:cubes={cubes},pes=1,s-kv={s},h-q={heads},d-head={}", m.d_head);
    Mapping {
        name: "cubes",
        model: Model { q_heads: heads, kv_heads: 1, ..m.clone() },
        topology: Topology { cp: CUBES, tp: 1, cp_placement: Placement::Cube, ..Topology::single() },
        work: Work { t_q: None, ..asked.work },
        cubes: CUBES as usize,
        whole: launch(CUBES, s),
        alone: Some((launch(1, s / CUBES), 1)),
        part: Part::Whole,
    }
}

fn prefill(asked: &Asked, name: &'static str, per_cube: u64) -> Mapping {
    let m = &asked.model;
    let t_q = asked.work.t_q.unwrap_or(PREFILL_TOKENS);
    let mode = format!("mode={name},causal=yes,s-kv={},t-q={t_q}", asked.work.s_kv);
    Mapping {
        name,
        model: m.clone(),
        topology: topology(asked, PES / per_cube),
        work: Work { t_q: Some(t_q), ..asked.work },
        cubes: (m.kv_heads / per_cube) as usize,
        whole: format!("gqa_prefill:{mode},h-q={},h-kv={},d-head={},acc=f16", m.q_heads, m.kv_heads, m.d_head),
        alone: None,
        part: Part::Prefill,
    }
}

fn compare(asked: &Asked, machine: &Machine, m: &Mapping) -> Result<(Vec<Keyed>, Vec<String>), Diagnostics> {
    let seconds = |t: &Timing| t.wall.as_ns() / 1e9;
    let whole = simulate(machine, &m.whole, m.cubes)?;
    let alone = m.alone.as_ref().map(|(name, cubes)| simulate(machine, name, *cubes)).transpose()?;
    let mut rows = Vec::new();
    let mut reasons = Vec::new();
    let mut row = |part: Part, t: &Timing, simulated: f64| {
        let [baseline, refined] = [Options::BASELINE, Options::refined()].map(|o| planned(asked, m, part, o));
        // The baseline has no step of a few new tokens over a longer context.
        let baseline = Some(baseline).filter(|_| part != Part::Prefill);
        let gap = refined / simulated - 1.0;
        rows.push(vec![
            ("mapping", json!(m.name)),
            ("cp", json!(m.topology.cp)),
            ("tp", json!(m.topology.tp)),
            ("stage", json!(part.name())),
            ("baseline_s", json!(baseline)),
            ("refined_s", json!(refined)),
            ("simulated_s", json!(simulated)),
            ("baseline_gap_ratio", json!(baseline.map(|b| b / simulated - 1.0))),
            ("refined_gap_ratio", json!(gap)),
            ("within", json!(gap.abs() <= TOLERANCE)),
        ]);
        if gap.abs() > TOLERANCE {
            reasons.push(format!("{} {}: {:+.0} %. {}", m.name, part.name(), gap * 100.0, reason(part, t, machine)));
        }
    };
    if let Some(core) = &alone {
        row(Part::Core, core, seconds(core));
        row(Part::Merge, &whole, (seconds(&whole) - seconds(core)).max(f64::MIN_POSITIVE));
    }
    row(m.part, &whole, seconds(&whole));
    Ok((rows, reasons))
}

fn simulate(machine: &Machine, launch: &str, cubes: usize) -> Result<Timing, Diagnostics> {
    let instance = tilewright_kernels::all().instance(launch)?;
    let limits = Limits { target: Target::Sim, arch: None, scratch_bytes: machine.scratch.capacity.0 };
    let mut case = instance.case(Tensors::ShapesOnly, &limits)?;
    timed(case.as_mut(), machine, 1, cubes)
}

/// What the closed form gives for a part, in seconds.
fn planned(asked: &Asked, m: &Mapping, part: Part, o: Options) -> f64 {
    let s = step(&Inputs::new(&m.model, &asked.machine, &m.topology, &m.work), o);
    s.rows.present().filter(|r| part.has(r.id)).map(|r| r.visible_s).sum()
}
