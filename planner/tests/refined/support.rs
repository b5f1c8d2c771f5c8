//! Cases of the golden files by name, and single stages of them.

use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::Machine;
use tilewright_planner::model::named;
use tilewright_planner::options::{Opt, Options};
use tilewright_planner::stages::{Row, StageId};
use tilewright_planner::step::{Step, step};
use tilewright_planner::topology::{CpRing, FfnShardScope, KvShardMode, Phase, Placement, Topology, Work};

pub const B: Options = Options::BASELINE;

pub fn with(option: Opt) -> Options {
    B.with(option)
}

/// A topology of `stages_topologies.json`.
pub fn topology(name: &str) -> Topology {
    let base = Topology::default();
    let cubes = Placement::Cube;
    match name {
        "base" => base,
        "single_pe" => Topology::single(),
        "tp16_cube_split" => Topology { cp: 1, tp: 16, tp_placement: cubes, ..base },
        "tp32_cube_cp2_split" => Topology { cp: 2, tp: 32, tp_placement: cubes, cp_placement: Placement::Pe, ..base },
        "tp16_pe_spill" => Topology { cp: 1, tp: 16, ..base },
        "cp8_pe_tp1" => Topology { cp: 8, tp: 1, cp_placement: Placement::Pe, ..base },
        "cp32_two_sips_kv" => Topology { cp: 32, ..base },
        "cp32_two_sips_qoml" => Topology { cp: 32, cp_ring_variant: CpRing::Qoml, ..base },
        "cp96_not_dividing" => Topology { cp: 96, ..base },
        "cp2_pp16_dp4_hops_exceed_ring" => {
            Topology { cp: 2, pp: 16, dp: 4, ffn_shard_scope: FfnShardScope::Tp, ..base }
        }
        "dp4_scope_tp" => Topology { dp: 4, ffn_shard_scope: FfnShardScope::Tp, ..base },
        "dp4_scope_all" => Topology { dp: 4, ffn_shard_scope: FfnShardScope::TpCpDp, ..base },
        "pp8" => Topology { pp: 8, ..base },
        "ep8" => Topology { ep: 8, ..base },
        "b64" => Topology { b: 64, ..base },
        "tp16_cube_replicate" => Topology { kv_shard_mode: KvShardMode::Replicate, ..topology("tp16_cube_split") },
        other => panic!("no topology `{other}`"),
    }
}

pub fn case(model: &str, topology_name: &str, s_kv: u64, phase: Phase) -> Inputs<f64> {
    let work = Work::new(phase, s_kv);
    Inputs::new(&named(model).expect("a preset"), &Machine::default(), &topology(topology_name), &work)
}
pub fn decode(model: &str, topology: &str, s_kv: u64) -> Inputs<f64> {
    case(model, topology, s_kv, Phase::Decode)
}
pub fn prefill(model: &str, topology: &str, s_kv: u64) -> Inputs<f64> {
    case(model, topology, s_kv, Phase::Prefill)
}

pub fn of(inputs: &Inputs<f64>, o: Options) -> Step<f64> {
    step(inputs, o)
}
/// A stage that the step has.
pub fn row(inputs: &Inputs<f64>, o: Options, id: StageId) -> Row<f64> {
    let s = step(inputs, o);
    *s.rows.present().find(|r| r.id == id).unwrap_or_else(|| panic!("no {}", id.name()))
}
pub fn has(inputs: &Inputs<f64>, o: Options, id: StageId) -> bool {
    step(inputs, o).rows.present().any(|r| r.id == id)
}

#[track_caller]
pub fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
}
