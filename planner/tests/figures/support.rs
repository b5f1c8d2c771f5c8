//! Golden files as values, and the one comparison.

use serde_json::Value;
use std::path::Path;
use tilewright_planner::model::{Model, named};
use tilewright_planner::topology::{Phase, Topology, Work};

pub const TOLERANCE: f64 = 1e-9;

pub fn golden(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let text = std::fs::read_to_string(&path).expect("a golden file");
    serde_json::from_str(&text).expect("golden files are JSON")
}

pub fn list<'v>(value: &'v Value, key: &str) -> &'v Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("`{key}` is a list"))
}
pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text"))
}
pub fn count(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("`{key}` is a count"))
}
pub fn model(name: &str) -> Model {
    named(name).expect("golden models are presets")
}
pub fn work(case: &Value) -> Work {
    Work::new(phase(text(case, "mode")), count(case, "s_kv_tokens"))
}
pub fn phase(name: &str) -> Phase {
    name.parse().expect("a phase")
}

pub fn topology(value: &Value) -> Topology {
    let degree = |key: &str| count(value, key);
    let choice = |key: &str| text(value, key);
    Topology {
        cp: degree("cp"),
        tp: degree("tp"),
        pp: degree("pp"),
        dp: degree("dp"),
        ep: degree("ep"),
        b: degree("b"),
        kv_shard_mode: choice("kv_shard_mode").parse().expect("a mode"),
        ffn_shard_scope: choice("ffn_shard_scope").parse().expect("a scope"),
        tp_placement: choice("tp_placement").parse().expect("a placement"),
        cp_placement: choice("cp_placement").parse().expect("a placement"),
        cp_ring_variant: choice("cp_ring_variant").parse().expect("a ring"),
        ..Topology::default()
    }
}

/// `found` is a golden value: a number within the tolerance (a whole one exactly), else the same.
pub fn same(what: &str, golden: &Value, found: &Value) {
    let equal = match (golden, found) {
        (Value::Number(g), Value::Number(f)) => {
            let (g, f) = (g.as_f64().expect("a number"), f.as_f64().expect("a number"));
            (g - f).abs() <= TOLERANCE * g.abs()
        }
        (g, f) => g == f,
    };
    assert!(equal, "{what}: golden {golden}, found {found}");
}

/// The same for rows of values.
pub fn same_row(what: &str, columns: &[&str], golden: &Value, found: &[Value]) {
    let golden = golden.as_array().expect("a row");
    assert_eq!((golden.len(), found.len()), (columns.len(), columns.len()), "{what}");
    for ((column, g), f) in columns.iter().zip(golden).zip(found) {
        same(&format!("{what}, {column}"), g, f);
    }
}

/// A row against keyed values, whose keys are the golden columns.
pub fn same_keyed(what: &str, golden: &Value, found: &[(&'static str, Value)]) {
    let (columns, values): (Vec<&str>, Vec<Value>) = found.iter().cloned().unzip();
    same_row(what, &columns, golden, &values);
}
