//! Which results of the formulas the page gets, and under what names; the same list of numbers and of expressions.

use crate::formula::{Num, Output};
use crate::roofline::Roofline;
use crate::step::Step;

pub type Outputs<N> = Vec<(String, Output<N>)>;

/// All of a step.
pub fn of_step<N: Num>(s: &Step<N>) -> Outputs<N> {
    let (p, sh, m) = (&s.placed, &s.shards, &s.memory);
    let numbers = [
        ("total_pes", p.total_pes),
        ("cubes_used", p.cubes_used),
        ("sips_used", p.sips_used),
        ("intra_cube_pes", p.intra_cube_pes),
        ("tp_spans_cubes", p.tp_spans_cubes),
        ("tp_tier", p.tp_tier.code),
        ("cp_tier", p.cp_tier.code),
        ("ring_hops_inter", p.ring_hops_inter),
        ("ring_hops_sip", p.ring_hops_sip),
        ("t", sh.t),
        ("s_local", sh.s_local),
        ("hq", sh.hq),
        ("hk", sh.hk),
        ("kh", sh.kh),
        ("ffn_divisor", sh.ffn_divisor),
        ("fp", sh.fp),
        ("fp_held", sh.fp_held),
        ("q", sh.q),
        ("layers_held", m.layers_held),
        ("attention_weights_bytes", m.attention_weights_bytes),
        ("ffn_weights_bytes", m.ffn_weights_bytes),
        ("weights_bytes", m.weights_bytes),
        ("kv_bytes", m.kv_bytes),
        ("transient_bytes", m.transient_bytes),
        ("budget_bytes", m.budget_bytes),
        ("used_bytes", m.used_bytes),
        ("slack_bytes", m.slack_bytes),
        ("attention_visible_s", s.attention_visible_s),
        ("ffn_visible_s", s.ffn_visible_s),
        ("beside_layers_s", s.beside_layers_s),
        ("busiest_engine_s", s.bounds_s[0]),
        ("sum_of_stages_s", s.bounds_s[1]),
        ("compute_use", s.compute_use),
        ("hbm_use", s.hbm_use),
        ("latency_s", s.latency_s),
        ("throughput_tok_per_s", s.throughput_tok_per_s),
        ("efficiency", s.efficiency),
        ("hbm_utilization", s.hbm_utilization),
    ];
    let mut all: Outputs<N> = numbers.into_iter().map(|(name, x)| (name.to_string(), Output::Number(x))).collect();
    all.push(("over_budget".into(), Output::Truth(m.over_budget)));
    all.push(("placement_valid".into(), Output::Truth(p.valid)));
    for row in s.rows.all() {
        let stage = [
            ("flops", row.flops),
            ("mem_bytes", row.mem_bytes),
            ("comm_bytes", row.comm_bytes),
            ("compute_s", row.compute_s),
            ("memory_s", row.memory_s),
            ("comm_s", row.comm_s),
            ("visible_s", row.visible_s),
        ];
        let id = row.id.name();
        all.extend(stage.into_iter().map(|(part, x)| (format!("{id}.{part}"), Output::Number(x))));
        all.push((format!("{id}.present"), Output::Truth(row.present)));
    }
    all
}

/// What a search compares.
pub fn of_score<N: Num>(s: &Step<N>) -> Outputs<N> {
    vec![
        ("latency_s".into(), Output::Number(s.latency_s)),
        ("total_pes".into(), Output::Number(s.placed.total_pes)),
        ("efficiency".into(), Output::Number(s.efficiency)),
        ("hbm_utilization".into(), Output::Number(s.hbm_utilization)),
        ("kv_bytes".into(), Output::Number(s.memory.kv_bytes)),
        ("over_budget".into(), Output::Truth(s.memory.over_budget)),
        ("placement_valid".into(), Output::Truth(s.placed.valid)),
    ]
}

pub fn of_roofline<N: Num>(r: &Roofline<N>) -> Outputs<N> {
    let numbers = [
        ("active_params", r.active_params),
        ("kv_bytes_per_token", r.kv_bytes_per_token),
        ("arithmetic_intensity", r.arithmetic_intensity),
        ("critical_batch", r.critical_batch),
        ("balance_context", r.balance_context),
        ("knee_batch", r.knee_batch),
        ("utilisation_at_s", r.utilisation_at_s),
        ("weight_s", r.weight_s),
        ("compute_s_per_token", r.compute_s_per_token),
        ("kv_s_per_token", r.kv_s_per_token),
        ("step_s", r.step_s),
        ("per_token_s", r.per_token_s),
    ];
    numbers.into_iter().map(|(name, x)| (name.to_string(), Output::Number(x))).collect()
}
