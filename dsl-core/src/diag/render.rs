//! Draws a diagnostic with the source lines it points at, in rustc's layout.

use super::{Diagnostic, Label};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::ops::Range;

/// Whether to draw with colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Never,
    Always,
}

/// The diagnostic as lines of text, without a newline at the end.
pub fn render(d: &Diagnostic, color: Color) -> String {
    let renderer = match color {
        Color::Never => Renderer::plain(),
        Color::Always => Renderer::styled(),
    };
    let sources: Vec<Option<String>> = d.labels.iter().map(|l| source(d, &l.place.file)).collect();
    let mut group = Group::with_title(Level::ERROR.primary_title(&d.message).id(d.code));
    for (i, (label, text)) in d.labels.iter().zip(&sources).enumerate() {
        if d.labels[..i].iter().any(|l| l.place.file == label.place.file) {
            continue; // drawn with the first label of its file
        }
        match text {
            Some(text) => group = group.element(snippet(d, i, text)),
            None => group = group.element(origin(label)),
        }
    }
    for place in d.labels.iter().flat_map(|l| &l.inlined_at) {
        group = group.element(Level::NOTE.message(format!("inlined at {place}")));
    }
    for note in &d.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(next) = &d.next {
        group = group.element(Level::HELP.with_name("next").message(next.as_str()));
    }
    renderer.render(&[group]).to_string()
}

/// The text of a file: what the diagnostic carries, or what is on disk now.
fn source(d: &Diagnostic, file: &str) -> Option<String> {
    let carried = d.sources.iter().find(|(name, _)| name == file).map(|(_, text)| text.clone());
    carried.or_else(|| std::fs::read_to_string(file).ok())
}

fn origin(label: &Label) -> annotate_snippets::Origin<'_> {
    let place = &label.place;
    annotate_snippets::Origin::path(&*place.file).line(place.line as usize).char_column(place.col as usize)
}

/// All labels in the file of label `first`.
fn snippet<'a>(d: &'a Diagnostic, first: usize, text: &'a str) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let file = &d.labels[first].place.file;
    let mut out = Snippet::source(text).path(&**file);
    for (i, label) in d.labels.iter().enumerate().filter(|(_, l)| l.place.file == *file) {
        let kind = if i == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        out = out.annotation(kind.span(span(text, label)).label(label.text.as_str()));
    }
    out
}

/// From the place to the end of the word or call that starts there.
fn span(text: &str, label: &Label) -> Range<usize> {
    let line_start: usize =
        text.split_inclusive('\n').take(label.place.line.saturating_sub(1) as usize).map(str::len).sum();
    let line = text[line_start..].lines().next().unwrap_or("");
    let skip: usize = line.chars().take(label.place.col.saturating_sub(1) as usize).map(char::len_utf8).sum();
    let rest = &line[skip.min(line.len())..];
    let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
    let len = if len == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { len };
    let start = line_start + skip.min(line.len());
    start..start + len
}
