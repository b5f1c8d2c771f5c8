//! What a command does once its issue cost is spent: which engine, channel or slice it keeps busy.

use super::{Cpu, Flight, Flow, Phase, Shared, Wait};
use crate::engine::composite::StreamedTiles;
use crate::engine::ipcq::Message;
use crate::engine::{Class, Engine, EventSet, Kind, PeIx};
use crate::timing::errors::Stop;
use crate::timing::hardware::{Direction, Hardware};
use crate::timing::program::{Access, Command, EngineRecord, Job};
use crate::timing::scratch::{Pending, TileIx};
use crate::units::{Bytes, Ps};

impl Cpu {
    /// The issue cost is spent: the hardware takes over.
    pub(super) fn hand_over<Q: EventSet>(
        &mut self,
        sh: Shared<'_>,
        hw: &mut Hardware<'_, Q>,
        number: u32,
        c: &Command,
    ) -> Result<Flow, Stop> {
        match c.job {
            Job::Engine { engine, record, time } => return Ok(self.run_engine(sh, hw, engine, record, time)),
            Job::Block { blocks } => {
                let time = sh.program.blocks[blocks as usize].time(self.block);
                return Ok(self.run_engine(sh, hw, Engine::Gemm, EngineRecord::Gemm, time));
            }
            Job::Load { access } => self.load(sh, hw, access, c),
            Job::Store { access, extra } => self.store(sh, hw, access, extra, c),
            Job::Send { port, ty } => {
                let channel = self.linked(c.op, hw.outgoing(sh.launch, self.seat, port))?;
                if !hw.fabric.take_slot(channel) {
                    return Ok(self.wait_for(hw, Wait::Slot, Class::WaitLink));
                }
                let tile = sh.program.tiles[c.waits.range()].first().map_or(TileIx::NONE, |s| self.scratch.at(*s));
                self.scratch.begin_use(tile);
                self.tally.logged();
                let message = Message { bytes: Bytes(ty.bytes()), tag: tile.0, command: number };
                hw.fabric.send(&mut hw.cx, channel, message);
            }
            Job::Recv { port, .. } => {
                let channel = self.linked(c.op, hw.incoming(sh.launch, self.seat, port))?;
                hw.fabric.return_slot(&mut hw.cx, channel);
            }
            Job::Barrier { scope } => {
                self.phase = Phase::Engaged;
                let flow = self.wait_for(hw, Wait::Barrier, Class::WaitInput);
                hw.at_barrier(sh.launch, self.seat, scope);
                return Ok(flow);
            }
            Job::Composite { job } => self.composite(sh, hw, job, c),
        }
        Ok(self.complete(sh, c))
    }
    /// An engine works, and the CPU is blocked until it is done.
    fn run_engine<Q: EventSet>(
        &mut self,
        sh: Shared<'_>,
        hw: &mut Hardware<'_, Q>,
        engine: Engine,
        record: EngineRecord,
        time: Ps,
    ) -> Flow {
        let (pe, now) = (self.seat.ix, hw.cx.clock.now());
        let (sums, tally) = (&mut hw.cx.record.sums, &mut self.tally);
        let (sum, of_pe) = match record {
            EngineRecord::Gemm => (&mut sums.gemm, &mut tally.dots),
            EngineRecord::Math => (&mut sums.math, &mut tally.math),
            EngineRecord::Copy => (&mut sums.copy, &mut tally.math),
        };
        *sum += time;
        *of_pe += time;
        tally.open();
        tally.spend(sh.engine_overhead);
        hw.cx.record.log(pe.0, now, now + time);
        hw.cx.record.run(pe.0, engine, now, time);
        self.phase = Phase::Engaged;
        hw.cx.clock.after(time + sh.engine_overhead, Kind::Cpu, pe.0);
        Flow::Wait
    }
    pub(super) fn complete(&mut self, sh: Shared<'_>, c: &Command) -> Flow {
        if let (Some(slot), Some(trace)) = (c.traced, sh.launch.trace) {
            let slot = &mut self.scalars[slot.0 as usize];
            if let Some(bits) = trace.of_program(self.seat.program).get(self.traced) {
                slot.bits = *bits;
            }
            self.traced += 1;
        }
        self.drop_names(sh, c.drops);
        self.phase = Phase::Start;
        self.pc += 1;
        Flow::On
    }
    /// What of an access the current block takes.
    fn part(&self, sh: Shared<'_>, access: &Access) -> Option<[(u32, u32); 2]> {
        let part = access.block?;
        let blocks = &sh.program.blocks[part.blocks as usize];
        Some(part.sides.map(|side| blocks.span(self.block, side)))
    }
    fn load<Q: EventSet>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>, access: u32, c: &Command) {
        let access = &sh.program.accesses[access as usize];
        let part = self.part(sh, access);
        let element = hw.access(sh.launch, access, self.seat, &self.scalars, part, Direction::Read);
        if let (Some(element), Some((slot, _))) = (element, access.value) {
            self.scalars[slot.0 as usize] = element;
        }
        let tile = sh.program.made[c.makes.range()].first().map_or(TileIx::NONE, |m| self.scratch.at(m.slot));
        let parts = hw.requests.len() as u32;
        if parts > 0 {
            self.tally.open();
            self.scratch.set_pending(tile, Pending::Load(parts));
        }
        for i in 0..hw.requests.len() {
            let r = hw.requests[i];
            self.scratch.begin_use(tile);
            hw.fabric.read(&mut hw.cx, self.seat.ix, r.home, r.bytes, r.extra, tile.0);
        }
    }
    fn store<Q: EventSet>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>, access: u32, extra: Ps, c: &Command) {
        let access = &sh.program.accesses[access as usize];
        hw.access(sh.launch, access, self.seat, &self.scalars, None, Direction::Write);
        if !hw.requests.is_empty() {
            self.tally.open();
        }
        // Indices that are loaded stand before the value.
        let tile = sh.program.tiles[c.waits.range()].last().map_or(TileIx::NONE, |s| self.scratch.at(*s));
        for i in 0..hw.requests.len() {
            let r = hw.requests[i];
            self.scratch.begin_use(tile);
            self.stores += 1;
            hw.fabric.write(&mut hw.cx, self.seat.ix, r.home, r.bytes, r.extra + extra, tile.0);
        }
    }
    fn composite<Q: EventSet>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>, number: u32, c: &Command) {
        let compiled = &sh.program.composites[number as usize];
        let mut job = compiled.job.clone();
        if let Some(access) = compiled.streamed {
            hw.access(
                sh.launch,
                &sh.program.accesses[access as usize],
                self.seat,
                &self.scalars,
                None,
                Direction::Read,
            );
            let tiles = job.outputs * job.depth;
            job.streamed = share_tiles(tiles, hw.requests.iter().map(|r| (r.home, r.bytes.0, r.extra)));
            hw.cx.record.sums.stream_bytes += tiles * job.streamed_tile.0;
        }
        self.tally.tiles += Ps(job.multiply.0.saturating_mul(job.outputs.saturating_mul(job.depth)));
        self.tally.logged();
        let results: Vec<TileIx> = sh.program.made[c.makes.range()].iter().map(|m| self.scratch.at(m.slot)).collect();
        let operands: Vec<TileIx> = sh.program.tiles[c.waits.range()].iter().map(|s| self.scratch.at(*s)).collect();
        for tile in &results {
            self.scratch.set_pending(*tile, Pending::Composite);
        }
        for tile in results.iter().chain(&operands) {
            self.scratch.begin_use(*tile);
        }
        self.composites.push_back(Flight { job: number, results, operands });
        hw.fabric.composite(&mut hw.cx, self.seat.ix, job);
    }
}

/// Deals the tiles of a streamed operand to the slices that hold it, in order and by their bytes.
fn share_tiles(tiles: u64, homes: impl Iterator<Item = (PeIx, u64, Ps)> + Clone) -> Vec<StreamedTiles> {
    let all: u64 = homes.clone().map(|(_, bytes, _)| bytes).sum();
    let (mut seen, mut dealt, mut out) = (0, 0, Vec::new());
    for (home, bytes, extra) in homes {
        seen += bytes;
        let upto = u64::try_from(u128::from(tiles) * u128::from(seen) / u128::from(all.max(1))).unwrap_or(tiles);
        if upto > dealt {
            out.push(StreamedTiles { home, tiles: upto - dealt, extra });
        }
        dealt = upto;
    }
    out
}
