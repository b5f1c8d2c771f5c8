//! Reads a machine: the chain of files that `extends` makes, base first, then the `--set` flags; each value checked for
//! unit and range where it stands, then all values together. All faults come back, not the first.

use super::errors::{Fault, KeyPlace};
use super::quantity;
use super::source::{Sources, Spot};
use super::spec::Machine;
use super::table::{self, FieldId, Status};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tilewright_core::diag::Diagnostics;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The shipped machines by name.
const SHIPPED: &[(&str, &str)] = &[("ahbm", include_str!("../../../machines/ahbm.toml"))];
const MAX_BYTES: u64 = 1 << 20;
/// Files that may follow each other by `extends`.
const MAX_EXTENDS: usize = 8;
/// PEs of a machine: what ids of the engine hold, with room.
const MAX_PES: u128 = 1 << 16;

/// Faults of one file that are told: what has more is no machine file, and each takes a search for the nearest word.
const MAX_FAULTS: usize = 100;

/// One value that a text gives.
struct Assignment {
    field: FieldId,
    units: u64,
    status: Status,
    at: Spot,
}

pub(super) fn load(name: &str, sets: &[String]) -> Result<Machine, Diagnostics> {
    let mut load = Load::default();
    let machine = load.machine(name, sets);
    match machine {
        Some(machine) if load.faults.is_empty() => Ok(machine),
        _ => Err(Diagnostics(load.faults.iter().map(|f| f.diagnostic(&load.sources)).collect())),
    }
}

#[derive(Default)]
struct Load {
    sources: Sources,
    faults: Vec<Fault>,
    name: Option<String>,
    /// Base first: a later one wins.
    assignments: Vec<Assignment>,
}

impl Load {
    fn machine(&mut self, name: &str, sets: &[String]) -> Option<Machine> {
        let top = self.files(name);
        self.sets(sets);
        if !self.faults.is_empty() {
            return None;
        }
        let mut machine = Machine::blank();
        machine.name = self.name.take().unwrap_or_else(|| stem(name));
        let mut origin: Vec<Option<&Spot>> = vec![None; machine.statuses.len()];
        for a in &self.assignments {
            (a.field.row().set)(&mut machine, a.units);
            machine.statuses[a.field.index()] = a.status;
            origin[a.field.index()] = Some(&a.at);
        }
        let missing: Vec<FieldId> = FieldId::all().filter(|id| origin[id.index()].is_none()).collect();
        let fault =
            if missing.is_empty() { together(&machine, &origin) } else { Some(Fault::Incomplete { missing, at: top }) };
        self.faults.extend(fault);
        Some(machine)
    }

    /// Reads a file and the files it extends. The place of the first file's text.
    fn files(&mut self, name: &str) -> Option<Spot> {
        let mut chain: Vec<File> = Vec::new();
        let mut next = Some((name.to_owned(), None));
        let mut layers = Vec::new();
        while let Some((name, at)) = next.take() {
            let file = File::find(&name, chain.last());
            if let (true, Some(at)) = (chain.iter().any(|f| f.same_as(&file)), &at) {
                let chain = chain.iter().chain([&file]).map(|f| f.shown.clone()).collect();
                self.faults.push(Fault::ExtendsCycle { chain, at: Spot::clone(at) });
                break;
            }
            if let (true, Some(at)) = (chain.len() > MAX_EXTENDS, &at) {
                self.faults.push(Fault::ExtendsDeep { limit: MAX_EXTENDS, at: Spot::clone(at) });
                break;
            }
            let Some(source) = self.read(&file, at) else { break };
            let mut layer = Vec::new();
            next = self.file(source, &mut layer).map(|(name, at)| (name, Some(at)));
            layers.push((source, layer));
            chain.push(file);
        }
        let top = layers.first().map(|(source, _)| Spot { source: *source, range: 0..0 });
        self.assignments.extend(layers.into_iter().rev().flat_map(|(_, layer)| layer));
        top
    }

    fn read(&mut self, file: &File, at: Option<Spot>) -> Option<usize> {
        match file.text() {
            Ok(text) => Some(self.sources.add(&file.shown, text)),
            Err(Unread::TooBig) => {
                self.faults.push(Fault::TooBig { name: file.shown.clone(), at });
                None
            }
            Err(Unread::Cause(cause)) => {
                self.faults.push(Fault::Unreadable { name: file.shown.clone(), cause, at });
                None
            }
        }
    }

    /// The values of one file; the file that it extends, with the place that says so.
    fn file(&mut self, source: usize, layer: &mut Vec<Assignment>) -> Option<(String, Spot)> {
        let text = self.sources.text(source).to_owned();
        let (root, errors) = DeTable::parse_recoverable(&text);
        if !errors.is_empty() {
            self.malformed(source, &text, root.get_ref(), &errors);
            return None;
        }
        let (mut name, mut extends) = (None, None);
        for (key, value) in root.get_ref() {
            if self.faults.len() >= MAX_FAULTS {
                break;
            }
            let at = |range: Range<usize>| Spot { source, range };
            let mut reader = Reader { source, text: &text, faults: &mut self.faults };
            match key.get_ref().as_ref() {
                "name" => name = reader.string("name", value).map(|(s, _)| s),
                "extends" => extends = reader.string("extends", value).map(|(s, range)| (s, at(range))),
                _ => reader.section(key, value, layer),
            }
        }
        // Only the first file names the machine: what it changes is another machine.
        if source == 0 {
            self.name = name;
        }
        extends
    }

    /// Duplicate keys, each with the first one; otherwise the first error, since the others may follow from it.
    fn malformed(&mut self, source: usize, text: &str, root: &DeTable<'_>, errors: &[toml::de::Error]) {
        let spot = |range: Range<usize>| Spot { source, range };
        let duplicates: Vec<Range<usize>> =
            errors.iter().filter(|e| e.message().starts_with("duplicate key")).filter_map(|e| e.span()).collect();
        if let Some(error) = errors.iter().find(|e| !e.message().starts_with("duplicate key")) {
            let cause = error.message().to_owned();
            self.faults.push(Fault::Syntax { cause, at: spot(error.span().unwrap_or(0..0)) });
        }
        for range in duplicates.into_iter().take(MAX_FAULTS) {
            let key = text.get(range.clone()).unwrap_or_default().to_owned();
            let first = first_key(root, &key, range.start).map(spot);
            self.faults.push(Fault::Duplicate { key, at: spot(range), first });
        }
    }

    fn sets(&mut self, sets: &[String]) {
        // One flag a line, so that a line number says which.
        let flags: Vec<String> = sets.iter().map(|s| s.replace(['\n', '\r'], " ")).collect();
        let source = self.sources.add("--set", flags.join("\n"));
        let mut start = 0;
        for flag in &flags {
            if let Some(a) = set(source, start, flag, &mut self.faults) {
                self.assignments.push(a);
            }
            start += flag.len() + 1;
        }
    }
}

/// One `FIELD=VALUE`, which starts at byte `start` of its source.
fn set(source: usize, start: usize, flag: &str, faults: &mut Vec<Fault>) -> Option<Assignment> {
    let spot = |range: Range<usize>| Spot { source, range: start + range.start..start + range.end };
    let Some((path, value)) = flag.split_once('=') else {
        faults.push(Fault::SetForm { at: spot(0..flag.len()) });
        return None;
    };
    let Some(field) = FieldId::find(path.trim()) else {
        faults.push(unknown_path(path.trim(), spot(0..path.len())));
        return None;
    };
    let value_start = path.len() + 1 + (value.len() - value.trim_start().len());
    let value = value.trim();
    let quoted = ['"', '\''].iter().any(|q| value.len() >= 2 && value.starts_with(*q) && value.ends_with(*q));
    let (value, value_start) =
        if quoted { (&value[1..value.len() - 1], value_start + 1) } else { (value, value_start) };
    let at = spot(value_start..value_start + value.len());
    let mut reader = Reader { source, text: "", faults };
    let units = reader.quantity(field, value, at.clone())?;
    Some(Assignment { field, units, status: Status::Set, at })
}

/// `path` names no field: is the section wrong, or the name in it?
fn unknown_path(path: &str, at: Spot) -> Fault {
    let (section, name) = path.split_once('.').unwrap_or((path, ""));
    let known = table::sections().find(|s| *s == section);
    let nearest = nearest(path, FieldId::all().map(FieldId::path));
    match known {
        Some(section) => Fault::UnknownKey { key: name.to_owned(), at, place: KeyPlace::Section(section), nearest },
        None => Fault::UnknownKey { key: section.to_owned(), at, place: KeyPlace::Top, nearest },
    }
}

/// Reads the values of one text.
struct Reader<'a> {
    source: usize,
    text: &'a str,
    faults: &'a mut Vec<Fault>,
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;

impl Reader<'_> {
    fn spot(&self, range: Range<usize>) -> Spot {
        Spot { source: self.source, range }
    }

    fn section(&mut self, key: &Key<'_>, value: &Spanned<DeValue<'_>>, layer: &mut Vec<Assignment>) {
        let word = key.get_ref().as_ref();
        let Some(section) = table::sections().find(|s| *s == word) else {
            return self.unknown_top(key);
        };
        match value.get_ref().as_table() {
            Some(fields) => {
                for (key, value) in fields {
                    if self.faults.len() < MAX_FAULTS {
                        layer.extend(self.field(section, key, value));
                    }
                }
            }
            None => {
                let found = type_noun(value.get_ref());
                let at = self.spot(value.span());
                self.faults.push(Fault::WrongType {
                    what: word.to_owned(),
                    found,
                    valid: format!("`[{section}]` and its fields below it"),
                    at,
                });
            }
        }
    }

    /// Neither a section nor `name` nor `extends`; perhaps a field without its section.
    fn unknown_top(&mut self, key: &Key<'_>) {
        let word = key.get_ref().as_ref();
        let field = FieldId::all().find(|id| id.row().name == word).map(|id| id.path().to_owned());
        let nearest = field.or_else(|| nearest(word, table::sections().chain(["name", "extends"])));
        self.faults.push(Fault::UnknownKey {
            key: word.to_owned(),
            at: self.spot(key.span()),
            place: KeyPlace::Top,
            nearest,
        });
    }

    fn field(&mut self, section: &'static str, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Option<Assignment> {
        let word = key.get_ref().as_ref();
        let Some(field) = FieldId::all().find(|id| id.row().section == section && id.row().name == word) else {
            let at = self.spot(key.span());
            let nearest = nearest(word, table::names(section));
            self.faults.push(Fault::UnknownKey {
                key: word.to_owned(),
                at,
                place: KeyPlace::Section(section),
                nearest,
            });
            return None;
        };
        let (value, status) = match value.get_ref().as_table() {
            Some(entry) => self.entry(field, value, entry)?,
            None => (value, Status::Set),
        };
        let (text, at) = self.number(field, value)?;
        let units = self.quantity(field, &text, at.clone())?;
        Some(Assignment { field, units, status, at })
    }

    /// `{ value = …, status = … }`
    fn entry<'v, 'i>(
        &mut self,
        field: FieldId,
        whole: &Spanned<DeValue<'i>>,
        entry: &'v DeTable<'i>,
    ) -> Option<(&'v Spanned<DeValue<'i>>, Status)> {
        let (mut found, mut status) = (None, Status::Set);
        for (key, value) in entry {
            match key.get_ref().as_ref() {
                "value" => found = Some(value),
                "status" => status = self.status(field, value)?,
                _ if self.faults.len() >= MAX_FAULTS => break,
                word => {
                    let nearest = nearest(word, ["value", "status"].into_iter());
                    let at = self.spot(key.span());
                    self.faults.push(Fault::UnknownKey { key: word.to_owned(), at, place: KeyPlace::Entry, nearest });
                }
            }
        }
        if found.is_none() {
            self.wrong_type(field, "a table without `value`", whole.span());
        }
        found.map(|value| (value, status))
    }

    fn status(&mut self, field: FieldId, value: &Spanned<DeValue<'_>>) -> Option<Status> {
        let status = Status::ALL.into_iter().find(|s| Some(s.name()) == value.get_ref().as_str());
        if status.is_none() {
            let words = Status::ALL.map(|s| format!("\"{s}\"")).join(", ");
            let at = self.spot(value.span());
            self.faults.push(Fault::WrongType {
                what: format!("{field}.status"),
                found: "no status",
                valid: format!("one of {words}"),
                at,
            });
        }
        status
    }

    /// The text of a number or of a string with a unit, and where it stands.
    fn number(&mut self, field: FieldId, value: &Spanned<DeValue<'_>>) -> Option<(String, Spot)> {
        let raw = self.text.get(value.span()).unwrap_or_default();
        match value.get_ref() {
            DeValue::String(text) if !field.row().kind.is_plain() => {
                // The caret goes to the part that is wrong, unless escapes or a raw form move it.
                let inside = raw.len() == text.len() + 2 && raw[1..].starts_with(text.as_ref());
                let range = if inside { value.span().start + 1..value.span().end - 1 } else { value.span() };
                Some((text.to_string(), self.spot(range)))
            }
            DeValue::Integer(_) | DeValue::Float(_) => Some((raw.to_owned(), self.spot(value.span()))),
            other => {
                self.wrong_type(field, type_noun(other), value.span());
                None
            }
        }
    }

    fn wrong_type(&mut self, field: FieldId, found: &'static str, range: Range<usize>) {
        let row = field.row();
        let valid = super::errors::example(field);
        let at = self.spot(range);
        self.faults.push(Fault::WrongType {
            what: field.to_string(),
            found,
            valid: format!("`{} = {valid}`", row.name),
            at,
        });
    }

    /// A value in base units, in the field's range.
    fn quantity(&mut self, field: FieldId, text: &str, at: Spot) -> Option<u64> {
        let row = field.row();
        match quantity::parse(row.kind, text) {
            Ok(units) if (row.range.0..=row.range.1).contains(&units) => return Some(units),
            Ok(_) => self.faults.push(Fault::Range { field, text: text.to_owned(), at }),
            Err(wrong) => {
                let start = at.range.start + wrong.at.start;
                let at =
                    if at.range.len() == text.len() { Spot { range: start..start + wrong.at.len(), ..at } } else { at };
                self.faults.push(Fault::Quantity { field, problem: wrong.problem, text: text.to_owned(), at });
            }
        }
        None
    }

    fn string(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<(String, Range<usize>)> {
        match value.get_ref() {
            DeValue::String(text) => Some((text.to_string(), value.span())),
            other => {
                let (found, at) = (type_noun(other), self.spot(value.span()));
                let valid = format!("a string: `{key} = \"…\"`");
                self.faults.push(Fault::WrongType { what: key.to_owned(), found, valid, at });
                None
            }
        }
    }
}

/// The file name without its ending: what a machine is called that has no name of its own.
fn stem(name: &str) -> String {
    Path::new(name).file_stem().map_or(name.to_owned(), |s| s.to_string_lossy().into_owned())
}

/// What no single field shows.
fn together(machine: &Machine, origin: &[Option<&Spot>]) -> Option<Fault> {
    use super::spec::field::topology::{cube_cols, cube_rows, pe_cols, pe_rows, sips};
    let shape = [sips, cube_rows, cube_cols, pe_rows, pe_cols];
    let pes = shape.iter().map(|id| u128::from((id.row().get)(machine))).product();
    let given = |id: &FieldId| origin[id.index()].map(|spot| (*id, spot.clone()));
    let parties = shape.iter().filter(|id| machine.status(**id) == Status::Set).filter_map(given).collect();
    (pes > MAX_PES).then_some(Fault::TooManyPes { pes, limit: MAX_PES, parties })
}

/// The first key of this name, other than the one at `not_at`.
fn first_key(table: &DeTable<'_>, key: &str, not_at: usize) -> Option<Range<usize>> {
    let here = table.keys().find(|k| k.get_ref() == key && k.span().start < not_at).map(Spanned::span);
    here.or_else(|| table.values().filter_map(|v| v.get_ref().as_table()).find_map(|t| first_key(t, key, not_at)))
}

fn type_noun(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// The word that a misspelt one is most likely to mean, if one is near.
fn nearest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<String> {
    if word.len() > quantity::MAX_WORD {
        return None;
    }
    let near = (word.chars().count() / 2).max(2);
    let distance = |w: &str| strsim::damerau_levenshtein(word, w);
    words.map(|w| (distance(w), w)).filter(|(d, _)| *d <= near).min_by_key(|(d, _)| *d).map(|(_, w)| w.to_owned())
}

/// A machine file: shipped under a name, or on disk.
struct File {
    shown: String,
    path: Option<PathBuf>,
    shipped: Option<&'static str>,
}

enum Unread {
    TooBig,
    Cause(String),
}

impl File {
    /// `name` as a flag or an `extends` gives it; a path is relative to the file that extends it.
    fn find(name: &str, extended_by: Option<&File>) -> File {
        if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return File { shown: format!("{name} (shipped)"), path: None, shipped: Some(text) };
        }
        let folder = extended_by.and_then(|f| f.path.as_deref()).and_then(Path::parent).unwrap_or(Path::new(""));
        let path = folder.join(name);
        File { shown: path.display().to_string(), path: Some(path), shipped: None }
    }
    fn same_as(&self, other: &File) -> bool {
        let real = |f: &File| f.path.as_ref().map(|p| std::fs::canonicalize(p).unwrap_or_else(|_| p.clone()));
        real(self) == real(other)
    }
    fn text(&self) -> Result<String, Unread> {
        let Some(path) = &self.path else {
            return Ok(self.shipped.unwrap_or_default().to_owned());
        };
        let cause = |e: std::io::Error| Unread::Cause(plain(&e));
        let file = std::fs::File::open(path).map_err(cause)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cause)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Unread::TooBig);
        }
        String::from_utf8(bytes).map_err(|_| Unread::Cause("it is not UTF-8 text".to_owned()))
    }
}

/// The cause in the same words on every system, where it is a usual one.
fn plain(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => e.to_string(),
    }
}
