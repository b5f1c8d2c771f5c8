//! Messages through global memory: between cubes, and inside a cube where it is no cluster. Each program has slots for what
//! it receives, and for each queue two counts, in lines of their own: of messages that came, and of those that are read. All
//! programs run at the same time, and have met before the first message, so that each finds the counts at zero.
//!
//! One thread waits, then all vote whether to go on: they find what that thread has learnt (PTX.md 10).

use super::super::errors::Fault;
use super::super::{Done, Lower};
use super::link::Link;
use super::near::behind;
use super::plan::{InBox, Plan};
use super::wire::shares;
use crate::abi::Item;
use crate::outcome::{Why, meeting};
use crate::ptx::{Addr, Base, Bin, CacheHint, Cmp, Guard, Op as PtxOp, Place, Reg, Space, Special, Src, Tern, Ty};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tilewright_core::interp::NoLink;
use tilewright_core::ir::OpId;
use tilewright_core::ir::ops::{self, Port};

/// Words in different lines do not wait for each other.
const LINE: u32 = 128;
/// In a box: how many messages came, how many are read or, at the end, asked for; then the slots.
const SENT: u32 = 0;
const READ: u32 = LINE;
const SLOTS: u32 = 2 * LINE;

/// The queues in global memory.
#[derive(Debug)]
pub(super) struct Far {
    pub plan: Plan,
    /// Where each box begins, in bytes from the start of a program's own.
    boxes: Vec<u32>,
    /// Of a program.
    pub bytes: u32,
    /// This program's boxes.
    own: Reg,
    ends: FxHashMap<Port, End>,
    /// This PE's place among the boxes of peers, and whether it has one, unless all have.
    as_source: Option<(Reg, Option<Reg>)>,
}

/// The program at the other end of a port.
#[derive(Clone, Copy, Debug)]
struct End {
    link: Link,
    /// Where its boxes lie.
    boxes: Reg,
}

fn room(b: &InBox) -> u32 {
    (SLOTS + b.bytes()).next_multiple_of(LINE)
}

impl Lower<'_> {
    /// Clears this program's counts, and comes to where all meet before the first message.
    pub(super) fn start_far(&mut self, plan: Plan) {
        let from = self.body.aside();
        let mut bytes = 0;
        let place = |b: &InBox| {
            bytes += room(b);
            bytes - room(b)
        };
        let boxes: Vec<u32> = plan.boxes.iter().map(place).collect();
        let own = self.body.fresh(Ty::U64);
        let (ends, as_source) = (FxHashMap::default(), None);
        let mut far = Far { plan, boxes, bytes, own, ends, as_source };
        let program = self.special(Special::CtaidX);
        let area = self.param(Ty::U64, Item::Mail);
        let here = Src::Imm(u64::from(bytes));
        self.body.emit(PtxOp::Tern {
            op: Tern::MadWide,
            ty: Ty::U32,
            d: own,
            a: program.into(),
            b: here,
            c: area.into(),
        });
        self.link_far(&mut far, program, area);
        let skip = self.unless_first_thread();
        let zero = self.body.mov(Ty::B32, Src::Imm(0));
        for at in far.boxes.iter().flat_map(|at| [at + SENT, at + READ]) {
            let (space, hint, at) = (Space::Global, CacheHint::default(), Addr::reg(own, i64::from(at)));
            self.body.emit(PtxOp::St { space, hint, ty: Ty::B32, at, a: vec![zero] });
        }
        self.queues.came = Some(self.come());
        self.body.emit(PtxOp::Label(skip));
        self.body.resume(from, Place::Entry);
        self.queues.far = Some(Rc::new(far));
    }
    fn link_far(&mut self, far: &mut Far, program: Reg, area: Reg) {
        let talk = self.talk();
        let pes = Src::Imm(u64::from(talk.pes));
        let pe = self.body.bin(Bin::Rem, Ty::U32, program, pes);
        for port in far.plan.ports() {
            let (link, first, step) = match (port, talk.cubes) {
                (Port::Cube(_), Some(cubes)) => {
                    let cube = self.body.bin(Bin::Div, Ty::U32, program, pes);
                    let in_sip = self.body.bin(Bin::Rem, Ty::U32, cube, Src::Imm(u64::from(cubes)));
                    let link = self.link_of(port, in_sip, cubes);
                    let by = self.body.bin(Bin::MulLo, Ty::U32, in_sip, pes);
                    (link, self.body.bin(Bin::Sub, Ty::U32, program, by), pes)
                }
                _ => {
                    let link = self.link_of(port, pe, talk.pes);
                    (link, self.body.bin(Bin::Sub, Ty::U32, program, pe), Src::Imm(1))
                }
            };
            let other = self.body.tern(Tern::MadLo, Ty::U32, link.other, step, first);
            let boxes = self.body.tern(Tern::MadWide, Ty::U32, other, Src::Imm(u64::from(far.bytes)), area);
            far.ends.insert(port, End { link, boxes });
        }
        if !far.plan.peers(true).is_empty() {
            far.as_source = Some(self.position_in(&far.plan.peers(false), pe, talk.pes));
        }
    }
    /// Waits until all have met; the second half of what `start_far` begins.
    pub(super) fn meet_far(&mut self) {
        if self.queues.came.is_some() {
            self.await_far();
            self.end_if_given_up();
        }
    }
    /// The same, where nobody votes.
    pub(super) fn await_far(&mut self) {
        let (Some(came), Some(op)) = (self.queues.came, self.queues.first_message) else { return };
        let (skip, stop) = (self.unless_first_thread(), self.stop(op, Why::Barrier));
        self.await_all(meeting::PATIENCE, came, stop);
        self.body.emit(PtxOp::Label(skip));
    }
    pub(super) fn send_far(&mut self, far: &Far, id: OpId, o: &ops::Send) -> Done {
        let Some(parcel) = far.plan.parcel(id) else { return Ok(()) };
        let count = self.messages(o.port, true);
        let end = self.far_end(far, id, o.port, count)?;
        let known = far.as_source.filter(|_| matches!(o.port, Port::Peer(_))).and_then(|(_, known)| known);
        if let Some(is_read) = known {
            let (stop, one) = (self.stop(id, Why::Unread), self.body.mov(Ty::B32, Src::Imm(1)));
            self.stop_unless(is_read, stop, one);
        }
        let b = far.plan.to(o.port).ok_or(Fault::NoValue)?;
        let wires = far.plan.wires(parcel).ok_or(Fault::NoValue)?;
        let to = far.plan.boxes[b];
        let outgoing = self.outgoing(parcel, &wires)?;
        let there = self.box_there(far, end, o.port, b);
        if to.reused {
            let stop = self.stop(parcel.first(), Why::Space { slots: to.slots * parcel.messages() });
            // Of the parcels before this one, all but so many are read.
            let least = self.body.bin(Bin::Sub, Ty::U32, count, Src::Imm(u64::from(to.slots) - 1));
            self.await_count(behind(there, READ), least, (stop, count, parcel.messages()));
        }
        let (slot, _) = self.slot_of(count, to.slots);
        let message = self.far_slot(there, slot, to.slot_bytes);
        let stores = outgoing.iter().flat_map(|out| self.stores(out, message, Tern::MadWide)).collect();
        let (space, hint) = (Space::Global, CacheHint::default());
        self.by_holders(stores, |cx, at, a| cx.body.emit(PtxOp::St { space, hint, ty: Ty::B32, at, a }));
        if let Some((kind, at)) = far.plan.kind(o.port, true, self.m.ty(o.value)).zip(to.kind_at) {
            let (pred, kind) = (self.is_first_thread(), self.body.mov(Ty::B32, Src::Imm(kind.into())));
            let (space, hint, at) = (Space::Global, CacheHint::default(), behind(message, at));
            let store = PtxOp::St { space, hint, ty: Ty::B32, at, a: vec![kind] };
            self.body.emit_if(Guard { pred, negated: false }, store);
        }
        self.one_more(count, to.slots);
        // What the block has written is published by its first thread.
        self.body.emit(PtxOp::Bar);
        self.tell(behind(there, SENT), count);
        Ok(())
    }
    pub(super) fn recv_far(&mut self, far: &Far, id: OpId, o: &ops::Recv) -> Done {
        let Some(parcel) = far.plan.parcel(id) else { return Ok(()) };
        let count = self.messages(o.port, false);
        self.far_end(far, id, o.port, count)?;
        let b = far.plan.from(o.port).ok_or(Fault::NoValue)?;
        let wires = far.plan.wires(parcel).ok_or(Fault::NoValue)?;
        let of = far.plan.boxes[b];
        let here = Addr::reg(far.own, i64::from(far.boxes[b]));
        let (slot, _) = self.slot_of(count, of.slots);
        let before = self.body.mov(Ty::B32, count);
        self.one_more(count, of.slots);
        let stop = self.stop(id, Why::Message);
        self.await_count(behind(here, SENT), count, (stop, before, parcel.messages()));
        let words = self.room_for_words(&wires);
        let message = self.far_slot(here, slot, of.slot_bytes);
        if let Some((kind, at)) = far.plan.kind(o.port, false, o.to.0).zip(of.kind_at) {
            self.expect_kind(id, kind, Space::Global, behind(message, at));
        }
        for (share, words) in shares(&wires).iter().zip(&words) {
            for (at, d) in self.pieces(share, message, words, Tern::MadWide) {
                self.body.emit(PtxOp::Ld { space: Space::Global, hint: CacheHint::default(), ty: Ty::B32, d, at });
            }
        }
        if of.reused {
            self.body.emit(PtxOp::Bar);
            self.tell(behind(here, READ), count);
        }
        self.received_parcel(parcel, &wires, &words)
    }
    /// What data leaves in queues is told, once all have come to their end.
    pub(super) fn drain_far(&mut self, far: &Far) {
        // What is asked for may be written over: all threads have read what they read.
        self.body.emit(PtxOp::Bar);
        let skip = self.unless_first_thread();
        for (b, at) in far.plan.boxes.iter().zip(&far.boxes) {
            let count = self.messages(b.port, false);
            let at = Addr::reg(far.own, i64::from(at + READ));
            self.body.emit(PtxOp::StRelease { ty: Ty::U32, at, a: count });
        }
        let came = self.come();
        if let Some(op) = self.queues.first_message {
            let stop = self.stop(op, Why::Barrier);
            self.await_all(meeting::LAST_PATIENCE, came, stop);
        }
        for port in far.plan.targets.clone() {
            let (Some(end), Some(b)) = (far.ends.get(&port).copied(), far.plan.to(port)) else { continue };
            let next = self.body.label();
            let known = far.as_source.filter(|_| matches!(port, Port::Peer(_))).and_then(|(_, known)| known);
            for pred in std::iter::once(end.link.exists).chain(known) {
                self.body.emit_if(Guard { pred, negated: true }, PtxOp::Bra { to: next, uniform: false });
            }
            let at = behind(self.box_there(far, end, port, b), READ);
            let read = self.body.fresh(Ty::U32);
            self.body.emit(PtxOp::LdAcquire { ty: Ty::U32, d: read, at });
            let sent = self.messages(port, true);
            self.tell_unread(port, sent, read, next);
            self.body.emit(PtxOp::Label(next));
        }
        self.body.emit(PtxOp::Label(skip));
    }
    /// The other end of a port; a program that has none ends here.
    fn far_end(&mut self, far: &Far, id: OpId, port: Port, count: Reg) -> Result<End, Fault> {
        let end = *far.ends.get(&port).ok_or(Fault::NoValue)?;
        let why = match port {
            Port::Peer(rank) if rank < self.talk().pes => NoLink::ToItself,
            Port::Peer(_) | Port::Pe(_) | Port::Cube(_) | Port::Sip(_) => NoLink::OffMesh,
        };
        let stop = self.stop(id, Why::Link(why));
        self.stop_unless(end.link.exists, stop, count);
        Ok(end)
    }
    /// The box at the other end of a port.
    fn box_there(&mut self, far: &Far, end: End, port: Port, b: usize) -> Addr {
        let place = far.as_source.filter(|_| matches!(port, Port::Peer(_))).map(|(place, _)| place);
        let base = match place {
            None => end.boxes,
            Some(place) => {
                let each = Src::Imm(u64::from(room(&far.plan.boxes[b])));
                self.body.tern(Tern::MadWide, Ty::U32, place, each, end.boxes)
            }
        };
        Addr::reg(base, i64::from(far.boxes[b]))
    }
    fn far_slot(&mut self, of: Addr, slot: Src, bytes: u32) -> Addr {
        let of = behind(of, SLOTS);
        match (slot, of.base) {
            (Src::Reg(slot), Base::Reg(base)) => {
                Addr::reg(self.body.tern(Tern::MadWide, Ty::U32, slot, Src::Imm(bytes.into()), base), of.offset)
            }
            _ => of,
        }
    }
    /// All threads come; the first waits until a count is at least so much. In vain: the program ends.
    fn await_count(&mut self, at: Addr, least: Reg, (stop, count, each): (usize, Reg, u32)) {
        let skip = self.unless_first_thread();
        let count = self.in_messages(count, each);
        self.poll(meeting::PATIENCE, (stop, Some(count)), |cx| {
            let now = cx.body.fresh(Ty::U32);
            cx.body.emit(PtxOp::LdAcquire { ty: Ty::U32, d: now, at });
            let ahead = cx.body.bin(Bin::Sub, Ty::U32, now, least);
            cx.body.setp(Cmp::Ge, Ty::S32, ahead, Src::Imm(0))
        });
        self.body.emit(PtxOp::Label(skip));
        self.end_if_given_up();
    }
    /// By the first thread.
    fn tell(&mut self, at: Addr, count: Reg) {
        let pred = self.is_first_thread();
        let store = PtxOp::StRelease { ty: Ty::U32, at, a: count };
        self.body.emit_if(Guard { pred, negated: false }, store);
    }
}
