//! The smallest deployment that fits.

use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::memory::{Memory, memory};
use crate::model::Model;
use crate::options::{Opt, Options};
use crate::placement::{Placed, place};
use crate::shards::shards;
use crate::topology::{Placement, Topology, Work};

/// Degrees that are tried, in this order.
pub const TP: [u64; 6] = [1, 2, 4, 8, 16, 32];
pub const CP: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 96];
pub const PP: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Part of HBM that stays free.
pub const SLACK: f64 = 0.1;

/// A deployment and what it takes.
#[derive(Clone, Copy, Debug)]
pub struct Suggestion {
    pub topology: Topology,
    pub fits: bool,
    pub placed: Placed<f64>,
    pub memory: Memory<f64>,
}

/// The first that fits by (cubes, PEs, pp, tp, cp); if none does, the one with the most slack, or with `feasible` the one
/// that overflows least. `work.parts` are those whose memory counts.
pub fn suggest(model: &Model, machine: &Machine, b: u64, work: &Work, slack: f64, o: Options) -> Suggestion {
    let mut candidates: Vec<Suggestion> = Vec::new();
    for tp in TP {
        for cp in CP {
            for pp in PP {
                if too_wide(model, tp, pp) {
                    continue;
                }
                let mut topology = Topology { cp, tp, pp, b, ..Topology::single() };
                if o.has(Opt::Feasible) && tp > machine.pes_per_cube {
                    topology.tp_placement = Placement::Cube;
                }
                let topology = place_cp(model, machine, work, topology);
                candidates.push(weigh(model, machine, work, topology, slack, o));
            }
        }
    }
    let key = |s: &Suggestion| {
        let [cubes, pes] = [s.placed.cubes_used, s.placed.total_pes].map(|x| x as u64);
        (cubes, pes, s.topology.pp, s.topology.tp, s.topology.cp)
    };
    candidates.sort_by_key(key);
    let fitting = candidates.iter().find(|s| s.fits).copied();
    fitting.unwrap_or_else(|| {
        let better = |best: &Suggestion, s: &Suggestion| {
            if o.has(Opt::Feasible) {
                s.memory.used_bytes < best.memory.used_bytes
            } else {
                s.memory.slack_bytes > best.memory.slack_bytes
            }
        };
        candidates[1..].iter().fold(candidates[0], |best, s| if better(&best, s) { *s } else { best })
    })
}

/// More stages than layers, or more ranks than four times the query heads.
pub fn too_wide(model: &Model, tp: u64, pp: u64) -> bool {
    pp > model.layers || tp > 4 * model.q_heads
}

/// cp on PEs where that needs fewer cubes.
fn place_cp(model: &Model, machine: &Machine, work: &Work, on_cubes: Topology) -> Topology {
    let on_pes = Topology { cp_placement: Placement::Pe, ..on_cubes };
    let cubes = |t: &Topology| place(&Inputs::new(model, machine, t, work), Options::BASELINE).cubes_used;
    let share = on_pes.ranks_in_cube() <= machine.pes_per_cube && cubes(&on_pes) < cubes(&on_cubes);
    if share { on_pes } else { on_cubes }
}

fn weigh(model: &Model, machine: &Machine, work: &Work, topology: Topology, slack: f64, o: Options) -> Suggestion {
    let inputs = Inputs::new(model, machine, &topology, work);
    let placed = place(&inputs, o);
    let memory = memory(&inputs, &shards(&inputs, o), work.parts.attention, work.parts.ffn, o);
    let fits = if o.has(Opt::Feasible) {
        !memory.over_budget && placed.valid
    } else {
        !memory.over_budget && memory.slack_bytes >= slack * memory.budget_bytes
    };
    Suggestion { topology, fits, placed, memory }
}
