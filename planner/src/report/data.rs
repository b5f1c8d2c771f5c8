//! What the page's script is given: choices, numbers, and the formulas as functions.

use super::Report;
use super::outputs::{of_roofline, of_score, of_step};
use crate::cost::CostModel;
use crate::explore::{DP, PP};
use crate::formula::{Graph, Input, Output, formula_template, javascript};
use crate::hardware::Knob;
use crate::inputs::Inputs;
use crate::model::{Model, presets};
use crate::options::Options;
use crate::picture::{knob_label, part_of};
use crate::sensitivity::KNOBS;
use crate::stages::{Bound, BoundRule};
use crate::suggest::{CP, TP};
use crate::{roofline, step};
use serde_json::{Map, Value, json};

/// `DATA` and `METHODS`.
pub(super) fn script(report: &Report<'_>) -> String {
    let methods = report.methods();
    let functions: String = methods.iter().enumerate().map(|(n, o)| functions(n, *o)).collect();
    let table: Vec<String> = (0..methods.len())
        .map(|n| format!("{{ step: step_{n}, score: score_{n}, roofline: roofline_{n}, explain: explain_{n} }}"))
        .collect();
    let data = serde_json::to_string(&data(report, &methods)).expect("names and finite numbers");
    // A name must not end the script.
    let data = data.replace("</", "<\\/");
    format!("const DATA = {data};\n{functions}const METHODS = [{}];\n", table.join(", "))
}

fn functions(n: usize, o: Options) -> String {
    let (graph, s) = step::formulas(o);
    let all: Vec<(String, Output<_>)> =
        graph.definitions.iter().map(|d| (d.name.clone(), Output::Number(d.value))).collect();
    let (roof, r) = roofline::formulas(o);
    [
        javascript(&graph, &format!("step_{n}"), &of_step(&s)),
        javascript(&graph, &format!("score_{n}"), &of_score(&s)),
        javascript(&graph, &format!("explain_{n}"), &all),
        javascript(&roof, &format!("roofline_{n}"), &of_roofline(&r)),
    ]
    .concat()
}

fn data(report: &Report<'_>, methods: &[Options]) -> Value {
    let inputs = Inputs::new(report.model, report.machine, &report.topology, &report.work);
    let (graph, _) = step::formulas(Options::BASELINE);
    let rates = Knob::ALL.iter().map(|k| json!({"input": knob_input(*k), "label": knob_label(*k)}));
    let knobs = KNOBS.iter().map(|k| json!({"name": k.name, "values": k.values}));
    json!({
        "models": models(report.model).iter().map(|m| model(report, &graph, m)).collect::<Vec<_>>(),
        "start": named(&graph, &inputs.values()),
        "inputs": graph.inputs.iter().map(|i| json!({"name": i.name, "unit": i.unit.to_string(), "what": i.what})).collect::<Vec<_>>(),
        "methods": methods.iter().map(|o| method(*o)).collect::<Vec<_>>(),
        "grid": {"cp": CP, "tp": TP, "pp": PP, "dp": DP},
        "knobs": knobs.collect::<Vec<_>>(),
        "rates": rates.collect::<Vec<_>>(),
        "costs": CostModel::ASSUMED.weights,
    })
}

/// The library, led by the report's own model where it is none of it.
pub(super) fn models(own: &Model) -> Vec<&Model> {
    let library = presets();
    let mut all: Vec<&Model> = library.iter().collect();
    if !library.iter().any(|m| m == own) {
        all.insert(0, own);
    }
    all
}

fn model(report: &Report<'_>, graph: &Graph, m: &Model) -> Value {
    let values = Inputs::new(m, report.machine, &report.topology, &report.work).values();
    let own: Map<String, Value> = graph
        .inputs
        .iter()
        .zip(values)
        .take_while(|(input, _)| !is_first_degree(input))
        .map(|(input, value)| (input.name.to_string(), json!(value)))
        .collect();
    json!({"name": m.name, "family": m.family, "x": own})
}

/// Inputs of the model come first, then degrees.
fn is_first_degree(input: &Input) -> bool {
    input.name == "cp"
}

/// A value for each input, by the name that formulas print.
pub(super) fn named(graph: &Graph, values: &[f64]) -> Map<String, Value> {
    graph.inputs.iter().zip(values).map(|(input, value)| (input.name.to_string(), json!(value))).collect()
}

fn method(o: Options) -> Value {
    let (graph, s) = step::formulas(o);
    let stages = s.rows.all().iter().map(
        |row| json!({"id": row.id.name(), "what": row.id.what(), "part": part_of(row.id), "rule": rule(row.rule)}),
    );
    let definitions = graph.definitions.iter().map(|d| {
        json!({"name": d.name, "text": formula_template(&graph, d), "unit": d.unit.to_string(), "reason": d.reason})
    });
    json!({
        "label": o.label(),
        "options": o.iter().map(|o| o.name()).collect::<Vec<_>>(),
        "stages": stages.collect::<Vec<_>>(),
        "definitions": definitions.collect::<Vec<_>>(),
    })
}

/// As `boundOf` of the script reads it.
fn rule(rule: BoundRule) -> &'static str {
    match rule {
        BoundRule::Is(Bound::Compute) => "compute",
        BoundRule::Is(Bound::Memory) => "memory",
        BoundRule::Is(Bound::Comm) => "comm",
        BoundRule::Is(Bound::Trivial) => "trivial",
        BoundRule::Larger => "larger",
        BoundRule::CommOrCompute => "comm-or-compute",
        BoundRule::CommIfAny => "comm-if-any",
    }
}

/// The input that a value of the machine is.
fn knob_input(knob: Knob) -> &'static str {
    match knob {
        Knob::PeHbm => "hbm",
        Knob::BwHbm => "W",
        Knob::Peak => "peak",
        Knob::BwIntra => "bw_intra",
        Knob::BwInter => "bw_inter",
        Knob::BwIntersip => "bw_sip",
    }
}
