//! Rows of a table as figures: one curve or one colour for each value of some columns.

use super::{Column, Row};
use crate::plot::{Axis, Body, Curve, Figure};
use tilewright_harness::cli::Cell;
use tilewright_sim::engine::Engine;

/// The rows of a sweep that were measured, by column name.
pub struct Table<'r> {
    columns: &'static [Column],
    rows: Vec<(Vec<Cell>, &'r Row)>,
}

impl<'r> Table<'r> {
    pub fn new(columns: &'static [Column], rows: &'r [Row]) -> Table<'r> {
        let measured = rows.iter().filter(|row| row.measured.is_ok());
        Table { columns, rows: measured.map(|row| (row.cells(columns.len()), row)).collect() }
    }
    fn cell<'c>(&self, cells: &'c [Cell], column: &str) -> Option<&'c Cell> {
        cells.get(self.columns.iter().position(|c| c.name == column)?)
    }
    fn number(&self, cells: &[Cell], column: &str) -> Option<f64> {
        self.cell(cells, column)?.number()
    }
    /// The values of these columns, as a name.
    fn name(&self, cells: &[Cell], by: &[&str]) -> String {
        let value = |column: &&str| self.cell(cells, column).map(Cell::csv).unwrap_or_default();
        // Names stand alone, numbers with their column.
        let part = |column: &&str| match self.number(cells, column) {
            Some(_) => format!("{column} {}", value(column)),
            None => value(column),
        };
        by.iter().map(part).collect::<Vec<_>>().join(", ")
    }
    /// The values of some columns as a name, and the numbers of others, row by row; rows that lack one are left out.
    pub fn numbers<const N: usize>(&self, by: &[&str], columns: [&str; N]) -> Vec<(String, [f64; N])> {
        let all = |cells: &[Cell]| {
            let mut numbers = [0.0; N];
            for (number, column) in numbers.iter_mut().zip(columns) {
                *number = self.number(cells, column)?;
            }
            Some(numbers)
        };
        self.rows.iter().filter_map(|(cells, _)| Some((self.name(cells, by), all(cells)?))).collect()
    }
    /// `y` over `x`, a curve for each value of the columns `by`, in order of first rows.
    pub fn curves(&self, by: &[&str], x: &str, y: &str) -> Vec<Curve> {
        let mut curves: Vec<Curve> = Vec::new();
        for (cells, _) in &self.rows {
            let (Some(x), Some(y)) = (self.number(cells, x), self.number(cells, y)) else { continue };
            let name = self.name(cells, by);
            match curves.iter_mut().find(|c| c.name == name) {
                Some(curve) => curve.points.push((x, y)),
                None => curves.push(Curve { name, points: vec![(x, y)] }),
            }
        }
        curves.iter_mut().for_each(|c| c.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
        curves
    }
    /// A bar of `y` for each row, its group named by `group`, its colour by `by`.
    pub fn bars(&self, group: &[&str], by: &[&str], y: &str) -> Body {
        let mut bars = Bars::default();
        for (cells, _) in &self.rows {
            if let Some(y) = self.number(cells, y) {
                bars.add(self.name(cells, group), self.name(cells, by), y);
            }
        }
        bars.body()
    }
    /// The share of the wall for which each engine works, of the rows with the largest value in a column; rows of an earlier
    /// run do not know it.
    pub fn engines(&self, group: &[&str], largest: &str) -> Body {
        let value = |cells: &[Cell]| self.number(cells, largest).unwrap_or_default();
        let most = self.rows.iter().map(|(cells, _)| value(cells)).fold(0.0, f64::max);
        let mut bars = Bars::default();
        for (cells, row) in self.rows.iter().filter(|(cells, _)| value(cells) == most) {
            for (engine, share) in Engine::ALL.iter().zip(row.busy.into_iter().flatten()) {
                bars.add(self.name(cells, group), engine.name().to_string(), share);
            }
        }
        bars.body()
    }
}

/// Groups of bars that grow value by value.
#[derive(Default)]
pub struct Bars {
    groups: Vec<String>,
    series: Vec<(String, Vec<f64>)>,
}

impl Bars {
    pub fn add(&mut self, group: String, series: String, value: f64) {
        let g = self.groups.iter().position(|name| *name == group).unwrap_or_else(|| {
            self.groups.push(group);
            self.groups.len() - 1
        });
        let s = self.series.iter().position(|(name, _)| *name == series).unwrap_or_else(|| {
            self.series.push((series, Vec::new()));
            self.series.len() - 1
        });
        let values = &mut self.series[s].1;
        values.resize(values.len().max(g + 1), 0.0);
        values[g] = value;
    }
    pub fn body(self) -> Body {
        Body::Bars { groups: self.groups, series: self.series }
    }
}

/// A figure of a table; `axes`: what x and y show.
pub fn figure(file: String, title: String, [x, y]: [&str; 2], body: Body) -> Figure {
    Figure { file, title, x: x.to_string(), y: y.to_string(), body }
}

/// Curves over doublings.
pub fn over_doublings(curves: Vec<Curve>, y: Axis) -> Body {
    Body::Curves { curves, x: Axis::Log, y, limits: Vec::new() }
}
