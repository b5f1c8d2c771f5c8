//! One program: registers, a stack of regions, and a step for each op. Structured control flow needs no host recursion:
//! entering a region pushes a frame, its end decides what comes next. Not here: values of pure ops (`pure`), what
//! programs share (`machine`).

use super::machine::{Limit, Machine};
use super::memory::Atomic;
use super::mesh::NoLink;
use super::print;
use super::record::RecordKind;
use crate::data::Data;
use crate::ir::ops::{self, Port, Scope};
use crate::ir::{Literal, Module, Op, OpId, RegionId, Type, ValueId};
use std::sync::Arc;

/// What a register holds.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Not computed, or dead.
    Unset,
    Scalar(Literal),
    Tile(Arc<Data>),
    /// A view: the parameter of that position.
    View(usize),
}

/// Why a program cannot go on. What it would have done next would mislead, so it ends here; others go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    Link(NoLink),
    /// The message that is next in the queue has another type.
    MessageType {
        sent: Type,
        send: OpId,
        from: usize,
    },
    LoopStep(i128),
    /// The range of a `map_reduce` is empty.
    NoTurn,
    /// The elements of this parameter are needed.
    NeedsData(usize),
    /// The module breaks a rule that the verifier checks.
    Invalid,
}

impl Halt {
    /// The same fault, whichever program met it.
    pub(crate) fn is_like(&self, other: &Halt) -> bool {
        match (self, other) {
            (Halt::MessageType { sent: a, send: s, .. }, Halt::MessageType { sent: b, send: t, .. }) => {
                (a, s) == (b, t)
            }
            _ => self == other,
        }
    }
}

/// What a program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A message in the queue of this port.
    Message(Port),
    /// Space in the queue that this port leads to.
    Space(Port),
    Barrier(Scope),
}

/// Why a program stopped running.
#[derive(Debug)]
pub(super) enum Stop {
    Ended,
    Waits(OpId, Wait),
    /// Others go first; then it can go on.
    GivesWay,
    Halted(OpId, Halt),
    Limit(OpId, Limit),
}

pub(super) enum Flow {
    /// The op is done.
    Next,
    /// A region was entered; the op is done when the region says so.
    Entered,
    Wait(Wait),
}

/// A turn of a counted loop.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: i128,
    hi: i128,
    step: i128,
    is_first: bool,
}
impl Turn {
    fn next(self) -> Option<Turn> {
        let at = self.at + self.step;
        (at < self.hi).then_some(Turn { at, is_first: false, ..self })
    }
}

#[derive(Debug)]
enum Kind {
    Body,
    /// A region that runs once; its yields are the results.
    Inline(OpId),
    For(OpId, Turn),
    /// The body of a `map_reduce`. What is merged so far is in the op's results.
    Map(OpId, Turn),
    /// Its merge, behind the body.
    Merge(OpId, Turn),
    /// The condition of a `while`.
    Condition(OpId),
    While(OpId),
}

#[derive(Debug)]
struct Frame {
    region: RegionId,
    next: usize,
    kind: Kind,
}

#[derive(Debug)]
pub(super) struct Pe {
    pub id: usize,
    regs: Vec<Value>,
    frames: Vec<Frame>,
    /// It has arrived at the barrier it is at.
    at_barrier: bool,
    /// It has let others go before the op it is at.
    gave_way: bool,
    printed: u64,
    /// Values of control sources, in program order.
    pub trace: Vec<u64>,
    pub wait: Option<(OpId, Wait)>,
}

impl Pe {
    pub(super) fn new(id: usize, m: &Module, regs: Vec<Value>) -> Pe {
        let frames = vec![Frame { region: m.body, next: 0, kind: Kind::Body }];
        Pe { id, regs, frames, at_barrier: false, gave_way: false, printed: 0, trace: Vec::new(), wait: None }
    }
    /// The loops that the program is in, the innermost first.
    pub(super) fn loops(&self) -> Vec<OpId> {
        let of = |frame: &Frame| match frame.kind {
            Kind::For(op, _) | Kind::Map(op, _) | Kind::Merge(op, _) => Some(op),
            Kind::Condition(op) | Kind::While(op) => Some(op),
            Kind::Body | Kind::Inline(_) => None,
        };
        self.frames.iter().rev().filter_map(of).collect()
    }
    /// Runs until the program ends, waits, or cannot go on.
    pub(super) fn run(&mut self, cx: &mut Machine<'_, '_>) -> Stop {
        let m = cx.m;
        self.wait = None;
        loop {
            let Some(frame) = self.frames.last() else { return Stop::Ended };
            let Some(&op) = m.region(frame.region).ops.get(frame.next) else {
                // Also counted: a loop around nothing must meet the limits too.
                match self.leave(cx) {
                    Ok(Some(op)) => match cx.tick() {
                        Some(limit) => return Stop::Limit(op, limit),
                        None => continue,
                    },
                    Ok(None) => continue,
                    Err((op, halt)) => return Stop::Halted(op, halt),
                }
            };
            if !std::mem::take(&mut self.gave_way) && cx.schedule.gives_way(&m.op(op).op) {
                self.gave_way = true;
                return Stop::GivesWay;
            }
            if let Some(limit) = cx.tick() {
                return Stop::Limit(op, limit);
            }
            match self.exec(cx, op) {
                Ok(Flow::Next) => self.done(cx, op),
                Ok(Flow::Entered) => {}
                Ok(Flow::Wait(on)) => return Stop::Waits(op, on),
                Err(halt) => return Stop::Halted(op, halt),
            }
        }
    }
    /// The op has its results: drop the tiles it was the last to use, and go on behind it.
    fn done(&mut self, cx: &Machine<'_, '_>, op: OpId) {
        for v in &cx.plan.dies[op.index()] {
            self.regs[v.index()] = Value::Unset;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
    }

    pub(super) fn get(&self, v: ValueId) -> &Value {
        &self.regs[v.index()]
    }
    pub(super) fn literal(&self, v: ValueId) -> Result<Literal, Halt> {
        match self.get(v) {
            Value::Scalar(lit) => Ok(*lit),
            Value::Unset | Value::Tile(_) | Value::View(_) => Err(Halt::Invalid),
        }
    }
    pub(super) fn int(&self, v: ValueId) -> Result<i128, Halt> {
        self.literal(v)?.as_int().ok_or(Halt::Invalid)
    }
    pub(super) fn tile(&self, v: ValueId) -> Result<&Arc<Data>, Halt> {
        match self.get(v) {
            Value::Tile(data) => Ok(data),
            Value::Unset | Value::Scalar(_) | Value::View(_) => Err(Halt::Invalid),
        }
    }
    pub(super) fn view(&self, v: ValueId) -> Result<usize, Halt> {
        match self.get(v) {
            Value::View(i) => Ok(*i),
            Value::Unset | Value::Scalar(_) | Value::Tile(_) => Err(Halt::Invalid),
        }
    }
    pub(super) fn set(&mut self, v: ValueId, value: Value) {
        self.regs[v.index()] = value;
    }
    /// Hands values on, all read before the first is written.
    fn pass(&mut self, from: &[ValueId], to: impl Iterator<Item = ValueId>) {
        let values: Vec<Value> = from.iter().map(|v| self.get(*v).clone()).collect();
        to.zip(values).for_each(|(to, value)| self.set(to, value));
    }
    /// The result of an op; what time depends on is noted.
    pub(super) fn result(&mut self, cx: &Machine<'_, '_>, op: OpId, value: Value) -> Result<Flow, Halt> {
        if let Value::Scalar(lit) = value
            && cx.plan.sources.contains(op)
        {
            self.trace.push(lit.bits);
        }
        let to = cx.m.op(op).results.get(0).ok_or(Halt::Invalid)?;
        self.set(to, value);
        Ok(Flow::Next)
    }

    fn exec(&mut self, cx: &mut Machine<'_, '_>, id: OpId) -> Result<Flow, Halt> {
        let m = cx.m;
        match &m.op(id).op {
            Op::Load(o) => self.load(cx, id, o),
            Op::Store(o) => self.write(cx, id, (&o.at, o.bounds), o.value, None),
            Op::AtomicAdd(o) => self.write(cx, id, (&o.at, o.bounds), o.value, Some(Atomic::Add)),
            Op::AtomicMax(o) => self.write(cx, id, (&o.at, o.bounds), o.value, Some(Atomic::Max)),
            Op::Send(o) => self.send(cx, id, o),
            Op::Recv(o) => self.recv(cx, id, o),
            Op::Barrier(o) => {
                let passed = std::mem::take(&mut self.at_barrier) || cx.arrive(id, o.scope, self.id);
                if passed {
                    return Ok(Flow::Next);
                }
                // It is woken when all have arrived.
                self.at_barrier = true;
                Ok(Flow::Wait(Wait::Barrier(o.scope)))
            }
            Op::Keep(_) => Ok(Flow::Next),
            Op::Print(o) => {
                let text = |v: &ValueId| match (self.get(*v), m.ty(*v)) {
                    (Value::Scalar(lit), _) => Ok(print::scalar(*lit)),
                    (Value::Tile(data), Type::Tile(_, dims)) => Ok(print::tile(data, dims)),
                    _ => Err(Halt::Invalid),
                };
                let values: Vec<String> = o.values.iter().map(text).collect::<Result<_, _>>()?;
                cx.print((self.id, id), self.printed, &o.format.0, &values);
                self.printed += 1;
                Ok(Flow::Next)
            }
            Op::Assert(o) => {
                if !self.literal(o.cond)?.as_bool().ok_or(Halt::Invalid)? {
                    cx.records.add(RecordKind::AssertFailed, id, self.id, 1, Vec::new());
                }
                Ok(Flow::Next)
            }
            Op::If(o) => {
                let yes = self.literal(o.cond)?.as_bool().ok_or(Halt::Invalid)?;
                self.enter(if yes { o.then } else { o.other }, Kind::Inline(id));
                Ok(Flow::Entered)
            }
            Op::Composite(o) => {
                self.enter(o.body, Kind::Inline(id));
                Ok(Flow::Entered)
            }
            Op::While(o) => {
                self.pass(&o.carry.0, m.region(o.cond).args.iter().copied());
                self.enter(o.cond, Kind::Condition(id));
                Ok(Flow::Entered)
            }
            Op::For(o) => self.start_for(m, id, o),
            Op::MapReduce(o) => {
                let turn = self.first(&o.range)?.ok_or(Halt::NoTurn)?;
                self.map(m, id, o, turn)?;
                Ok(Flow::Entered)
            }
            _ => {
                // `pure` names every op and refuses those above.
                let value = self.pure(cx, id)?;
                self.result(cx, id, value)
            }
        }
    }

    fn enter(&mut self, region: RegionId, kind: Kind) {
        self.frames.push(Frame { region, next: 0, kind });
    }
    /// The first turn of a range, if there is one.
    fn first(&self, range: &ops::Range) -> Result<Option<Turn>, Halt> {
        let (at, hi) = (self.int(range.lo)?, self.int(range.hi)?);
        let step = range.step.map_or(Ok(1), |s| self.int(s))?;
        if step <= 0 {
            return Err(Halt::LoopStep(step));
        }
        Ok((at < hi).then_some(Turn { at, hi, step, is_first: true }))
    }
    fn start_for(&mut self, m: &Module, id: OpId, o: &ops::For) -> Result<Flow, Halt> {
        let Some(turn) = self.first(&o.range)? else {
            self.pass(&o.carry.0, m.op(id).results.iter());
            return Ok(Flow::Next);
        };
        let args = &m.region(o.body).args;
        self.pass(&o.carry.0, args.iter().skip(1).copied());
        self.set_index(m, o.body, turn.at)?;
        self.enter(o.body, Kind::For(id, turn));
        Ok(Flow::Entered)
    }
    fn set_index(&mut self, m: &Module, body: RegionId, at: i128) -> Result<(), Halt> {
        let index = *m.region(body).args.first().ok_or(Halt::Invalid)?;
        let value = Literal::int(m.ty(index).elem(), at).ok_or(Halt::Invalid)?;
        self.set(index, Value::Scalar(value));
        Ok(())
    }
    fn map(&mut self, m: &Module, id: OpId, o: &ops::MapReduce, turn: Turn) -> Result<(), Halt> {
        self.set_index(m, o.body, turn.at)?;
        self.enter(o.body, Kind::Map(id, turn));
        Ok(())
    }
    /// The values of a turn after the first meet what is merged so far.
    fn merge(&mut self, m: &Module, id: OpId, o: &ops::MapReduce, turn: Turn) {
        let (so_far, values): (Vec<ValueId>, _) = (m.op(id).results.iter().collect(), &m.region(o.body).yields);
        let args = &m.region(o.merge).args;
        self.pass(&[&so_far, values.as_slice()].concat(), args.iter().copied());
        self.enter(o.merge, Kind::Merge(id, turn));
    }
    /// The innermost region has no further op: another turn, or its op is done. The op that holds it; none for the body.
    fn leave(&mut self, cx: &Machine<'_, '_>) -> Result<Option<OpId>, (OpId, Halt)> {
        let m = cx.m;
        let Some(Frame { region, kind, .. }) = self.frames.pop() else { return Ok(None) };
        let yields = &m.region(region).yields;
        let done = match kind {
            Kind::Body => return Ok(None),
            Kind::Inline(op) => op,
            Kind::For(op, turn) => {
                if let Some(next) = turn.next() {
                    self.pass(yields, m.region(region).args.iter().skip(1).copied());
                    self.set_index(m, region, next.at).map_err(|halt| (op, halt))?;
                    self.enter(region, Kind::For(op, next));
                    return Ok(Some(op));
                }
                op
            }
            Kind::Map(op, turn) | Kind::Merge(op, turn) => {
                let Op::MapReduce(o) = &m.op(op).op else { return Err((op, Halt::Invalid)) };
                if region == o.body && !turn.is_first {
                    self.merge(m, op, o, turn);
                    return Ok(Some(op));
                }
                if let Some(next) = turn.next() {
                    self.pass(yields, m.op(op).results.iter());
                    self.map(m, op, o, next).map_err(|halt| (op, halt))?;
                    return Ok(Some(op));
                }
                op
            }
            Kind::Condition(op) => {
                let Op::While(o) = &m.op(op).op else { return Err((op, Halt::Invalid)) };
                let test = yields.first().map_or(Err(Halt::Invalid), |v| self.literal(*v));
                let go = test.and_then(|v| v.as_bool().ok_or(Halt::Invalid)).map_err(|halt| (op, halt))?;
                if go {
                    self.enter(o.body, Kind::While(op));
                } else {
                    self.pass(&m.region(region).args, m.op(op).results.iter());
                    self.done(cx, op);
                }
                return Ok(Some(op));
            }
            Kind::While(op) => {
                let Op::While(o) = &m.op(op).op else { return Err((op, Halt::Invalid)) };
                self.pass(yields, m.region(o.cond).args.iter().copied());
                self.enter(o.cond, Kind::Condition(op));
                return Ok(Some(op));
            }
        };
        self.pass(yields, m.op(done).results.iter());
        self.done(cx, done);
        Ok(Some(done))
    }
}
