//! The smallest deployment that fits.

use super::support::{golden, list, model, phase, same_keyed};
use serde_json::{Value, json};
use tilewright_planner::machine::Machine;
use tilewright_planner::options::Options;
use tilewright_planner::suggest::{SLACK, suggest};
use tilewright_planner::topology::{Parts, Work};
use tilewright_planner::view;

#[test]
fn the_smallest_deployment_that_fits_is_the_golden_one() {
    let golden = golden("auto_suggest.json");
    let columns: Vec<&str> = list(&golden, "columns").iter().filter_map(Value::as_str).collect();
    let rows = list(&golden, "rows");
    for row in rows {
        let parts = Parts { attention: row[4] == json!(true), ffn: row[5] == json!(true) };
        let phase = phase(row[2].as_str().expect("a phase"));
        let work = Work { parts, ..Work::new(phase, row[1].as_u64().expect("tokens")) };
        let model = model(row[0].as_str().expect("a model"));
        let b = row[3].as_u64().expect("requests");
        let s = suggest(&model, &Machine::default(), b, &work, SLACK, Options::BASELINE);
        let asked = [("model", &row[0]), ("s_kv_tokens", &row[1]), ("mode", &row[2]), ("b_requests", &row[3])];
        let parts = [("include_attention", &row[4]), ("include_ffn", &row[5])];
        let asked = asked.into_iter().chain(parts).map(|(key, value)| (key, value.clone()));
        let found: view::Keyed = asked.chain(view::suggestion(&s)).collect();
        assert_eq!(columns, found.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        same_keyed(&row.to_string(), row, &found);
    }
    assert_eq!(rows.len(), 80);
}
