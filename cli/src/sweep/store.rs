//! `--out FILE`: the rows of a sweep, kept. The columns are the study's and `config`, the hash of what decides the
//! figures; a row with the key and the hash of a point is taken instead of computing it.

use super::plan::Plan;
use super::{Column, ColumnKind, FAILED, Row, Study};
use crate::errors;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::Cell;
use tilewright_harness::errors::{unreadable, unwritable};

const CONFIG: &str = "config";

/// Where new rows go.
pub struct Store<'p> {
    file: Option<(csv::Writer<File>, &'p Path)>,
    columns: usize,
    hash: String,
}

/// Rows of an earlier run.
#[derive(Default)]
pub struct Kept(Vec<Row>);

impl Kept {
    pub fn get(&self, key: &[Cell]) -> Option<&Row> {
        self.0.iter().find(|row| row.key == key)
    }
}

impl<'p> Store<'p> {
    /// Reads the rows that the file has for this plan, and opens it to take more.
    ///
    /// # Errors
    /// The file holds something else, or cannot be read or written.
    pub fn open(path: Option<&'p PathBuf>, study: &dyn Study, plan: &Plan) -> Result<(Kept, Store<'p>), Diagnostics> {
        let (columns, hash) = (study.columns(plan).len(), plan.hash(study));
        let Some(path) = path else { return Ok((Kept::default(), Store { file: None, columns, hash })) };
        let is_new = std::fs::metadata(path).is_ok_and(|m| m.len() == 0) || !path.exists();
        let kept = if is_new { Kept::default() } else { read(path, study.columns(plan), &hash)? };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(|e| unwritable(path, e))?;
        if !is_new && !ends_with_a_line(path) {
            file.write_all(b"\n").map_err(|e| unwritable(path, e))?;
        }
        let mut store = Store { file: Some((csv::Writer::from_writer(file), path)), columns, hash };
        if is_new {
            store.write(header(study.columns(plan)))?;
        }
        Ok((kept, store))
    }
    /// Adds a row; it is in the file when this returns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, row: &Row) -> Result<(), Diagnostics> {
        let fields = row.cells(self.columns).iter().map(Cell::csv).chain([self.hash.clone()]).collect();
        self.write(fields)
    }
    fn write(&mut self, fields: Vec<String>) -> Result<(), Diagnostics> {
        let Some((file, path)) = &mut self.file else { return Ok(()) };
        file.write_record(&fields).map_err(|e| unwritable(path, e))?;
        file.flush().map_err(|e| unwritable(path, e))?;
        Ok(())
    }
}

/// Whether the last line was written to its end.
fn ends_with_a_line(path: &Path) -> bool {
    let mut last = [0];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)
    });
    read.is_ok() && last == *b"\n"
}

fn header(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|c| c.name.to_string()).chain([CONFIG.to_string()]).collect()
}

fn read(path: &Path, columns: &[Column], hash: &str) -> Result<Kept, Diagnostics> {
    let mut file = csv::ReaderBuilder::new().flexible(true).from_path(path).map_err(|e| unreadable(path, e))?;
    let found: Vec<String> = file.headers().map_err(|e| unreadable(path, e))?.iter().map(str::to_string).collect();
    let expected = header(columns);
    if found != expected {
        return Err(errors::other_sweep(path, &expected, &found).into());
    }
    let mut kept = Kept::default();
    for record in file.records() {
        let record = record.map_err(|e| unreadable(path, e))?;
        // A line that was cut short, as by a crash while it was written, counts as not there.
        let whole = record.len() == expected.len();
        if whole && record.get(expected.len() - 1) == Some(hash) {
            kept.0.push(row(&record, columns));
        }
    }
    Ok(kept)
}

fn row(record: &csv::StringRecord, columns: &[Column]) -> Row {
    let keys = columns.iter().filter(|c| c.kind == ColumnKind::Key).count();
    let mut cells = record.iter().take(columns.len()).map(Cell::read);
    let key = cells.by_ref().take(keys).collect();
    let reason = record.get(keys).and_then(|text| text.strip_prefix(FAILED));
    Row { key, measured: reason.map_or_else(|| Ok(cells.collect()), |r| Err(r.to_string())), busy: None }
}
