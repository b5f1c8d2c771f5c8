//! Common subexpressions: an op that makes what an op before it has made already is left out. Reads too, while nothing
//! that may change their view stands between: a write or atomic of it, or a barrier. Of a fault that both would record
//! only the first is told.

use super::edit::{Edit, place};
use super::purity::{Depends, depends};
use super::remark::Remark;
use crate::ir::{Effects, Module, Op, OpId, RegionId, ValueId};
use rustc_hash::FxHashMap;

/// Merges equal ops. Inside a `composite` its one `dot` stays.
pub fn cse(m: &Module) -> (Module, Vec<Remark>) {
    let versions = Versions { of: vec![Version { number: 0, by: None }; m.params.len()], fresh: 0 };
    let mut c = Cse { e: Edit::new("cse", m), made: FxHashMap::default(), versions };
    c.region(m.body, Place::Plain);
    c.e.finish()
}

/// Whether an op stands in a composite.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Plain,
    Composite,
}

/// The state of each view's memory.
struct Versions {
    of: Vec<Version>,
    fresh: u32,
}
/// Equal numbers mean that nothing has changed between.
#[derive(Clone, Copy)]
struct Version {
    number: u32,
    /// What may have changed it last.
    by: Option<OpId>,
}

impl Versions {
    /// What these effects of `op` may change is from here on in a state of its own.
    fn change(&mut self, op: OpId, effects: &Effects) {
        if effects.sync.is_some() {
            return (0..self.of.len()).for_each(|i| self.renew(i, op));
        }
        effects.changes().for_each(|i| self.renew(i as usize, op));
    }
    fn renew(&mut self, i: usize, op: OpId) {
        self.fresh += 1;
        if let Some(version) = self.of.get_mut(i) {
            *version = Version { number: self.fresh, by: Some(op) };
        }
    }
}

/// Ops with equal keys are compared in full.
type Key = (&'static str, Vec<ValueId>);

struct Cse {
    e: Edit,
    /// Ops that can be seen from here, each with the number of the memory it read.
    made: FxHashMap<Key, Vec<(OpId, u32)>>,
    versions: Versions,
}

/// What can be seen of an op before it.
enum Seen {
    /// It makes the same.
    Same(OpId),
    /// It is the same read, but the second op may have changed the view since.
    Changed(OpId, OpId),
    Nothing,
}

impl Cse {
    fn region(&mut self, r: RegionId, at: Place) {
        let made = self.open(r, at);
        self.close(made);
    }
    /// Returns the keys of what it made, for `close`.
    fn open(&mut self, r: RegionId, at: Place) -> Vec<Key> {
        let (mut out, mut keys) = (Vec::new(), Vec::new());
        for op in self.e.m.region(r).ops.clone() {
            self.e.update(op);
            if let Some((key, version)) = self.key(op, at) {
                match self.seen(op, &key, version) {
                    Seen::Same(first) => {
                        self.merge(op, first);
                        continue;
                    }
                    Seen::Changed(first, by) => self.stays(op, first, by),
                    Seen::Nothing => {}
                }
                self.made.entry(key.clone()).or_default().push((op, version.number));
                keys.push(key);
            }
            self.inside(op);
            out.push(op);
        }
        self.e.m.regions[r.index()].ops = out;
        self.e.update_yields(r);
        keys
    }
    fn close(&mut self, made: Vec<Key>) {
        for key in made {
            if let Some(ops) = self.made.get_mut(&key) {
                ops.pop();
            }
        }
    }
    /// Under what an op is looked for, and the memory it reads; `None` if it is never merged.
    fn key(&self, op: OpId, at: Place) -> Option<(Key, Version)> {
        let (m, unread) = (&self.e.m, Version { number: 0, by: None });
        let data = &m.op(op).op;
        if at == Place::Composite && matches!(data, Op::Dot(_)) {
            return None;
        }
        let version = match depends(m, op)? {
            Depends::Nothing => unread,
            Depends::Memory(i) => self.versions.of.get(i as usize).copied().unwrap_or(unread),
        };
        Some(((data.mnemonic(), data.operands()), version))
    }
    /// The last op that reads the same tells what has come between.
    fn seen(&self, op: OpId, key: &Key, version: Version) -> Seen {
        let m = &self.e.m;
        let mut same = self.made.get(key).into_iter().flatten().filter(|(other, _)| m.op(*other).op == m.op(op).op);
        if let Some((first, _)) = same.clone().find(|(_, number)| *number == version.number) {
            return Seen::Same(*first);
        }
        match (same.next_back(), version.by) {
            (Some((first, _)), Some(by)) => Seen::Changed(*first, by),
            (Some(_), None) | (None, _) => Seen::Nothing,
        }
    }
    fn stays(&mut self, op: OpId, first: OpId, by: OpId) {
        let (m, what) = (&self.e.m, self.e.m.op(by).op.mnemonic());
        let text =
            format!("reads again what it read at {}: {what} at {} may have changed it", place(m, first), place(m, by));
        self.e.declined(op, text);
    }
    fn merge(&mut self, op: OpId, first: OpId) {
        self.e.applied(op, format!("is the same as at {}", place(&self.e.m, first)));
        let (old, new) = (self.e.m.op(op).results, self.e.m.op(first).results);
        old.iter().zip(new.iter()).for_each(|(v, by)| self.e.replace(v, by));
    }
    /// The regions of an op, and what the op does to memory.
    fn inside(&mut self, id: OpId) {
        let effects = Effects::of(&self.e.m, id);
        match self.e.m.op(id).op.clone() {
            Op::If(o) => {
                let before = self.versions.of.clone();
                self.region(o.then, Place::Plain);
                self.versions.of = before;
                self.region(o.other, Place::Plain);
            }
            // A turn may see what the turn before it wrote.
            Op::For(o) => {
                self.versions.change(id, &effects);
                self.region(o.body, Place::Plain);
            }
            Op::While(o) => {
                self.versions.change(id, &effects);
                let made = self.open(o.cond, Place::Plain);
                self.region(o.body, Place::Plain);
                self.close(made);
            }
            // It changes nothing, so a turn sees what was read before it.
            Op::MapReduce(o) => {
                self.region(o.body, Place::Plain);
                self.region(o.merge, Place::Plain);
            }
            Op::Composite(o) => self.region(o.body, Place::Composite),
            // A combine stays a function of its arguments alone.
            other => other.regions().into_iter().for_each(|r| {
                let outer = std::mem::take(&mut self.made);
                self.region(r, Place::Plain);
                self.made = outer;
            }),
        }
        self.versions.change(id, &effects);
    }
}
