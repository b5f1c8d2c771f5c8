//! `--check DIR`: rows against a golden file, by key. Counts and sizes must be equal, times and ratios within what the study
//! says, half a percent unless it says otherwise. A golden cell that is empty says nothing.

use super::plan::Plan;
use super::{Column, ColumnKind, Row, Study};
use crate::errors;
use std::path::{Path, PathBuf};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::{Cell, Outcome, note};

/// Relative tolerance of times and ratios where nothing else is said.
pub const TOLERANCE: f64 = 5e-3;

/// The rows of a golden file.
pub struct Golden<'p> {
    path: PathBuf,
    study: &'p dyn Study,
    plan: &'p Plan,
    columns: &'static [Column],
    rows: Vec<Vec<Cell>>,
}

/// What a comparison found.
pub struct Report {
    path: PathBuf,
    /// Rows that both sides have.
    compared: usize,
    /// Golden rows that were not computed, and computed rows that are not golden.
    alone: (usize, usize),
    misses: Vec<String>,
    /// The largest relative deviation of a time or ratio, with its place.
    worst: (f64, String),
    /// The same of columns that the model does not explain.
    told: Option<(f64, String)>,
}

impl<'p> Golden<'p> {
    /// Reads the golden file of a study.
    ///
    /// # Errors
    /// Nothing was published for the plan, the file is missing, or its columns are not the study's.
    pub fn read(dir: &Path, study: &'p dyn Study, plan: &'p Plan) -> Result<Golden<'p>, Diagnostics> {
        let name = study.golden(plan).map_err(|flags| errors::not_published(study.name(), flags))?;
        let path = dir.join(name);
        let columns = study.columns(plan);
        let fault = |why: String| Diagnostics::from(errors::golden(&path, why));
        // A golden file may start with its provenance.
        let mut file =
            csv::ReaderBuilder::new().comment(Some(b'#')).from_path(&path).map_err(|e| fault(e.to_string()))?;
        let found: Vec<&str> = file.headers().map_err(|e| fault(e.to_string()))?.iter().collect();
        let expected: Vec<&str> = columns.iter().map(|c| c.name).collect();
        if found != expected {
            return Err(fault(format!("expected the columns {}, found {}", expected.join(","), found.join(","))));
        }
        let rows = file.records().map(|r| r.map(|r| r.iter().map(Cell::read).collect()));
        let rows = rows.collect::<Result<_, _>>().map_err(|e: csv::Error| fault(e.to_string()))?;
        Ok(Golden { path, study, plan, columns, rows })
    }
    /// Compares every computed row with the golden row of its key.
    pub fn compare(self, rows: &[Row]) -> Report {
        let keys = self.columns.iter().filter(|c| c.kind == ColumnKind::Key).count();
        let mut report = Report {
            path: self.path,
            compared: 0,
            alone: (0, 0),
            misses: Vec::new(),
            worst: (0.0, "no row".to_string()),
            told: None,
        };
        for row in rows {
            match self.rows.iter().find(|golden| golden[..keys] == row.key) {
                None => report.alone.1 += 1,
                Some(golden) => {
                    report.compared += 1;
                    let found = row.cells(self.columns.len());
                    for (column, (found, golden)) in self.columns.iter().zip(found.iter().zip(golden)).skip(keys) {
                        let tolerance = self.study.tolerance(self.plan, column, &row.key);
                        report.cell(&row.name(), column, tolerance, found, golden);
                    }
                }
            }
        }
        report.alone.0 = self.rows.len().saturating_sub(report.compared);
        report
    }
}

impl Report {
    fn cell(&mut self, row: &str, column: &Column, tolerance: f64, found: &Cell, golden: &Cell) {
        let (name, place) = (column.name, format!("{} of {row}", column.name));
        if *golden == Cell::Empty || matches!(column.kind, ColumnKind::Key | ColumnKind::Note) {
            return;
        }
        let (Some(got), Some(want)) = (found.number(), golden.number()) else {
            let (found, golden) = (found.csv(), golden.csv());
            if found != golden {
                self.misses.push(format!("{row}: {name} is `{found}`, golden `{golden}`"));
            }
            return;
        };
        let off = if got == want { 0.0 } else { (got - want).abs() / want.abs() };
        match column.kind {
            ColumnKind::Key | ColumnKind::Note => {}
            ColumnKind::Exact if got == want => {}
            ColumnKind::Exact => self.misses.push(format!("{row}: {name} is {got}, golden {want}")),
            ColumnKind::Timed(_) => {
                if off > tolerance || off.is_nan() {
                    self.misses
                        .push(format!("{row}: {name} is {got}, golden {want}, {:+.3} %", (got / want - 1.0) * 100.0));
                }
                if off > self.worst.0 {
                    self.worst = (off, place);
                }
            }
            ColumnKind::Told => {
                if self.told.as_ref().is_none_or(|(worst, _)| off > *worst) {
                    self.told = Some((off, place));
                }
            }
        }
    }
    /// Tells on standard error. Nothing compared is a miss, too.
    pub fn tell(&self) -> Outcome {
        self.misses.iter().for_each(|miss| note(&format!("miss: {miss}")));
        let (golden, computed) = self.alone;
        note(&format!(
            "check: {} rows compared with {}, {} misses; largest deviation {:.3} % ({}); \
             {golden} golden rows not computed, {computed} computed rows not golden",
            self.compared,
            self.path.display(),
            self.misses.len(),
            self.worst.0 * 100.0,
            self.worst.1,
        ));
        if let Some((off, place)) = &self.told {
            note(&format!("check: not explained by the model: up to {:.1} % ({place})", off * 100.0));
        }
        if self.misses.is_empty() && self.compared > 0 { Outcome::Done } else { Outcome::CheckMiss }
    }
}
