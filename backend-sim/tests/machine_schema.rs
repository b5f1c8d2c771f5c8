//! The JSON Schema of machine files: the shipped file fits it, every field is in it, and it refuses what the loader refuses.

use regex_lite::Regex;
use serde_json::Value;
use tilewright_sim::machine::{FieldId, Machine, schema};

/// Whether a value fits a schema, for the keywords that the schema of machine files is written in; any other keyword
/// fails the test.
fn valid(root: &Value, schema: &Value, v: &Value) -> bool {
    let holds = |(keyword, rule): (&String, &Value)| match keyword.as_str() {
        "$schema" | "title" | "description" | "$defs" | "then" => true,
        "type" => match rule.as_str() {
            Some("object") => v.is_object(),
            Some("string") => v.is_string(),
            Some("integer") => v.is_u64() || v.is_i64(),
            Some("number") => v.is_number(),
            other => panic!("type {other:?}"),
        },
        "$ref" => {
            let pointer = rule.as_str().and_then(|r| r.strip_prefix('#')).unwrap_or_else(|| panic!("{rule}"));
            valid(root, root.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")), v)
        }
        "enum" => rule.as_array().is_some_and(|all| all.contains(v)),
        "pattern" => {
            let pattern = Regex::new(rule.as_str().unwrap_or_default()).unwrap_or_else(|e| panic!("{rule}: {e}"));
            v.as_str().is_none_or(|text| pattern.is_match(text))
        }
        "minimum" => v.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
        "maximum" => v.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
        "required" => v
            .as_object()
            .is_none_or(|o| rule.as_array().unwrap().iter().all(|name| o.contains_key(name.as_str().unwrap()))),
        "properties" => v
            .as_object()
            .is_none_or(|o| o.iter().all(|(name, v)| rule.get(name).is_none_or(|schema| valid(root, schema, v)))),
        "additionalProperties" => v.as_object().is_none_or(|o| {
            *rule == Value::Bool(false) && o.keys().all(|name| schema["properties"].get(name).is_some())
        }),
        "anyOf" => rule.as_array().unwrap().iter().any(|schema| valid(root, schema, v)),
        "not" => !valid(root, rule, v),
        "if" => !valid(root, rule, v) || valid(root, &schema["then"], v),
        other => panic!("keyword {other}"),
    };
    schema.as_object().unwrap().iter().all(holds)
}
fn shipped() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/ahbm.toml");
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"))
}
fn fits(file: &str) -> bool {
    let value: Value = toml::from_str(file).unwrap_or_else(|e| panic!("{e}"));
    valid(&schema(), &schema(), &value)
}

#[test]
fn the_shipped_file_and_a_printed_machine_fit() {
    assert!(fits(&shipped()));
    assert!(fits(&Machine::ahbm().to_toml()));
}

#[test]
fn every_field_is_in_it_with_its_description() {
    let schema = schema();
    for id in FieldId::all() {
        let row = id.row();
        let field = &schema["properties"][row.section]["properties"][row.name];
        let description = field["description"].as_str().unwrap_or_default();
        assert!(description.starts_with(row.doc.trim()) && description.contains(" From "), "{id}: {description}");
    }
    let sections = schema["properties"].as_object().map(|p| p.len());
    let fields = FieldId::all().map(|id| id.row().section).collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(sections, Some(fields + 2), "the sections, `name` and `extends`");
}

#[test]
fn it_says_of_files_what_the_loader_says() {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let cases = [
        ("[hbm]\nslice_rate = '512 GB/s'", true),
        ("[hbm]\nslice_rate = { value = '1.5e3 GB/s', status = 'assumed' }", true),
        ("[hbm]\nread_latency = '13ns'", true),
        ("[queue]\ndepth = 2", true),
        ("[gemm]\nfactor_f32 = 0.25", true),
        ("[hbm]\nslice_rate = '512 Gb/s'", false),
        ("[hbm]\nslice_rate = '512'", false),
        ("[hbm]\nslice_rate = 512", false),
        ("[hbm]\nslice_rat = '512 GB/s'", false),
        ("[hbn]\nslice_rate = '512 GB/s'", false),
        ("[hbm]\nread_latency = '13 GB/s'", false),
        ("[hbm]\nread_latency = { value = '13 ns', status = 'guessed' }", false),
        ("[hbm]\nread_latency = { status = 'assumed' }", false),
        ("[queue]\ndepth = 0", false),
        ("[queue]\ndepth = '2'", false),
        ("[gemm]\nfactor_f32 = 0", false),
    ];
    for (n, (text, good)) in cases.into_iter().enumerate() {
        let file = format!("extends = 'ahbm'\n{text}\n");
        let path = dir.join(format!("schema_{n}.toml"));
        std::fs::write(&path, &file).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(Machine::load(&path.display().to_string(), &[]).is_ok(), good, "loader: {text}");
        assert_eq!(fits(&file), good, "schema: {text}");
    }
    assert!(!fits("name = 'a machine without values'"));
    assert!(!fits(&shipped().replace("depth = { value = 4, status = \"fitted\" }\n", "")), "a field is missing");
}
