//! Texts that a machine is read from, and places in them.

use std::ops::Range;
use std::sync::Arc;
use tilewright_core::diag::Diagnostic;
use tilewright_core::ir::loc::Place;

/// A part of one of the texts.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub source: usize,
    pub range: Range<usize>,
}

/// All texts of one load: files, and the `--set` flags one a line.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<(Arc<str>, Arc<str>)>);

impl Sources {
    /// The number of the text.
    pub(super) fn add(&mut self, name: &str, text: String) -> usize {
        self.0.push((name.into(), text.into()));
        self.0.len() - 1
    }
    pub(super) fn text(&self, source: usize) -> &str {
        &self.0[source].1
    }
    /// Points a diagnostic at a place, and gives it the text to draw.
    pub(super) fn label(&self, d: Diagnostic, spot: &Spot, text: String) -> Diagnostic {
        let (name, source) = &self.0[spot.source];
        let before = &source[..source.floor_char_boundary(spot.range.start)];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let line = count(before.matches('\n').count() + 1);
        let col = count(before[line_start..].chars().count() + 1);
        let carried = d.sources.iter().any(|(file, _)| **file == **name);
        let d = if carried { d } else { d.source(&**name, source.clone()) };
        d.label(Place { file: name.clone(), line, col }, text)
    }
}
