//! The hardware of the cubes in use: ports, slices, egress servers, message channels, composite units. One event at a
//! time goes in; what a program must know comes out as a notice. Reads and writes are in `memory.rs`, messages in
//! `ipcq.rs`, composite commands in `composite.rs`; who shares a port or an egress, in `lanes.rs`.

use super::clock::Clock;
use super::composite::{CompositeSpec, CompositeUnit};
use super::event::{Event, EventSet, Kind};
use super::fifo::Fifo;
use super::ipcq::Channel;
use super::lanes::{Lanes, Sharing};
use super::memory::{Egress, Request, Slab, Stream};
use super::record::Recorder;
use crate::machine::Machine;
use crate::units::{Bytes, Ps, Rate};

/// A PE by its number among the PEs of the cubes in use: `cube * pes_per_cube + pe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeIx(pub u32);

impl PeIx {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The constants of the machine that the fabric needs (AHBM.md 4 and 6).
#[derive(Clone, Copy, Debug)]
pub struct FabricSpec {
    pub pes_per_cube: u32,
    pub pe_cols: u32,
    pub slice_rate: Rate,
    pub flit: Bytes,
    pub min_flit_read: Ps,
    pub read_ahead: u32,
    pub read_latency: Ps,
    pub write_latency: Ps,
    pub egress_rate: Rate,
    pub egress_buffer: u32,
    pub send_setup: Ps,
    pub send_flit_overhead: Ps,
    pub message_latency: Ps,
    pub credit_latency: Ps,
    pub cube_rate: Rate,
    pub cube_flit_overhead: Ps,
    pub cube_latency: Ps,
    pub sip_rate: Rate,
    pub sip_latency: Ps,
    pub composite: CompositeSpec,
}

/// What the port of a PE is asked to pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum PortJob {
    /// A flit of a read leaves the slice.
    Read { request: u32, bytes: u64 },
    /// A write enters the slice.
    Write { request: u32 },
    /// A flit of a message leaves the PE.
    Send { channel: u32 },
    /// A flit of a message enters the PE.
    Receive { channel: u32 },
}

/// The clock and the records, which every handler needs.
#[derive(Debug)]
pub struct Cx<Q> {
    pub clock: Clock<Q>,
    pub record: Recorder,
}

/// Something that a program may wait for has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The CPU's turn.
    Cpu(PeIx),
    /// A part of a load has arrived.
    Read { pe: PeIx, tag: u32 },
    /// A part of a store is in memory.
    Written { pe: PeIx, tag: u32 },
    /// The last flit of a message has left its sender's scratch.
    Sent { pe: PeIx, tag: u32 },
    /// The prologue of a composite has ended.
    PrologueDone { pe: PeIx },
    /// A composite has ended.
    CompositeDone { pe: PeIx },
}

/// The hardware of the cubes in use.
#[derive(Debug)]
pub struct Fabric {
    pub(super) spec: FabricSpec,
    /// The port's time for a whole flit: almost all flits are whole.
    pub(super) whole_flit: Ps,
    pub(super) whole_read_flit: Ps,
    pub(super) whole_egress_flit: Ps,
    /// Per PE, or per lane if there are lanes.
    pub(super) ports: Vec<Fifo<PortJob>>,
    /// Likewise: requests of PEs of the same cube, and of other cubes.
    pub(super) streams: Vec<[Stream; 2]>,
    /// Per cube, or per lane.
    pub(super) egress: Vec<Egress>,
    pub(super) lanes: Option<Lanes>,
    pub(super) requests: Slab<Request>,
    pub(super) channels: Vec<Channel>,
    pub(super) composites: Vec<CompositeUnit>,
}

impl Fabric {
    /// A fabric without cubes.
    pub fn new(spec: FabricSpec, sharing: Sharing) -> Fabric {
        let flit = spec.flit.0;
        let whole_flit = spec.slice_rate.time_for(flit);
        Fabric {
            spec,
            whole_flit,
            whole_read_flit: whole_flit.max(spec.min_flit_read),
            whole_egress_flit: spec.egress_rate.time_for(flit),
            ports: Vec::new(),
            streams: Vec::new(),
            egress: Vec::new(),
            lanes: match sharing {
                Sharing::Shared => None,
                Sharing::Private => Some(Lanes::default()),
            },
            requests: Slab::default(),
            channels: Vec::new(),
            composites: Vec::new(),
        }
    }
    /// Adds the next cube with its PEs.
    pub fn add_cube(&mut self) {
        let pes = self.num_pes() + self.spec.pes_per_cube as usize;
        self.composites.resize_with(pes, CompositeUnit::default);
        if self.lanes.is_none() {
            self.ports.resize_with(pes, Fifo::default);
            self.streams.resize_with(pes, Default::default);
            self.egress.push(Egress::default());
        }
    }
    pub fn num_pes(&self) -> usize {
        self.composites.len()
    }
    /// The cube of a PE, by its number among those in use.
    pub fn cube_of(&self, pe: PeIx) -> u32 {
        pe.0 / self.spec.pes_per_cube
    }
    /// The time for which each PE's port was taken: the sum over its lanes, if it has any.
    pub fn port_busy(&self) -> Vec<Ps> {
        let mut busy = vec![Ps::ZERO; self.num_pes()];
        for (port, server) in (0..).zip(&self.ports) {
            busy[self.home_of(port).index()] += server.busy();
        }
        busy
    }
    /// Runs one event.
    pub fn handle<Q: EventSet>(&mut self, cx: &mut Cx<Q>, e: Event) -> Option<Notice> {
        match e.kind {
            Kind::Cpu => Some(Notice::Cpu(PeIx(e.target))),
            Kind::Port => self.port_done(cx, e.target),
            Kind::Egress => self.egress_done(cx, e.target),
            Kind::ReadDone => self.read_done(cx, e.target),
            Kind::WriteDone => self.write_done(cx, e.target),
            Kind::TxStart => {
                self.begin_hop(cx, e.target);
                None
            }
            Kind::Message => {
                self.deliver(cx, e.target);
                None
            }
            Kind::Credit => {
                self.give_slot_back(cx, e.target);
                None
            }
            Kind::FetchStore => self.fetch_store_done(cx, PeIx(e.target)),
            Kind::GemmTile => self.gemm_tile_done(cx, PeIx(e.target)),
            Kind::Prologue => self.prologue_done(cx, PeIx(e.target)),
            Kind::Feed => {
                self.feed(cx, PeIx(e.target));
                None
            }
            Kind::CompositeDone => self.composite_done(cx, PeIx(e.target)),
        }
    }
    /// Queues a job at a port.
    pub(super) fn port<Q: EventSet>(&mut self, cx: &mut Cx<Q>, port: u32, service: Ps, job: PortJob) {
        if let Some(service) = self.ports[port as usize].push(service, job) {
            cx.clock.after(service, Kind::Port, port);
        }
    }
    fn port_done<Q: EventSet>(&mut self, cx: &mut Cx<Q>, port: u32) -> Option<Notice> {
        let notice = match self.ports[port as usize].finish() {
            Some(PortJob::Read { request, bytes }) => {
                self.read_flit_out(cx, request, bytes);
                None
            }
            Some(PortJob::Write { request }) => {
                self.write_in(cx, request);
                None
            }
            Some(PortJob::Send { channel }) => {
                self.flit_sent(cx, channel);
                None
            }
            Some(PortJob::Receive { channel }) => self.flit_received(cx, channel),
            None => None,
        };
        if let Some(service) = self.ports[port as usize].start_next() {
            cx.clock.after(service, Kind::Port, port);
        }
        notice
    }
}

impl From<&Machine> for FabricSpec {
    fn from(m: &Machine) -> FabricSpec {
        FabricSpec {
            pes_per_cube: m.pes_per_cube() as u32,
            pe_cols: m.topology.pe_cols,
            slice_rate: m.hbm.slice_rate,
            flit: m.hbm.transfer_unit,
            min_flit_read: m.hbm.min_unit_read,
            read_ahead: m.hbm.read_ahead,
            read_latency: m.hbm.read_latency,
            write_latency: m.hbm.write_latency,
            egress_rate: m.egress.rate,
            egress_buffer: m.egress.buffer,
            send_setup: m.queue.setup,
            send_flit_overhead: m.queue.unit_overhead,
            message_latency: m.queue.latency,
            credit_latency: m.queue.credit_latency,
            cube_rate: m.queue.cube_rate,
            cube_flit_overhead: m.queue.cube_unit_overhead,
            cube_latency: m.queue.cube_latency,
            sip_rate: m.sip.rate,
            sip_latency: m.sip.latency,
            composite: CompositeSpec {
                done_overhead: m.composite.done_overhead,
                done_overhead_streamed: m.composite.done_overhead_dma,
                fused_tail: m.composite.fused_tail,
                prologue_delay: m.composite.prologue_delay,
                prologue_delay_streamed: m.composite.prologue_delay_dma,
                feed: m.composite.feed,
                window: m.composite.window,
            },
        }
    }
}
