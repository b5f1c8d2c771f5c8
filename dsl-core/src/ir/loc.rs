//! Source locations of ops: a file, a line, a column, and the call it was inlined at.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A place in a source file; line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: Arc<str>,
    pub line: u32,
    pub col: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocId(pub u32);

impl LocId {
    /// No location is known.
    pub const UNKNOWN: LocId = LocId(u32::MAX);
}

/// A place, and the location of the `#[device]` call through which it was reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loc {
    pub place: Place,
    pub inlined_at: Option<LocId>,
}

/// Interned locations of a module.
#[derive(Clone, Debug, Default)]
pub struct Locs {
    list: Vec<Loc>,
    ids: FxHashMap<Loc, LocId>,
}

impl Locs {
    pub fn intern(&mut self, loc: Loc) -> LocId {
        if let Some(id) = self.ids.get(&loc) {
            return *id;
        }
        let id = LocId(self.list.len() as u32);
        self.ids.insert(loc.clone(), id);
        self.list.push(loc);
        id
    }
    pub fn get(&self, id: LocId) -> Option<&Loc> {
        self.list.get(id.0 as usize)
    }
    /// The call through which `id` was reached. Always an earlier location, so that every chain ends.
    pub fn outer(&self, id: LocId) -> Option<LocId> {
        self.get(id)?.inlined_at.filter(|at| at.0 < id.0)
    }
    /// The place of `id`, then the calls it was inlined at, innermost first.
    pub fn chain(&self, id: LocId) -> Vec<Place> {
        let mut out = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            out.extend(self.get(id).map(|loc| loc.place.clone()));
            next = self.outer(id);
        }
        out
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.col)
    }
}
