//! Stages, memory and totals of 188 cases.

use super::support::{golden, list, model, same, same_keyed, text, topology, work};
use serde_json::json;
use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::Machine;
use tilewright_planner::options::Options;
use tilewright_planner::step::{formulas, step};
use tilewright_planner::view;

fn check(file: &str) -> usize {
    let golden = golden(file);
    let columns = |key: &str| list(&golden, key).iter().filter_map(|c| c.as_str()).collect::<Vec<_>>();
    let keys = |keyed: view::Keyed| keyed.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    let cases = list(&golden, "cases");
    for case in cases {
        let what = format!("{} {} {} {}", case["model"], case["topology"], case["s_kv_tokens"], case["mode"]);
        let topology = topology(&golden["topologies"][text(case, "topology")]);
        let inputs = Inputs::new(&model(text(case, "model")), &Machine::default(), &topology, &work(case));
        let step = step(&inputs, Options::BASELINE);
        assert_eq!(columns("derived_columns"), keys(view::derived(&step)));
        assert_eq!(columns("memory_columns"), keys(view::memory(&step)));
        assert_eq!(columns("totals_columns"), keys(view::totals(&step)));
        same_keyed(&what, &case["derived"], &view::derived(&step));
        same_keyed(&what, &case["memory"], &view::memory(&step));
        same_keyed(&what, &case["totals"], &view::totals(&step));
        let rows: Vec<view::Keyed> = step.rows.present().map(view::stage).collect();
        let expected = list(case, "stages");
        assert_eq!(expected.len(), rows.len(), "{what}: stages");
        for (expected, row) in expected.iter().zip(&rows) {
            same_keyed(&format!("{what} {}", expected[0]), expected, row);
        }
    }
    cases.len()
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
