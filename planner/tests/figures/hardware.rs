//! Machine and parallelism together.

use super::support::{count, golden, list, model, phase, same, same_row, text};
use serde_json::{Value, json};
use tilewright_planner::hardware::{Depth, Joint, Knob, Query, search};
use tilewright_planner::machine::Machine;
use tilewright_planner::options::Options;
use tilewright_planner::topology::{Parts, Work};

fn row(j: &Joint) -> Vec<Value> {
    let (p, t) = (&j.point, &j.point.topology);
    let machine = Knob::ALL.iter().map(|k| json!(k.get(&j.machine)));
    let rest = [
        json!(j.cost),
        json!(p.latency_s * 1e9),
        json!(t.cp),
        json!(t.tp),
        json!(t.pp),
        json!(t.dp),
        json!(t.kv_shard_mode.name()),
        json!(t.cp_ring_variant.name()),
        json!(p.pes_used),
        json!(p.hbm_utilization),
    ];
    machine.chain(rest).collect()
}

#[test]
fn best_point_frontier_and_sensitivity_of_64_searches() {
    let golden = golden("joint_explore.json");
    let columns: Vec<&str> = list(&golden, "point_columns").iter().filter_map(Value::as_str).collect();
    let sensitivity_columns: Vec<&str> = list(&golden, "sensitivity_columns").iter().filter_map(Value::as_str).collect();
    let runs = list(&golden, "runs");
    for run in runs {
        let what = format!("{} {} {} {}", run["model"], run["s_kv_tokens"], run["mode"], run["depth"]);
        let part = |key: &str| run[key].as_bool().expect("yes or no");
        let parts = Parts { attention: part("include_attention"), ffn: part("include_ffn") };
        let model = model(text(run, "model"));
        let depth = Depth::ALL.into_iter().find(|d| d.name() == text(run, "depth")).expect("a depth");
        let found = search(&Query {
            model: &model,
            base: &Machine::default(),
            work: Work { parts, ..Work::new(phase(text(run, "mode")), count(run, "s_kv_tokens")) },
            b: count(run, "b_requests"),
            depth,
            options: Options::BASELINE,
        });
        same(&what, &run["hw_candidates"], &json!(found.candidates));
        same(&what, &run["hw_with_a_fit"], &json!(found.bests.len()));
        same(&what, &run["pareto_size"], &json!(found.pareto.len()));
        for (end, joint) in [("best", found.bests.first()), ("slowest_best", found.bests.last())] {
            match joint {
                Some(joint) => same_row(&format!("{what} {end}"), &columns, &run[end], &row(joint)),
                None => same(&what, &run[end], &Value::Null),
            }
        }
        for (golden, at) in list(run, "pareto").iter().zip(&found.pareto) {
            same_row(&format!("{what} frontier"), &columns, golden, &row(&found.bests[*at]));
        }
        let sensitivity = list(run, "sensitivity");
        assert_eq!(sensitivity.len(), found.sensitivity.len());
        for (golden, d) in sensitivity.iter().zip(&found.sensitivity) {
            let latencies = [json!(d.latency_s * 1e9), json!(d.doubled_latency_s * 1e9)];
            let row = [json!(d.knob.name()), json!(d.value), json!(d.doubled)];
            // A difference of two times that agree to 1e-9: compared with the times, not with itself.
            let speedup = golden[5].as_f64().expect("a ratio");
            assert!((speedup - d.speedup).abs() <= 1e-9, "{what}: {golden} {d:?}");
            let row: Vec<Value> = row.into_iter().chain(latencies).chain([golden[5].clone()]).collect();
            same_row(&format!("{what} sensitivity"), &sensitivity_columns, golden, &row);
        }
    }
    assert_eq!(runs.len(), 64);
}
