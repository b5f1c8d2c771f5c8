//! The end of a kernel whose messages follow data: what was sent and never received is told, and has landed before its
//! receiver leaves.
//!
//! Each program tells the other end of each queue how many messages it has sent, or asked for. Then all meet. What nobody
//! asked for, the sender asks for in the receiver's place, and the receiver waits for all that was sent.

use super::super::Lower;
use super::near::{MBARRIER, Near, WORD};
use crate::outcome::Why;
use crate::ptx::{Addr, Bin, CacheHint, Cluster, Cmp, Guard, Label, Op as PtxOp, Reg, Space, Src, Ty};
use tilewright_core::ir::ops::Port;
use tilewright_core::ir::{Op, OpId};

impl Lower<'_> {
    /// By the first thread; all others go on.
    pub(super) fn drain(&mut self, near: &Near) {
        let talks = self.unless_first_thread();
        for port in near.plan.targets.clone() {
            let skip = self.unless_linked(near, port, true);
            let count = self.messages(port, true);
            let to = self.counted_at(near, port, true, true);
            self.tell_count(to, count);
            self.body.emit(PtxOp::Label(skip));
        }
        for port in near.plan.boxes.iter().map(|b| b.port) {
            let skip = self.unless_linked(near, port, false);
            let count = self.messages(port, false);
            let to = self.counted_at(near, port, false, true);
            self.tell_count(to, count);
            self.body.emit(PtxOp::Label(skip));
        }
        self.body.emit(PtxOp::Label(talks));
        self.body.emit(PtxOp::Cluster(Cluster::Arrive { release: true }));
        self.body.emit(PtxOp::Cluster(Cluster::Wait));
        let waits = self.unless_first_thread();
        for port in near.plan.targets.clone() {
            self.ask_for_unread(near, port);
        }
        for b in 0..near.plan.boxes.len() {
            self.await_all_sent(near, b);
        }
        self.body.emit(PtxOp::Label(waits));
    }
    /// Skips what follows where there is nobody at the other end who has this queue.
    fn unless_linked(&mut self, near: &Near, port: Port, sends: bool) -> Label {
        let skip = self.body.label();
        let known = match port {
            Port::Peer(_) if sends => near.as_source.and_then(|(_, known)| known),
            Port::Peer(_) => near.as_target.and_then(|(_, known)| known),
            Port::Pe(_) | Port::Cube(_) | Port::Sip(_) => None,
        };
        let exists = near.ends.get(&port).map(|end| end.link.exists);
        for pred in exists.into_iter().chain(known) {
            self.body.emit_if(Guard { pred, negated: true }, PtxOp::Bra { to: skip, uniform: false });
        }
        skip
    }
    /// Where the count of a queue is told: at the other end (`there`), or here. `sends`: of messages sent to the port.
    fn counted_at(&mut self, near: &Near, port: Port, sends: bool, there: bool) -> Option<Addr> {
        let at = |start: u32, i: usize| start + WORD * i as u32;
        let is_peer = matches!(port, Port::Peer(_));
        if !there {
            let i = if sends { near.plan.target(port)? } else { near.plan.from(port)? };
            let start = if sends { near.asked_at } else { near.sent_at };
            return Some(Addr::reg(near.own, i64::from(at(start, i))));
        }
        let end = near.ends.get(&port)?;
        let (start, i, place) = match sends {
            true => (near.sent_at, near.plan.to(port)?, near.as_source.map(|(place, _)| place)),
            false => (near.asked_at, near.plan.target_of(port)?, near.as_target.map(|(place, _)| place)),
        };
        let base = self.there(*end, place.filter(|_| is_peer), WORD);
        Some(Addr::reg(base, i64::from(at(start, i))))
    }
    fn tell_count(&mut self, to: Option<Addr>, count: Reg) {
        if let Some(at) = to {
            self.body.emit(PtxOp::Cluster(Cluster::Put { at, a: count }));
        }
    }
    fn count_here(&mut self, at: Addr) -> Reg {
        let d = self.body.fresh(Ty::U32);
        let load = PtxOp::Ld { space: Space::Shared, hint: CacheHint::default(), ty: Ty::U32, d: vec![d], at };
        self.body.emit(load);
        d
    }
    /// Of what was sent to a port, what the receiver did not ask for; it is an error.
    fn ask_for_unread(&mut self, near: &Near, port: Port) {
        let (Some(at), Some(b)) = (self.counted_at(near, port, true, false), near.plan.to(port)) else { return };
        let (to, full) = (near.plan.boxes[b], near.fulls[b]);
        let skip = self.unless_linked(near, port, true);
        let (sent, next) = (self.messages(port, true), self.count_here(at));
        self.tell_unread(port, sent, next, skip);
        let Some(end) = near.ends.get(&port) else { return };
        let place = near.as_source.filter(|_| matches!(port, Port::Peer(_))).map(|(place, _)| place);
        let fulls = self.there(*end, place, MBARRIER * to.slots);
        let bytes = Src::Imm(near.plan.counted_bytes(port, true).into());
        self.each_slot(next, sent, to.slots, |cx, slot, _| {
            let at = cx.in_slot(fulls, slot, MBARRIER, full);
            cx.body.emit(PtxOp::Cluster(Cluster::Ask { at, bytes }));
        });
        self.body.emit(PtxOp::Label(skip));
    }
    /// Notes what was sent to a port and not asked for; who has stopped before has told why. Goes to `next` if there is none.
    pub(super) fn tell_unread(&mut self, port: Port, sent: Reg, asked: Reg, next: Label) {
        let unread = self.body.bin(Bin::Sub, Ty::U32, sent, asked);
        let some = self.body.setp(Cmp::Gt, Ty::S32, unread, Src::Imm(0));
        self.body.emit_if(Guard { pred: some, negated: true }, PtxOp::Bra { to: next, uniform: false });
        if let Some(op) = self.first_send(port) {
            let (stop, told, gave_up) = (self.stop(op, Why::Unread), self.body.label(), self.gave_up());
            self.body.emit_if(Guard { pred: gave_up, negated: false }, PtxOp::Bra { to: told, uniform: false });
            self.note_stop(stop, Some(unread));
            self.body.emit(PtxOp::Label(told));
        }
    }
    /// The last messages that came, one a slot: those before have been read.
    fn await_all_sent(&mut self, near: &Near, b: usize) {
        let of = near.plan.boxes[b];
        let Some(at) = self.counted_at(near, of.port, false, false).filter(|_| near.plan.target_of(of.port).is_some())
        else {
            return;
        };
        let skip = self.unless_linked(near, of.port, false);
        let sent = self.count_here(at);
        let slots = Src::Imm(u64::from(of.slots));
        let some = self.body.bin(Bin::Min, Ty::U32, sent, slots);
        let first = self.body.bin(Bin::Sub, Ty::U32, sent, some);
        let full = near.fulls[b];
        self.each_slot(first, sent, of.slots, |cx, slot, parity| {
            let at = cx.in_slot(near.own, slot, MBARRIER, full);
            let again = cx.body.label();
            cx.body.emit(PtxOp::Label(again));
            let over = cx.try_wait(at, parity.into());
            cx.body.emit_if(Guard { pred: over, negated: true }, PtxOp::Bra { to: again, uniform: false });
        });
        self.body.emit(PtxOp::Label(skip));
    }
    /// For each message from `first` up to `end`: its slot, and the parity of its phase.
    fn each_slot(&mut self, first: Reg, end: Reg, slots: u32, each: impl FnOnce(&mut Self, Src, Reg)) {
        let (turn, done) = (self.body.label(), self.body.label());
        let at = self.body.mov(Ty::B32, first);
        self.body.emit(PtxOp::Label(turn));
        let none = self.body.setp(Cmp::Ge, Ty::U32, at, end);
        self.body.emit_if(Guard { pred: none, negated: false }, PtxOp::Bra { to: done, uniform: false });
        let (slot, parity) = self.slot_of(at, slots);
        each(self, slot, parity);
        self.body.emit(PtxOp::Bin { op: Bin::Add, ty: Ty::U32, d: at, a: at.into(), b: Src::Imm(1) });
        self.body.emit(PtxOp::Bra { to: turn, uniform: false });
        self.body.emit(PtxOp::Label(done));
    }
    pub(super) fn first_send(&self, port: Port) -> Option<OpId> {
        let mut first = None;
        self.m.each_op(&mut |op| match &self.m.op(op).op {
            Op::Send(o) if o.port == port => first = first.or(Some(op)),
            _ => {}
        });
        first
    }
}
