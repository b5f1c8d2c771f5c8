//! The presets are those of the study, with the parameters and the cache that it counts.

use tilewright_planner::model::presets;

#[test]
fn every_preset_has_the_parameters_and_the_kv_bytes_of_the_study() {
    let text = include_str!("../../src/model/presets.csv");
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = rows.records().map(|r| r.expect("a row")).collect();
    assert_eq!(rows.len(), 46, "45 models and a free slot");
    for (row, model) in rows.iter().zip(presets()) {
        assert_eq!(&row[0], model.name);
        assert_eq!(row[10], model.active_params().to_string(), "{}", model.name);
        assert_eq!(row[11].parse::<f64>().expect("bytes"), model.kv_bytes_per_token(), "{}", model.name);
        let attention = if &row[2] == "-" { "GQA" } else { &row[2] };
        assert_eq!(attention, model.attention(), "{}", model.name);
    }
    for model in presets() {
        assert_eq!(model.clone().check(None).as_ref(), Ok(model));
    }
}
