//! All programs of a launch, walked with queues of a depth until none can go on: a run of messages without their values.
//! A queue holds runs of like messages, so that it stays small when it is not bounded.

use super::errors;
use super::slice::Slice;
use super::walker::{At, Ground, Walker};
use super::{Limits, Remark, Shape};
use crate::diag::Diagnostics;
use crate::interp::stall::{self, Leftover, Waiting, WaitsFor};
use crate::interp::{Barriers, Halt};
use crate::ir::ops::Port;
use crate::ir::{Module, Op, OpId, Type};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The depth of every queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Depths {
    pub all: u64,
    /// Other depths for the queues of these ports, as the sender names them.
    pub by_port: Vec<(Port, u64)>,
}

impl Depths {
    pub(super) const UNBOUNDED: Depths = Depths { all: u64::MAX, by_port: Vec::new() };
    pub(super) fn uniform(depth: u32) -> Depths {
        Depths { all: u64::from(depth), by_port: Vec::new() }
    }
    fn of(&self, port: Port) -> u64 {
        self.by_port.iter().find(|(p, _)| *p == port).map_or(self.all, |(_, depth)| *depth)
    }
}

/// Consecutive messages of one send.
#[derive(Debug)]
struct Messages {
    send: OpId,
    ty: Type,
    count: u64,
}

#[derive(Debug)]
pub(super) struct Channel {
    pub from: usize,
    /// As the sender names it.
    pub port: Port,
    queued: VecDeque<Messages>,
    len: u64,
    /// The most messages it held.
    pub peak: u64,
    received: u64,
    last_send: Option<OpId>,
    last_recv: Option<OpId>,
    sender_waits: bool,
    receiver_waits: bool,
}

/// Who receives, and through which port.
type End = (usize, Port);

enum Done {
    Yes,
    Waits,
    Halted(Halt),
}

pub(super) struct AbstractRun<'a> {
    ground: Ground<'a>,
    depths: Depths,
    /// Steps that are left.
    left: u64,
    max_steps: u64,
    pub channels: FxHashMap<End, Channel>,
    barriers: Barriers,
    ready: VecDeque<usize>,
    started: usize,
    /// By program, those that wait.
    walkers: FxHashMap<usize, Walker>,
    /// Programs whose walk ended before the program, and where.
    stopped: Vec<(usize, At)>,
}

/// What an abstract run comes to.
pub(super) struct Outcome<'a> {
    pub channels: FxHashMap<End, Channel>,
    pub steps: u64,
    module: &'a Module,
    waiting: Vec<Waiting>,
    /// Ascending.
    stopped: Vec<(usize, At)>,
    max_steps: u64,
}

impl<'a> AbstractRun<'a> {
    /// `shape.grid` has at least one program.
    pub(super) fn new(shape: &'a Shape<'a>, slice: &'a Slice, depths: Depths, limits: &Limits) -> AbstractRun<'a> {
        AbstractRun {
            ground: Ground::new(shape, slice),
            depths,
            left: limits.max_steps,
            max_steps: limits.max_steps,
            channels: FxHashMap::default(),
            barriers: Barriers::default(),
            ready: VecDeque::new(),
            started: 0,
            walkers: FxHashMap::default(),
            stopped: Vec::new(),
        }
    }
    /// Walks every program as far as it goes.
    pub(super) fn run(mut self) -> Outcome<'a> {
        let programs = self.ground.shape.grid.num_programs().unwrap_or(0);
        loop {
            let walker = match self.ready.pop_front() {
                Some(program) => self.walkers.remove(&program),
                None if self.started < programs => {
                    self.started += 1;
                    Some(Walker::new(self.started - 1, &self.ground))
                }
                None => break,
            };
            let Some(walker) = walker else { continue };
            if !self.walk(walker) {
                break;
            }
        }
        self.outcome()
    }
    /// Walks one program until it waits or stops. False: the steps are used up.
    fn walk(&mut self, mut walker: Walker) -> bool {
        let program = walker.program;
        loop {
            let stop = match walker.go(&self.ground, &mut self.left) {
                At::Talks(op) => match self.talk(program, op) {
                    Done::Yes if self.left > 0 => {
                        self.left -= 1;
                        walker.pass();
                        continue;
                    }
                    Done::Yes => At::Limit(op),
                    Done::Waits => {
                        self.walkers.insert(program, walker);
                        return true;
                    }
                    Done::Halted(halt) => At::Halted(op, halt),
                },
                At::Ended => return true,
                stop => stop,
            };
            let goes_on = !matches!(stop, At::Limit(_));
            self.stopped.push((program, stop));
            return goes_on;
        }
    }
    fn talk(&mut self, program: usize, id: OpId) -> Done {
        let (shape, m) = (self.ground.shape, self.ground.module());
        match &m.op(id).op {
            Op::Send(o) => match shape.mesh.link(shape.grid, program, o.port) {
                Ok(to) => self.send((program, o.port), to, id, m.ty(o.value)),
                Err(link) => Done::Halted(Halt::Link(link)),
            },
            Op::Recv(o) => match shape.mesh.link(shape.grid, program, o.port) {
                Ok(from) => self.recv(from, (program, o.port), id, o.to.0),
                Err(link) => Done::Halted(Halt::Link(link)),
            },
            Op::Barrier(o) => {
                let Some(all) = self.barriers.arrive(shape.grid, o.scope, program) else { return Done::Waits };
                for other in all.into_iter().filter(|p| *p != program) {
                    // It goes on behind the barrier.
                    if let Some(walker) = self.walkers.get_mut(&other) {
                        walker.pass();
                    }
                    self.ready.push_back(other);
                }
                Done::Yes
            }
            _ => Done::Halted(Halt::Invalid),
        }
    }
    /// `from` and its port; the receiver and its port.
    fn channel(&mut self, from: End, to: End) -> &mut Channel {
        self.channels.entry(to).or_insert_with(|| Channel {
            from: from.0,
            port: from.1,
            queued: VecDeque::new(),
            len: 0,
            peak: 0,
            received: 0,
            last_send: None,
            last_recv: None,
            sender_waits: false,
            receiver_waits: false,
        })
    }
    fn send(&mut self, from: End, to: End, send: OpId, ty: Type) -> Done {
        let depth = self.depths.of(from.1);
        let q = self.channel(from, to);
        q.sender_waits = q.len >= depth;
        if q.sender_waits {
            return Done::Waits;
        }
        (q.len, q.last_send) = (q.len + 1, Some(send));
        q.peak = q.peak.max(q.len);
        match q.queued.back_mut() {
            Some(last) if last.send == send => last.count += 1,
            Some(_) | None => q.queued.push_back(Messages { send, ty, count: 1 }),
        }
        if std::mem::take(&mut q.receiver_waits) {
            self.ready.push_back(to.0);
        }
        Done::Yes
    }
    fn recv(&mut self, from: End, to: End, recv: OpId, ty: Type) -> Done {
        let q = self.channel(from, to);
        let Some(next) = q.queued.front_mut() else {
            q.receiver_waits = true;
            return Done::Waits;
        };
        if next.ty != ty {
            return Done::Halted(Halt::MessageType { sent: next.ty, send: next.send, from: from.0 });
        }
        next.count -= 1;
        if next.count == 0 {
            q.queued.pop_front();
        }
        (q.len, q.received, q.last_recv) = (q.len - 1, q.received + 1, Some(recv));
        if std::mem::take(&mut q.sender_waits) {
            self.ready.push_back(from.0);
        }
        Done::Yes
    }

    fn outcome(mut self) -> Outcome<'a> {
        self.stopped.sort_by_key(|(program, _)| *program);
        let mut waiting: Vec<Waiting> = self.walkers.values().filter_map(|w| self.waits(w)).collect();
        waiting.sort_by_key(|w| w.program);
        Outcome {
            steps: self.max_steps - self.left,
            module: self.ground.module(),
            max_steps: self.max_steps,
            channels: self.channels,
            stopped: self.stopped,
            waiting,
        }
    }
    /// What a program waits for, which is at a message or barrier.
    fn waits(&self, walker: &Walker) -> Option<Waiting> {
        let (shape, program) = (self.ground.shape, walker.program);
        let op = walker.at(&self.ground)?;
        let link = |port| shape.mesh.link(shape.grid, program, port).ok();
        let on = match &shape.module.op(op).op {
            Op::Send(o) => {
                let to = link(o.port)?;
                let q = self.channels.get(&to)?;
                WaitsFor::Space { port: o.port, to: to.0, queued: q.len, received: q.received, last_recv: q.last_recv }
            }
            Op::Recv(o) => {
                let q = self.channels.get(&(program, o.port))?;
                WaitsFor::Message { port: o.port, from: q.from, received: q.received, last_send: q.last_send }
            }
            Op::Barrier(o) => WaitsFor::Barrier { scope: o.scope },
            _ => return None,
        };
        Some(Waiting { program, op, on })
    }
}

impl Outcome<'_> {
    /// Whether every program came to its end.
    pub(super) fn completes(&self) -> bool {
        self.waiting.is_empty() && self.stopped.is_empty()
    }
    /// The messages and barriers that can never be, whatever the programs do that were not walked to their end.
    pub(super) fn errors(&self, shape: &Shape<'_>) -> Diagnostics {
        let mut out = Diagnostics::default();
        // Cut short: the others were not walked either.
        if self.stopped.iter().any(|(_, at)| matches!(at, At::Limit(_))) {
            return out;
        }
        for (op, halt, programs) in self.halts() {
            out.push(errors::halted(shape.scene(), op, &halt, &programs, self.sent_later(op, &programs)));
        }
        let open: Vec<usize> = self.stopped.iter().map(|(program, _)| *program).collect();
        out.0.extend(stall::report_apart_from(shape.scene(), &self.waiting, &open).0);
        out.0.extend(stall::leftovers(shape.scene(), &self.leftovers(&open)).0);
        out
    }
    pub(super) fn remarks(&self, shape: &Shape<'_>) -> Vec<Remark> {
        let mut by_op: Vec<(OpId, Vec<usize>)> = Vec::new();
        for (program, at) in &self.stopped {
            match at {
                At::Limit(op) => return vec![errors::limit(shape.scene(), *op, self.max_steps)],
                At::Data(op) => match by_op.iter_mut().find(|(o, _)| o == op) {
                    Some((_, programs)) => programs.push(*program),
                    None => by_op.push((*op, vec![*program])),
                },
                At::Talks(_) | At::Ended | At::Halted(..) => {}
            }
        }
        by_op.iter().map(|(op, programs)| errors::data(shape.scene(), *op, programs)).collect()
    }
    /// The waits that a deeper queue may end.
    pub(super) fn waits_for_space(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter().filter(|w| matches!(w.on, WaitsFor::Space { .. }))
    }

    /// Faults that stopped programs, alike together, in the order of their ops.
    fn halts(&self) -> Vec<(OpId, Halt, Vec<usize>)> {
        let mut halts: Vec<(OpId, Halt, Vec<usize>)> = Vec::new();
        for (program, at) in &self.stopped {
            let At::Halted(op, halt) = at else { continue };
            match halts.iter_mut().find(|(o, h, _)| o == op && h.is_like(halt)) {
                Some((.., programs)) => programs.push(*program),
                None => halts.push((*op, halt.clone(), vec![*program])),
            }
        }
        halts.sort_by_key(|(op, ..)| *op);
        halts
    }
    /// Where the message that the first of `programs` expects is sent, if it is in the queue behind others.
    fn sent_later(&self, recv: OpId, programs: &[usize]) -> Option<(OpId, usize)> {
        let Op::Recv(o) = &self.module.op(recv).op else { return None };
        let q = self.channels.get(&(*programs.first()?, o.port))?;
        q.queued.iter().skip(1).find(|m| m.ty == o.to.0).map(|m| (m.send, q.from))
    }
    /// Messages to programs that have ended.
    fn leftovers(&self, open: &[usize]) -> Vec<Leftover> {
        let waits = |p: usize| self.waiting.binary_search_by_key(&p, |w| w.program).is_ok();
        let ended = |p: usize| open.binary_search(&p).is_err() && !waits(p);
        let mut left: Vec<(&End, &Channel)> = self.channels.iter().filter(|(to, q)| q.len > 0 && ended(to.0)).collect();
        left.sort_by_key(|(to, _)| **to);
        let leftover = |(to, q): (&End, &Channel)| {
            let send = q.queued.front()?.send;
            Some(Leftover { from: q.from, to: to.0, count: q.len, send, last_recv: q.last_recv })
        };
        left.into_iter().filter_map(leftover).collect()
    }
}
