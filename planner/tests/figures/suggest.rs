//! The smallest deployment that fits.

use super::support::{golden, list, model, phase, same_row};
use serde_json::{Value, json};
use tilewright_planner::machine::Machine;
use tilewright_planner::options::Options;
use tilewright_planner::suggest::{SLACK, suggest};
use tilewright_planner::topology::{Parts, Work};

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
        let (t, m, gb) = (s.topology, s.memory, 1e9);
        let found = [
            row[0].clone(),
            json!(work.s_kv),
            json!(work.phase.name()),
            json!(t.b),
            json!(parts.attention),
            json!(parts.ffn),
            json!(t.cp),
            json!(t.tp),
            json!(t.pp),
            json!(t.cp_placement.name()),
            json!(s.fits),
            json!(s.placed.total_pes),
            json!(s.placed.cubes_used),
            json!(s.placed.sips_used),
            json!(m.weights_bytes / gb),
            json!(m.kv_bytes / gb),
            json!(m.transient_bytes / gb),
            json!(m.slack_bytes / gb),
        ];
        same_row(&row.to_string(), &columns, row, &found);
    }
    assert_eq!(rows.len(), 80);
}
