//! Whom a report on a mutant may accuse: the changed op; the accesses, messages and barriers whose place or whose being
//! reached follows from what it computes; and their partners: the other end of the queue, the other side of the race,
//! the other barriers of the scope. The verifier accuses who uses the result.

use super::change::{Kind, Mutant, opposite};
use std::collections::BTreeSet;
use tilewright::diag::{Diagnostics, Label};
use tilewright::ir::ops::{Op, Port};
use tilewright::ir::{Def, Module, OpId, RegionId, ValueId};

/// Lines of the parties. `after` is missing where the verifier refuses the mutant.
pub fn parties(mutant: &Mutant, before: &Module, after: Option<&Module>) -> BTreeSet<u32> {
    let mut lines: BTreeSet<u32> = mutant.lines.iter().copied().collect();
    for m in std::iter::once(before).chain(after) {
        let mut seeds = Vec::new();
        m.each_op(&mut |op| {
            let message = mutant.kind == Kind::ShallowQueue && matches!(m.op(op).op, Op::Send(_) | Op::Recv(_));
            if message || mutant.lines.contains(&line(m, op)) {
                seeds.push(op);
            }
        });
        if after.is_none() {
            lines.extend(users(m, &seeds));
        }
        let mut reach = Reach { m, values: BTreeSet::new(), places: seeds.iter().copied().collect() };
        reach.from(&seeds);
        for op in &reach.places {
            lines.insert(line(m, *op));
            m.each_op(&mut |other| {
                if are_partners(m, *op, other) {
                    lines.insert(line(m, other));
                }
            });
        }
    }
    lines
}

/// Lines of the ops that use what the seeds make, also as what a region gives to its op.
fn users(m: &Module, seeds: &[OpId]) -> BTreeSet<u32> {
    let mut made: BTreeSet<ValueId> = seeds.iter().flat_map(|op| m.op(*op).results.iter()).collect();
    let mut lines = BTreeSet::new();
    // Inner ops come behind the one whose regions they are in.
    loop {
        let known = made.len();
        m.each_op(&mut |id| {
            let op = &m.op(id).op;
            if op.operands().iter().any(|v| made.contains(v)) {
                lines.insert(line(m, id));
            }
            if op.regions().iter().any(|r| m.region(*r).yields.iter().any(|v| made.contains(v))) {
                lines.insert(line(m, id));
                made.extend(m.op(id).results.iter());
            }
        });
        if made.len() == known {
            return lines;
        }
    }
}

/// Whether the lines that are told take part. The first line of all must, and every further error must show one that
/// does: a fault in one place stops programs in others. In a deadlock nobody is first, and of a program that does not end
/// it is one of its loops that counts.
///
/// # Errors
/// The error that shows none.
pub fn accused<'d>(found: &'d Diagnostics, file: &str, parties: &BTreeSet<u32>) -> Result<(), &'d str> {
    let is_party = |label: &Label| &*label.place.file == file && parties.contains(&label.place.line);
    for (i, d) in found.0.iter().enumerate() {
        let own = d.labels.iter().filter(|label| !label.text.ends_with("behind these"));
        let symmetric = i > 0 || matches!(d.code, "TW-E0301" | "TW-E0316");
        let mut counted = own.take(if symmetric { usize::MAX } else { 1 });
        if !counted.any(is_party) {
            return Err(&d.message);
        }
    }
    Ok(())
}

fn line(m: &Module, op: OpId) -> u32 {
    m.locs.get(m.op(op).loc).map_or(0, |loc| loc.place.line)
}

/// What follows from changed ops.
struct Reach<'m> {
    m: &'m Module,
    values: BTreeSet<ValueId>,
    /// Ops that happen, or where they happen, because of a changed value.
    places: BTreeSet<OpId>,
}

impl Reach<'_> {
    fn from(&mut self, seeds: &[OpId]) {
        seeds.iter().for_each(|op| self.values.extend(self.m.op(*op).results.iter()));
        loop {
            let known = (self.values.len(), self.places.len());
            self.m.each_op(&mut |op| self.step(op));
            if known == (self.values.len(), self.places.len()) {
                return;
            }
        }
    }
    fn step(&mut self, id: OpId) {
        let (m, has) = (self.m, |v: &ValueId| self.values.contains(v));
        let data = m.op(id);
        let used = data.op.operands().iter().any(has);
        let placed = match &data.op {
            Op::For(o) => [o.range.lo, o.range.hi].iter().chain(&o.range.step).any(has),
            Op::MapReduce(o) => [o.range.lo, o.range.hi].iter().chain(&o.range.step).any(has),
            Op::If(o) => has(&o.cond),
            Op::While(o) => m.region(o.cond).yields.first().is_some_and(has),
            Op::Div(_) | Op::Rem(_) => used,
            op => op.access().is_some_and(|at| at.index.iter().chain(at.limits.iter().map(|(_, n)| n)).any(has)),
        };
        let inner = data.op.regions();
        let given = inner.iter().any(|r| m.region(*r).yields.iter().any(has));
        if placed {
            self.places.insert(id);
            inner.iter().for_each(|r| self.all_of(*r));
        }
        if used || given || placed {
            self.values.extend(data.results.iter());
            inner.iter().for_each(|r| self.values.extend(&m.region(*r).args));
        }
    }
    fn all_of(&mut self, region: RegionId) {
        let m = self.m;
        m.walk(region, &mut |op| {
            self.values.extend(m.op(op).results.iter());
            if matches!(m.op(op).op, Op::Send(_) | Op::Recv(_) | Op::Barrier(_)) || m.op(op).op.access().is_some() {
                self.places.insert(op);
            }
        });
    }
}

fn are_partners(m: &Module, a: OpId, b: OpId) -> bool {
    let (a, b) = (&m.op(a).op, &m.op(b).op);
    match (a, b) {
        (Op::Send(s), Op::Recv(r)) | (Op::Recv(r), Op::Send(s)) => meet(s.port, r.port),
        (Op::Send(s), Op::Send(o)) => s.port == o.port,
        (Op::Recv(r), Op::Recv(o)) => r.port == o.port,
        (Op::Barrier(s), Op::Barrier(o)) => s.scope == o.scope,
        // What it orders.
        (Op::Barrier(_), op) => op.access().is_some_and(|at| is_writable(m, at.view)),
        (a, b) => match (a.access(), b.access()) {
            (Some(x), Some(y)) => x.view == y.view && is_writable(m, x.view),
            _ => false,
        },
    }
}
fn meet(send: Port, recv: Port) -> bool {
    // Which programs have these numbers, no text says.
    if let (Port::Peer(_), Port::Peer(_)) = (send, recv) {
        return true;
    }
    opposite(&send.to_string()) == recv.to_string()
}
fn is_writable(m: &Module, view: ValueId) -> bool {
    matches!(m.def(view), Def::Param(_)) && m.ty(view).to_string().starts_with("view_mut")
}
