//! Rows of results, written as a table, as CSV or as JSON. Numbers keep full precision but in the table.

use super::args::Format;
use super::progress::note;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// What a result says of itself: backend, machine file, fidelity, seed, …
pub type Facts = Vec<(String, String)>;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    Count(u64),
    /// In the unit that the column names.
    Real(f64),
    /// Not known, or without a meaning in this row.
    Empty,
}

/// Writes rows as they come: CSV and JSON at once, a table when it is complete.
pub struct Sheet<'w> {
    out: &'w mut dyn Write,
    format: Format,
    columns: Vec<String>,
    table: Table,
    rows: usize,
}

impl<'w> Sheet<'w> {
    /// Starts a sheet.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn begin(out: &'w mut dyn Write, format: Format, columns: &[&str]) -> io::Result<Sheet<'w>> {
        let columns: Vec<String> = columns.iter().map(|c| c.to_string()).collect();
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(&columns);
        match format {
            Format::Table => {}
            Format::Csv => csv_line(out, &columns)?,
            Format::Json => write!(out, "{{\"rows\":[")?,
        }
        Ok(Sheet { out, format, columns, table, rows: 0 })
    }
    /// Adds a row, one cell per column, and hands it on at once where the format allows.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        match self.format {
            Format::Table => self.add_to_table(cells),
            Format::Csv => {
                csv_line(self.out, &cells.iter().map(Cell::csv).collect::<Vec<_>>())?;
                self.out.flush()?;
            }
            Format::Json => {
                let row: Map<String, Value> =
                    self.columns.iter().zip(cells).map(|(name, cell)| (name.clone(), cell.json())).collect();
                write!(self.out, "{}\n{}", if self.rows == 0 { "" } else { "," }, Value::Object(row))?;
                self.out.flush()?;
            }
        }
        self.rows += 1;
        Ok(())
    }
    /// Ends the sheet. In CSV the facts go to standard error, so that standard output is rows alone.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn end(self, facts: &Facts) -> io::Result<()> {
        match self.format {
            Format::Table => {
                // The table pads its last column: nothing should follow a line's last word.
                for line in self.table.to_string().lines() {
                    writeln!(self.out, "{}", line.trim_end())?;
                }
                write_facts(self.out, facts)?;
            }
            Format::Csv => facts.iter().for_each(|(name, text)| note(&format!("{name}: {text}"))),
            Format::Json => {
                let facts: Map<String, Value> = facts.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
                writeln!(self.out, "\n],\"facts\":{}}}", Value::Object(facts))?;
            }
        }
        self.out.flush()
    }
    fn add_to_table(&mut self, cells: &[Cell]) {
        self.table.add_row(cells.iter().map(|cell| {
            let side = match cell {
                Cell::Text(_) | Cell::Empty => CellAlignment::Left,
                Cell::Count(_) | Cell::Real(_) => CellAlignment::Right,
            };
            comfy_table::Cell::new(cell.short()).set_alignment(side)
        }));
    }
}

/// `name: text` lines.
pub(super) fn write_facts(out: &mut dyn Write, facts: &Facts) -> io::Result<()> {
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    facts.iter().try_for_each(|(name, text)| writeln!(out, "{name:>width$}: {text}"))
}

fn csv_line(out: &mut dyn Write, fields: &[String]) -> io::Result<()> {
    let mut line = csv::Writer::from_writer(Vec::new());
    line.write_record(fields)?;
    out.write_all(&line.into_inner().map_err(|e| e.into_error())?)
}

impl Cell {
    /// The value of a CSV field.
    pub fn read(field: &str) -> Cell {
        match (field.parse(), field.parse()) {
            (Ok(n), _) => Cell::Count(n),
            (_, Ok(x)) => Cell::Real(x),
            _ if field.is_empty() => Cell::Empty,
            _ => Cell::Text(field.to_string()),
        }
    }
    /// The value, if it is a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Count(n) => Some(*n as f64),
            Cell::Real(x) => Some(*x),
            Cell::Text(_) | Cell::Empty => None,
        }
    }
    /// As a field of a CSV file: a number reads back to the same bits, and a real one shows that it is real.
    pub fn csv(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(n) => n.to_string(),
            Cell::Real(x) => format!("{x:?}"),
            Cell::Empty => String::new(),
        }
    }
    /// As a value of a JSON object.
    pub fn json(&self) -> Value {
        match self {
            Cell::Text(text) => json!(text),
            Cell::Count(n) => json!(n),
            Cell::Real(x) => json!(x), // JSON has no NaN: null
            Cell::Empty => Value::Null,
        }
    }
    /// For the eye: four significant digits.
    pub(super) fn short(&self) -> String {
        match self {
            Cell::Real(x) if *x == 0.0 => "0".to_string(),
            Cell::Real(x) if !(1e-3..1e6).contains(&x.abs()) => format!("{x:.2e}"),
            Cell::Real(x) => {
                let digits = 3 - x.abs().log10().floor() as i32;
                format!("{x:.*}", digits.max(0) as usize)
            }
            Cell::Text(_) | Cell::Count(_) | Cell::Empty => self.csv(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_string())
    }
}
impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}
impl From<u64> for Cell {
    fn from(n: u64) -> Cell {
        Cell::Count(n)
    }
}
impl From<usize> for Cell {
    fn from(n: usize) -> Cell {
        Cell::Count(n as u64)
    }
}
impl From<f64> for Cell {
    fn from(x: f64) -> Cell {
        Cell::Real(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn backend() -> Facts {
        vec![("backend".to_string(), "sim".to_string())]
    }
    fn sheet(format: Format, facts: Facts) -> String {
        let mut out = Vec::new();
        let mut sheet = Sheet::begin(&mut out, format, &["name", "n", "x"]).unwrap();
        sheet.row(&["a, b".into(), 12usize.into(), 8.0.into()]).unwrap();
        sheet.row(&["c".into(), Cell::Empty, (1.0 / 3.0).into()]).unwrap();
        sheet.end(&facts).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_keeps_every_digit_and_quotes_commas() {
        assert_snapshot!(sheet(Format::Csv, Facts::new()), @r#"
        name,n,x
        "a, b",12,8.0
        c,,0.3333333333333333
        "#);
    }
    #[test]
    fn json_carries_the_facts() {
        assert_snapshot!(sheet(Format::Json, backend()), @r#"
        {"rows":[
        {"name":"a, b","n":12,"x":8.0},
        {"name":"c","n":null,"x":0.3333333333333333}
        ],"facts":{"backend":"sim"}}
        "#);
    }
    #[test]
    fn a_table_shows_four_digits_and_the_facts() {
        assert_snapshot!(sheet(Format::Table, backend()), @r"
         name  n   x
         a, b  12   8.000
         c         0.3333
        backend: sim
        ");
    }
}
