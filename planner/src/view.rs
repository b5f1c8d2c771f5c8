//! Results as keyed values, named as in the golden files: what JSON, tables and the report page show. Keys end in their
//! unit.

use crate::explore::Point;
use crate::hardware::{Doubling, Joint, Knob};
use crate::placement::TIERS;
use crate::sensitivity::Sample;
use crate::stages::Row;
use crate::step::Step;
use crate::suggest::Suggestion;
use crate::topology::Topology;
use serde_json::{Value, json};

/// Keys and values in a fixed order.
pub type Keyed = Vec<(&'static str, Value)>;

/// A number; a whole one without a point.
pub fn number(x: f64) -> Value {
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if x.fract() == 0.0 && (0.0..WHOLE).contains(&x) { json!(x as u64) } else { json!(x) }
}

/// Degrees and modes.
pub fn topology(t: &Topology) -> Keyed {
    vec![
        ("cp", json!(t.cp)),
        ("tp", json!(t.tp)),
        ("pp", json!(t.pp)),
        ("dp", json!(t.dp)),
        ("ep", json!(t.ep)),
        ("b", json!(t.b)),
        ("kv_shard_mode", json!(t.kv_shard_mode.name())),
        ("ffn_shard_scope", json!(t.ffn_shard_scope.name())),
        ("tp_placement", json!(t.tp_placement.name())),
        ("cp_placement", json!(t.cp_placement.name())),
        ("cp_ring_variant", json!(t.cp_ring_variant.name())),
        ("sip_topology", json!(t.sip_topology.name())),
    ]
}

/// What follows from the topology, per PE.
pub fn derived(s: &Step<f64>) -> Keyed {
    let p = &s.placed;
    let tier = |code: f64| json!(TIERS[(code as usize).min(TIERS.len() - 1)]);
    vec![
        ("total_pes", number(p.total_pes)),
        ("cubes_used", number(p.cubes_used)),
        ("sips_used", number(p.sips_used)),
        ("intra_cube_pes", number(p.intra_cube_pes)),
        ("placement_valid", json!(p.valid)),
        ("tp_spans_cubes", number(p.tp_spans_cubes)),
        ("tp_link_tier", tier(p.tp_tier.code)),
        ("cp_link_tier", tier(p.cp_tier.code)),
        ("cp_intra_sip_hops", number(p.ring_hops_inter)),
        ("cp_inter_sip_hops", number(p.ring_hops_sip)),
        ("t_q_tokens", number(s.shards.t)),
        ("s_local_tokens", number(s.shards.s_local)),
        ("q_heads_per_pe", number(s.shards.hq)),
        ("ffn_shard_divisor", number(s.shards.ffn_divisor)),
        ("head_dim_split_factor", number(s.shards.q)),
    ]
}

/// Per PE.
pub fn memory(s: &Step<f64>) -> Keyed {
    let m = &s.memory;
    vec![
        ("weights_bytes", number(m.weights_bytes)),
        ("kv_bytes", number(m.kv_bytes)),
        ("transient_bytes", number(m.transient_bytes)),
        ("budget_bytes", number(m.budget_bytes)),
        ("used_bytes", number(m.used_bytes)),
        ("slack_bytes", number(m.slack_bytes)),
        ("over_budget", json!(m.over_budget)),
    ]
}

/// Of the whole step. The last rows are beyond the golden columns.
pub fn totals_more(s: &Step<f64>) -> Keyed {
    let mut rows = totals(s);
    rows.extend([
        ("mfu_ratio", json!(s.compute_use)),
        ("mbu_ratio", json!(s.hbm_use)),
        ("beside_layers_s", json!(s.beside_layers_s)),
        ("latency_lower_bound_ns", json!(s.bounds_s[0] * 1e9)),
        ("latency_upper_bound_ns", json!(s.bounds_s[1] * 1e9)),
    ]);
    rows
}

pub fn totals(s: &Step<f64>) -> Keyed {
    vec![
        ("attention_visible_s_per_layer", json!(s.attention_visible_s)),
        ("ffn_visible_s_per_layer", json!(s.ffn_visible_s)),
        ("full_model_latency_ns", json!(s.latency_s * 1e9)),
        ("throughput_tok_per_s", json!(s.throughput_tok_per_s)),
        ("efficiency_ratio", json!(s.efficiency)),
        ("hbm_utilization_ratio", json!(s.hbm_utilization)),
    ]
}

/// A stage, per PE and layer.
pub fn stage(r: &Row<f64>) -> Keyed {
    vec![
        ("stage", json!(r.id.name())),
        ("compute_s", json!(r.compute_s)),
        ("memory_s", json!(r.memory_s)),
        ("comm_s", json!(r.comm_s)),
        ("visible_s", json!(r.visible_s)),
        ("flops", number(r.flops)),
        ("mem_bytes", number(r.mem_bytes)),
        ("comm_bytes", number(r.comm_bytes)),
        ("bound", json!(r.bound().name())),
    ]
}

/// The smallest deployment that fits.
pub fn suggestion(s: &Suggestion) -> Keyed {
    let (t, m) = (&s.topology, &s.memory);
    vec![
        ("cp", json!(t.cp)),
        ("tp", json!(t.tp)),
        ("pp", json!(t.pp)),
        ("cp_placement", json!(t.cp_placement.name())),
        ("fits", json!(s.fits)),
        ("pes_used", number(s.placed.total_pes)),
        ("cubes_used", number(s.placed.cubes_used)),
        ("sips_used", number(s.placed.sips_used)),
        ("weights_gb", json!(m.weights_bytes / GIGA)),
        ("kv_gb", json!(m.kv_bytes / GIGA)),
        ("transient_gb", json!(m.transient_bytes / GIGA)),
        ("slack_gb", json!(m.slack_bytes / GIGA)),
    ]
}

/// A point of the full search.
pub fn point(p: &Point) -> Keyed {
    let t = &p.topology;
    vec![
        ("cp", json!(t.cp)),
        ("tp", json!(t.tp)),
        ("pp", json!(t.pp)),
        ("dp", json!(t.dp)),
        ("kv_shard_mode", json!(t.kv_shard_mode.name())),
        ("ffn_shard_scope", json!(t.ffn_shard_scope.name())),
        ("tp_placement", json!(t.tp_placement.name())),
        ("cp_placement", json!(t.cp_placement.name())),
        ("cp_ring_variant", json!(t.cp_ring_variant.name())),
        ("total_latency_ns", json!(p.latency_s * 1e9)),
        ("throughput_tok_per_s", json!(p.throughput_tok_per_s)),
        ("efficiency_ratio", json!(p.efficiency)),
        ("pes_used", number(p.pes_used)),
        ("sips_used", number(p.sips_used)),
        ("hbm_utilization_ratio", json!(p.hbm_utilization)),
        ("weights_gb", json!(p.weights_bytes / GIGA)),
        ("kv_gb", json!(p.kv_bytes / GIGA)),
        ("transient_gb", json!(p.transient_bytes / GIGA)),
    ]
}

/// A machine with its best deployment.
pub fn joint(j: &Joint) -> Keyed {
    let (p, t) = (&j.point, &j.point.topology);
    let mut row: Keyed = Knob::ALL.iter().map(|k| (k.name(), number(k.get(&j.machine)))).collect();
    row.extend([
        ("cost_score_ratio", number(j.cost)),
        ("total_latency_ns", json!(p.latency_s * 1e9)),
        ("cp", json!(t.cp)),
        ("tp", json!(t.tp)),
        ("pp", json!(t.pp)),
        ("dp", json!(t.dp)),
        ("kv_shard_mode", json!(t.kv_shard_mode.name())),
        ("cp_ring_variant", json!(t.cp_ring_variant.name())),
        ("pes_used", number(p.pes_used)),
        ("hbm_utilization_ratio", json!(p.hbm_utilization)),
    ]);
    row
}

/// A knob of the machine doubled.
pub fn doubling(d: &Doubling) -> Keyed {
    vec![
        ("knob", json!(d.knob.name())),
        ("baseline_value", number(d.value)),
        ("doubled_value", number(d.doubled)),
        ("baseline_latency_ns", json!(d.latency_s * 1e9)),
        ("doubled_latency_ns", json!(d.doubled_latency_s * 1e9)),
        ("relative_speedup_ratio", json!(d.speedup)),
    ]
}

/// A value of a parallelism knob.
pub fn sample(knob: &'static str, s: &Sample) -> Keyed {
    vec![
        ("knob", json!(knob)),
        ("value", json!(s.value)),
        ("latency_ns", s.latency_s.map_or(Value::Null, |l| json!(l * 1e9))),
        ("fits", json!(s.fits)),
    ]
}

const GIGA: f64 = 1e9;
