//! Duplicated bytes, hints, and shapes.

use super::support::{golden, list, model, same_row, text, topology, work};
use serde_json::{Value, json};
use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::Machine;
use tilewright_planner::options::Options;
use tilewright_planner::replication::{duplicates, hints};
use tilewright_planner::shapes::shapes;
use tilewright_planner::step::{Step, step};

fn of(case: &Value) -> (Inputs<f64>, Step<f64>) {
    let topologies = golden("stages_topologies.json");
    let topology = topology(&topologies["topologies"][text(case, "topology")]);
    let inputs = Inputs::new(&model(text(case, "model")), &Machine::default(), &topology, &work(case));
    (inputs, step(&inputs, Options::BASELINE))
}

#[test]
fn what_is_held_twice_and_what_to_change() {
    let golden = golden("replication.json");
    let cases = list(&golden, "cases");
    for case in cases {
        let (inputs, step) = of(case);
        let what = format!("{} {}", case["model"], case["topology"]);
        let found = duplicates(&inputs, &step, Options::BASELINE);
        let expected = list(case, "duplicates");
        assert_eq!(expected.len(), found.len(), "{what}: {found:?}");
        for (golden, d) in expected.iter().zip(found) {
            let row = [json!(d.tensor), json!(d.per_pe_bytes), json!(d.copies), json!(d.wasted_bytes)];
            same_row(&what, &["tensor", "bytes", "copies", "wasted"], golden, &row);
        }
        let found: Vec<Value> = hints(&inputs, &step).iter().map(|h| json!([h.category, h.severity, h.name])).collect();
        assert_eq!(list(case, "hints"), &found, "{what}");
    }
    assert!(cases.len() > 20);
}

#[test]
fn shapes_of_every_stage() {
    let golden = golden("shapes.json");
    let cases = list(&golden, "cases");
    for case in cases {
        let (inputs, step) = of(case);
        let found: Vec<Value> =
            shapes(&inputs, &step).iter().map(|s| json!([s.stage.name(), s.inputs, s.weights, s.outputs])).collect();
        assert_eq!(list(case, "rows"), &found, "{} {}", case["model"], case["topology"]);
    }
    assert_eq!(cases.len(), 5);
}
