//! What a query gives: JSON with named parts, tables for the eye, one of them as CSV.

use super::asked::Asked;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use tilewright_harness::cli::{Cell, Facts, Format, Sheet};
use tilewright_planner::effects::Effect;
use tilewright_planner::topology::Work;
use tilewright_planner::view::{self, Keyed};

/// Rows of one kind.
pub struct Table {
    title: String,
    rows: Vec<Keyed>,
}

/// An answer under construction.
#[derive(Default)]
pub struct Answer {
    json: Map<String, Value>,
    tables: Vec<Table>,
    /// The table that CSV writes.
    main: usize,
    /// Lines after the tables.
    lines: Vec<String>,
}

impl Answer {
    /// With what was asked: model, step, deployment.
    pub fn new(asked: &Asked) -> Answer {
        let mut answer = Answer::bare();
        let Work { phase, s_kv, parts, t_q, .. } = asked.work;
        answer.json.insert("model".into(), json!(asked.model.name));
        answer.json.insert("s_kv_tokens".into(), json!(s_kv));
        answer.json.insert("mode".into(), json!(phase.name()));
        if let Some(t_q) = t_q {
            answer.json.insert("t_q_tokens".into(), json!(t_q));
        }
        answer.json.insert("b_requests".into(), json!(asked.topology.b));
        answer.json.insert("include_attention".into(), json!(parts.attention));
        answer.json.insert("include_ffn".into(), json!(parts.ffn));
        answer
    }
    /// Of a question that no deployment or step belongs to.
    pub fn bare() -> Answer {
        Answer::default()
    }
    /// A value of the JSON alone.
    pub fn value(mut self, key: &str, value: impl Into<Value>) -> Answer {
        self.json.insert(key.into(), value.into());
        self
    }
    /// An object in JSON; a table of one column in the terminal.
    pub fn object(mut self, key: &str, title: &str, values: Keyed) -> Answer {
        let rows = values.iter().map(|(name, value)| vec![("", json!(name)), (" ", value.clone())]).collect();
        self.tables.push(Table { title: title.to_string(), rows });
        self.json.insert(key.into(), object(values));
        self
    }
    /// An object of the JSON alone.
    pub fn hidden_object(mut self, key: &str, values: Keyed) -> Answer {
        self.json.insert(key.into(), object(values));
        self
    }
    /// A list of objects in JSON; a table in the terminal.
    pub fn rows(mut self, key: &str, title: &str, rows: Vec<Keyed>) -> Answer {
        self.json.insert(key.into(), rows.iter().cloned().map(object).collect());
        self.tables.push(Table { title: title.to_string(), rows });
        self
    }
    /// As [`Answer::rows`]; and CSV writes it.
    pub fn main_rows(mut self, key: &str, title: &str, rows: Vec<Keyed>) -> Answer {
        self.main = self.tables.len();
        self.rows(key, title, rows)
    }
    /// Text after the tables, in the terminal.
    pub fn lines(mut self, lines: impl IntoIterator<Item = String>) -> Answer {
        self.lines.extend(lines);
        self
    }
    /// What the options changed.
    pub fn effects(self, effects: &[Effect]) -> Answer {
        if effects.is_empty() {
            return self;
        }
        let row = |e: &Effect| -> Keyed {
            let relative = if e.without == 0.0 { Value::Null } else { json!(e.relative()) };
            vec![
                ("option", json!(e.option.name())),
                ("figure", json!(e.figure)),
                ("without", view::number(e.without)),
                ("with", view::number(e.with)),
                ("change_ratio", relative),
            ]
        };
        self.rows("options", "what each option changed, all others as they are", effects.iter().map(row).collect())
    }
    pub fn write(&self, asked: &Asked, out: &mut dyn Write) -> io::Result<()> {
        let facts = asked.facts();
        match asked.common.format {
            Format::Json => {
                let mut json = self.json.clone();
                json.insert("method".into(), json!(asked.options.label()));
                json.insert("facts".into(), facts.iter().map(|(k, v)| (k.clone(), json!(v))).collect());
                writeln!(out, "{:#}", Value::Object(json))
            }
            Format::Csv => match self.tables.get(self.main) {
                Some(table) => sheet(out, Format::Csv, &table.rows, &facts),
                None => Ok(()),
            },
            Format::Table => {
                for table in self.tables.iter().filter(|t| !t.rows.is_empty()) {
                    writeln!(out, "{}", table.title)?;
                    sheet(out, Format::Table, &table.rows, &Facts::new())?;
                    writeln!(out)?;
                }
                self.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
                if !self.lines.is_empty() {
                    writeln!(out)?;
                }
                let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                facts.iter().try_for_each(|(name, text)| writeln!(out, "{name:>width$}: {text}"))
            }
        }
    }
}

fn object(values: Keyed) -> Value {
    Value::Object(values.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
}

fn sheet(out: &mut dyn Write, format: Format, rows: &[Keyed], facts: &Facts) -> io::Result<()> {
    let columns: Vec<&str> = rows.first().map(|row| row.iter().map(|(key, _)| *key).collect()).unwrap_or_default();
    let mut sheet = Sheet::begin(out, format, &columns)?;
    for row in rows {
        sheet.row(&row.iter().map(|(_, value)| cell(value)).collect::<Vec<Cell>>())?;
    }
    sheet.end(facts)
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Empty,
        Value::String(text) => Cell::Text(text.clone()),
        Value::Bool(yes) => Cell::Text(yes.to_string()),
        Value::Number(n) => match n.as_u64() {
            Some(n) => Cell::Count(n),
            None => n.as_f64().map_or(Cell::Empty, Cell::Real),
        },
        other @ (Value::Array(_) | Value::Object(_)) => Cell::Text(other.to_string()),
    }
}
