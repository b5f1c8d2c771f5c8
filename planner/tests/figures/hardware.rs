//! Machine and parallelism together.

use super::support::{count, golden, list, model, phase, same, same_keyed, text};
use serde_json::{Value, json};
use tilewright_planner::cost::CostModel;
use tilewright_planner::hardware::{Depth, Query, search};
use tilewright_planner::machine::Machine;
use tilewright_planner::options::Options;
use tilewright_planner::topology::{Parts, Work};
use tilewright_planner::view;

#[test]
fn best_point_frontier_and_sensitivity_of_64_searches() {
    let golden = golden("joint_explore.json");
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
            cost: CostModel::ASSUMED,
            options: Options::BASELINE,
        });
        same(&what, &run["hw_candidates"], &json!(found.candidates));
        same(&what, &run["hw_with_a_fit"], &json!(found.bests.len()));
        same(&what, &run["pareto_size"], &json!(found.pareto.len()));
        for (end, joint) in [("best", found.bests.first()), ("slowest_best", found.bests.last())] {
            match joint {
                Some(joint) => same_keyed(&format!("{what} {end}"), &run[end], &view::joint(joint)),
                None => same(&what, &run[end], &Value::Null),
            }
        }
        for (golden, at) in list(run, "pareto").iter().zip(&found.pareto) {
            same_keyed(&format!("{what} frontier"), golden, &view::joint(&found.bests[*at]));
        }
        let sensitivity = list(run, "sensitivity");
        assert_eq!(sensitivity.len(), found.sensitivity.len());
        for (golden, d) in sensitivity.iter().zip(&found.sensitivity) {
            // A difference of two times that agree to 1e-9: compared with the times, not with itself.
            let speedup = golden[5].as_f64().expect("a ratio");
            assert!((speedup - d.speedup).abs() <= 1e-9, "{what}: {golden} {d:?}");
            let mut row = view::doubling(d);
            row[5].1 = golden[5].clone();
            same_keyed(&format!("{what} sensitivity"), golden, &row);
        }
    }
    assert_eq!(runs.len(), 64);
}
