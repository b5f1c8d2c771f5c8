//! Faults of the planner as diagnostics, and their pages.

use std::sync::{Arc, OnceLock};
use tilewright_core::diag::{CodePage, Diagnostic, Diagnostics};
use tilewright_core::ir::loc::Place;
use tilewright_planner::errors::{CODES, Fault};

/// The planner's codes, for `explain`.
pub fn pages() -> &'static [CodePage] {
    static PAGES: OnceLock<Vec<CodePage>> = OnceLock::new();
    PAGES.get_or_init(|| CODES.iter().map(|p| CodePage { code: p.code, title: p.title, page: p.page }).collect())
}

pub(super) fn diagnostic(fault: &Fault) -> Diagnostic {
    let mut d = Diagnostic::new(fault.code(), fault.message());
    if let Some(spot) = fault.spot() {
        let place = Place { file: Arc::from(spot.file.as_str()), line: spot.line, col: spot.col };
        d = d.source(spot.file.clone(), spot.text.as_str()).label(place, "");
    }
    if let Some(note) = fault.note() {
        d = d.note(note);
    }
    d.next(fault.next())
}

pub(super) fn told(fault: Fault) -> Diagnostics {
    diagnostic(&fault).into()
}
