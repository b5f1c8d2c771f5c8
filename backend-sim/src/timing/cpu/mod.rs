//! The CPU of a PE: runs its program in order and hands commands to the hardware (AHBM.md 3). For each command it waits
//! until the operands exist and the result has room, spends the issue cost, hands over; `dot`, MATH and copies block it until
//! the engine is done.
//!
//! A hand-written state machine: `step` runs from one event of this PE to the next wait. `hand_over.rs`: what the hardware is
//! given.

mod hand_over;

use super::errors::{Fault, Holder, Stop};
use super::hardware::{Hardware, Seat};
use super::launch::Launch;
use super::program::{Command, Instr, Job, Part, PlaceValue, Program, ScalarSlot};
use super::result::Limits;
use super::scratch::{Pending, Room, Scratch, TileIx, wait_class};
use super::tally::Tally;
use crate::engine::ipcq::Message;
use crate::engine::{Class, EventSet, Kind};
use crate::units::{Bytes, Ps};
use std::collections::VecDeque;
use tilewright_core::interp::{Halt, NoLink, scalar};
use tilewright_core::ir::{Literal, OpId, Type};

/// What all PEs of a launch share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    pub launch: &'a Launch<'a>,
    pub program: &'a Program,
    /// Added to each blocking engine command.
    pub engine_overhead: Ps,
    pub limits: Limits,
}

/// How far the current command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Start,
    /// The issue cost is being spent, or has been.
    Issued,
    /// The engine works, or the barrier waits.
    Engaged,
}

/// What the CPU needs before it can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A time that is known.
    Time,
    Tile(TileIx),
    Space,
    /// The stores under way.
    Stores,
    Message,
    Slot,
    Barrier,
    Ended,
}

/// A composite under way: its results, and the operands that it uses until it ends.
#[derive(Debug)]
struct Flight {
    job: u32,
    results: Vec<TileIx>,
    operands: Vec<TileIx>,
}

/// One PE of a launch.
pub struct Cpu {
    pub seat: Seat,
    pc: u32,
    phase: Phase,
    pub wait: Wait,
    scalars: Vec<Literal>,
    pub scratch: Scratch,
    stores: u32,
    composites: VecDeque<Flight>,
    pub commands: u64,
    pub cycles: u64,
    pub tally: Tally,
    /// The block of a product in blocks at which it is.
    block: u64,
    /// Turns of loops since the last command.
    free_turns: u64,
    /// Words of the control trace that were used.
    traced: usize,
}

/// Whether `step` goes on with the next instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Wait,
}

impl Cpu {
    /// A PE that runs `program`, or none.
    pub fn new(seat: Seat, program: Option<&Program>, capacity: Bytes) -> Cpu {
        let (scalars, slots) = program.map_or((Vec::new(), 0), |p| (p.initial.clone(), p.num_tile_slots));
        Cpu {
            seat,
            pc: 0,
            phase: Phase::Start,
            wait: if program.is_some() { Wait::Time } else { Wait::Ended },
            scalars,
            scratch: Scratch::new(capacity.0, slots),
            stores: 0,
            composites: VecDeque::new(),
            commands: 0,
            cycles: 0,
            tally: Tally::default(),
            block: 0,
            free_turns: 0,
            traced: 0,
        }
    }

    /// Runs until the CPU has to wait.
    ///
    /// # Errors
    /// What the program did that cannot be.
    pub fn step<Q: EventSet>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>) -> Result<(), Stop> {
        self.wait = Wait::Time;
        while let Some(instr) = sh.program.code.get(self.pc as usize) {
            match *instr {
                Instr::Command(number) => {
                    let command = &sh.program.commands[number as usize];
                    if self.command(sh, hw, number, command)? == Flow::Wait {
                        return Ok(());
                    }
                    continue;
                }
                Instr::Await { slots, .. } => {
                    if self.operands(sh, hw, slots) == Flow::Wait {
                        return Ok(());
                    }
                }
                Instr::Spend { time } => {
                    if self.phase == Phase::Start {
                        self.phase = Phase::Engaged;
                        self.tally.spend(time);
                        hw.cx.record.cpu(self.seat.ix.0, Class::Busy, hw.cx.clock.now());
                        hw.cx.clock.after(time, Kind::Cpu, self.seat.ix.0);
                        return Ok(());
                    }
                    self.phase = Phase::Start;
                }
                Instr::Eval { op, args, to } => self.eval(sh, hw, op, args, to),
                Instr::Place { what, to } => self.place(what, to),
                Instr::Move { from, to } => self.scalars[to.0 as usize] = self.scalars[from.0 as usize],
                Instr::Bind { from, to } => self.scratch.bind(from, to),
                Instr::Drop { slots } => self.drop_names(sh, slots),
                Instr::CheckStep { step, op } => {
                    if self.int(step) <= 0 {
                        return Err(self.halted(op, Halt::LoopStep(self.int(step))));
                    }
                }
                Instr::Jump { to } => {
                    self.pc = to;
                    continue;
                }
                Instr::Again { top, op } => {
                    self.count_turn(sh, hw, op)?;
                    self.pc = top;
                    continue;
                }
                Instr::Branch { cond, otherwise } => {
                    if self.scalars[cond.0 as usize].as_bool() == Some(false) {
                        self.pc = otherwise;
                        continue;
                    }
                }
                Instr::NextBlock { blocks, exit } => {
                    self.block += 1;
                    if self.block >= sh.program.blocks[blocks as usize].count() {
                        self.block = 0;
                        self.pc = exit;
                        continue;
                    }
                }
                Instr::Turn { index, end, exit, op } => {
                    self.count_turn(sh, hw, op)?;
                    if self.int(index) >= self.int(end) {
                        self.pc = exit;
                        continue;
                    }
                }
                Instr::Next { index, step, top } => {
                    let next = self.int(index) + self.int(step);
                    let slot = &mut self.scalars[index.0 as usize];
                    if let Some(next) = Literal::int(slot.elem, next) {
                        *slot = next;
                        self.pc = top;
                        continue;
                    }
                }
                Instr::End => break,
            }
            self.pc += 1;
        }
        self.wait = Wait::Ended;
        hw.cx.record.cpu(self.seat.ix.0, Class::Idle, hw.cx.clock.now());
        Ok(())
    }
    fn int(&self, slot: ScalarSlot) -> i128 {
        self.scalars[slot.0 as usize].as_int().unwrap_or(0)
    }
    fn eval<Q>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>, op: OpId, args: Part, to: ScalarSlot) {
        let slots = &sh.program.scalars[args.range()];
        // No scalar op has more than three operands.
        let mut operands = [self.scalars[to.0 as usize]; 3];
        for (operand, slot) in operands.iter_mut().zip(slots) {
            *operand = self.scalars[slot.0 as usize];
        }
        let data = sh.launch.module.op(op);
        let ty = data.results.get(0).map(|v| sh.launch.module.ty(v));
        let known = operands.get(..slots.len()).zip(ty);
        if let Some(done) = known.and_then(|(operands, ty)| scalar::eval(&data.op, operands, ty)) {
            self.scalars[to.0 as usize] = done.value;
            if let Some(kind) = done.fault {
                hw.records.add(kind, op, self.seat, 1, Vec::new());
            }
        }
    }
    fn place(&mut self, what: PlaceValue, to: ScalarSlot) {
        let value = match what {
            PlaceValue::Pe => self.seat.pe,
            PlaceValue::Cube => self.seat.cube,
            PlaceValue::Program => self.seat.program as u32,
        };
        self.scalars[to.0 as usize] = Literal::from(value as i32);
    }
    fn drop_names(&mut self, sh: Shared<'_>, slots: Part) {
        for slot in &sh.program.tiles[slots.range()] {
            self.scratch.drop_name(*slot);
        }
    }
    /// A turn of the loop `op`. Turns take no simulated time and make no event, so they have limits of their own.
    fn count_turn<Q: EventSet>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>, op: OpId) -> Result<(), Stop> {
        self.free_turns += 1;
        hw.turns += 1;
        if self.free_turns > sh.limits.free_turns {
            return Err(Fault::Endless { op, program: self.seat.program, turns: self.free_turns }.into());
        }
        if hw.steps() > sh.limits.steps {
            return Err(Fault::StepLimit { limit: sh.limits.steps, op: Some(op) }.into());
        }
        Ok(())
    }
    /// The op at which the CPU is, or the next one that has a place in the source.
    pub fn op(&self, program: &Program) -> Option<OpId> {
        let rest = program.code.get(self.pc as usize..).unwrap_or(&[]);
        rest.iter().find_map(|instr| match instr {
            Instr::Command(number) => program.commands.get(*number as usize).map(|c| c.op),
            Instr::Eval { op, .. }
            | Instr::Await { op, .. }
            | Instr::CheckStep { op, .. }
            | Instr::Again { op, .. }
            | Instr::Turn { op, .. } => Some(*op),
            Instr::Place { .. }
            | Instr::Move { .. }
            | Instr::Bind { .. }
            | Instr::Drop { .. }
            | Instr::Spend { .. }
            | Instr::Jump { .. }
            | Instr::Branch { .. }
            | Instr::NextBlock { .. }
            | Instr::Next { .. }
            | Instr::End => None,
        })
    }

    /// Waits, with the engines' time going to `class`.
    fn wait_for<Q: EventSet>(&mut self, hw: &mut Hardware<'_, Q>, wait: Wait, class: Class) -> Flow {
        self.wait = wait;
        hw.cx.record.cpu(self.seat.ix.0, class, hw.cx.clock.now());
        Flow::Wait
    }
    /// Waits for the first of these tiles that is not there.
    fn operands<Q: EventSet>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>, slots: Part) -> Flow {
        for slot in &sh.program.tiles[slots.range()] {
            let tile = self.scratch.at(*slot);
            let pending = self.scratch.pending(tile);
            if pending != Pending::Ready {
                return self.wait_for(hw, Wait::Tile(tile), wait_class(pending));
            }
        }
        Flow::On
    }

    fn command<Q: EventSet>(
        &mut self,
        sh: Shared<'_>,
        hw: &mut Hardware<'_, Q>,
        number: u32,
        c: &Command,
    ) -> Result<Flow, Stop> {
        match self.phase {
            Phase::Start => self.start(sh, hw, number, c),
            Phase::Issued => self.hand_over(sh, hw, number, c),
            Phase::Engaged => Ok(self.complete(sh, c)),
        }
    }
    /// Operands, room, then the issue cost.
    fn start<Q: EventSet>(
        &mut self,
        sh: Shared<'_>,
        hw: &mut Hardware<'_, Q>,
        number: u32,
        c: &Command,
    ) -> Result<Flow, Stop> {
        let ready = if matches!(c.job, Job::Composite { .. }) {
            // The scheduler runs composites in order, so one may use what an earlier one still makes.
            self.loaded_operands(sh, hw, c.waits)
        } else {
            self.operands(sh, hw, c.waits)
        };
        if ready == Flow::Wait || self.room(sh, hw, c)? == Flow::Wait {
            return Ok(Flow::Wait);
        }
        let mut time = c.issue;
        if let Job::Recv { port, ty, overhead } = c.job {
            let channel = self.linked(c.op, hw.incoming(sh.launch, self.seat, port))?;
            let Some(message) = hw.fabric.receive(channel, number) else {
                return Ok(self.wait_for(hw, Wait::Message, Class::WaitLink));
            };
            self.check_message(sh, hw, c.op, ty, channel, message)?;
            time += overhead;
        }
        // A barrier orders memory: what this PE has stored must be there.
        if matches!(c.job, Job::Barrier { .. }) && self.stores > 0 {
            return Ok(self.wait_for(hw, Wait::Stores, Class::WaitHbm));
        }
        for made in c.makes.range() {
            self.scratch.make(&sh.program.made[made], made as u32);
        }
        self.commands += 1;
        self.cycles += c.cycles;
        self.tally.spend(time);
        self.free_turns = 0;
        hw.issued[self.seat.launch as usize][number as usize] += 1;
        self.phase = Phase::Issued;
        hw.cx.record.cpu(self.seat.ix.0, Class::Busy, hw.cx.clock.now());
        hw.cx.clock.after(time, Kind::Cpu, self.seat.ix.0);
        Ok(Flow::Wait)
    }
    fn loaded_operands<Q: EventSet>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>, slots: Part) -> Flow {
        for slot in &sh.program.tiles[slots.range()] {
            let tile = self.scratch.at(*slot);
            if let Pending::Load(_) = self.scratch.pending(tile) {
                return self.wait_for(hw, Wait::Tile(tile), Class::WaitHbm);
            }
        }
        Flow::On
    }
    fn room<Q: EventSet>(&mut self, sh: Shared<'_>, hw: &mut Hardware<'_, Q>, c: &Command) -> Result<Flow, Stop> {
        let needs: u64 = sh.program.made[c.makes.range()].iter().map(|m| m.bytes).sum();
        match self.scratch.room(needs) {
            Room::Now => Ok(Flow::On),
            Room::Later => Ok(self.wait_for(hw, Wait::Space, Class::WaitSpace)),
            Room::Never => Err(self.no_room(sh, c, needs).into()),
        }
    }
    fn no_room(&self, sh: Shared<'_>, c: &Command, needs: u64) -> Fault {
        let holder = |(made, bytes): (u32, u64)| {
            let op = sh.program.maker(made).unwrap_or(c.op);
            Holder { value: sh.program.made[made as usize].value, op, bytes }
        };
        let holders = self.scratch.holders().into_iter().map(holder).collect();
        let capacity = Bytes(self.scratch.capacity());
        Fault::Scratch { op: c.op, program: self.seat.program, needs, capacity, holders }
    }
    fn halted(&self, op: OpId, halt: Halt) -> Stop {
        Stop::Halted { op, halt, program: self.seat.program }
    }
    fn linked(&self, op: OpId, channel: Result<u32, NoLink>) -> Result<u32, Stop> {
        channel.map_err(|link| self.halted(op, Halt::Link(link)))
    }
    fn check_message<Q: EventSet>(
        &self,
        sh: Shared<'_>,
        hw: &Hardware<'_, Q>,
        recv: OpId,
        expects: Type,
        channel: u32,
        message: Message,
    ) -> Result<(), Stop> {
        let send = &sh.program.commands[message.command as usize];
        if let Job::Send { ty: sent, .. } = send.job
            && sent != expects
        {
            let from = hw.program_of(hw.fabric.channels()[channel as usize].ends().0);
            return Err(self.halted(recv, Halt::MessageType { sent, send: send.op, from }));
        }
        Ok(())
    }

    /// A part of a load has arrived. Whether the CPU goes on.
    pub fn read_arrived(&mut self, tile: TileIx) -> bool {
        let there = self.scratch.part_arrived(tile);
        let freed = self.scratch.end_use(tile);
        self.wakes(there.then_some(tile), freed)
    }
    /// A part of a store is in memory.
    pub fn written(&mut self, tile: TileIx) -> bool {
        self.stores -= 1;
        let freed = self.scratch.end_use(tile);
        (self.wait == Wait::Stores && self.stores == 0) || self.wakes(None, freed)
    }
    /// A message has left.
    pub fn sent(&mut self, tile: TileIx) -> bool {
        let freed = self.scratch.end_use(tile);
        self.wakes(None, freed)
    }
    pub fn has_ended(&self) -> bool {
        self.wait == Wait::Ended
    }
    /// The prologue of the running composite has ended: some of its results are there.
    pub fn prologue_done(&mut self, program: &Program) -> bool {
        let Some(flight) = self.composites.front() else { return false };
        let early = &program.composites[flight.job as usize].early;
        let there: Vec<TileIx> = early.iter().filter_map(|i| flight.results.get(*i as usize)).copied().collect();
        self.there(&there)
    }
    /// The running composite has ended.
    pub fn composite_done(&mut self) -> bool {
        let Some(flight) = self.composites.pop_front() else { return false };
        let wakes = self.there(&flight.results);
        let mut freed = false;
        for tile in flight.results.iter().chain(&flight.operands) {
            freed |= self.scratch.end_use(*tile);
        }
        wakes || self.wakes(None, freed)
    }
    fn there(&mut self, tiles: &[TileIx]) -> bool {
        let mut wakes = false;
        for tile in tiles {
            self.scratch.set_pending(*tile, Pending::Ready);
            wakes |= self.wait == Wait::Tile(*tile);
        }
        wakes
    }
    fn wakes(&self, there: Option<TileIx>, freed: bool) -> bool {
        match self.wait {
            Wait::Tile(tile) => there == Some(tile),
            Wait::Space => freed,
            Wait::Time | Wait::Stores | Wait::Message | Wait::Slot | Wait::Barrier | Wait::Ended => false,
        }
    }
}
