//! Messages (AHBM.md 6). A channel belongs to a sender and one of its ports; it transmits one message at a time, one flit
//! in flight, and meets the sender's other traffic at the port. A slot stays taken from the send until the receiver has
//! taken the message.
//!
//! `Port::peer` inside a cube is routed over the PE grid, first along the row. Each hop is a message of its own through
//! the ports of its two PEs, and the channel stays taken for the whole route, so messages of a channel never overtake
//! each other (assumed: the studies send to neighbours only).

use super::event::{EventSet, Kind};
use super::fabric::{Cx, Fabric, Notice, PeIx, PortJob};
use super::lanes::Usage;
use super::record::Engine;
use crate::units::{Bytes, Ps};
use std::collections::VecDeque;

/// A message; `tag` is the sender's, for notices and errors.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub bytes: Bytes,
    /// The sender's number for the bytes in its scratch.
    pub tag: u32,
    /// The sender's number for the command.
    pub command: u32,
}

/// What lies between the two ends of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// PEs of one cube; several hops for a peer that is no neighbour.
    Mesh,
    /// Neighbouring cubes.
    Cube,
    /// Neighbouring SIPs.
    Sip,
}

/// One direction of a queue.
#[derive(Debug)]
pub struct Channel {
    from: PeIx,
    to: PeIx,
    link: Link,
    /// Slots neither taken by a message nor promised to one.
    free: u32,
    waiting: VecDeque<Message>,
    sending: Option<Sending>,
    /// Sent whole, not yet visible: message and log start.
    landing: VecDeque<(Message, Ps)>,
    /// Visible to the receiver.
    arrived: VecDeque<Message>,
    sender_waits: bool,
    receiver_waits: bool,
    history: History,
}

/// What a queue has seen, for errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct History {
    /// Messages taken by the receiver.
    pub received: u64,
    /// The commands that sent and took the last of them.
    pub last: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Sending {
    message: Message,
    left: u64,
    start: Ps,
    /// The two PEs of the current hop.
    at: PeIx,
    next: PeIx,
}

impl Channel {
    /// Messages that no one took.
    pub fn left_over(&self) -> impl Iterator<Item = &Message> {
        let sending = self.sending.iter().map(|s| &s.message);
        self.arrived.iter().chain(self.landing.iter().map(|(m, _)| m)).chain(sending).chain(&self.waiting)
    }
    /// Whether its sender waits for a slot.
    pub fn sender_waits(&self) -> bool {
        self.sender_waits
    }
    /// Whether its receiver waits for a message.
    pub fn receiver_waits(&self) -> bool {
        self.receiver_waits
    }
    pub fn history(&self) -> History {
        self.history
    }
    pub fn link(&self) -> Link {
        self.link
    }
    /// Sender and receiver.
    pub fn ends(&self) -> (PeIx, PeIx) {
        (self.from, self.to)
    }
}

impl Fabric {
    /// Adds a channel with so many slots; returns its number.
    pub fn add_channel(&mut self, from: PeIx, to: PeIx, link: Link, slots: u32) -> u32 {
        let (waiting, landing, arrived) = Default::default();
        let (sender_waits, receiver_waits) = (false, false);
        self.channels.push(Channel {
            from,
            to,
            link,
            free: slots,
            waiting,
            sending: None,
            landing,
            arrived,
            sender_waits,
            receiver_waits,
            history: History::default(),
        });
        self.channels.len() as u32 - 1
    }
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }
    /// Takes a slot; false if none is free: then the sender's CPU event follows when one is.
    pub fn take_slot(&mut self, channel: u32) -> bool {
        let c = &mut self.channels[channel as usize];
        match c.free.checked_sub(1) {
            Some(free) => c.free = free,
            None => c.sender_waits = true,
        }
        !c.sender_waits
    }
    /// Sends a message for which a slot was taken.
    pub fn send<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32, message: Message) {
        self.channels[channel as usize].waiting.push_back(message);
        self.transmit(cx, channel);
    }
    /// Takes the first message that has arrived, for the receiver's command `command`; `None` if there is none: then the
    /// receiver's CPU event follows when one has.
    pub fn receive(&mut self, channel: u32, command: u32) -> Option<Message> {
        let c = &mut self.channels[channel as usize];
        let message = c.arrived.pop_front();
        c.receiver_waits = message.is_none();
        if let Some(m) = message {
            c.history = History { received: c.history.received + 1, last: Some((m.command, command)) };
        }
        message
    }
    /// The receiver returns the slot of a message it has taken.
    pub fn return_slot<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32) {
        if self.spec.credit_latency == Ps::ZERO {
            self.give_slot_back(cx, channel);
        } else {
            cx.clock.after(self.spec.credit_latency, Kind::Credit, channel);
        }
    }
    pub(super) fn give_slot_back<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32) {
        let c = &mut self.channels[channel as usize];
        c.free += 1;
        if std::mem::take(&mut c.sender_waits) {
            cx.clock.after(Ps::ZERO, Kind::Cpu, c.from.0);
        }
    }
    /// Starts the next message of a channel that transmits none.
    fn transmit<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32) {
        let c = &self.channels[channel as usize];
        if c.sending.is_some() {
            return;
        }
        let next = self.next_hop(c.from, c);
        let c = &mut self.channels[channel as usize];
        let Some(message) = c.waiting.pop_front() else { return };
        let left = message.bytes.0;
        c.sending = Some(Sending { message, left, start: Ps::ZERO, at: c.from, next });
        cx.record.begin(c.from.0, Engine::Ipcq, cx.clock.now());
        cx.clock.after(self.spec.send_setup, Kind::TxStart, channel);
    }
    /// The PE behind `at` on the way to the channel's end: along the row first, then along the column.
    fn next_hop(&self, at: PeIx, c: &Channel) -> PeIx {
        if c.link != Link::Mesh {
            return c.to;
        }
        let cols = self.spec.pe_cols;
        let in_cube = |pe: PeIx| pe.0 % self.spec.pes_per_cube;
        let (row, col) = (in_cube(at) / cols, in_cube(at) % cols);
        let (to_row, to_col) = (in_cube(c.to) / cols, in_cube(c.to) % cols);
        let step = |from: u32, to: u32| if to > from { from + 1 } else { from - 1 };
        let (row, col) = if col != to_col {
            (row, step(col, to_col))
        } else if row != to_row {
            (step(row, to_row), col)
        } else {
            (row, col)
        };
        PeIx(at.0 - in_cube(at) + row * cols + col)
    }
    /// The first flit of a hop goes to the port.
    pub(super) fn begin_hop<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32) {
        let c = &mut self.channels[channel as usize];
        let Some(s) = &mut c.sending else { return };
        (s.start, s.left) = (cx.clock.now(), s.message.bytes.0);
        cx.record.open(c.from.0, s.start);
        cx.record.sums.ipcq_bytes += s.message.bytes.0;
        self.send_flit(cx, channel);
    }
    fn send_flit<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32) {
        let c = &self.channels[channel as usize];
        let Some(s) = c.sending else { return };
        let (from, bytes) = (c.from, s.left.min(self.spec.flit.0));
        let service = self.flit_time(s.left) + self.spec.send_flit_overhead;
        let port = self.port_of(s.at, from, Usage::Send { channel }, bytes);
        self.port(cx, port, service, PortJob::Send { channel });
    }
    fn flit_time(&self, left: u64) -> Ps {
        if left >= self.spec.flit.0 { self.whole_flit } else { self.spec.slice_rate.time_for(left) }
    }
    pub(super) fn flit_sent<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32) {
        let c = &self.channels[channel as usize];
        let Some(s) = c.sending else { return };
        let bytes = s.left.min(self.spec.flit.0);
        let service = match c.link {
            Link::Mesh => self.flit_time(s.left),
            Link::Cube => self.spec.cube_rate.time_for(bytes) + self.spec.cube_flit_overhead,
            Link::Sip => self.spec.sip_rate.time_for(bytes) + self.spec.cube_flit_overhead,
        };
        let from = c.from;
        let port = self.port_of(s.next, from, Usage::Receive { channel }, bytes);
        self.port(cx, port, service, PortJob::Receive { channel });
    }
    pub(super) fn flit_received<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32) -> Option<Notice> {
        let (now, flit) = (cx.clock.now(), self.spec.flit.0);
        let c = &mut self.channels[channel as usize];
        let s = c.sending.as_mut()?;
        s.left -= s.left.min(flit);
        if s.left > 0 {
            self.send_flit(cx, channel);
            return None;
        }
        let (s, from) = (*s, c.from);
        // The bytes have left the sender's scratch with the first hop.
        let notice = (s.at == from).then_some(Notice::Sent { pe: from, tag: s.message.tag });
        if s.next != c.to {
            cx.record.sums.ipcq += now - s.start;
            cx.record.log(from.0, s.start, now);
            let next = self.next_hop(s.next, &self.channels[channel as usize]);
            self.channels[channel as usize].sending = Some(Sending { at: s.next, next, ..s });
            cx.clock.after(self.spec.send_setup, Kind::TxStart, channel);
            return notice;
        }
        c.sending = None;
        c.landing.push_back((s.message, s.start));
        cx.record.end(from.0, Engine::Ipcq, now);
        let latency = match c.link {
            Link::Mesh => self.spec.message_latency,
            Link::Cube => self.spec.cube_latency,
            Link::Sip => self.spec.sip_latency,
        };
        cx.clock.after(latency, Kind::Message, channel);
        self.transmit(cx, channel);
        notice
    }
    pub(super) fn deliver<Q: EventSet>(&mut self, cx: &mut Cx<Q>, channel: u32) {
        let now = cx.clock.now();
        let c = &mut self.channels[channel as usize];
        let Some((message, start)) = c.landing.pop_front() else { return };
        cx.record.sums.ipcq += now - start;
        cx.record.log(c.from.0, start, now);
        c.arrived.push_back(message);
        if std::mem::take(&mut c.receiver_waits) {
            cx.clock.after(Ps::ZERO, Kind::Cpu, c.to.0);
        }
    }
}
