//! Measured rows: a table or CSV as everywhere, and as JSON one object a line, which is how other programs that measure the
//! same print theirs. What a row has no value for is left out of its line.

use serde_json::{Map, Value};
use std::io::{self, Write};
use tilewright_harness::cli::{Cell, Facts, Format, Sheet, note};

pub enum Lines<'w> {
    Json { out: &'w mut dyn Write, columns: &'static [&'static str] },
    Sheet(Box<Sheet<'w>>),
}

impl<'w> Lines<'w> {
    pub fn begin(out: &'w mut dyn Write, format: Format, columns: &'static [&'static str]) -> io::Result<Lines<'w>> {
        Ok(match format {
            Format::Json => Lines::Json { out, columns },
            Format::Table | Format::Csv => Lines::Sheet(Box::new(Sheet::begin(out, format, columns)?)),
        })
    }
    /// One cell a column.
    pub fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        match self {
            Lines::Sheet(sheet) => sheet.row(cells),
            Lines::Json { out, columns } => {
                let known = columns.iter().zip(cells).filter(|(_, cell)| **cell != Cell::Empty);
                let row: Map<_, _> = known.map(|(name, cell)| (name.to_string(), value(name, cell))).collect();
                writeln!(out, "{}", Value::Object(row))?;
                out.flush()
            }
        }
    }
    /// In JSON the facts go to standard error, so that standard output is rows alone.
    pub fn end(self, facts: &Facts) -> io::Result<()> {
        match self {
            Lines::Sheet(sheet) => sheet.end(facts),
            Lines::Json { out, .. } => {
                facts.iter().for_each(|(name, text)| note(&format!("{name}: {text}")));
                out.flush()
            }
        }
    }
}

/// A shape is written as settings are, `rows=4096,elem=f32`, and in JSON an object.
fn value(name: &str, cell: &Cell) -> Value {
    match cell {
        Cell::Text(settings) if name == "shape" => {
            let pairs = settings.split(',').filter_map(|pair| pair.split_once('='));
            let value = |text: &str| text.parse().map_or_else(|_| Cell::read(text).json(), Value::Bool);
            pairs.map(|(key, text)| (key.to_string(), value(text))).collect()
        }
        cell => cell.json(),
    }
}

/// With one decimal, as rates and times are printed.
pub fn tenths(x: f64) -> Cell {
    Cell::Real((x * 10.0).round() / 10.0)
}
