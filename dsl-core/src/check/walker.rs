//! One program, walked over its slice: it comes from one message or barrier to the next. A scalar that is not known
//! (made from tiles, memory or messages) is carried as unknown; control that would follow one ends the walk.

use super::slice::Slice;
use super::{Param, Shape};
use crate::interp::{Halt, scalar};
use crate::ir::ops;
use crate::ir::{Def, Literal, Module, Op, OpId, RegionId, ValueId};

/// Where a walk stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum At {
    /// Before this `send`, `recv` or `barrier`.
    Talks(OpId),
    Ended,
    /// What comes next depends on data, at this `if`, `for` or `while`.
    Data(OpId),
    Halted(OpId, Halt),
    /// The steps are used up.
    Limit(OpId),
}

#[derive(Debug)]
enum Kind {
    /// A region that runs once; its yields are the results. `None`: the kernel's body.
    Once(Option<OpId>),
    For {
        op: OpId,
        at: i128,
        hi: i128,
        step: i128,
    },
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
pub(super) struct Walker {
    pub program: usize,
    /// By slot; `None`: unknown.
    known: Vec<Option<Literal>>,
    frames: Vec<Frame>,
}

/// What all walks of a launch share.
pub(super) struct Ground<'a> {
    pub shape: &'a Shape<'a>,
    pub slice: &'a Slice,
    /// Parameters and constants, by slot.
    start: Vec<Option<Literal>>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(shape: &'a Shape<'a>, slice: &'a Slice) -> Ground<'a> {
        let m = &shape.module;
        let mut start = vec![None; slice.slots];
        for v in (0..m.num_values() as u32).map(ValueId) {
            let Some(slot) = slice.slot[v.index()] else { continue };
            start[slot as usize] = match m.def(v) {
                Def::Const(value) => Some(value),
                Def::Param(i) => match shape.params.get(i as usize) {
                    Some(Param::Scalar(value)) => Some(*value),
                    Some(Param::View(_)) | None => None,
                },
                Def::Result(..) | Def::Arg(..) => None,
            };
        }
        Ground { shape, slice, start }
    }
    pub(super) fn module(&self) -> &'a Module {
        let shape: &'a Shape<'a> = self.shape;
        &shape.module
    }
}

impl Walker {
    pub(super) fn new(program: usize, ground: &Ground<'_>) -> Walker {
        let frames = vec![Frame { region: ground.module().body, next: 0, kind: Kind::Once(None) }];
        Walker { program, known: ground.start.clone(), frames }
    }
    /// Goes to the next message or barrier, or stays at the one it is before.
    pub(super) fn go(&mut self, ground: &Ground<'_>, steps: &mut u64) -> At {
        let m = ground.module();
        loop {
            let Some(frame) = self.frames.last() else { return At::Ended };
            let here = ground.slice.ops[frame.region.index()].get(frame.next).copied();
            if let Some(op) = here
                && let Op::Send(_) | Op::Recv(_) | Op::Barrier(_) = &m.op(op).op
            {
                return At::Talks(op);
            }
            // The end of a region counts too: a loop around nothing must meet the limit.
            match (steps.checked_sub(1), here.or(self.owner())) {
                (Some(left), _) => *steps = left,
                (None, Some(op)) => return At::Limit(op),
                (None, None) => {}
            }
            let done = match here {
                Some(op) => self.step(ground, op),
                None => self.leave(ground),
            };
            if let Err(stop) = done {
                return stop;
            }
        }
    }
    /// The message or barrier it is before is done. What it received is not known.
    pub(super) fn pass(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
    }

    /// The op it is before.
    pub(super) fn at(&self, ground: &Ground<'_>) -> Option<OpId> {
        let frame = self.frames.last()?;
        ground.slice.ops[frame.region.index()].get(frame.next).copied()
    }
    fn owner(&self) -> Option<OpId> {
        match self.frames.last()?.kind {
            Kind::Once(op) => op,
            Kind::For { op, .. } | Kind::Condition(op) | Kind::While(op) => Some(op),
        }
    }
    fn get(&self, ground: &Ground<'_>, v: ValueId) -> Option<Literal> {
        ground.slice.slot[v.index()].and_then(|slot| self.known[slot as usize])
    }
    fn int(&self, ground: &Ground<'_>, v: ValueId) -> Option<i128> {
        self.get(ground, v)?.as_int()
    }
    fn set(&mut self, ground: &Ground<'_>, v: ValueId, value: Option<Literal>) {
        if let Some(slot) = ground.slice.slot[v.index()] {
            self.known[slot as usize] = value;
        }
    }
    /// Hands values on, all read before the first is written.
    fn hand_on(&mut self, ground: &Ground<'_>, from: &[ValueId], to: impl Iterator<Item = ValueId>) {
        let values: Vec<Option<Literal>> = from.iter().map(|v| self.get(ground, *v)).collect();
        to.zip(values).for_each(|(to, value)| self.set(ground, to, value));
    }
    fn enter(&mut self, region: RegionId, kind: Kind) {
        self.frames.push(Frame { region, next: 0, kind });
    }
    /// Control that follows data: no matter where nothing is sent or received, or else the end of what is known.
    fn unknown(&mut self, ground: &Ground<'_>, op: OpId) -> Result<(), At> {
        if ground.slice.talks[op.index()] {
            return Err(At::Data(op));
        }
        ground.module().op(op).results.iter().for_each(|v| self.set(ground, v, None));
        self.pass();
        Ok(())
    }

    fn step(&mut self, ground: &Ground<'_>, id: OpId) -> Result<(), At> {
        let m = ground.module();
        match &m.op(id).op {
            Op::If(o) => match self.get(ground, o.cond).and_then(Literal::as_bool) {
                Some(yes) => self.enter(if yes { o.then } else { o.other }, Kind::Once(Some(id))),
                None => return self.unknown(ground, id),
            },
            Op::Composite(o) => self.enter(o.body, Kind::Once(Some(id))),
            Op::While(o) => {
                self.hand_on(ground, &o.carry.0, m.region(o.cond).args.iter().copied());
                self.enter(o.cond, Kind::Condition(id));
            }
            Op::For(o) => return self.start_for(ground, id, o),
            _ => {
                let value = self.value(ground, id);
                m.op(id).results.iter().for_each(|v| self.set(ground, v, value));
                self.pass();
            }
        }
        Ok(())
    }
    fn value(&self, ground: &Ground<'_>, id: OpId) -> Option<Literal> {
        let (m, grid) = (ground.module(), ground.shape.grid);
        let index = |n: usize| i32::try_from(n).ok().map(Literal::from);
        match &m.op(id).op {
            Op::PeId(_) => index(self.program % grid.pes),
            Op::CubeId(_) => index(self.program / grid.pes),
            Op::ProgramId(_) => index(self.program),
            Op::NumPes(_) => index(grid.pes),
            Op::NumCubes(_) => index(grid.num_cubes()?),
            Op::NumPrograms(_) => index(grid.num_programs()?),
            Op::Len(o) => match (m.def(o.view), o.axis.0 as usize) {
                (Def::Param(i), axis) => match ground.shape.params.get(i as usize)? {
                    Param::View(dims) => index(*dims.get(axis)?),
                    Param::Scalar(_) => None,
                },
                (Def::Const(_) | Def::Result(..) | Def::Arg(..), _) => None,
            },
            op => {
                let operands: Option<Vec<Literal>> = op.operands().iter().map(|v| self.get(ground, *v)).collect();
                let result = m.op(id).results.get(0).map(|v| m.ty(v))?;
                scalar::eval(op, &operands?, result).map(|e| e.value)
            }
        }
    }
    fn start_for(&mut self, ground: &Ground<'_>, id: OpId, o: &ops::For) -> Result<(), At> {
        let m = ground.module();
        let step = o.range.step.map_or(Some(1), |v| self.int(ground, v));
        let bounds = (self.int(ground, o.range.lo), self.int(ground, o.range.hi), step);
        let (Some(lo), Some(hi), Some(step)) = bounds else { return self.unknown(ground, id) };
        if step <= 0 {
            return Err(At::Halted(id, Halt::LoopStep(step)));
        }
        if lo >= hi {
            self.hand_on(ground, &o.carry.0, m.op(id).results.iter());
            self.pass();
            return Ok(());
        }
        self.hand_on(ground, &o.carry.0, m.region(o.body).args.iter().skip(1).copied());
        self.set_index(ground, o, lo);
        self.enter(o.body, Kind::For { op: id, at: lo, hi, step });
        Ok(())
    }
    fn set_index(&mut self, ground: &Ground<'_>, o: &ops::For, at: i128) {
        if let Some(index) = ground.module().region(o.body).args.first() {
            self.set(ground, *index, Literal::int(ground.module().ty(*index).elem(), at));
        }
    }
    /// The innermost region has no further op: another turn, or its op is done.
    fn leave(&mut self, ground: &Ground<'_>) -> Result<(), At> {
        let m = ground.module();
        let Some(Frame { region, kind, .. }) = self.frames.pop() else { return Ok(()) };
        let yields = &m.region(region).yields;
        let done = match kind {
            Kind::Once(None) => return Ok(()),
            Kind::Once(Some(op)) => op,
            Kind::For { op, at, hi, step } => {
                let at = at + step;
                match &m.op(op).op {
                    Op::For(o) if at < hi => {
                        self.hand_on(ground, yields, m.region(region).args.iter().skip(1).copied());
                        self.set_index(ground, o, at);
                        self.enter(region, Kind::For { op, at, hi, step });
                        return Ok(());
                    }
                    _ => op,
                }
            }
            Kind::Condition(op) => {
                let Op::While(o) = &m.op(op).op else { return Err(At::Halted(op, Halt::Invalid)) };
                let test = yields.first().and_then(|v| self.get(ground, *v)).and_then(Literal::as_bool);
                match test {
                    None => return self.unknown(ground, op),
                    Some(true) => self.enter(o.body, Kind::While(op)),
                    Some(false) => {
                        self.hand_on(ground, &m.region(region).args, m.op(op).results.iter());
                        self.pass();
                    }
                }
                return Ok(());
            }
            Kind::While(op) => {
                let Op::While(o) = &m.op(op).op else { return Err(At::Halted(op, Halt::Invalid)) };
                self.hand_on(ground, yields, m.region(o.cond).args.iter().copied());
                self.enter(o.cond, Kind::Condition(op));
                return Ok(());
            }
        };
        self.hand_on(ground, yields, m.op(done).results.iter());
        self.pass();
        Ok(())
    }
}
