//! Reads and writes (AHBM.md 4). A slice serves two streams of requests, from its own cube and from other cubes, each
//! whole requests in order of arrival. A stream keeps a few flits of its current request in the queue of the PE's port;
//! flits for other cubes leave through the cube's egress, and a full egress stalls the remote stream.

use super::event::{EventSet, Kind};
use super::fabric::{Cx, Fabric, Notice, PeIx, PortJob};
use super::fifo::Fifo;
use super::lanes::Usage;
use super::record::Engine;
use crate::units::{Bytes, Ps};
use std::collections::VecDeque;

/// Items behind numbers that are used again.
#[derive(Debug)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}
impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { items: Vec::new(), free: Vec::new() }
    }
}
impl<T> Slab<T> {
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.items[at as usize] = item;
                at
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }
    /// Marks a number as free; its item stays until the number is used again.
    pub fn remove(&mut self, at: u32) {
        self.free.push(at);
    }
    pub fn get(&self, at: u32) -> &T {
        &self.items[at as usize]
    }
    pub fn get_mut(&mut self, at: u32) -> &mut T {
        &mut self.items[at as usize]
    }
}

/// Who made a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A load or store; `tag` comes back in the notice.
    Command { tag: u32 },
    /// A streamed tile of the composite that the PE runs; whether it is the last along K of its output tile.
    Tile { last_k: bool },
}

/// A read or a write under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pe: PeIx,
    /// The port that its flits pass, and the egress behind it.
    port: u32,
    egress: u32,
    owner: Owner,
    /// Log start.
    start: Ps,
    /// On top of the latency of the home slice.
    extra: Ps,
    /// Bytes that have not been handed to the port.
    left: u64,
    /// Flits that have not passed the port.
    in_port: u32,
    /// Flits that have not passed the port and, from another cube, the egress.
    out: u32,
    remote: bool,
}

/// The requests of one class at a slice.
#[derive(Debug, Default)]
pub(super) struct Stream {
    queue: VecDeque<u32>,
    busy: bool,
}

/// What a stream does when a flit of it has passed the port.
#[derive(Clone, Copy, Debug)]
enum Follow {
    /// Hands the next flit of the request to the port.
    Flit(u32),
    /// Goes on to the next request of the port's remote or local stream.
    Request { port: u32, remote: bool },
}

/// The server of everything that a cube serves to other cubes.
#[derive(Debug, Default)]
pub(super) struct Egress {
    server: Fifo<u32>,
    /// Flits between the port and the exit.
    inside: u32,
    /// Streams that wait for room.
    stalled: VecDeque<Follow>,
}

impl Fabric {
    /// Starts a read of `bytes` from a slice; `tag` comes back in `Notice::Read`. `extra`: on top of the latency.
    pub fn read<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx, home: PeIx, bytes: Bytes, extra: Ps, tag: u32) {
        let now = cx.clock.now();
        cx.record.open(pe.0, now);
        cx.record.begin(pe.0, Engine::Dma, now);
        cx.record.sums.read_bytes += bytes.0;
        self.enqueue(cx, pe, home, bytes, extra, now, Owner::Command { tag });
    }
    /// Starts a write of `bytes` into a slice; `tag` comes back in `Notice::Written`.
    pub fn write<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx, home: PeIx, bytes: Bytes, extra: Ps, tag: u32) {
        let now = cx.clock.now();
        cx.record.open(pe.0, now);
        cx.record.begin(pe.0, Engine::Dma, now);
        cx.record.sums.write_bytes += bytes.0;
        let owner = Owner::Command { tag };
        let port = self.port_of(home, pe, Usage::Store, bytes.0);
        let request = self.requests.insert(Request {
            pe,
            port,
            egress: 0,
            owner,
            start: now,
            extra,
            left: 0,
            in_port: 1,
            out: 1,
            remote: false,
        });
        self.port(cx, port, self.spec.slice_rate.time_for(bytes.0), PortJob::Write { request });
    }
    #[allow(clippy::too_many_arguments, reason = "one call from each kind of reader; the facts of a request")]
    pub(super) fn enqueue<Q: EventSet>(
        &mut self,
        cx: &mut Cx<Q>,
        pe: PeIx,
        home: PeIx,
        bytes: Bytes,
        extra: Ps,
        start: Ps,
        owner: Owner,
    ) {
        let flits = bytes.0.div_ceil(self.spec.flit.0).max(1) as u32;
        let remote = self.cube_of(pe) != self.cube_of(home);
        let usage = match owner {
            Owner::Command { .. } => Usage::Load,
            Owner::Tile { .. } => Usage::Tile,
        };
        let port = self.port_of(home, pe, usage, bytes.0);
        let egress = self.egress_of(home, port);
        let left = bytes.0.max(1);
        let request = Request { pe, port, egress, owner, start, extra, left, in_port: flits, out: flits, remote };
        let request = self.requests.insert(request);
        let stream = &mut self.streams[port as usize][usize::from(remote)];
        stream.queue.push_back(request);
        if !stream.busy {
            self.next_request(cx, port, remote);
        }
    }
    fn next_request<Q: EventSet>(&mut self, cx: &mut Cx<Q>, port: u32, remote: bool) {
        let stream = &mut self.streams[port as usize][usize::from(remote)];
        let next = stream.queue.pop_front();
        stream.busy = next.is_some();
        if let Some(request) = next {
            let flits = self.requests.get(request).in_port;
            (0..flits.min(self.spec.read_ahead)).for_each(|_| self.next_flit(cx, request));
        }
    }
    /// Hands the next flit of a request to the port, if there is one.
    fn next_flit<Q: EventSet>(&mut self, cx: &mut Cx<Q>, request: u32) {
        let (flit, r) = (self.spec.flit.0, self.requests.get_mut(request));
        if r.left == 0 {
            return;
        }
        let (bytes, port) = (r.left.min(flit), r.port);
        r.left -= bytes;
        let service = if bytes == flit {
            self.whole_read_flit
        } else {
            self.spec.slice_rate.time_for(bytes).max(self.spec.min_flit_read)
        };
        self.port(cx, port, service, PortJob::Read { request, bytes });
    }
    pub(super) fn read_flit_out<Q: EventSet>(&mut self, cx: &mut Cx<Q>, request: u32, bytes: u64) {
        let r = self.requests.get_mut(request);
        r.in_port -= 1;
        let (port, egress_at, remote) = (r.port, r.egress, r.remote);
        let follow = if r.left > 0 {
            Some(Follow::Flit(request))
        } else if r.in_port == 0 {
            Some(Follow::Request { port, remote })
        } else {
            None
        };
        if !remote {
            self.flit_arrived(cx, request);
            return self.follow(cx, follow);
        }
        let service =
            if bytes == self.spec.flit.0 { self.whole_egress_flit } else { self.spec.egress_rate.time_for(bytes) };
        let egress = &mut self.egress[egress_at as usize];
        egress.inside += 1;
        let room = egress.inside < self.spec.egress_buffer;
        if let Some(service) = egress.server.push(service, request) {
            cx.clock.after(service, Kind::Egress, egress_at);
        }
        match follow {
            Some(f) if !room => self.egress[egress_at as usize].stalled.push_back(f),
            follow => self.follow(cx, follow),
        }
    }
    fn follow<Q: EventSet>(&mut self, cx: &mut Cx<Q>, follow: Option<Follow>) {
        match follow {
            Some(Follow::Flit(request)) => self.next_flit(cx, request),
            Some(Follow::Request { port, remote }) => self.next_request(cx, port, remote),
            None => {}
        }
    }
    pub(super) fn egress_done<Q: EventSet>(&mut self, cx: &mut Cx<Q>, at: u32) -> Option<Notice> {
        let egress = &mut self.egress[at as usize];
        let request = egress.server.finish()?;
        egress.inside -= 1;
        self.flit_arrived(cx, request);
        let stalled = self.egress[at as usize].stalled.pop_front();
        self.follow(cx, stalled);
        if let Some(service) = self.egress[at as usize].server.start_next() {
            cx.clock.after(service, Kind::Egress, at);
        }
        None
    }
    fn flit_arrived<Q: EventSet>(&mut self, cx: &mut Cx<Q>, request: u32) {
        let r = self.requests.get_mut(request);
        r.out -= 1;
        if r.out > 0 {
            return;
        }
        let (pe, latency) = (r.pe, self.spec.read_latency + r.extra);
        match r.owner {
            Owner::Command { .. } => {}
            Owner::Tile { .. } => self.request_tile(cx, pe),
        }
        cx.clock.after(latency, Kind::ReadDone, request);
    }
    pub(super) fn read_done<Q: EventSet>(&mut self, cx: &mut Cx<Q>, request: u32) -> Option<Notice> {
        let (now, r) = (cx.clock.now(), *self.requests.get(request));
        self.requests.remove(request);
        cx.record.log(r.pe.0, r.start, now);
        match r.owner {
            Owner::Command { tag } => {
                cx.record.sums.dma += now - r.start;
                cx.record.end(r.pe.0, Engine::Dma, now);
                Some(Notice::Read { pe: r.pe, tag })
            }
            Owner::Tile { last_k } => {
                cx.record.sums.dma_tiles += now.saturating_sub(r.start);
                cx.record.end(r.pe.0, Engine::Dma, now);
                self.tile_arrived(cx, r.pe, last_k);
                None
            }
        }
    }
    pub(super) fn write_in<Q: EventSet>(&mut self, cx: &mut Cx<Q>, request: u32) {
        let latency = self.spec.write_latency + self.requests.get(request).extra;
        cx.clock.after(latency, Kind::WriteDone, request);
    }
    pub(super) fn write_done<Q: EventSet>(&mut self, cx: &mut Cx<Q>, request: u32) -> Option<Notice> {
        let (now, r) = (cx.clock.now(), *self.requests.get(request));
        self.requests.remove(request);
        cx.record.log(r.pe.0, r.start, now);
        cx.record.sums.dma += now - r.start;
        cx.record.end(r.pe.0, Engine::Dma, now);
        match r.owner {
            Owner::Command { tag } => Some(Notice::Written { pe: r.pe, tag }),
            Owner::Tile { .. } => None,
        }
    }
}
