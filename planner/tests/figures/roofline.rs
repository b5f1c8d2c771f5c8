//! The chip's roofline, sizing, and memory curves.

use super::support::{count, golden, list, model, phase, same, same_row, text, topology};
use serde_json::{Value, json};
use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::Machine;
use tilewright_planner::memory::{Axis, CurvePoint, curve};
use tilewright_planner::options::Options;
use tilewright_planner::roofline::{Roofline, roofline};
use tilewright_planner::size::{Demand, size};
use tilewright_planner::topology::{Phase, Topology, Work};

fn at(name: &str, machine: &Machine, s: u64, sparsity: f64) -> Roofline<f64> {
    let inputs = Inputs::new(&model(name), machine, &Topology::single(), &Work::new(Phase::Decode, s));
    roofline(&inputs, sparsity, Options::BASELINE)
}

#[test]
fn critical_batch_balance_context_knee_and_steps() {
    let golden = golden("roofline.json");
    let goals: Vec<f64> = list(&golden, "tpot_slo_s").iter().filter_map(Value::as_f64).collect();
    let models = list(&golden, "models");
    for m in models {
        let name = text(m, "model");
        let r = at(name, &Machine::default(), 4096, 1.0);
        let found = [
            ("active_params", r.active_params),
            ("kv_bytes_per_token", r.kv_bytes_per_token),
            ("arithmetic_intensity_flop_per_byte", r.arithmetic_intensity),
            ("critical_batch_requests", r.critical_batch),
            ("critical_batch_requests_sparsity4", at(name, &Machine::default(), 4096, 4.0).critical_batch),
            ("balance_context_tokens", r.balance_context),
            ("recommended_batch_requests", 2.0 * r.critical_batch),
            ("compute_s_per_token", r.compute_s_per_token),
            ("weight_s_per_step", r.weight_s),
        ];
        for (key, found) in found {
            same(&format!("{name} {key}"), &m[key], &json!(found));
        }
        for by in list(m, "by_s_kv") {
            let r = at(name, &Machine::default(), count(by, "s_kv_tokens"), 1.0);
            let what = format!("{name} {}", by["s_kv_tokens"]);
            same(&what, &by["knee_batch_requests"], &json!(r.knee()));
            same(&what, &by["utilization_ratio"], &json!(r.utilisation_at_s));
            same(&what, &by["kv_s_per_token"], &json!(r.kv_s_per_token));
            for (step, per_token) in list(by, "step").iter().zip(list(by, "per_token_total_s")) {
                let b = step[0].as_f64().expect("requests");
                let row = [
                    step[0].clone(),
                    json!(r.weight_s),
                    json!(b * r.compute_s_per_token),
                    json!(b * r.kv_s_per_token),
                    json!(r.step_of(b)),
                    json!(r.regime(b).name()),
                ];
                same_row(&what, &["batch", "weight", "compute", "kv", "total", "bound"], step, &row);
                same(&what, per_token, &json!(r.step_of(b) / b));
            }
            for (goal, batch) in goals.iter().zip(list(by, "max_batch_requests_at_slo")) {
                same(&format!("{what} within {goal} s"), batch, &json!(r.max_batch(*goal)));
            }
        }
    }
    assert_eq!(models.len(), 5);
}

#[test]
fn deployments_for_users_context_and_a_latency() {
    let golden = golden("roofline.json");
    let columns: Vec<&str> = list(&golden, "size_deployment_columns").iter().filter_map(Value::as_str).collect();
    for m in list(&golden, "models") {
        for row in list(m, "size_deployment") {
            let number = |i: usize| row[i].as_u64().expect("a count");
            let demand =
                Demand { users: number(0), context: number(1), tpot_goal_s: row[2].as_f64().expect("seconds") };
            demand.check().expect("golden demands are sound");
            let s = size(&model(text(m, "model")), &Machine::default(), &demand);
            let found = [
                row[0].clone(),
                row[1].clone(),
                row[2].clone(),
                json!(s.pes_capacity),
                json!(s.pes_kv),
                json!(s.pes_per_replica),
                json!(s.batch_at_goal),
                json!(s.users_per_replica),
                json!(s.replicas),
                json!(s.total_pes),
                json!(s.binding.name()),
            ];
            same_row(&format!("{} {row}", m["model"]), &columns, row, &found);
        }
    }
}

#[test]
fn intensity_follows_the_ratio_of_peak_and_bandwidth() {
    let golden = golden("roofline.json");
    for (axis, rows) in golden["ai_sensitivity"].as_object().expect("two axes") {
        for row in rows.as_array().expect("rows") {
            let factor = row[0].as_f64().expect("a factor");
            let mut machine = Machine::default();
            match axis.as_str() {
                "flops" => machine.peak_flop_per_s *= factor,
                _ => machine.hbm_bytes_per_s *= factor,
            }
            let r = at("Llama 3 8B", &machine, 4096, 1.0);
            same(axis, &row[3], &json!(r.arithmetic_intensity));
            same(axis, &row[4], &json!(r.critical_batch));
        }
    }
    let h100 = &golden["h100_like"];
    let machine = Machine { peak_flop_per_s: 989e12, hbm_bytes_per_s: 3350e9, ..Machine::default() };
    same("H100", &h100["critical_batch_requests"], &json!(at("Llama 3 8B", &machine, 4096, 1.0).critical_batch));
}

#[test]
fn memory_against_context_and_requests() {
    let golden = golden("roofline.json");
    let columns: Vec<&str> = list(&golden, "memory_curve_columns").iter().filter_map(Value::as_str).collect();
    let row = |p: &CurvePoint| {
        let bytes = [p.weights_bytes, p.kv_bytes, p.transient_bytes, p.used_bytes, p.free_bytes];
        let gb = bytes.iter().map(|b| json!(b / 1e9));
        std::iter::once(json!(p.axis)).chain(gb).chain([json!(p.over_budget)]).collect::<Vec<Value>>()
    };
    for c in list(&golden, "memory_curves") {
        let config = Work::new(phase(text(c, "mode")), count(c, "config_s_kv_tokens"));
        let topology = topology(&c["topology"]);
        for (key, axis, other) in [("vs_s_kv_at_b4", Axis::Context, 4), ("vs_b_at_s_kv_32768", Axis::Requests, 32768)] {
            let inputs = Inputs::new(&model(text(c, "model")), &Machine::default(), &topology, &config);
            let values: Vec<u64> = list(c, key).iter().filter_map(|r| r[0].as_u64()).collect();
            let found = curve(&inputs, axis, other, &values, Options::BASELINE);
            for (golden, point) in list(c, key).iter().zip(&found) {
                same_row(&format!("{} {key}", c["model"]), &columns, golden, &row(point));
            }
        }
    }
}
