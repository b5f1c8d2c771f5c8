//! What programs share, and who runs next. A program runs until it waits or ends; one that may go on is queued. Which
//! program runs first never shows in values: queues have one sender and one receiver, and atomics whose order shows are
//! applied in the order of program ids.

use super::Options;
use super::errors;
use super::memory::{Atomic, View, Window};
use super::mesh::Mesh;
use super::order::{Schedule, Turn};
use super::pe::{Halt, Pe, Stop, Value, Wait};
use super::plan::{ControlTrace, Plan};
use super::print::{self, Printed};
use super::queues::{Barriers, Queues};
use super::race::{Kind, Races};
use super::record::Records;
use super::stall::{self, Leftover, Scene, Waiting, WaitsFor};
use crate::data::Data;
use crate::diag::Diagnostics;
use crate::ir::ops::Scope;
use crate::ir::{Module, OpId};
use crate::launch::Grid;
use crate::unwritten::Unwritten;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A limit of the run that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Steps(u64),
    Time(Duration),
}

/// An atomic that waits for its turn.
#[derive(Debug)]
pub(super) struct LoggedAtomic {
    pub view: usize,
    pub f: Atomic,
    pub window: Window,
    pub tile: Arc<Data>,
}

/// All programs of a launch, and what they share.
pub(super) struct Machine<'m, 'a> {
    pub m: &'m Module,
    pub plan: Plan,
    pub grid: Grid,
    pub mesh: Mesh,
    pub queues: Queues,
    pub records: Records,
    pub steps: u64,
    pub schedule: Schedule,
    /// If races are checked.
    pub races: Option<Box<Races>>,
    /// By parameter; `None` for scalars.
    views: Vec<Option<View<'a>>>,
    max_steps: u64,
    deadline: Option<(Instant, Duration)>,
    barriers: Barriers,
    prints: Vec<(usize, OpId, String)>,
    /// By program: whether it has ended.
    ended: Vec<bool>,
    /// The first program that has not ended; its atomics need not wait.
    first_open: usize,
    logged: BTreeMap<usize, Vec<LoggedAtomic>>,
    /// Programs that had to stop, by op and reason (that of the first of them).
    halts: Vec<(OpId, Halt, Vec<usize>)>,
    trace: ControlTrace,
}

/// What a run leaves behind.
pub(super) struct Finished {
    pub prints: Vec<Printed>,
    pub steps: u64,
    pub control: ControlTrace,
    pub errors: Diagnostics,
    /// By parameter: what nobody has written; empty if nobody looked.
    pub unwritten: Vec<Unwritten>,
}

impl<'m, 'a> Machine<'m, 'a> {
    /// `grid` has at least one program, as many as `usize` holds.
    pub(super) fn new(
        m: &'m Module,
        (grid, depth): (Grid, u32),
        views: Vec<Option<View<'a>>>,
        races: Option<Races>,
        options: &Options,
    ) -> Self {
        let plan = Plan::of(m);
        let programs = grid.num_programs().unwrap_or(0);
        let trace = ControlTrace { sources: plan.sources.clone(), ..ControlTrace::default() };
        Machine {
            m,
            plan,
            grid,
            mesh: options.mesh,
            queues: Queues::new(depth),
            records: Records::default(),
            steps: 0,
            schedule: Schedule::new(options.order, programs),
            races: races.map(Box::new),
            views,
            max_steps: options.max_steps,
            deadline: options.max_time.map(|t| (Instant::now(), t)),
            barriers: Barriers::default(),
            prints: Vec::new(),
            ended: vec![false; programs],
            first_open: 0,
            logged: BTreeMap::new(),
            halts: Vec::new(),
            trace,
        }
    }
    /// Runs all programs, which start with these registers.
    pub(super) fn run(mut self, registers: &[Value]) -> Finished {
        let mut waiting: Vec<Option<Box<Pe>>> = Vec::new();
        waiting.resize_with(self.ended.len(), || None);
        let mut cut_short = Diagnostics::default();
        while let Some(turn) = self.schedule.next() {
            let pe = match turn {
                Turn::Start(id) => Some(Box::new(Pe::new(id, self.m, registers.to_vec()))),
                Turn::Resume(id) => waiting[id].take(),
            };
            let Some(mut pe) = pe else { continue };
            let id = pe.id;
            match pe.run(&mut self) {
                Stop::Ended => self.end(*pe),
                Stop::Waits(op, on) => {
                    pe.wait = Some((op, on));
                    waiting[id] = Some(pe);
                }
                Stop::GivesWay => {
                    self.schedule.give_way(id);
                    waiting[id] = Some(pe);
                }
                Stop::Halted(op, halt) => {
                    self.halt(op, halt, id);
                    self.end(*pe);
                }
                Stop::Limit(op, limit) => {
                    cut_short.push(errors::limit(self.scene(), (op, &pe.loops()), id, limit));
                    break;
                }
            }
        }
        let errors = if cut_short.is_empty() {
            self.errors(&waiting)
        } else {
            // What went wrong before may be why there is no end.
            cut_short.0.extend(self.recorded().0);
            cut_short
        };
        self.finish(errors)
    }
    fn scene(&self) -> Scene<'m> {
        Scene { module: self.m, grid: self.grid }
    }
    /// Counts an op; tells if a limit is reached.
    pub(super) fn tick(&mut self) -> Option<Limit> {
        if self.steps >= self.max_steps {
            return Some(Limit::Steps(self.max_steps));
        }
        self.steps += 1;
        // A look at the clock costs more than a scalar op.
        match self.deadline {
            Some((start, limit)) if self.steps.is_multiple_of(64) && start.elapsed() > limit => {
                Some(Limit::Time(limit))
            }
            _ => None,
        }
    }
    pub(super) fn view(&self, param: usize) -> Option<&View<'a>> {
        self.views.get(param)?.as_ref()
    }
    pub(super) fn view_mut(&mut self, param: usize) -> Option<&mut View<'a>> {
        self.views.get_mut(param)?.as_mut()
    }
    pub(super) fn wake(&mut self, program: usize) {
        self.schedule.wake(program);
    }
    /// Keeps a printed line; of one program only so many, so that a loop cannot fill the memory.
    pub(super) fn print(&mut self, (program, op): (usize, OpId), printed: u64, format: &str, values: &[String]) {
        let text = match printed.cmp(&print::MAX_LINES) {
            Ordering::Less => print::line(format, values),
            Ordering::Equal => print::MORE.into(),
            Ordering::Greater => return,
        };
        self.prints.push((program, op, text));
    }

    /// Applies an atomic, or keeps it until it is its program's turn.
    pub(super) fn atomic(&mut self, program: usize, a: LoggedAtomic) -> Result<(), Halt> {
        let waits = program != self.first_open && self.plan.ordered.get(a.view) == Some(&true);
        if !waits {
            return self.apply(&a);
        }
        let missing = self.view(a.view).is_none_or(|v| v.data().is_none());
        if missing {
            return Err(Halt::NeedsData(a.view));
        }
        self.logged.entry(program).or_default().push(a);
        Ok(())
    }
    fn apply(&mut self, a: &LoggedAtomic) -> Result<(), Halt> {
        let done = self.view_mut(a.view).and_then(|v| v.atomic(a.f, &a.window, &a.tile));
        done.ok_or(Halt::NeedsData(a.view))
    }
    /// Applies what a program's atomics have left for later.
    pub(super) fn apply_logged(&mut self, program: usize) {
        for a in self.logged.remove(&program).unwrap_or_default() {
            // It has data, or it would not have been logged.
            let _ = self.apply(&a);
        }
    }
    /// A program accesses memory, for the check of races.
    pub(super) fn watch(&mut self, (program, op): (usize, OpId), kind: Kind, param: usize, window: &Window) {
        if let Some(races) = &mut self.races
            && let Some(Some(view)) = self.views.get(param)
        {
            races.access((program, op), kind, (param, view), window);
        }
    }
    /// The program reaches a barrier. True if it was the last of the scope and may go on at once.
    pub(super) fn arrive(&mut self, op: OpId, scope: Scope, program: usize) -> bool {
        if let Some(races) = &mut self.races {
            races.reached(program, op, scope);
        }
        let Some(all) = self.barriers.arrive(self.grid, scope, program) else { return false };
        if let Some(races) = &mut self.races {
            races.passed(program, scope);
        }
        for p in all {
            self.apply_logged(p);
            if p != program {
                self.wake(p);
            }
        }
        true
    }
    fn end(&mut self, pe: Pe) {
        if !pe.trace.is_empty() {
            self.trace.values.insert(pe.id, pe.trace);
        }
        self.ended[pe.id] = true;
        while self.ended.get(self.first_open) == Some(&true) {
            self.apply_logged(self.first_open);
            self.first_open += 1;
        }
        self.apply_logged(self.first_open);
    }
    fn halt(&mut self, op: OpId, halt: Halt, program: usize) {
        match self.halts.iter_mut().find(|(o, h, _)| *o == op && h.is_like(&halt)) {
            Some((_, known, programs)) => {
                programs.push(program);
                let last = programs.len() - 1;
                if program < programs[0] {
                    *known = halt;
                    programs.swap(0, last);
                }
            }
            None => self.halts.push((op, halt, vec![program])),
        }
    }

    /// What went wrong, after no program can run. Who waits for a program that had to stop is not told.
    fn errors(&mut self, waiting: &[Option<Box<Pe>>]) -> Diagnostics {
        let scene = self.scene();
        let mut out = Diagnostics::default();
        self.halts.iter_mut().for_each(|(.., programs)| programs.sort_unstable());
        self.halts.sort_by_key(|(op, _, programs)| (*op, programs.first().copied()));
        for (op, halt, programs) in &self.halts {
            out.push(errors::halted(scene, *op, halt, programs));
        }
        let mut stopped: Vec<usize> = self.halts.iter().flat_map(|(.., programs)| programs.iter().copied()).collect();
        stopped.sort_unstable();
        let waits: Vec<Waiting> = waiting.iter().flatten().filter_map(|pe| self.waits(pe)).collect();
        out.0.extend(stall::report_apart_from(scene, &waits, &stopped).0);
        if waits.is_empty() && stopped.is_empty() {
            out.0.extend(stall::leftovers(scene, &self.leftovers()).0);
        }
        out.0.extend(self.recorded().0);
        out
    }
    /// Faults that did not stop a program.
    fn recorded(&mut self) -> Diagnostics {
        let scene = self.scene();
        let records = std::mem::take(&mut self.records).into_sorted();
        let mut out = Diagnostics(records.iter().map(|r| errors::record(scene, r)).collect());
        if let Some(races) = &self.races {
            out.0.extend(races.report(scene).0);
        }
        out
    }
    fn waits(&self, pe: &Pe) -> Option<Waiting> {
        let (op, wait) = pe.wait?;
        let link = |port| self.mesh.link(self.grid, pe.id, port).ok();
        let on = match wait {
            Wait::Message(port) => {
                let q = self.queues.get((pe.id, port))?;
                WaitsFor::Message { port, from: link(port)?.0, received: q.received, last_send: q.last_send }
            }
            Wait::Space(port) => {
                let to = link(port)?;
                let q = self.queues.get(to)?;
                let queued = q.messages.len() as u64;
                WaitsFor::Space { port, to: to.0, queued, received: q.received, last_recv: q.last_recv }
            }
            Wait::Barrier(scope) => WaitsFor::Barrier { scope },
        };
        Some(Waiting { program: pe.id, op, on })
    }
    fn leftovers(&self) -> Vec<Leftover> {
        let left = self.queues.leftovers().into_iter().filter_map(|(to, q)| {
            let send = q.messages.front()?.send;
            Some(Leftover { from: q.from, to, count: q.messages.len() as u64, send, last_recv: q.last_recv })
        });
        left.collect()
    }
    fn finish(mut self, errors: Diagnostics) -> Finished {
        // Stable: the lines of one program stay in order.
        self.prints.sort_by_key(|(program, ..)| *program);
        let scene = self.scene();
        let place = |op| self.m.locs.chain(self.m.op(op).loc).into_iter().next();
        let line = |(program, op, text)| Printed { program, who: scene.name(program), place: place(op), text };
        let prints = self.prints.into_iter().map(line).collect();
        let unwritten = self.races.map(|races| races.into_unwritten()).unwrap_or_default();
        Finished { prints, steps: self.steps, control: self.trace, errors, unwritten }
    }
}
