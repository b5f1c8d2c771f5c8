//! Stages, memory and totals of 188 cases.

use super::support::{golden, list, model, same, same_row, text, topology, work};
use serde_json::{Value, json};
use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::Machine;
use tilewright_planner::options::Options;
use tilewright_planner::placement::TIERS;
use tilewright_planner::step::{Step, formulas, step};

fn check(file: &str) -> usize {
    let golden = golden(file);
    let cases = list(&golden, "cases");
    for case in cases {
        let what = format!("{} {} {} {}", case["model"], case["topology"], case["s_kv_tokens"], case["mode"]);
        let topology = topology(&golden["topologies"][text(case, "topology")]);
        let inputs = Inputs::new(&model(text(case, "model")), &Machine::default(), &topology, &work(case));
        let step = step(&inputs, Options::BASELINE);
        same_row(&what, &DERIVED, &case["derived"], &derived(&step));
        same_row(&what, &MEMORY, &case["memory"], &memory(&step));
        same_row(&what, &TOTALS, &case["totals"], &totals(&step));
        let rows: Vec<Vec<Value>> = rows(&step);
        let expected = list(case, "stages");
        assert_eq!(expected.len(), rows.len(), "{what}: stages");
        for (expected, row) in expected.iter().zip(&rows) {
            same_row(&format!("{what} {}", expected[0]), &STAGE, expected, row);
        }
    }
    cases.len()
}

const DERIVED: [&str; 15] = [
    "total_pes", "cubes_used", "sips_used", "intra_cube_pes", "placement_valid", "tp_spans_cubes", "tp_link_tier",
    "cp_link_tier", "cp_intra_sip_hops", "cp_inter_sip_hops", "t_q_tokens", "s_local_tokens", "q_heads_per_pe",
    "ffn_shard_divisor", "head_dim_split_factor",
];
const MEMORY: [&str; 7] =
    ["weights_bytes", "kv_bytes", "transient_bytes", "budget_bytes", "used_bytes", "slack_bytes", "over_budget"];
const TOTALS: [&str; 6] = [
    "attention_visible_s_per_layer", "ffn_visible_s_per_layer", "full_model_latency_ns", "throughput_tok_per_s",
    "efficiency_ratio", "hbm_utilization_ratio",
];
const STAGE: [&str; 9] =
    ["stage", "compute_s", "memory_s", "comm_s", "visible_s", "flops", "mem_bytes", "comm_bytes", "bound"];

fn derived(s: &Step<f64>) -> Vec<Value> {
    let p = &s.placed;
    vec![
        json!(p.total_pes),
        json!(p.cubes_used),
        json!(p.sips_used),
        json!(p.intra_cube_pes),
        json!(p.valid),
        json!(p.tp_spans_cubes),
        json!(TIERS[p.tp_tier.code as usize]),
        json!(TIERS[p.cp_tier.code as usize]),
        json!(p.ring_hops_inter),
        json!(p.ring_hops_sip),
        json!(s.shards.t),
        json!(s.shards.s_local),
        json!(s.shards.hq),
        json!(s.shards.ffn_divisor),
        json!(s.shards.q),
    ]
}

fn memory(s: &Step<f64>) -> Vec<Value> {
    let m = &s.memory;
    let bytes = [m.weights_bytes, m.kv_bytes, m.transient_bytes, m.budget_bytes, m.used_bytes, m.slack_bytes];
    bytes.iter().map(|b| json!(b)).chain([json!(m.over_budget)]).collect()
}

fn totals(s: &Step<f64>) -> Vec<Value> {
    let totals = [
        s.attention_visible_s,
        s.ffn_visible_s,
        s.latency_s * 1e9,
        s.throughput_tok_per_s,
        s.efficiency,
        s.hbm_utilization,
    ];
    totals.iter().map(|t| json!(t)).collect()
}

fn rows(s: &Step<f64>) -> Vec<Vec<Value>> {
    let row = |r: &tilewright_planner::stages::Row<f64>| {
        let numbers = [r.compute_s, r.memory_s, r.comm_s, r.visible_s, r.flops, r.mem_bytes, r.comm_bytes];
        let numbers = numbers.iter().map(|x| json!(x));
        std::iter::once(json!(r.id.name())).chain(numbers).chain([json!(r.bound().name())]).collect()
    };
    s.rows.present().map(row).collect()
}

#[test]
fn five_models_on_three_topologies() {
    assert_eq!(check("stages_base.json"), 90);
}

#[test]
fn placements_spills_uneven_degrees_modes_rings_and_batches() {
    assert_eq!(check("stages_topologies.json"), 98);
}

/// The expressions that `--explain` prints and the page runs, evaluated, are the numbers that the search computes.
#[test]
fn expressions_give_the_same_bits_as_numbers() {
    let (graph, traced) = formulas(Options::BASELINE);
    graph.check_units().expect("units");
    let golden = golden("stages_topologies.json");
    for case in list(&golden, "cases") {
        let topology = topology(&golden["topologies"][text(case, "topology")]);
        let inputs = Inputs::new(&model(text(case, "model")), &Machine::default(), &topology, &work(case));
        let step = step(&inputs, Options::BASELINE);
        let values = graph.evaluate(&inputs.values());
        let value = |expr| {
            let name = graph.name_of(expr).expect("results are named");
            let at = graph.definitions.iter().position(|d| d.name == name).expect("it is defined");
            values[at]
        };
        same("latency", &json!(step.latency_s.to_bits()), &json!(value(traced.latency_s).to_bits()));
        assert_eq!(step.efficiency.to_bits(), value(traced.efficiency).to_bits());
        assert_eq!(step.memory.used_bytes.to_bits(), value(traced.memory.used_bytes).to_bits());
        for (row, traced) in step.rows.all().iter().zip(traced.rows.all()) {
            assert_eq!(row.visible_s.to_bits(), value(traced.visible_s).to_bits(), "{:?}", row.id);
        }
    }
}
