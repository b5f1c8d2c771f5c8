//! `sweep NAME`: the published tables, and studies beyond them. A table is one file with its points and columns ([`Study`]); running, timing,
//! resuming and checking it is the same for all. `plan.rs`: what the flags ask for. `run.rs`: points in parallel, rows
//! in order. `measure.rs`: one point. `store.rs`: `--out`. `golden.rs`: `--check`. `figures.rs`: `--plot`.

mod decode_batch;
mod decode_batch_m;
mod decode_models;
mod decode_streaming;
mod fan_out;
mod figures;
mod golden;
mod hw;
mod long_decode;
pub mod measure;
mod plan;
mod run;
mod short;
mod store;

use crate::errors;
use crate::plot::{self, Figure};
use clap::ArgMatches;
use figures::Table;
use golden::Golden;
use plan::{Flag, Plan, Point};
use std::fmt;
use std::path::PathBuf;
use store::Store;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::{Cell, Command, Common, Context, Facts, Failure, Outcome, Sheet, note};
use tilewright_harness::registry::Kernels;
use tilewright_sim::engine::{Class, Engine};
use tilewright_sim::machine::FieldSet;
use tilewright_sim::timing::Timing;

/// One published table.
pub trait Study: Sync {
    fn name(&self) -> &'static str;
    fn about(&self) -> &'static str;
    /// The flags that it has beyond those of every sweep.
    fn flags(&self) -> &'static [Flag];
    /// The columns of the table, in its order; the keys come first.
    fn columns(&self, plan: &Plan) -> &'static [Column];
    /// Its golden file in the folder of `--check`; a study that was not published has none.
    ///
    /// # Errors
    /// Nothing was published for this plan; which flags ask for what was.
    fn golden(&self, _plan: &Plan) -> Result<&'static str, &'static str> {
        Err("leave out --check")
    }
    /// How far a time or ratio of this column may be from the published one in the row with this key.
    fn tolerance(&self, _plan: &Plan, column: &Column, _key: &[Cell]) -> f64 {
        column.tolerance()
    }
    /// Contexts where none are asked for, in tokens.
    fn contexts(&self) -> &'static [usize];
    /// The rows to compute, in order.
    ///
    /// # Errors
    /// The plan asks for something that the study does not have.
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics>;
    /// The cells of a row after the keys.
    ///
    /// # Errors
    /// The kernel lacks a parameter that a column needs.
    fn row(&self, point: &Point, plan: &Plan, timing: &Timing) -> Result<Vec<Cell>, Diagnostics>;
    /// What follows from the rows together.
    fn findings(&self, _plan: &Plan, _table: &Table<'_>) -> Facts {
        Facts::new()
    }
    /// What a report shows of the rows.
    ///
    /// # Errors
    /// What a figure shows beside the rows cannot be computed.
    fn figures(&self, plan: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics>;
}

/// What a run gives for a row.
pub struct Measured {
    /// The cells after the keys.
    pub cells: Vec<Cell>,
    /// Fields of the machine that its times come from.
    pub fields: FieldSet,
    /// Of the simulator's events.
    pub event_hash: u64,
    /// The share of the wall for which each engine works, in order of `Engine::ALL`.
    pub busy: Busy,
}

type Busy = [f64; Engine::ALL.len()];

/// What the computed rows of a sweep rest on, together.
pub struct Basis {
    pub fields: FieldSet,
    /// Over the event hashes of the rows, in order.
    hash: u64,
    rows: usize,
}

impl Basis {
    fn new() -> Basis {
        Basis { fields: FieldSet::default(), hash: plan::FNV_START, rows: 0 }
    }
    fn add(&mut self, measured: &Measured) {
        self.fields.extend(measured.fields.iter());
        self.hash = plan::fnv1a_step(self.hash, measured.event_hash);
        self.rows += 1;
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x} over {} computed rows", self.hash, self.rows)
    }
}

/// A column of a study.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: ColumnKind,
}

/// What a column holds, and so how it is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnKind {
    /// Part of the row's identity.
    Key,
    /// A count or a computed size: equal.
    Exact,
    /// A time, or a ratio with a time in it: within this part of the published figure.
    Timed(f64),
    /// A time that the model does not explain (AHBM.md 10): the deviation is told, and is no miss.
    Told,
    /// A remark of the published table, not compared.
    Note,
}

impl Column {
    pub const fn key(name: &'static str) -> Column {
        Column { name, kind: ColumnKind::Key }
    }
    pub const fn exact(name: &'static str) -> Column {
        Column { name, kind: ColumnKind::Exact }
    }
    pub const fn timed(name: &'static str) -> Column {
        Column::within(name, golden::TOLERANCE)
    }
    pub const fn within(name: &'static str, tolerance: f64) -> Column {
        Column { name, kind: ColumnKind::Timed(tolerance) }
    }
    pub const fn told(name: &'static str) -> Column {
        Column { name, kind: ColumnKind::Told }
    }
    pub const fn note(name: &'static str) -> Column {
        Column { name, kind: ColumnKind::Note }
    }
    fn tolerance(&self) -> f64 {
        match self.kind {
            ColumnKind::Timed(tolerance) => tolerance,
            ColumnKind::Key | ColumnKind::Exact | ColumnKind::Told | ColumnKind::Note => 0.0,
        }
    }
}

/// A row of a study: its key, and what was measured or why nothing was.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub key: Vec<Cell>,
    pub measured: Result<Vec<Cell>, String>,
    /// Not kept in files.
    pub busy: Option<Busy>,
}

impl Row {
    fn of(point: &Point, measured: &Result<Measured, Diagnostics>) -> Row {
        let busy = measured.as_ref().ok().map(|m| m.busy);
        let measured = measured.as_ref().map(|m| m.cells.clone()).map_err(reason);
        Row { key: point.key.clone(), measured, busy }
    }
    /// The key, as it stands in CSV.
    pub fn name(&self) -> String {
        plan::name(&self.key)
    }
    /// One cell per column. A failed point has its reason in the first column after the keys.
    pub fn cells(&self, columns: usize) -> Vec<Cell> {
        let mut cells = self.key.clone();
        match &self.measured {
            Ok(measured) => cells.extend(measured.iter().cloned()),
            Err(reason) => cells.push(Cell::Text(format!("{FAILED}{reason}"))),
        }
        cells.resize(columns, Cell::Empty);
        cells
    }
}

/// Marks the reason of a failed point in its row.
const FAILED: &str = "failed: ";

const STUDIES: [&dyn Study; 9] = [
    &short::Short::Decode,
    &short::Short::Prefill,
    &long_decode::LongDecode,
    &decode_models::DecodeModels,
    &decode_streaming::DecodeStreaming,
    &decode_batch::DecodeBatch,
    &decode_batch_m::DecodeBatchM,
    &fan_out::FanOut,
    &hw::Hw,
];

pub struct Sweep;

impl Command for Sweep {
    fn name(&self) -> &'static str {
        "sweep"
    }
    fn flags(&self, command: clap::Command, _: &Kernels) -> clap::Command {
        let command = command
            .about("Compute one of the published tables, or a study that goes beyond them")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .subcommand_value_name("TABLE")
            .subcommand_help_heading("Tables")
            .args(plan::args());
        let table =
            |study: &dyn Study| clap::Command::new(study.name()).about(study.about()).args(plan::own_args(study));
        STUDIES.iter().fold(command, |c, study| c.subcommand(table(*study)))
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        let chosen =
            matches.subcommand().and_then(|(name, sub)| Some((STUDIES.iter().find(|s| s.name() == name)?, sub)));
        match chosen {
            Some((study, matches)) => sweep(*study, matches, cx),
            None => Ok(Outcome::Done), // the parser requires one of the studies
        }
    }
}

fn sweep(study: &dyn Study, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    let common = Common::of(matches);
    let plan = Plan::of(study, matches, &common, cx.kernels)?;
    let points = study.points(&plan)?;
    let golden = matches.get_one::<PathBuf>("check").map(|dir| Golden::read(dir, study, &plan)).transpose()?;
    let (kept, mut store) = Store::open(matches.get_one::<PathBuf>("out"), study, &plan)?;

    let names: Vec<&str> = study.columns(&plan).iter().map(|c| c.name).collect();
    let mut sheet = Sheet::begin(cx.out, common.format, &names)?;
    let (mut rows, mut wrong, mut basis) = (Vec::new(), Diagnostics::default(), Basis::new());
    let measure = |point: &Point| match kept.get(&point.key) {
        Some(row) => Source::Kept(row.clone()),
        None => Source::Measured(measured(study, point, &plan)),
    };
    run::in_order(&points, Point::name, plan.threads, common.rows_only(), measure, |point, source| {
        let row = match source {
            Source::Kept(row) => row,
            Source::Measured(measured) => {
                measured.iter().for_each(|m| basis.add(m));
                let row = Row::of(point, &measured);
                store.append(&row)?;
                wrong.0.extend(measured.err().into_iter().flat_map(|why| why.0));
                row
            }
        };
        sheet.row(&row.cells(names.len()))?;
        rows.push(row);
        Ok(())
    })?;
    let table = Table::new(study.columns(&plan), &rows);
    let mut facts = plan.facts(study, &basis);
    facts.extend(study.findings(&plan, &table));
    sheet.end(&facts)?;
    if let Some(dir) = matches.get_one::<PathBuf>("plot") {
        let figures = study.figures(&plan, &table)?;
        let files = plot::write_all(dir, &figures)?;
        note(&format!("plot: {files} files in {}", dir.display()));
    }
    verdict(&rows, wrong, golden)
}

fn measured(study: &dyn Study, point: &Point, plan: &Plan) -> Result<Measured, Diagnostics> {
    let timing = measure::measure(point, plan)?;
    let cells = study.row(point, plan, &timing)?;
    let busy = Engine::ALL.map(|engine| timing.share(engine, Class::Busy));
    Ok(Measured { cells, fields: timing.fields, event_hash: timing.event_hash, busy })
}

/// Where a row comes from.
enum Source {
    /// An earlier run.
    Kept(Row),
    Measured(Result<Measured, Diagnostics>),
}

/// A failed point fails the sweep, after all rows are out; then comes the comparison.
fn verdict(rows: &[Row], mut wrong: Diagnostics, golden: Option<Golden<'_>>) -> Result<Outcome, Failure> {
    let failed = rows.iter().filter(|r| r.measured.is_err()).count();
    if failed > 0 {
        if wrong.is_empty() {
            wrong.push(errors::failed_before(failed));
        }
        return Err(wrong.into());
    }
    Ok(golden.map_or(Outcome::Done, |golden| golden.compare(rows).tell()))
}

/// The first error of a point in one line: the others follow on standard error.
fn reason(why: &Diagnostics) -> String {
    why.0.first().map(|d| format!("{} {}", d.code, d.message)).unwrap_or_default()
}
