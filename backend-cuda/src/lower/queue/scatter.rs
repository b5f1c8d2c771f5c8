//! Rows that go to their owners, at once. A program of a cluster that owns a row each, and is sent the others' parts of it, has
//! a branch for every peer: to send it its row unless that is this program, and to take the own row or receive the peer's.
//! Where rows lie in different threads, each thread sends its own row, to the program of that number; what is this program's
//! goes the same way, through the box that no other writes. So nothing is left to decide.

use super::super::Lower;
use super::near::{MBARRIER, Near};
use crate::ptx::{Addr, Bin, Cluster, Cmp, Guard, Op as PtxOp, Reg, Src, Tern, Ty};
use std::rc::Rc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::ops::{self, Port, Pred};
use tilewright_core::ir::{Def, Module, Op, OpId, ValueId};

/// Branches that send every peer its row, and those that take or receive one from every peer; by peer, from 0 on.
#[derive(Debug)]
pub(super) struct Scatter {
    sends: Vec<OpId>,
    /// The last op of each parcel.
    parcels: Vec<OpId>,
    recvs: Vec<OpId>,
    /// The rows that go to peer 0.
    rows: Vec<ValueId>,
}

/// A branch on whether this program has a number.
struct Branch {
    op: OpId,
    peer: u32,
    /// The tiles whose row of that number is sent, or taken.
    tiles: Vec<ValueId>,
    rows: Vec<ValueId>,
    /// The last message.
    last: OpId,
}

impl Scatter {
    /// Of the kernel's body, in a cluster of `pes`.
    pub fn of(m: &Module, pes: u32) -> Option<Scatter> {
        let ops = &m.region(m.body).ops;
        let of = |pred: Pred| -> Vec<Branch> { ops.iter().filter_map(|op| branch(m, *op, pes, pred)).collect() };
        let (sends, recvs) = (of(Pred::Ne), of(Pred::Eq));
        let each_once = |all: &[Branch]| all.iter().map(|branch| branch.peer).eq(0..pes);
        (each_once(&sends) && each_once(&recvs)).then_some(())?;
        sends.iter().chain(&recvs).all(|branch| branch.tiles == sends[0].tiles).then_some(())?;
        // All are sent before the first one is taken, and nothing else is sent between.
        let at = |op: OpId| ops.iter().position(|other| *other == op);
        let (first, last) = (at(sends[0].op)?, at(recvs.last()?.op)?);
        let branches = |op: &&OpId| !m.op(**op).op.regions().is_empty();
        let in_order: Vec<OpId> = ops[first..=last].iter().filter(branches).copied().collect();
        let known: Vec<OpId> = sends.iter().chain(&recvs).map(|branch| branch.op).collect();
        (in_order == known).then(|| Scatter {
            parcels: sends.iter().map(|branch| branch.last).collect(),
            rows: sends[0].rows.clone(),
            sends: sends.iter().map(|branch| branch.op).collect(),
            recvs: recvs.iter().map(|branch| branch.op).collect(),
        })
    }
}

/// `if number ne peer { rows of the peer's number, sent to it }`, or `if number eq peer { these rows } else { received }`.
fn branch(m: &Module, op: OpId, pes: u32, pred: Pred) -> Option<Branch> {
    let Op::If(o) = &m.op(op).op else { return None };
    let peer = compared(m, o.cond, pes, pred)?;
    let (then, other) = (m.region(o.then), m.region(o.other));
    let (mut tiles, mut rows, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    for inner in &then.ops {
        match &m.op(*inner).op {
            Op::Rows(row) if row.first.0 == peer => {
                tiles.push(row.x);
                rows.push(m.op(*inner).results.first);
            }
            Op::Send(send) if send.port == Port::Peer(peer) => messages.push((*inner, send.value)),
            _ => return None,
        }
    }
    let (yields, from) = match pred {
        Pred::Ne if other.ops.is_empty() => (messages.iter().map(|(_, v)| *v).collect(), messages),
        Pred::Eq if messages.is_empty() => {
            let recv = |op: &OpId| match &m.op(*op).op {
                Op::Recv(recv) if recv.port == Port::Peer(peer) => Some((*op, m.op(*op).results.first)),
                _ => None,
            };
            let received: Vec<(OpId, ValueId)> = other.ops.iter().map(recv).collect::<Option<_>>()?;
            received.iter().map(|(_, v)| *v).eq(other.yields.iter().copied()).then_some(())?;
            (then.yields.clone(), received)
        }
        _ => return None,
    };
    let last = from.last()?.0;
    (yields == rows).then_some(Branch { op, peer, tiles, rows, last })
}
/// The number that this program's is compared with.
fn compared(m: &Module, cond: ValueId, pes: u32, pred: Pred) -> Option<u32> {
    let Def::Result(op, _) = m.def(cond) else { return None };
    let Op::Cmp(o) = &m.op(op).op else { return None };
    let peer = number(m, o.b)?;
    (o.pred == pred && is_own_number(m, o.a, pes)).then_some(peer)
}
fn number(m: &Module, v: ValueId) -> Option<u32> {
    match m.def(v) {
        Def::Const(lit) => u32::try_from(lit.as_int()?).ok(),
        _ => None,
    }
}
/// The program's number in its cube, perhaps as a rest that changes nothing.
fn is_own_number(m: &Module, v: ValueId, pes: u32) -> bool {
    let Def::Result(op, _) = m.def(v) else { return false };
    match &m.op(op).op {
        Op::PeId(_) => true,
        Op::Rem(o) => is_own_number(m, o.a, pes) && number(m, o.b).is_some_and(|by| by >= pes),
        _ => false,
    }
}

impl Lower<'_> {
    /// What of the kernel goes to its owners at once, if it can.
    pub(super) fn scatter(&self, near: &Near) -> Option<Scatter> {
        let pes = self.cluster?;
        let scatter = Scatter::of(self.m, pes)?;
        let b = near.plan.boxes[near.plan.to(Port::Peer(0))?];
        let (_, others) = near.as_source?;
        // Each box takes one parcel, which is expected from the beginning.
        (b.known.is_some() && b.slots == 1 && others.is_none()).then_some(())?;
        let first: Vec<_> = scatter.rows.iter().map(|row| self.cuts.sent(*row)).collect::<Option<_>>()?;
        for parcel in &scatter.parcels {
            let rows =
                near.plan.parcel(*parcel)?.values().map(|row| self.cuts.sent(row)).collect::<Option<Vec<_>>>()?;
            let alike = rows.iter().zip(&first).all(|((_, a), (_, b))| a.accesses == b.accesses && a.mask == b.mask);
            (alike && rows.len() == first.len()).then_some(())?;
        }
        Some(scatter)
    }
    /// Whether a branch is one of those that scatter rows; then it is done.
    pub(in crate::lower) fn scattered(&mut self, id: OpId, o: &ops::If) -> Result<bool, Diagnostics> {
        let (Some(scatter), Some(near)) = (self.queues.scatter.clone(), self.queues.near.clone()) else {
            return Ok(false);
        };
        let m = self.m;
        let at = |fault: super::Fault| Diagnostics::from(fault.diagnostic(m, id));
        if scatter.recvs.contains(&id) {
            if self.queues.all_there.is_none() {
                self.queues.all_there = self.try_all(&near, scatter.recvs.len() as u32);
            }
            self.region(o.other)?;
            for (v, from) in m.op(id).results.iter().zip(&m.region(o.other).yields) {
                self.alias(v, *from).map_err(at)?;
            }
            return Ok(true);
        }
        if scatter.sends.first() == Some(&id) {
            self.send_to_owners(&near, &scatter).map_err(at)?;
        }
        Ok(scatter.sends.contains(&id))
    }
    /// Whether the rows of all peers are there. One look after the other would cost as much as the exchange itself; as it is,
    /// the looks overlap, and each row is waited for by itself only if one of them fails.
    fn try_all(&mut self, near: &Near, peers: u32) -> Option<Reg> {
        let boxes = (0..peers).map(|peer| near.plan.from(Port::Peer(peer)));
        let fulls: Vec<u32> = boxes.map(|b| Some(near.fulls[b?])).collect::<Option<_>>()?;
        let looks: Vec<Reg> =
            fulls.iter().map(|full| self.try_wait(Addr::reg(near.own, i64::from(*full)), Src::Imm(0))).collect();
        looks.into_iter().reduce(|all, one| self.body.bin(Bin::And, Ty::Pred, all, one))
    }
    fn send_to_owners(&mut self, near: &Rc<Near>, scatter: &Scatter) -> super::Done {
        let parcel = near.plan.parcel(scatter.parcels[0]).ok_or(super::Fault::NoValue)?;
        let wires = near.plan.wires(parcel).ok_or(super::Fault::NoValue)?;
        let b = near.plan.to(Port::Peer(0)).ok_or(super::Fault::NoValue)?;
        let to = near.plan.boxes[b];
        let tile = self.cuts.sent(scatter.rows[0]).map(|(tile, _)| *tile).ok_or(super::Fault::NoValue)?;
        let layout = self.layout(tile)?;
        let row = self.thread_coord(&layout, 0);
        let rows = self.cluster.unwrap_or(1);
        // Rows of the tile that no program owns, and what fills the tile to a power of two, go nowhere.
        let last = layout.thread_bases().iter().fold(0, |last, basis| last | basis[0]);
        let past = (u64::from(last) >= u64::from(rows)).then(|| self.body.label());
        if let Some(past) = past {
            let none = self.body.setp(Cmp::Ge, Ty::U32, row, Src::Imm(u64::from(rows)));
            self.body.emit_if(Guard { pred: none, negated: false }, PtxOp::Bra { to: past, uniform: false });
        }
        let there = self.body.fresh(Ty::U32);
        self.body.emit(PtxOp::Cluster(Cluster::Map { d: there, a: near.own, rank: row.into() }));
        let place = near.as_source.map_or(Src::Imm(0), |(place, _)| place.into());
        let behind = |cx: &mut Self, bytes: u32, start: u32| {
            let base = cx.body.tern(Tern::MadLo, Ty::U32, place, Src::Imm(u64::from(bytes)), there);
            Addr::reg(base, i64::from(start))
        };
        let barrier = behind(self, MBARRIER, near.fulls[b]);
        let slot = behind(self, to.bytes(), near.slots[b]);
        let by_row = layout.thread_bases().iter().enumerate().filter(|(_, basis)| basis[0] != 0);
        let by_row = by_row.fold(0, |mask, (bit, _)| mask | 1 << bit);
        let outgoing = self.outgoing(parcel, &wires)?;
        let mut stores: Vec<_> = outgoing.iter().flat_map(|out| self.stores(out, slot, Tern::MadLo)).collect();
        stores.iter_mut().for_each(|store| store.who = (store.who.0 & !by_row, store.who.1 & !by_row));
        self.by_holders(stores, |cx, at, a| cx.body.emit(PtxOp::Cluster(Cluster::Store { at, a, barrier })));
        past.into_iter().for_each(|past| self.body.emit(PtxOp::Label(past)));
        Ok(())
    }
}
