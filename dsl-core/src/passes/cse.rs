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
    let versions = Versions { of: vec![0; m.params.len()], fresh: 0 };
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

/// The state of each view's memory; equal numbers mean that nothing has changed between.
struct Versions {
    of: Vec<u32>,
    fresh: u32,
}

impl Versions {
    /// What these effects may change is from here on in a state of its own.
    fn change(&mut self, effects: &Effects) {
        if effects.sync.is_some() {
            return (0..self.of.len()).for_each(|i| self.renew(i));
        }
        effects.changes().for_each(|i| self.renew(i as usize));
    }
    fn renew(&mut self, i: usize) {
        self.fresh += 1;
        if let Some(version) = self.of.get_mut(i) {
            *version = self.fresh;
        }
    }
}

/// Ops with equal keys are compared in full.
type Key = (&'static str, Vec<ValueId>, u32);

struct Cse {
    e: Edit,
    /// Ops that can be seen from here.
    made: FxHashMap<Key, Vec<OpId>>,
    versions: Versions,
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
            match self.same(op, at) {
                Ok(first) => self.merge(op, first),
                Err(key) => {
                    if let Some(key) = key {
                        self.made.entry(key.clone()).or_default().push(op);
                        keys.push(key);
                    }
                    self.inside(op);
                    out.push(op);
                }
            }
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
    /// An op seen from here that makes the same; or the key of this one, if it may be merged at all.
    fn same(&self, op: OpId, at: Place) -> Result<OpId, Option<Key>> {
        let m = &self.e.m;
        let data = m.op(op);
        let version = match depends(m, op) {
            Some(Depends::Nothing) => 0,
            Some(Depends::Memory(i)) => self.versions.of.get(i as usize).copied().unwrap_or(0),
            None => return Err(None),
        };
        if at == Place::Composite && matches!(data.op, Op::Dot(_)) {
            return Err(None);
        }
        let key = (data.op.mnemonic(), data.op.operands(), version);
        let first = self.made.get(&key).and_then(|ops| ops.iter().find(|other| m.op(**other).op == data.op));
        first.copied().ok_or(Some(key))
    }
    fn merge(&mut self, op: OpId, first: OpId) {
        self.e.applied(op, format!("is the same as at {}", place(&self.e.m, first)));
        let (old, new) = (self.e.m.op(op).results, self.e.m.op(first).results);
        old.iter().zip(new.iter()).for_each(|(v, by)| self.e.replace(v, by));
    }
    /// The regions of an op, and what the op does to memory.
    fn inside(&mut self, op: OpId) {
        let effects = Effects::of(&self.e.m, op);
        match self.e.m.op(op).op.clone() {
            Op::If(o) => {
                let before = self.versions.of.clone();
                self.region(o.then, Place::Plain);
                self.versions.of = before;
                self.region(o.other, Place::Plain);
            }
            // A turn may see what the turn before it wrote.
            Op::For(o) => {
                self.versions.change(&effects);
                self.region(o.body, Place::Plain);
            }
            Op::While(o) => {
                self.versions.change(&effects);
                let made = self.open(o.cond, Place::Plain);
                self.region(o.body, Place::Plain);
                self.close(made);
            }
            Op::Composite(o) => self.region(o.body, Place::Composite),
            // A combine stays a function of its arguments alone.
            other => other.regions().into_iter().for_each(|r| {
                let outer = std::mem::take(&mut self.made);
                self.region(r, Place::Plain);
                self.made = outer;
            }),
        }
        self.versions.change(&effects);
    }
}
