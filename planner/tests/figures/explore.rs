//! The full search: counts, ranking and frontier; and one knob at a time.

use super::support::{count, golden, list, model, phase, same, same_keyed, text};
use serde_json::{Value, json};
use tilewright_planner::explore::{Exploration, Point, explore};
use tilewright_planner::machine::Machine;
use tilewright_planner::options::Options;
use tilewright_planner::sensitivity::{KNOBS, parallelism};
use tilewright_planner::topology::{Parts, Topology, Work};
use tilewright_planner::view;

fn work(run: &Value) -> Work {
    let part = |key: &str| run[key].as_bool().unwrap_or(true);
    let parts = Parts { attention: part("include_attention"), ffn: part("include_ffn") };
    Work { parts, ..Work::new(phase(text(run, "mode")), count(run, "s_kv_tokens")) }
}

fn search(run: &Value) -> Exploration {
    let b = run["b_requests"].as_u64().unwrap_or(1);
    explore(&model(text(run, "model")), &Machine::default(), b, &work(run), Options::BASELINE)
}

/// Distinct (latency, PEs, efficiency), to the bit.
fn distinct(x: &Exploration) -> usize {
    let mut points: Vec<[u64; 3]> = x
        .pareto
        .iter()
        .map(|i| &x.points[*i])
        .map(|p| [p.latency_s, p.pes_used, p.efficiency].map(f64::to_bits))
        .collect();
    points.sort_unstable();
    points.dedup();
    points.len()
}

#[test]
fn counts_ranking_and_frontier_of_36_searches() {
    let golden = golden("auto_explore.json");
    let columns: Vec<&str> = list(&golden, "pareto_columns").iter().filter_map(Value::as_str).collect();
    let runs = list(&golden, "runs");
    for run in runs {
        let what = format!("{} {} {}", run["model"], run["s_kv_tokens"], run["mode"]);
        let x = search(run);
        let feasible = x.ranked.iter().map(|i| x.points[*i].latency_s * 1e9);
        let of = |test: fn(&Point) -> bool| json!(x.points.iter().filter(|p| test(p)).count());
        same(&format!("{what} enumerated"), &run["enumerated"], &json!(x.points.len()));
        same(&format!("{what} feasible"), &run["feasible"], &json!(x.ranked.len()));
        same(&format!("{what} fits"), &run["fits_memory"], &of(|p| p.fits));
        same(&format!("{what} valid"), &run["placement_valid"], &of(|p| p.placement_valid));
        same(&format!("{what} pareto"), &run["pareto_size"], &json!(x.pareto.len()));
        same(&format!("{what} distinct"), &run["pareto_distinct_points"], &json!(distinct(&x)));
        let latencies: Vec<f64> = feasible.collect();
        assert!(latencies.is_sorted());
        same(&format!("{what} fastest"), &run["feasible_latency_min_ns"], &json!(latencies.first()));
        same(&format!("{what} slowest"), &run["feasible_latency_max_ns"], &json!(latencies.last()));
        same(&format!("{what} sum"), &run["feasible_latency_sum_ns"], &json!(latencies.iter().sum::<f64>()));
        for (i, (golden, at)) in list(run, "pareto").iter().zip(&x.pareto).enumerate() {
            let row = view::point(&x.points[*at]);
            assert_eq!(columns, row.iter().map(|(key, _)| *key).collect::<Vec<_>>());
            same_keyed(&format!("{what} row {i}"), golden, &row);
        }
    }
    assert_eq!(runs.len(), 36);
}

#[test]
fn one_knob_at_a_time_around_the_fastest_point() {
    let golden = golden("parallelism_sensitivity.json");
    let runs = list(&golden, "runs");
    for run in runs {
        let b = &run["baseline"];
        let degree = |i: usize| b[i].as_u64().expect("a degree");
        let choice = |i: usize| b[i].as_str().expect("a choice");
        let around = Topology {
            cp: degree(0),
            tp: degree(1),
            pp: degree(2),
            dp: degree(3),
            kv_shard_mode: choice(4).parse().expect("a mode"),
            ffn_shard_scope: choice(5).parse().expect("a scope"),
            tp_placement: choice(6).parse().expect("a placement"),
            cp_placement: choice(7).parse().expect("a placement"),
            cp_ring_variant: choice(8).parse().expect("a ring"),
            b: 8,
            ..Topology::default()
        };
        let s = parallelism(&model(text(run, "model")), &Machine::default(), &around, &work(run), Options::BASELINE);
        let what = format!("{} {} {}", run["model"], run["s_kv_tokens"], run["mode"]);
        same(&what, &run["baseline_latency_ns"], &json!(s.latency_s * 1e9));
        for (knob, (name, samples)) in KNOBS.iter().zip(&s.samples) {
            let golden = &run["knobs"][name];
            same(&what, &golden["baseline_value"], &json!((knob.get)(&s.around)));
            let latencies = list(golden, "latency_ns");
            assert_eq!(latencies.len(), samples.len());
            for ((latency, fits), sample) in latencies.iter().zip(list(golden, "fits")).zip(samples) {
                let what = format!("{what} {name} {}", sample.value);
                same(&what, latency, &json!(sample.latency_s.map(|l| l * 1e9)));
                same(&what, fits, &json!(u8::from(sample.fits)));
            }
        }
    }
    assert_eq!(runs.len(), 30);
}
