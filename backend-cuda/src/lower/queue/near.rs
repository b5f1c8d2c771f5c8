//! Messages inside a cluster (PTX.md 10, decision 0023). Of each slot, with the receiver: its words, and an mbarrier `full`
//! that counts them; with the sender an mbarrier `empty`, where a slot takes more than one message. The sender stores from
//! registers; the receiver says how many bytes it waits for, waits, reads, and tells the sender.

use super::super::errors::Fault;
use super::super::{Done, Lower};
use super::link::Link;
use super::plan::{InBox, Plan};
use super::wire::{Share, shares};
use crate::outcome::Why;
use crate::ptx::{Addr, Base, Bin, CacheHint, Cluster, Cmp, Guard, Op as PtxOp, Place, Reg, Space, Src, Tern, Ty};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tilewright_core::interp::NoLink;
use tilewright_core::ir::OpId;
use tilewright_core::ir::ops::{self, Port};

/// Bytes of an mbarrier, and of a count.
pub(super) const MBARRIER: u32 = 8;
pub(super) const WORD: u32 = 4;
/// A message begins where the banks do.
const ALIGNED: u32 = 128;

/// The queues inside a cluster: where the pieces lie, in bytes from the start.
#[derive(Debug)]
pub(super) struct Near {
    pub plan: Plan,
    /// `full` of each box, `empty` of each target, the slots of each box.
    pub fulls: Vec<u32>,
    empties: Vec<u32>,
    pub slots: Vec<u32>,
    /// Bytes of all mbarriers, which lie in front.
    barriers: u32,
    /// What is told at the end (`drain.rs`): by box, how many messages were sent here; by target, how many were asked for there.
    pub sent_at: u32,
    pub asked_at: u32,
    /// This CTA's queues.
    pub own: Reg,
    pub ends: FxHashMap<Port, End>,
    /// This PE's place among the boxes of peers, and among the targets; and whether it has one, unless all have.
    pub as_source: Option<(Reg, Option<Reg>)>,
    pub as_target: Option<(Reg, Option<Reg>)>,
}

/// The CTA at the other end of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub link: Link,
    /// Where its queues lie.
    pub queues: Reg,
}

impl Near {
    /// And the bytes of the whole.
    fn of(plan: Plan, own: Reg, drains: bool) -> (Near, u32) {
        let to = |port: &Port| plan.to(*port).map(|b| plan.boxes[b]);
        let is_told = |port: &Port| to(port).filter(|b| b.reused);
        let (fulls, at) = places(0, plan.boxes.iter().map(|b| MBARRIER * b.slots));
        let (empties, barriers) =
            places(at, plan.targets.iter().map(|port| is_told(port).map_or(0, |b| MBARRIER * b.slots)));
        let words = |n: usize| if drains { WORD * n as u32 } else { 0 };
        let (sent_at, asked_at) = (barriers, barriers + words(plan.boxes.len()));
        let at = asked_at + words(plan.targets.len());
        let (slots, bytes) = places(at.next_multiple_of(ALIGNED), plan.boxes.iter().map(InBox::bytes));
        let (ends, as_source, as_target) = (FxHashMap::default(), None, None);
        (Near { plan, fulls, empties, slots, barriers, sent_at, asked_at, own, ends, as_source, as_target }, bytes)
    }
    /// Where this PE is among the queues of a peer.
    fn place(&self, port: Port, sends: bool) -> Option<Reg> {
        let place = if sends { self.as_source } else { self.as_target };
        place.filter(|_| matches!(port, Port::Peer(_))).map(|(place, _)| place)
    }
}

/// One behind the other, and where the last one ends.
fn places(start: u32, bytes: impl Iterator<Item = u32>) -> (Vec<u32>, u32) {
    let mut at = start;
    let place = |bytes: u32| {
        at += bytes;
        at - bytes
    };
    (bytes.map(place).collect(), at)
}

impl Lower<'_> {
    /// Room for the queues, and who is at their other ends.
    pub(super) fn start_near(&mut self, plan: Plan, drains: bool) {
        let from = self.body.aside();
        let own = self.body.fresh(Ty::U32);
        let (mut near, bytes) = Near::of(plan, own, drains);
        let buffer = self.body.kept_buffer(bytes, ALIGNED);
        self.body.emit(PtxOp::BufferBase { d: own, buffer });
        self.body.resume(from, Place::Entry);
        let from = self.body.aside();
        self.link_near(&mut near);
        self.queues.links = self.body.apart(from);
        self.queues.scatter = self.scatter(&near).map(Rc::new);
        self.queues.near = Some(Rc::new(near));
    }
    /// The mbarriers, and the arrival that others wait for.
    pub(super) fn come_near(&mut self, near: &Near) {
        let skip = self.unless_first_thread();
        for at in (0..near.barriers).step_by(MBARRIER as usize) {
            self.body.emit(PtxOp::Cluster(Cluster::Init { at: Addr::reg(near.own, i64::from(at)) }));
        }
        self.body.emit(PtxOp::Cluster(Cluster::InitFence));
        self.body.emit(PtxOp::Label(skip));
        self.body.emit(PtxOp::Cluster(Cluster::Arrive { release: false }));
        self.arm(near);
    }
    /// What is known to come is waited for from the beginning. `ptxas` makes predicates of the short branch above, and then an
    /// mbarrier is made for the warp, not by a lane of it: lanes meet before one of them arms it.
    fn arm(&mut self, near: &Near) {
        let known = near.plan.boxes.iter().zip(&near.fulls).filter_map(|(b, full)| Some((b.known?, b.slots, full)));
        let arms = known.flat_map(|(bytes, slots, full)| (0..slots).map(move |slot| (full + MBARRIER * slot, bytes)));
        let arms: Vec<(u32, u32)> = arms.collect();
        if arms.is_empty() {
            return;
        }
        self.body.emit(PtxOp::WarpSync);
        let skip = self.unless_first_thread();
        for (at, bytes) in arms {
            self.body.emit(PtxOp::Cluster(Cluster::Expect { at: Addr::reg(near.own, i64::from(at)), bytes }));
        }
        self.body.emit(PtxOp::Label(skip));
    }
    /// Finds the other ends.
    fn link_near(&mut self, near: &mut Near) {
        let (me, pes) = (self.rank(), self.cluster.unwrap_or(1));
        for port in near.plan.ports() {
            let link = self.link_of(port, me, pes);
            let queues = self.body.fresh(Ty::U32);
            self.body.emit(PtxOp::Cluster(Cluster::Map { d: queues, a: near.own, rank: link.other.into() }));
            near.ends.insert(port, End { link, queues });
        }
        let (targets, sources) = (near.plan.peers(true), near.plan.peers(false));
        near.as_source = (!targets.is_empty()).then(|| self.position_in(&sources, me, pes));
        near.as_target = (!sources.is_empty()).then(|| self.position_in(&targets, me, pes));
    }

    pub(super) fn send_near(&mut self, near: &Near, id: OpId, o: &ops::Send) -> Done {
        let Some(parcel) = near.plan.parcel(id) else { return Ok(()) };
        let count = self.messages(o.port, true);
        let end = self.end_of(near, id, o.port, count)?;
        self.stop_without_reader(near, id, o.port);
        let (target, b) = near.plan.target(o.port).zip(near.plan.to(o.port)).ok_or(Fault::NoValue)?;
        let wires = near.plan.wires(parcel).ok_or(Fault::NoValue)?;
        let (to, place) = (near.plan.boxes[b], near.place(o.port, true));
        let outgoing = self.outgoing(parcel, &wires)?;
        let (slot, parity) = self.slot_of(count, to.slots);
        let without = self.body.label();
        if to.reused {
            let empty = self.in_slot(near.own, slot, MBARRIER, near.empties[target]);
            let before = self.body.bin(Bin::Xor, Ty::B32, parity, Src::Imm(1));
            let stop = self.stop(parcel.first(), Why::Space { slots: to.slots * parcel.messages() });
            self.await_phase((empty, before.into(), None), (stop, count, parcel.messages()), &[], without);
        }
        let (fulls, slots) = (self.there(end, place, MBARRIER * to.slots), self.there(end, place, to.bytes()));
        let barrier = self.in_slot(fulls, slot, MBARRIER, near.fulls[b]);
        let at = self.in_slot(slots, slot, to.slot_bytes, near.slots[b]);
        let stores = outgoing.iter().flat_map(|out| self.stores(out, at, Tern::MadLo)).collect();
        self.by_holders(stores, |cx, at, a| cx.body.emit(PtxOp::Cluster(Cluster::Store { at, a, barrier })));
        let kind = near.plan.kind(o.port, true, self.m.ty(o.value)).zip(to.kind_at);
        if let Some((kind, kind_at)) = kind {
            // Whatever comes, the receiver counts to the same number.
            let (at, counted) = (behind(at, kind_at), near.plan.counted_bytes(o.port, true));
            let (pred, kind) = (self.is_first_thread(), self.body.mov(Ty::B32, Src::Imm(kind.into())));
            let guard = Guard { pred, negated: false };
            self.body.emit_if(guard, PtxOp::Cluster(Cluster::Store { at, a: vec![kind], barrier }));
            let bytes = counted - near.plan.bytes(parcel).1 - WORD;
            if bytes > 0 {
                self.body.emit_if(guard, PtxOp::Cluster(Cluster::Fill { at: barrier, bytes }));
            }
        }
        self.one_more(count, to.slots);
        self.body.emit(PtxOp::Label(without));
        Ok(())
    }
    pub(super) fn recv_near(&mut self, near: &Near, id: OpId, o: &ops::Recv) -> Done {
        let Some(parcel) = near.plan.parcel(id) else { return Ok(()) };
        let count = self.messages(o.port, false);
        let end = self.end_of(near, id, o.port, count)?;
        let b = near.plan.from(o.port).ok_or(Fault::NoValue)?;
        let wires = near.plan.wires(parcel).ok_or(Fault::NoValue)?;
        let of = near.plan.boxes[b];
        let (slot, parity) = self.slot_of(count, of.slots);
        // A slot's first phase, where it has no other.
        let parity = if of.reused { parity.into() } else { Src::Imm(0) };
        let barrier = self.in_slot(near.own, slot, MBARRIER, near.fulls[b]);
        let at = self.in_slot(near.own, slot, of.slot_bytes, near.slots[b]);
        let first = self.is_first_thread();
        let kind = near.plan.kind(o.port, false, o.to.0).zip(of.kind_at);
        if of.known.is_none() {
            let bytes = match kind {
                Some(_) => near.plan.counted_bytes(o.port, false),
                None => near.plan.bytes(parcel).1,
            };
            let expect = PtxOp::Cluster(Cluster::Expect { at: barrier, bytes });
            self.body.emit_if(Guard { pred: first, negated: false }, expect);
        }
        let before = self.body.mov(Ty::B32, count);
        self.one_more(count, of.slots);
        let (words, received) = (self.room_for_words(&wires), self.body.label());
        let stop = self.stop(id, Why::Message);
        // No other message than a scattered row comes from a peer then.
        let looked = self.queues.all_there.filter(|_| matches!(o.port, Port::Peer(_)));
        self.await_phase((barrier, parity, looked), (stop, before, parcel.messages()), &words.concat(), received);
        if let Some((kind, kind_at)) = kind {
            self.expect_kind(id, kind, Space::Shared, behind(at, kind_at));
        }
        for (share, words) in shares(&wires).iter().zip(&words) {
            for (at, d) in self.pieces(share, at, words, Tern::MadLo) {
                let (space, hint) = (Space::Shared, CacheHint::default());
                self.body.emit(PtxOp::Ld { space, hint, ty: Ty::B32, d, at });
            }
        }
        self.body.emit(PtxOp::Label(received));
        // A scalar decides where threads go, so all of them have the same or end.
        if of.reused || parcel.types().any(|ty| ty.is_scalar()) {
            self.end_if_given_up();
        }
        if let Some(target) = near.plan.target_of(o.port).filter(|_| of.reused) {
            let queues = self.there(end, near.place(o.port, false), MBARRIER * of.slots);
            let at = self.in_slot(queues, slot, MBARRIER, near.empties[target]);
            self.body.emit_if(Guard { pred: first, negated: false }, PtxOp::Cluster(Cluster::Tell { at }));
        }
        self.received_parcel(parcel, &wires, &words)
    }
    /// The other end of a port; a program that has none ends here.
    fn end_of(&mut self, near: &Near, id: OpId, port: Port, count: Reg) -> Result<End, Fault> {
        let end = *near.ends.get(&port).ok_or(Fault::NoValue)?;
        let why = match port {
            Port::Peer(rank) if self.cluster.is_some_and(|pes| rank < pes) => NoLink::ToItself,
            Port::Peer(_) | Port::Pe(_) | Port::Cube(_) | Port::Sip(_) => NoLink::OffMesh,
        };
        // Links of messages that are all known were looked at before the launch.
        if self.queues.drains {
            let stop = self.stop(id, Why::Link(why));
            self.stop_unless(end.link.exists, stop, count);
        }
        Ok(end)
    }
    /// A message to a peer that receives nothing from this PE, anywhere in the kernel, ends the program.
    fn stop_without_reader(&mut self, near: &Near, id: OpId, port: Port) {
        let is_read = near.as_source.filter(|_| matches!(port, Port::Peer(_))).and_then(|(_, known)| known);
        let is_read = is_read.filter(|_| self.queues.drains);
        if let Some(is_read) = is_read {
            let (stop, one) = (self.stop(id, Why::Unread), self.body.mov(Ty::B32, Src::Imm(1)));
            self.stop_unless(is_read, stop, one);
        }
    }
    /// At the other end, behind `bytes` for each peer before this one.
    pub(super) fn there(&mut self, end: End, place: Option<Reg>, bytes: u32) -> Reg {
        match place {
            None => end.queues,
            Some(place) => self.body.tern(Tern::MadLo, Ty::U32, place, Src::Imm(u64::from(bytes)), end.queues),
        }
    }
    /// Ends the program where the message that has come is of another kind.
    pub(super) fn expect_kind(&mut self, id: OpId, kind: u32, space: Space, at: Addr) {
        let came = self.body.fresh(Ty::B32);
        self.body.emit(PtxOp::Ld { space, hint: CacheHint::default(), ty: Ty::B32, d: vec![came], at });
        let is = self.body.setp(Cmp::Eq, Ty::U32, came, Src::Imm(kind.into()));
        let stop = self.stop(id, Why::Kind);
        self.stop_unless(is, stop, came);
    }
    /// The place of a slot: `from` plus `start`, and `bytes` for each slot before it.
    pub(super) fn in_slot(&mut self, from: Reg, slot: Src, bytes: u32, start: u32) -> Addr {
        let base = match slot {
            Src::Imm(_) => from,
            Src::Reg(slot) => self.body.tern(Tern::MadLo, Ty::U32, slot, Src::Imm(u64::from(bytes)), from),
        };
        Addr::reg(base, i64::from(start))
    }
    /// The accesses of this thread to a share of a parcel that begins at `slot`: where, and with which words. `mad`: as wide
    /// as an address.
    pub(super) fn pieces(&mut self, share: &Share<'_>, slot: Addr, words: &[Reg], mad: Tern) -> Vec<(Addr, Vec<Reg>)> {
        let sender = self.sender(share.wires[0]);
        let mut bases: FxHashMap<usize, Addr> = FxHashMap::default();
        let mut out = Vec::new();
        for chunk in share.chunks() {
            let base = match (bases.get(&chunk.words), sender, slot.base) {
                (Some(base), ..) => *base,
                (None, Some(sender), Base::Reg(from)) => {
                    let step = Src::Imm(4 * chunk.words as u64);
                    Addr::reg(self.body.tern(mad, Ty::U32, sender, step, from), slot.offset)
                }
                (None, ..) => slot,
            };
            bases.insert(chunk.words, base);
            let at = Addr { offset: base.offset + i64::from(chunk.offset), ..base };
            out.push((at, words[chunk.first..chunk.first + chunk.words].to_vec()));
        }
        out
    }
}

pub(super) fn behind(at: Addr, bytes: u32) -> Addr {
    Addr { offset: at.offset + i64::from(bytes), ..at }
}
