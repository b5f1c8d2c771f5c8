//! A run: users' programs on the hardware of one machine, event by event, until nothing is left to happen. The same
//! programs may run several times, with servers that users share and without (`Sharing`).

use super::compile::compile;
use super::cpu::{Cpu, Shared, Wait};
use super::errors::{Fault, Stop};
use super::hardware::{Hardware, Seat};
use super::launch::{Launch, User};
use super::program::Program;
use super::result::{Demand, Limits, PeTiming, Place, Timing, Traffic};
use super::scratch::TileIx;
use super::watch::{EVERY, Watch};
use crate::engine::fabric::{Cx, Notice};
use crate::engine::record::Extent;
use crate::engine::{Clock, EventSet, Kind, PeIx, Recorder, Sharing};
use crate::machine::Machine;
use crate::units::{Bytes, Ps};
use std::collections::BTreeMap;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::record_fault;
use tilewright_core::interp::stall::{self, Leftover, Waiting, WaitsFor};
use tilewright_core::ir::{Op, OpId};

/// Times launches that run at once on one machine, with the event set `Q`.
///
/// # Errors
/// What does not fit a launch or the machine, what cannot be timed, and what went wrong in the run.
pub fn time_with<Q: EventSet>(machine: &Machine, users: &[User<'_>], limits: Limits) -> Result<Timing, Diagnostics> {
    Compiled::of(machine, users)?.time::<Q>(limits)
}

/// Launches that fit a machine, with their programs: what every fidelity starts from.
#[derive(Debug)]
pub struct Compiled<'a> {
    machine: &'a Machine,
    launches: Vec<Launch<'a>>,
    programs: Vec<Program>,
    watch: Option<&'a Watch>,
}

impl<'a> Compiled<'a> {
    /// # Errors
    /// What does not fit a launch or the machine, and what cannot be timed.
    pub fn of(machine: &'a Machine, users: &'a [User<'a>]) -> Result<Compiled<'a>, Diagnostics> {
        let mut faults = Diagnostics::default();
        let mut compiled = Vec::new();
        for user in users {
            let launch = Launch::check(machine, user);
            match launch.and_then(|launch| Ok((compile(machine, &launch)?, launch))) {
                Ok(pair) => compiled.push(pair),
                Err(found) => faults.0.extend(found.0),
            }
        }
        faults.finish()?;
        let (programs, launches) = compiled.into_iter().unzip();
        Ok(Compiled { machine, launches, programs, watch: None })
    }
    /// The same, with runs that tell how far they have come.
    pub fn watched(self, watch: Option<&'a Watch>) -> Compiled<'a> {
        Compiled { watch, ..self }
    }
    pub fn machine(&self) -> &'a Machine {
        self.machine
    }
    /// Every event of every server, with the event set `Q`.
    ///
    /// # Errors
    /// What went wrong in the run.
    pub fn time<Q: EventSet>(&self, limits: Limits) -> Result<Timing, Diagnostics> {
        Ok(self.ran::<Q>(limits, Sharing::Shared)?.finish().0)
    }
    /// The same without contention, and what the programs asked of the hardware meanwhile.
    ///
    /// # Errors
    /// What went wrong in the run.
    pub fn time_uncontended<Q: EventSet>(&self, limits: Limits) -> Result<(Timing, Demand), Diagnostics> {
        let sim = self.ran::<Q>(limits, Sharing::Private)?;
        Ok(sim.finish())
    }
    fn ran<Q: EventSet>(&self, limits: Limits, sharing: Sharing) -> Result<Sim<'_, Q>, Diagnostics> {
        let mut sim = Sim::<Q>::new(self.machine, &self.launches, &self.programs, limits, sharing)?;
        sim.run(self.watch)?;
        Ok(sim)
    }
}

struct Sim<'a, Q> {
    machine: &'a Machine,
    launches: &'a [Launch<'a>],
    programs: &'a [Program],
    /// By `PeIx`: the PEs of the cubes that launches run on.
    cpus: Vec<Cpu>,
    hw: Hardware<'a, Q>,
    limits: Limits,
}

impl<'a, Q: EventSet> Sim<'a, Q> {
    fn new(
        machine: &'a Machine,
        launches: &'a [Launch<'a>],
        programs: &'a [Program],
        limits: Limits,
        sharing: Sharing,
    ) -> Result<Sim<'a, Q>, Diagnostics> {
        let cx = Cx { clock: Clock::default(), record: Recorder::new(launches.len()) };
        let mut hw = Hardware::new(machine, cx, launches.len(), sharing);
        hw.issued = programs.iter().map(|p| vec![0; p.commands.len()]).collect();
        let mut sim = Sim { machine, launches, programs, cpus: Vec::new(), hw, limits };
        for number in 0..launches.len() {
            sim.seat(number)?;
        }
        Ok(sim)
    }
    /// Gives a launch its cubes, and starts its PEs: in id order, cube by cube.
    fn seat(&mut self, number: usize) -> Result<(), Diagnostics> {
        let launch = &self.launches[number];
        let pes = self.machine.pes_per_cube();
        for cube in 0..launch.cubes() {
            let (sip, place) = launch.place_of(cube);
            if self.hw.in_use(sip, place) {
                return Err(Fault::SharedCube { cube: place }.diagnostic(launch.scene()).into());
            }
            let first = self.hw.use_cube(sip, place) as usize * pes;
            for pe in 0..pes {
                let seat = Seat {
                    ix: PeIx((first + pe) as u32),
                    launch: number as u32,
                    cube: cube as u32,
                    pe: pe as u32,
                    program: cube * launch.grid.pes + pe,
                };
                let program = (pe < launch.grid.pes).then(|| &self.programs[number]);
                self.hw.cx.record.add_pe(number as u32);
                self.hw.seats.push(seat.program);
                self.cpus.push(Cpu::new(seat, program, self.machine.scratch.capacity));
                if program.is_some() {
                    self.hw.cx.clock.after(launch.start, Kind::Cpu, seat.ix.0);
                }
            }
        }
        Ok(())
    }

    fn run(&mut self, watch: Option<&Watch>) -> Result<(), Diagnostics> {
        while let Some(event) = self.hw.cx.clock.advance() {
            if event.time > self.limits.time {
                return Err(self.over(|op, limits| Fault::TimeLimit { limit: limits.time, op }));
            }
            let events = self.hw.cx.clock.events();
            if events.is_multiple_of(EVERY)
                && let Some(watch) = watch
            {
                watch.update(events, self.seated().filter(|cpu| cpu.has_ended()).count());
            }
            if self.hw.steps() > self.limits.steps {
                return Err(self.over(|op, limits| Fault::StepLimit { limit: limits.steps, op }));
            }
            match self.hw.fabric.handle(&mut self.hw.cx, event) {
                Some(Notice::Cpu(pe)) => self.step(pe)?,
                Some(notice) => self.notice(notice),
                None => {}
            }
        }
        self.check_end()
    }
    fn step(&mut self, pe: PeIx) -> Result<(), Diagnostics> {
        let Some(cpu) = self.cpus.get_mut(pe.index()) else { return Ok(()) };
        let launch = cpu.seat.launch as usize;
        let shared = Shared {
            launch: &self.launches[launch],
            program: &self.programs[launch],
            engine_overhead: self.machine.cpu.engine_overhead,
            limits: self.limits,
        };
        let stopped = |stop: Stop| Diagnostics::from(stop.diagnostic(self.launches[launch].scene()));
        cpu.step(shared, &mut self.hw).map_err(stopped)
    }
    fn notice(&mut self, notice: Notice) {
        let (pe, wakes) = match notice {
            Notice::Cpu(_) => return,
            Notice::Read { pe, tag } => (pe, self.cpus[pe.index()].read_arrived(TileIx(tag))),
            Notice::Written { pe, tag } => (pe, self.cpus[pe.index()].written(TileIx(tag))),
            Notice::Sent { pe, tag } => (pe, self.cpus[pe.index()].sent(TileIx(tag))),
            Notice::PrologueDone { pe } => {
                let cpu = &mut self.cpus[pe.index()];
                (pe, cpu.prologue_done(&self.programs[cpu.seat.launch as usize]))
            }
            Notice::CompositeDone { pe } => (pe, self.cpus[pe.index()].composite_done()),
        };
        if wakes {
            // Woken once, whatever else happens before its turn.
            self.cpus[pe.index()].wait = Wait::Time;
            self.hw.cx.clock.after(Ps::ZERO, Kind::Cpu, pe.0);
        }
        if let Notice::CompositeDone { pe } = notice {
            self.hw.fabric.next_composite(&mut self.hw.cx, pe);
        }
    }

    /// A limit is exceeded: the fault, at the first PE that has not ended.
    fn over(&self, fault: impl Fn(Option<OpId>, Limits) -> Fault) -> Diagnostics {
        let open = self.cpus.iter().find(|c| c.wait != Wait::Ended);
        let launch = open.map_or(0, |c| c.seat.launch as usize);
        let op = open.and_then(|c| c.op(&self.programs[launch]));
        fault(op, self.limits).diagnostic(self.launches[launch].scene()).into()
    }
    /// No event is left: all PEs must have ended, all queues be empty, and nothing be recorded.
    fn check_end(&self) -> Result<(), Diagnostics> {
        let mut faults = Diagnostics::default();
        for (launch, record) in self.hw.records.iter() {
            faults.push(record_fault(self.launches[launch].scene(), record));
        }
        for (number, launch) in self.launches.iter().enumerate() {
            let stuck = self.waiting(number);
            let found = if stuck.is_empty() {
                stall::leftovers(launch.scene(), &self.left_over(number))
            } else {
                stall::report(launch.scene(), &stuck)
            };
            faults.0.extend(found.0);
        }
        faults.finish()
    }
    /// PEs with a program.
    fn seated(&self) -> impl Iterator<Item = &Cpu> {
        self.cpus.iter().filter(|cpu| has_program(self.launches, cpu))
    }
    /// The programs of a launch that wait, and for what.
    fn waiting(&self, launch: usize) -> Vec<Waiting> {
        let cpus = self.cpus.iter().filter(|c| c.seat.launch as usize == launch && c.wait != Wait::Ended);
        cpus.filter_map(|cpu| {
            let op = cpu.op(&self.programs[launch])?;
            let on = self.waits_for(cpu, op)?;
            Some(Waiting { program: cpu.seat.program, op, on })
        })
        .collect()
    }
    /// What a program waits for that may never come: loads, stores, engines and scratch always do.
    fn waits_for(&self, cpu: &Cpu, op: OpId) -> Option<WaitsFor> {
        let (launch, channels) = (cpu.seat.launch as usize, self.hw.fabric.channels());
        let sent_or_taken = |command: u32| self.programs[launch].commands[command as usize].op;
        match cpu.wait {
            Wait::Message => {
                let at = channels.iter().position(|c| c.receiver_waits() && c.ends().1 == cpu.seat.ix)?;
                let (port, from) = (self.hw.ports_of(at).1, self.hw.program_of(channels[at].ends().0));
                let history = channels[at].history();
                let last_send = history.last.map(|(send, _)| sent_or_taken(send));
                Some(WaitsFor::Message { port, from, received: history.received, last_send })
            }
            Wait::Slot => {
                let at = channels.iter().position(|c| c.sender_waits() && c.ends().0 == cpu.seat.ix)?;
                let (port, to) = (self.hw.ports_of(at).0, self.hw.program_of(channels[at].ends().1));
                let (history, queued) = (channels[at].history(), channels[at].left_over().count() as u64);
                let last_recv = history.last.map(|(_, recv)| sent_or_taken(recv));
                Some(WaitsFor::Space { port, to, queued, received: history.received, last_recv })
            }
            Wait::Barrier => {
                let Op::Barrier(o) = &self.launches[launch].module.op(op).op else { return None };
                Some(WaitsFor::Barrier { scope: o.scope })
            }
            Wait::Time | Wait::Tile(_) | Wait::Space | Wait::Stores | Wait::Ended => None,
        }
    }
    /// The queues of a launch in which messages are left.
    fn left_over(&self, launch: usize) -> Vec<Leftover> {
        let op = |command: u32| self.programs[launch].commands[command as usize].op;
        let channels = self.hw.fabric.channels().iter();
        let own = channels.filter(|c| self.cpus[c.ends().0.index()].seat.launch as usize == launch);
        own.filter_map(|c| {
            let first = c.left_over().next()?;
            Some(Leftover {
                from: self.hw.program_of(c.ends().0),
                to: self.hw.program_of(c.ends().1),
                count: c.left_over().count() as u64,
                send: op(first.command),
                last_recv: c.history().last.map(|(_, recv)| op(recv)),
            })
        })
        .collect()
    }

    fn finish(self) -> (Timing, Demand) {
        let demand = self.demand();
        let mut fields = self.hw.fields;
        self.programs.iter().for_each(|p| fields.extend(p.fields.iter()));
        let (commands, composite_math_ops) = self.counts();
        let Cx { clock, record } = self.hw.cx;
        let wall = |extent: Option<Extent>| extent.map_or(Ps::ZERO, Extent::wall);
        let users = (0..self.launches.len()).map(|u| wall(record.user_extent(u))).collect();
        let n_pe = (0..self.cpus.len()).filter(|pe| record.logged(*pe)).count() as u64;
        let (all, sums) = (wall(record.extent()), record.sums);
        let stalls = record.stalls(clock.now());
        let port_busy = self.hw.fabric.port_busy();
        let pes = self.cpus.iter().zip(stalls).filter(|(cpu, _)| has_program(self.launches, cpu));
        let pes = pes.map(|(cpu, stalls)| PeTiming {
            user: cpu.seat.launch as usize,
            cube: cpu.seat.cube,
            pe: cpu.seat.pe,
            commands: cpu.commands,
            cycles: cpu.cycles,
            stalls,
            port_busy: port_busy[cpu.seat.ix.index()],
            scratch_peak: Bytes(cpu.scratch.peak()),
        });
        let timing = Timing {
            wall: all,
            users,
            n_pe,
            sums,
            commands,
            composite_math_ops,
            pes: pes.collect(),
            fields,
            events: clock.events(),
            event_hash: clock.hash(),
        };
        (timing, demand)
    }
    /// What went over each lane.
    fn demand(&self) -> Demand {
        let (cubes, pes) = (self.hw.cubes_in_use(), self.machine.pes_per_cube());
        let place = |pe: PeIx| Place { cube: cubes[pe.index() / pes], pe: pe.index() % pes };
        let traffic = self.hw.fabric.lanes().iter().map(|lane| Traffic {
            home: place(lane.home),
            user: place(lane.user),
            usage: lane.usage,
            link: lane.link,
            bytes: lane.bytes,
        });
        Demand { traffic: traffic.collect(), pes: self.seated().map(|cpu| (place(cpu.seat.ix), cpu.tally)).collect() }
    }
    fn counts(&self) -> (BTreeMap<&'static str, u64>, u64) {
        let (mut commands, mut math_ops) = (BTreeMap::new(), 0);
        for (program, issued) in self.programs.iter().zip(&self.hw.issued) {
            for (command, times) in program.commands.iter().zip(issued).filter(|(_, n)| **n > 0) {
                *commands.entry(command.mnemonic).or_default() += times;
                math_ops += times * program.math_ops(command);
            }
        }
        (commands, math_ops)
    }
}

/// Whether a PE of the cubes in use has a program to run.
fn has_program(launches: &[Launch<'_>], cpu: &Cpu) -> bool {
    (cpu.seat.pe as usize) < launches[cpu.seat.launch as usize].grid.pes
}
