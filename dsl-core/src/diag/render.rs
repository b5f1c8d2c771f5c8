//! Draws a diagnostic with the source lines it points at, in rustc's layout. `source.rs` finds the lines.

use super::source::Sources;
use super::{Diagnostic, Label};
use crate::ir::loc::Place;
use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use std::ops::Range;

/// Whether to draw with colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Never,
    Always,
}

/// The diagnostic as lines of text, without a newline at the end.
///
/// Lines are shown from what the diagnostic carries (`Diagnostic::source`), or else from files on disk, looked up in the
/// working directory and above it. A label whose line cannot be shown is a note.
pub fn render(d: &Diagnostic, color: Color) -> String {
    let renderer = match color {
        Color::Never => Renderer::plain(),
        Color::Always => Renderer::styled(),
    };
    let sources = Sources::of(d);
    let mut group = Group::with_title(Level::ERROR.primary_title(&d.message).id(d.code));
    group = group.elements(snippets(d, &sources));
    for note in unshown(d, &sources).into_iter().chain(inlined_at(d)) {
        group = group.element(Level::NOTE.message(note));
    }
    for note in &d.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(next) = &d.next {
        group = group.element(Level::HELP.with_name("next").message(next.as_str()));
    }
    group = group.element(Level::HELP.with_name("more").message(format!("tilewright explain {}", d.code)));
    renderer.render(&[group]).to_string()
}

/// One snippet a file, in the order of the labels, each with all labels of the file whose lines exist.
fn snippets<'a>(d: &'a Diagnostic, sources: &'a Sources) -> Vec<Element<'a>> {
    let mut out = Vec::new();
    for (i, label) in d.labels.iter().enumerate() {
        let file = &*label.place.file;
        let shown: Vec<usize> = (i..d.labels.len())
            .filter(|j| *d.labels[*j].place.file == *file && has_line(&d.labels[*j], sources))
            .collect();
        let drawn_before = d.labels[..i].iter().any(|l| *l.place.file == *file && has_line(l, sources));
        if i == 0 && !has_line(label, sources) {
            out.push(origin(label).into());
        }
        if let Some(text) = sources.get(file).filter(|_| !drawn_before && shown.first() == Some(&i)) {
            out.extend(snippet(d, &shown, text).map(Element::from));
        }
    }
    out
}

/// The labels `shown`, which are in one file, in its text.
fn snippet<'a>(d: &'a Diagnostic, shown: &[usize], text: &'a str) -> Option<Snippet<'a, Annotation<'a>>> {
    let lines = shown.iter().map(|i| d.labels[*i].place.line);
    let (first, last) = (lines.clone().min()?, lines.max()?);
    let window = window(text, first, last)?;
    let file = &*d.labels[*shown.first()?].place.file;
    // A flag is one line: `--set pe.tcm=64 KiB`.
    let is_flag = file.starts_with("--");
    let (source, shift) = if is_flag { (format!("{file} {window}"), file.len() + 1) } else { (window.to_string(), 0) };
    let mut out = Snippet::source(source).line_start(first as usize).line_numbering(!is_flag);
    if !is_flag {
        out = out.path(file);
    }
    for &i in shown {
        let label = &d.labels[i];
        let kind = if i == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let span = span(window, first, label)?;
        let text = Some(label.text.as_str()).filter(|text| !text.is_empty());
        out = out.annotation(kind.span(span.start + shift..span.end + shift).label(text));
    }
    Some(out)
}

fn origin(label: &Label) -> Origin<'_> {
    let place = &label.place;
    Origin::path(&*place.file).line(place.line as usize).char_column(place.col as usize)
}
fn has_line(label: &Label, sources: &Sources) -> bool {
    sources.get(&label.place.file).is_some_and(|text| line_start(text, label.place.line).is_some())
}

/// What the labels say whose lines are not shown. The first one's place is drawn as the origin.
fn unshown(d: &Diagnostic, sources: &Sources) -> Vec<String> {
    let mut out = Vec::new();
    for (i, label) in d.labels.iter().enumerate().filter(|(_, l)| !has_line(l, sources)) {
        match (i, label.text.as_str()) {
            (0, "") => {}
            (0, text) => out.push(text.to_string()),
            (_, "") => out.push(label.place.to_string()),
            (_, text) => out.push(format!("{}: {text}", label.place)),
        }
    }
    out
}

/// The calls the labels were inlined at. Where the labels' calls differ, each line says whose they are.
fn inlined_at(d: &Diagnostic) -> Vec<String> {
    let inlined: Vec<&Label> = d.labels.iter().filter(|l| !l.inlined_at.is_empty()).collect();
    let line = |place: &Place| format!("inlined at {place}");
    let Some(first) = inlined.first() else { return Vec::new() };
    if inlined.iter().all(|l| l.inlined_at == first.inlined_at) {
        return first.inlined_at.iter().map(line).collect();
    }
    let chain = |l: &Label| l.inlined_at.iter().map(line).collect::<Vec<_>>().join(" ");
    let mut out: Vec<String> = inlined.iter().map(|l| format!("{} {}", l.place, chain(l))).collect();
    out.dedup();
    out
}

/// Lines `first..=last` of a text, counted from 1; `None` if it has no line `first`.
fn window(text: &str, first: u32, last: u32) -> Option<&str> {
    let start = line_start(text, first)?;
    let end = last.checked_add(1).and_then(|next| line_start(text, next)).unwrap_or(text.len());
    Some(&text[start..end.max(start)])
}
/// Where a line begins; `None` if the text has fewer lines.
fn line_start(text: &str, line: u32) -> Option<usize> {
    match line {
        0 => None,
        1 => Some(0),
        _ => text.match_indices('\n').nth(line as usize - 2).map(|(at, _)| at + 1),
    }
}

/// From the label's place to the end of the word, call path or value name there; in a text that begins at line `first`.
fn span(window: &str, first: u32, label: &Label) -> Option<Range<usize>> {
    let line_at = line_start(window, label.place.line - first + 1)?;
    let line = window[line_at..].lines().next().unwrap_or("");
    let skip: usize = line.chars().take(label.place.col.saturating_sub(1) as usize).map(char::len_utf8).sum();
    let start = line_at + skip;
    Some(start..start + word_len(&line[skip..]))
}
fn word_len(s: &str) -> usize {
    let sigil = usize::from(s.starts_with(['%', '@']));
    let in_word = |c: char| c.is_alphanumeric() || c == '_' || if sigil == 1 { ".'".contains(c) } else { c == ':' };
    match s[sigil..].find(|c| !in_word(c)).map_or(s.len(), |n| sigil + n) {
        0 => s.chars().next().map_or(0, char::len_utf8),
        len => len,
    }
}
