//! Composite commands (AHBM.md 5). The scheduler of a PE runs one composite at a time: a product in padded tiles, each
//! fetched, multiplied and, after the last one along K, stored. Fetches and stores share one unit. An operand that is not on
//! chip arrives tile by tile; a prologue holds back the products, an epilogue the end.

use super::event::{EventSet, Kind};
use super::fabric::{Cx, Fabric, Notice, PeIx};
use super::fifo::Fifo;
use super::memory::Owner;
use super::record::Engine;
use crate::units::{Bytes, Ps};
use std::collections::VecDeque;

/// The constants of composites.
#[derive(Clone, Copy, Debug)]
pub struct CompositeSpec {
    pub done_overhead: Ps,
    pub done_overhead_streamed: Ps,
    pub fused_tail: Ps,
    pub prologue_delay: Ps,
    pub prologue_delay_streamed: Ps,
    /// Between the log starts of successive tile requests.
    pub feed: Ps,
    /// Tile requests under way to another cube; to the own cube it is one.
    pub window: u32,
}

/// A run of tiles of the streamed operand that one slice holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamedTiles {
    pub home: PeIx,
    pub tiles: u64,
    /// On top of the latency of the home slice.
    pub extra: Ps,
}

/// One composite, as the CPU hands it over.
#[derive(Clone, Debug)]
pub struct Composite {
    /// Output tiles, and tiles along K for each.
    pub outputs: u64,
    pub depth: u64,
    pub fetch: Ps,
    pub multiply: Ps,
    pub store: Ps,
    pub prologue: Option<Ps>,
    pub epilogue: bool,
    /// Empty: all operands are on chip.
    pub streamed: Vec<StreamedTiles>,
    pub streamed_tile: Bytes,
}

/// Work of the fetch/store unit.
#[derive(Clone, Copy, Debug)]
enum Transfer {
    Fetch { last_k: bool },
    Store,
}

/// A tile at the GEMM engine, with its arrival.
#[derive(Clone, Copy, Debug)]
struct Tile {
    arrived: Ps,
    last_k: bool,
}

#[derive(Debug)]
struct Running {
    job: Composite,
    outputs_left: u64,
    /// Tiles requested so far, and the first run of `streamed` that is not used up.
    requested: u64,
    part: usize,
    part_used: u64,
    /// Log start of the first request.
    stream_start: Ps,
    open: bool,
}

/// The scheduler, fetch/store unit and composite side of the GEMM engine of one PE.
#[derive(Debug, Default)]
pub(super) struct CompositeUnit {
    queue: VecDeque<Composite>,
    running: Option<Running>,
    fetch_store: Fifo<Transfer>,
    gemm: Fifo<Tile>,
    /// Tiles that wait for the end of the prologue.
    gated: VecDeque<Tile>,
}

impl Fabric {
    /// Hands a composite to the PE's scheduler.
    pub fn composite<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx, job: Composite) {
        let unit = &mut self.composites[pe.index()];
        unit.queue.push_back(job);
        if unit.running.is_none() {
            self.next_composite(cx, pe);
        }
    }
    /// Starts the next composite of a PE. After `Notice::CompositeDone` the program does so, once it has woken its CPU.
    pub fn next_composite<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx) {
        let (now, spec) = (cx.clock.now(), self.spec.composite);
        let unit = &mut self.composites[pe.index()];
        unit.running = None;
        let Some(job) = unit.queue.pop_front() else { return };
        let delay = match (job.prologue, job.streamed.is_empty()) {
            (None, _) => Ps::ZERO,
            (Some(_), true) => spec.prologue_delay,
            (Some(_), false) => spec.prologue_delay_streamed,
        };
        let prologue = job.prologue;
        unit.running = Some(Running {
            outputs_left: job.outputs,
            requested: 0,
            part: 0,
            part_used: 0,
            stream_start: now + delay,
            open: prologue.is_none(),
            job,
        });
        match prologue {
            Some(time) => {
                cx.record.sums.math_tiles += time;
                cx.record.begin(pe.0, Engine::Math, now);
                cx.clock.after(time, Kind::Prologue, pe.0);
                cx.clock.after(delay, Kind::Feed, pe.0);
            }
            None => self.feed(cx, pe),
        }
    }
    /// Operands begin to stream: from scratch all at once, from memory tile by tile.
    pub(super) fn feed<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx) {
        let Some(r) = &self.composites[pe.index()].running else { return };
        let (outputs, depth) = (r.job.outputs, r.job.depth);
        if let Some(first) = r.job.streamed.first() {
            let near = self.cube_of(first.home) == self.cube_of(pe);
            let window = if near { 1 } else { self.spec.composite.window };
            return (0..window).for_each(|_| self.request_tile(cx, pe));
        }
        for _ in 0..outputs {
            for k in 1..=depth {
                self.fetch(cx, pe, k == depth);
            }
        }
    }
    /// Asks for the next streamed tile of the running composite, if there is one.
    pub(super) fn request_tile<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx) {
        let feed = self.spec.composite.feed;
        let Some(r) = &mut self.composites[pe.index()].running else { return };
        let Some(part) = r.job.streamed.get(r.part).copied() else { return };
        let start = r.stream_start + Ps(feed.0.saturating_mul(r.requested));
        r.requested += 1;
        r.part_used += 1;
        if r.part_used == part.tiles {
            (r.part, r.part_used) = (r.part + 1, 0);
        }
        let (bytes, last_k) = (r.job.streamed_tile, r.requested % r.job.depth == 0);
        cx.record.open(pe.0, cx.clock.now());
        cx.record.begin(pe.0, Engine::Dma, cx.clock.now());
        self.enqueue(cx, pe, part.home, bytes, part.extra, start, Owner::Tile { last_k });
    }
    /// A streamed tile is in scratch.
    pub(super) fn tile_arrived<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx, last_k: bool) {
        self.fetch(cx, pe, last_k);
    }
    fn fetch<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx, last_k: bool) {
        let Some(service) = self.composites[pe.index()].running.as_ref().map(|r| r.job.fetch) else { return };
        self.transfer(cx, pe, service, Transfer::Fetch { last_k });
    }
    fn transfer<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx, service: Ps, job: Transfer) {
        if let Some(service) = self.composites[pe.index()].fetch_store.push(service, job) {
            cx.clock.after(service, Kind::FetchStore, pe.0);
        }
    }
    pub(super) fn fetch_store_done<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx) -> Option<Notice> {
        let now = cx.clock.now();
        let unit = &mut self.composites[pe.index()];
        match unit.fetch_store.finish()? {
            Transfer::Fetch { last_k } => {
                let tile = Tile { arrived: now, last_k };
                if unit.running.as_ref().is_some_and(|r| r.open) {
                    self.multiply(cx, pe, tile);
                } else {
                    unit.gated.push_back(tile);
                }
            }
            Transfer::Store => self.stored(cx, pe),
        }
        if let Some(service) = self.composites[pe.index()].fetch_store.start_next() {
            cx.clock.after(service, Kind::FetchStore, pe.0);
        }
        None
    }
    fn multiply<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx, tile: Tile) {
        let unit = &mut self.composites[pe.index()];
        let Some(service) = unit.running.as_ref().map(|r| r.job.multiply) else { return };
        cx.record.begin(pe.0, Engine::Gemm, cx.clock.now());
        if let Some(service) = unit.gemm.push(service, tile) {
            cx.clock.after(service, Kind::GemmTile, pe.0);
        }
    }
    pub(super) fn gemm_tile_done<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx) -> Option<Notice> {
        let now = cx.clock.now();
        let unit = &mut self.composites[pe.index()];
        let tile = unit.gemm.finish()?;
        let store = unit.running.as_ref().map(|r| r.job.store);
        cx.record.log(pe.0, tile.arrived, now);
        cx.record.sums.gemm_tiles += now - tile.arrived;
        cx.record.end(pe.0, Engine::Gemm, now);
        if let (true, Some(store)) = (tile.last_k, store) {
            self.transfer(cx, pe, store, Transfer::Store);
        }
        if let Some(service) = self.composites[pe.index()].gemm.start_next() {
            cx.clock.after(service, Kind::GemmTile, pe.0);
        }
        None
    }
    fn stored<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx) {
        let spec = self.spec.composite;
        let Some(r) = &mut self.composites[pe.index()].running else { return };
        r.outputs_left -= 1;
        if r.outputs_left > 0 {
            return;
        }
        let mut overhead = spec.done_overhead;
        if r.job.epilogue {
            overhead += spec.fused_tail;
        }
        if !r.job.streamed.is_empty() {
            overhead += spec.done_overhead_streamed;
        }
        cx.clock.after(overhead, Kind::CompositeDone, pe.0);
    }
    pub(super) fn prologue_done<Q: EventSet>(&mut self, cx: &mut Cx<Q>, pe: PeIx) -> Option<Notice> {
        cx.record.end(pe.0, Engine::Math, cx.clock.now());
        let unit = &mut self.composites[pe.index()];
        unit.running.as_mut()?.open = true;
        while let Some(tile) = self.composites[pe.index()].gated.pop_front() {
            self.multiply(cx, pe, tile);
        }
        Some(Notice::PrologueDone { pe })
    }
    pub(super) fn composite_done<Q: EventSet>(&mut self, _: &mut Cx<Q>, pe: PeIx) -> Option<Notice> {
        Some(Notice::CompositeDone { pe })
    }
}
