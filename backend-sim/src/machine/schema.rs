//! The JSON Schema of machine files, generated from the rows: for editors and other tools. What it cannot say (the range of
//! a value with a unit, values that must go together) is in words beside the field; the loader checks it.

use super::quantity::{Factor, Kind, show};
use super::spec::SECTIONS;
use super::table::{FieldId, Status, names};
use serde_json::{Map, Value, json};

/// Digits, with `_` between them, a fraction and an exponent, as the loader reads them; then blanks.
const NUMBER: &str = r"^\s*\+?[0-9][0-9_]*(\.[0-9_]*)?([eE][+-]?[0-9]+)?\s*";

/// The schema (draft 2020-12) of a machine file, as JSON that has the same structure as its TOML.
pub fn schema() -> Value {
    let mut properties = Map::new();
    properties.insert("name".into(), json!({ "type": "string", "description": "What results print." }));
    let extends = "A shipped machine, or a path relative to this file: where all other values come from.";
    properties.insert("extends".into(), json!({ "type": "string", "description": extends }));
    for (name, doc) in SECTIONS {
        properties.insert((*name).into(), section(name, doc));
    }
    let sections: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
    let complete: Map<String, Value> =
        sections.iter().map(|name| ((*name).into(), json!({ "required": names(name).collect::<Vec<_>>() }))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tilewright machine file",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        // A file extends another one or sets every field.
        "if": { "not": { "required": ["extends"] } },
        "then": { "required": sections, "properties": complete },
        "$defs": definitions(),
    })
}

fn section(name: &str, doc: &str) -> Value {
    let fields: Map<String, Value> =
        FieldId::all().filter(|id| id.row().section == name).map(|id| (id.row().name.into(), field(id))).collect();
    json!({ "type": "object", "description": doc.trim(), "additionalProperties": false, "properties": fields })
}

/// A value, alone or with its status.
fn field(id: FieldId) -> Value {
    let (kind, (min, max)) = (id.row().kind, id.row().range);
    let range = format!("From {} to {}.", show(kind, min), show(kind, max));
    let value = match kind {
        Kind::Count => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Factor => {
            let one = Factor::ONE.0 as f64;
            json!({ "type": "number", "minimum": min as f64 / one, "maximum": max as f64 / one })
        }
        Kind::Cycles | Kind::Time | Kind::Size | Kind::ByteRate | Kind::ElemRate | Kind::FlopRate | Kind::Clock => {
            json!({ "$ref": format!("#/$defs/{}", name(kind)) })
        }
    };
    let with_status = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["value"],
        "properties": { "value": value, "status": { "$ref": "#/$defs/status" } },
    });
    json!({ "description": format!("{} {range}", id.row().doc.trim()), "anyOf": [value, with_status] })
}

fn definitions() -> Map<String, Value> {
    let statuses: Vec<&str> = Status::ALL.iter().map(|s| s.name()).collect();
    let status = json!({ "enum": statuses, "description": "Where a value comes from." });
    let quantities = Kind::ALL.iter().filter(|kind| !kind.is_plain()).map(|kind| {
        let units: Vec<&str> = kind.units().iter().map(|(unit, _)| *unit).collect();
        let pattern = format!("{NUMBER}({})\\s*$", units.join("|"));
        let text = format!("{}, exact, with its unit: {}.", kind.noun(), units.join(", "));
        (name(*kind).into(), json!({ "type": "string", "description": text, "pattern": pattern }))
    });
    quantities.chain([("status".into(), status)]).collect()
}

/// The name of a kind's definition.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => "count",
        Kind::Cycles => "cycles",
        Kind::Time => "time",
        Kind::Size => "size",
        Kind::ByteRate => "bytes-per-second",
        Kind::ElemRate => "elements-per-second",
        Kind::FlopRate => "operations-per-second",
        Kind::Clock => "clock",
        Kind::Factor => "factor",
    }
}
