//! One row per machine field: from the rows come the typed structs, the loader, the printer, `--set`, the statuses.
//! The rows are in `spec.rs`; units in `quantity.rs`. A new field is one row there and one line in `machines/ahbm.toml`.

use super::quantity::Kind;
use super::spec::{FIELDS, Machine, PATHS, SECTIONS};
use std::fmt;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Stated by the published study.
    Stated,
    /// The published figures force it.
    Derived,
    /// Chosen to fit the published figures; nearby values would do about as well.
    Fitted,
    /// A default for what the study never used. A result that used one carries a mark.
    Assumed,
    /// Given by the user, in a file without a status or on the command line.
    Set,
}

impl Status {
    pub const ALL: [Status; 5] = [Status::Stated, Status::Derived, Status::Fitted, Status::Assumed, Status::Set];

    /// The word in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            Status::Stated => "stated",
            Status::Derived => "derived",
            Status::Fitted => "fitted",
            Status::Assumed => "assumed",
            Status::Set => "set",
        }
    }
}
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A machine field: the number of its row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(u16);

impl FieldId {
    /// The field with this path. For constants: a path that no row has does not compile there.
    pub(super) const fn of(path: &str) -> FieldId {
        let mut i = 0;
        while i < PATHS.len() {
            if same(PATHS[i], path) {
                return FieldId(i as u16);
            }
            i += 1;
        }
        panic!("no machine field has this path")
    }
    /// All fields, in the order of the rows.
    pub fn all() -> impl Iterator<Item = FieldId> {
        (0..FIELDS.len() as u16).map(FieldId)
    }
    /// The field named `section.field`.
    pub fn find(path: &str) -> Option<FieldId> {
        FieldId::all().find(|id| id.path() == path)
    }
    pub fn row(self) -> &'static Field {
        &FIELDS[self.index()]
    }
    /// `section.field`
    pub fn path(self) -> &'static str {
        PATHS[self.index()]
    }
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
impl fmt::Debug for FieldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path())
    }
}
impl fmt::Display for FieldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path())
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// What a row says of its field. Values are in the kind's base unit (`Kind`).
#[derive(Debug)]
pub struct Field {
    pub section: &'static str,
    pub name: &'static str,
    pub kind: Kind,
    /// Smallest and largest value that loads.
    pub range: (u64, u64),
    pub doc: &'static str,
    pub(super) get: fn(&Machine) -> u64,
    pub(super) set: fn(&mut Machine, u64),
}

/// The sections of a machine file, in the order of the rows.
pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().map(|(name, _)| *name)
}

/// The fields of a section.
pub(super) fn names(section: &str) -> impl Iterator<Item = &'static str> {
    FIELDS.iter().filter(move |row| row.section == section).map(|row| row.name)
}

/// Fields that something used, e.g. to price the commands of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldSet([u64; 4]);

impl FieldSet {
    pub fn insert(&mut self, id: FieldId) {
        self.0[id.index() / 64] |= 1 << (id.index() % 64);
    }
    pub fn contains(&self, id: FieldId) -> bool {
        self.0[id.index() / 64] & 1 << (id.index() % 64) != 0
    }
    /// In the order of the rows.
    pub fn iter(&self) -> impl Iterator<Item = FieldId> + '_ {
        FieldId::all().filter(|id| self.contains(*id))
    }
}
impl Extend<FieldId> for FieldSet {
    fn extend<I: IntoIterator<Item = FieldId>>(&mut self, ids: I) {
        ids.into_iter().for_each(|id| self.insert(id));
    }
}

/// A field's Rust type, as a number of its kind's base units.
pub(super) trait Base {
    fn from_base(units: u64) -> Self;
    fn base(&self) -> u64;
}

/// Declares the sections of `Machine`, `FIELDS`, `PATHS` and the constants `field::section::name`.
///
/// A row is `name: Type = Kind;` or `name: Type = Kind[min, max];` in base units.
macro_rules! machine_fields {
    ($( $(#[doc = $sdoc:literal])+ $section:ident: $Section:ident {
        $( $(#[doc = $doc:literal])+ $name:ident: $Type:ty = $kind:ident $([$min:expr, $max:expr])?; )+
    } )+) => {
        $(
            $(#[doc = $sdoc])+
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Section { $( $(#[doc = $doc])+ pub $name: $Type, )+ }
        )+
        /// An accelerator: its shape and every constant of its cost model.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Machine {
            /// What results print.
            pub name: String,
            $( $(#[doc = $sdoc])+ pub $section: $Section, )+
            pub(super) statuses: [Status; PATHS.len()],
        }
        impl Machine {
            /// A machine whose values are all still to be set.
            pub(super) fn blank() -> Machine {
                Machine {
                    name: String::new(),
                    $( $section: $Section { $( $name: Base::from_base(0), )+ }, )+
                    statuses: [Status::Set; PATHS.len()],
                }
            }
        }
        pub(super) const PATHS: &[&str] = &[ $($( concat!(stringify!($section), ".", stringify!($name)), )+)+ ];
        pub(super) static FIELDS: [Field; PATHS.len()] = [ $($( Field {
            section: stringify!($section),
            name: stringify!($name),
            kind: Kind::$kind,
            range: machine_fields!(@range $kind $($min, $max)?),
            doc: concat!($($doc),+),
            get: |m| m.$section.$name.base(),
            set: |m, units| m.$section.$name = Base::from_base(units),
        }, )+)+ ];
        /// Sections, each with its doc line.
        pub(super) static SECTIONS: &[(&str, &str)] = &[ $( (stringify!($section), concat!($($sdoc),+)), )+ ];
        /// The fields by name, to say which ones a price came from: `field::cpu::dot`.
        #[allow(non_upper_case_globals, reason = "spelt as in a machine file")]
        pub mod field {
            $( pub mod $section {
                use super::super::FieldId;
                $( pub const $name: FieldId = FieldId::of(concat!(stringify!($section), ".", stringify!($name))); )+
            } )+
        }
    };
    (@range $kind:ident) => { Kind::$kind.range() };
    (@range $kind:ident $min:expr, $max:expr) => { ($min, $max) };
}
pub(super) use machine_fields;
