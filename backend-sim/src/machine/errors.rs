//! What can be wrong with a machine file or a `--set`: one variant a fault, its text written here and nowhere else.

use super::codes;
use super::quantity::{Kind, Problem, show};
use super::source::{Sources, Spot};
use super::table::FieldId;
use tilewright_core::diag::Diagnostic;

/// A fault with the places of its parties; texts are in `diagnostic`.
#[derive(Debug)]
pub(super) enum Fault {
    /// `name` as the user wrote it; `at` the `extends` that did.
    Unreadable {
        name: String,
        cause: String,
        at: Option<Spot>,
    },
    TooBig {
        name: String,
        at: Option<Spot>,
    },
    Syntax {
        cause: String,
        at: Spot,
    },
    Duplicate {
        key: String,
        at: Spot,
        first: Option<Spot>,
    },
    UnknownKey {
        key: String,
        at: Spot,
        place: KeyPlace,
        nearest: Option<String>,
    },
    WrongType {
        what: String,
        found: &'static str,
        valid: String,
        at: Spot,
    },
    Quantity {
        field: FieldId,
        problem: Problem,
        text: String,
        at: Spot,
    },
    Range {
        field: FieldId,
        text: String,
        at: Spot,
    },
    ExtendsCycle {
        chain: Vec<String>,
        at: Spot,
    },
    ExtendsDeep {
        limit: usize,
        at: Spot,
    },
    Incomplete {
        missing: Vec<FieldId>,
        at: Option<Spot>,
    },
    SetForm {
        at: Spot,
    },
    /// The parties that were given by a file or a flag.
    TooManyPes {
        pes: u128,
        limit: u128,
        parties: Vec<(FieldId, Spot)>,
    },
}

/// Where an unknown key stands.
#[derive(Debug)]
pub(super) enum KeyPlace {
    /// At the top of a file, or before the first dot of a `--set`.
    Top,
    Section(&'static str),
    /// Beside `value` and `status`.
    Entry,
}

impl Fault {
    pub(super) fn diagnostic(&self, sources: &Sources) -> Diagnostic {
        let d = match self {
            Fault::Unreadable { name, cause, .. } => {
                Diagnostic::new(codes::UNREADABLE, format!("machine file `{name}` cannot be read: {cause}"))
                    .next("`ahbm` names the shipped machine; a path in `extends` is relative to the file that says it")
            }
            Fault::TooBig { name, .. } => {
                Diagnostic::new(codes::TOO_BIG, format!("machine file `{name}` is over 1 MiB"))
                    .next("give the path of a machine file; `ahbm` names the shipped machine")
            }
            Fault::Syntax { cause, .. } => syntax(cause),
            Fault::Duplicate { key, .. } => {
                Diagnostic::new(codes::DUPLICATE, format!("`{key}` stands twice")).next("remove one of the two")
            }
            Fault::UnknownKey { key, place, nearest, .. } => unknown_key(key, place, nearest.as_deref()),
            Fault::WrongType { what, found, valid, .. } => {
                Diagnostic::new(codes::WRONG_TYPE, format!("`{what}` is {found}")).next(format!("write {valid}"))
            }
            Fault::Quantity { field, problem, text, .. } => quantity(*field, problem, text),
            Fault::Range { field, text, .. } => range(*field, text),
            Fault::ExtendsCycle { chain, .. } => {
                Diagnostic::new(codes::EXTENDS_CYCLE, "machine files extend each other in a circle")
                    .note(chain.join(" -> "))
                    .next("let one of them be complete, or extend `ahbm`")
            }
            Fault::ExtendsDeep { limit, .. } => Diagnostic::new(
                codes::EXTENDS_DEEP,
                format!("more than {limit} machine files follow each other by `extends`"),
            )
            .next("join some of them into one file"),
            Fault::Incomplete { missing, .. } => incomplete(missing),
            Fault::SetForm { .. } => Diagnostic::new(codes::SET_FORM, "`--set` takes FIELD=VALUE")
                .next("for example `--set hbm.slice_rate=\"512 GB/s\"`"),
            Fault::TooManyPes { pes, limit, .. } => Diagnostic::new(
                codes::CONSISTENCY,
                format!("the machine has {pes} PEs; at most {limit} can be simulated"),
            )
            .next("reduce `topology.sips`, or the rows or columns of cubes or PEs"),
        };
        self.labels().into_iter().fold(d, |d, (spot, text)| sources.label(d, spot, text))
    }

    /// The guilty place first.
    fn labels(&self) -> Vec<(&Spot, String)> {
        let one = |spot, text: &str| vec![(spot, text.to_owned())];
        match self {
            Fault::Unreadable { at, .. } | Fault::TooBig { at, .. } => {
                at.iter().map(|spot| (spot, "extended here".to_owned())).collect()
            }
            Fault::Duplicate { at, first, .. } => {
                let first = first.iter().map(|spot| (spot, "first here".to_owned()));
                one(at, "again here").into_iter().chain(first).collect()
            }
            Fault::UnknownKey { nearest, at, .. } => {
                one(at, &nearest.as_ref().map_or("no such key".to_owned(), |n| format!("did you mean `{n}`?")))
            }
            Fault::Quantity { field, at, .. } => one(at, &format!("expected {}", field.row().kind.noun())),
            Fault::Range { at, .. } => one(at, "out of range"),
            Fault::ExtendsCycle { at, .. } => one(at, "closes the circle"),
            Fault::ExtendsDeep { at, .. } => one(at, "one too many"),
            Fault::Incomplete { at, .. } => at.iter().map(|spot| (spot, "extends no other file".to_owned())).collect(),
            Fault::TooManyPes { parties, .. } => parties.iter().map(|(id, spot)| (spot, id.to_string())).collect(),
            Fault::Syntax { at, .. } | Fault::WrongType { at, .. } | Fault::SetForm { at } => one(at, ""),
        }
    }
}

fn syntax(cause: &str) -> Diagnostic {
    // The parser lists what else might follow; what is wrong is before the comma.
    let cause = cause.split(", expected").next().unwrap_or(cause);
    let d = Diagnostic::new(codes::SYNTAX, format!("the machine file is not TOML: {cause}"));
    d.next("a field is `name = value` in a `[section]`; a value with a unit is quoted: `slice_rate = \"256 GB/s\"`")
}

fn unknown_key(key: &str, place: &KeyPlace, nearest: Option<&str>) -> Diagnostic {
    let text = match place {
        KeyPlace::Top => format!("a machine has no section `{key}`"),
        KeyPlace::Section(section) => format!("`{section}` has no field `{key}`"),
        KeyPlace::Entry => format!("a value has no `{key}` beside it"),
    };
    let d = Diagnostic::new(codes::UNKNOWN_KEY, text);
    match (place, nearest) {
        (_, Some(nearest)) => d.next(format!("write `{nearest}`")),
        (KeyPlace::Top, None) => d.next(format!("one of {}", list(super::table::sections()))),
        (KeyPlace::Section(section), None) => d.next(format!("one of {}", list(super::table::names(section)))),
        (KeyPlace::Entry, None) => d.next("the keys are `value` and `status`"),
    }
}

fn quantity(field: FieldId, problem: &Problem, text: &str) -> Diagnostic {
    let kind = field.row().kind;
    let new = |code, text: String| Diagnostic::new(code, text);
    let write = |unit: Option<&str>| format!("write {}", unit.map_or(example(field), |unit| with_unit(text, unit)));
    let usual = kind.units().first().map(|(name, _)| *name);
    match problem {
        Problem::NotANumber => new(codes::NUMBER, format!("`{field}` is no number: `{text}`")).next(write(None)),
        Problem::NotFinite => new(codes::NUMBER, format!("`{field}` is not finite: `{text}`")).next(write(None)),
        Problem::Negative => new(codes::NUMBER, format!("`{field}` is negative: `{text}`")).next(write(None)),
        Problem::TooLarge => new(codes::NUMBER, format!("`{field}` is too large: `{text}`"))
            .next(format!("at most {}", quoted(kind, field.row().range.1))),
        Problem::TooFine => new(codes::NUMBER, format!("`{field}` is no multiple of {}: `{text}`", finest(kind)))
            .next(format!("write a multiple of {}", finest(kind))),
        Problem::MissingUnit => new(codes::UNIT, format!("`{field}` has no unit: `{text}`")).next(format!(
            "if {text} {} are meant, {}",
            usual.unwrap_or_default(),
            write(usual)
        )),
        Problem::SurplusUnit(unit) => {
            new(codes::UNIT, format!("`{field}` is a plain number and takes no unit `{unit}`")).next(write(None))
        }
        Problem::Bits { unit, bytes } => {
            let d = new(codes::UNIT, format!("`{unit}` counts bits; `{field}` is in bytes"));
            d.next(bytes.as_ref().map_or(write(None), |b| format!("write \"{b}\" for `{text}`: 8 bits are a byte")))
        }
        Problem::Case { unit, right } => {
            new(codes::UNIT, format!("`{unit}` is spelt `{right}`")).next(write(Some(right)))
        }
        Problem::OtherKind { unit, kind: other } => {
            new(codes::UNIT, format!("`{unit}` is a unit of {}, `{field}` is {}", measures(*other), kind.noun()))
                .next(write(None))
        }
        Problem::UnknownUnit { unit, nearest } => new(codes::UNIT, format!("`{field}` has the unknown unit `{unit}`"))
            .note(format!("units: {}", list(kind.units().iter().map(|(name, _)| *name))))
            .next(write(*nearest)),
    }
}

/// The number of a text with another unit, as a file writes it.
fn with_unit(text: &str, unit: &str) -> String {
    let number = text.trim().split(|c: char| c.is_whitespace() || c.is_alphabetic()).next().unwrap_or_default();
    format!("\"{number} {unit}\"")
}

fn range(field: FieldId, text: &str) -> Diagnostic {
    let (kind, (min, max)) = (field.row().kind, field.row().range);
    Diagnostic::new(codes::RANGE, format!("`{field}` cannot be `{text}`")).note(field.row().doc.trim()).next(format!(
        "from {} to {}",
        quoted(kind, min),
        quoted(kind, max)
    ))
}

fn incomplete(missing: &[FieldId]) -> Diagnostic {
    let first = list(missing.iter().take(3).map(|id| id.path()));
    let more = if missing.len() > 3 { ", ..." } else { "" };
    Diagnostic::new(codes::INCOMPLETE, format!("the machine file leaves {} values out: {first}{more}", missing.len()))
        .next("start the file with `extends = \"ahbm\"` to take them from the shipped machine")
}

/// A value as the shipped machine has it, as a file writes it.
pub(super) fn example(field: FieldId) -> String {
    let row = field.row();
    quoted(row.kind, (row.get)(&super::Machine::ahbm()))
}

pub(super) fn quoted(kind: Kind, units: u64) -> String {
    let text = show(kind, units);
    if kind.is_plain() { text } else { format!("\"{text}\"") }
}

/// What a unit of this kind counts.
fn measures(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => "counts",
        Kind::Cycles => "cycles",
        Kind::Time => "time",
        Kind::Size => "size",
        Kind::ByteRate => "bytes a second",
        Kind::ElemRate => "elements a second",
        Kind::FlopRate => "operations a second",
        Kind::Clock => "frequency",
        Kind::Factor => "factors",
    }
}

/// The base unit, as a user says it.
fn finest(kind: Kind) -> &'static str {
    match kind {
        Kind::Count => "1",
        Kind::Cycles => "1 cycle",
        Kind::Time => "1 ps",
        Kind::Size => "1 B",
        Kind::ByteRate => "1 B/s",
        Kind::ElemRate => "1 elem/s",
        Kind::FlopRate => "1 FLOP/s",
        Kind::Clock => "1 Hz",
        Kind::Factor => "0.000001",
    }
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}
