//! Errors as values: a code, what is wrong, every party's line, the cause, and what to write next.
//! Texts stand where the fault is declared (`ir::fault`, each crate's `errors.rs`); `render.rs` draws them.

pub mod codes;
mod render;
mod source;

use crate::ir::loc::{LocId, Place};
use crate::ir::module::Module;
pub use codes::CodePage;
pub use render::{Color, render};
use std::fmt;
use std::sync::Arc;

/// A line that takes part in an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub place: Place,
    /// What this line has to do with it; may be empty.
    pub text: String,
    /// The calls this place was inlined at, innermost first.
    pub inlined_at: Vec<Place>,
}

/// One error (or warning), told completely.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// `TW-E0312`; `tilewright explain` has a page on each.
    pub code: &'static str,
    pub message: String,
    /// The guilty place first.
    pub labels: Vec<Label>,
    /// Further facts, a line each.
    pub notes: Vec<String>,
    /// Something to type.
    pub next: Option<String>,
    /// Text that `labels` point into when it is not a file on disk (a flag, a generated text), by file name.
    pub sources: Vec<(String, Arc<str>)>,
}

impl Diagnostic {
    pub fn new(code: &'static str, message: impl Into<String>) -> Diagnostic {
        let (labels, notes, sources) = (Vec::new(), Vec::new(), Vec::new());
        Diagnostic { code, message: message.into(), labels, notes, next: None, sources }
    }
    pub fn label(mut self, place: Place, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { place, text: text.into(), inlined_at: Vec::new() });
        self
    }
    /// The place of an op, with the calls it was inlined at. Nothing if the location is unknown.
    pub fn at(mut self, m: &Module, loc: LocId, text: impl Into<String>) -> Diagnostic {
        let mut chain = m.locs.chain(loc).into_iter();
        if let Some(place) = chain.next() {
            self.labels.push(Label { place, text: text.into(), inlined_at: chain.collect() });
        }
        self
    }
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }
    pub fn next(mut self, text: impl Into<String>) -> Diagnostic {
        self.next = Some(text.into());
        self
    }
    /// The text of `file`, for labels in it. A name that begins with `--` is a flag and its text the flag's value.
    pub fn source(mut self, file: impl Into<String>, text: impl Into<Arc<str>>) -> Diagnostic {
        self.sources.push((file.into(), text.into()));
        self
    }
}

/// All errors that were found at once; never empty when it is an `Err`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn push(&mut self, d: Diagnostic) {
        self.0.push(d);
    }
    /// `Ok` if nothing was found.
    pub fn finish(self) -> Result<(), Diagnostics> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}
impl From<Diagnostic> for Diagnostics {
    fn from(d: Diagnostic) -> Diagnostics {
        Diagnostics(vec![d])
    }
}
/// Without colour, as for a log.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.0.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { "\n" }, render(d, Color::Never))?;
        }
        Ok(())
    }
}
impl std::error::Error for Diagnostics {}
