//! Error records: what went wrong, where, how often and first by whom is left in memory; the run goes on. All of it stands
//! behind everything else, and costs nothing where nothing goes wrong but the branch around it.
//!
//! Each op that can fail has a slot: a count, and words of which each has the complement of the program's id in its upper
//! half and a part of the place in its lower half. `max` keeps those of the smallest id, without a lock.

use super::errors::Fault;
use super::held::held;
use super::memory::{Edge, Span};
use super::{Done, Lower};
use crate::abi::Item;
use crate::layout::RegLayout;
use crate::outcome::{Place, Slot};
use crate::ptx::{Addr, Atomic, Bin, Cmp, Guard, Label, Op as PtxOp, Reg, Space, Special, Src, Tern, Ty, Un};
use tilewright_core::elem::Class;
use tilewright_core::interp::RecordKind;
use tilewright_core::ir::ops::{self, Access};
use tilewright_core::ir::{Def, Dims, Op, OpId, Type, ValueId};

impl Lower<'_> {
    /// Notes the places outside that the spans leave, if that is an error. Once for the program.
    pub(super) fn outside(
        &mut self,
        id: OpId,
        kind: RecordKind,
        at: &Access,
        ty: Type,
        edges: &[Edge],
        spans: &[Span],
    ) -> Done {
        if !self.checked[id.index()] {
            return Ok(());
        }
        let skip = self.unless_first_thread();
        let dims = ty.dims().unwrap_or(Dims::SCALAR);
        let skipped = at.index.len() - dims.rank();
        let (mut places, mut inside) = (self.body.mov(Ty::B64, Src::Imm(1)), self.body.mov(Ty::B64, Src::Imm(1)));
        for (axis, n) in dims.as_slice().iter().enumerate() {
            if edges.iter().all(|edge| edge.axis != skipped + axis) {
                places = self.body.bin(Bin::MulLo, Ty::U64, places, Src::Imm(u64::from(*n)));
                inside = self.body.bin(Bin::MulLo, Ty::U64, inside, Src::Imm(u64::from(*n)));
            }
        }
        for span in spans {
            let wide = self.wide(span.places);
            places = self.body.bin(Bin::MulLo, Ty::U64, places, wide);
            let exist = self.body.bin(Bin::Sub, Ty::U32, span.high, span.low);
            let exist = self.body.cvt(Ty::U64, Ty::U32, exist);
            inside = self.body.bin(Bin::MulLo, Ty::U64, inside, exist);
        }
        let count = self.body.bin(Bin::Sub, Ty::U64, places, inside);
        // A limit may leave no place outside.
        let none = self.body.setp(Cmp::Eq, Ty::U64, count, Src::Imm(0));
        self.body.emit_if(Guard { pred: none, negated: false }, PtxOp::Bra { to: skip, uniform: false });
        let coordinate = self.first_outside(at, edges, spans)?;
        let slot = self.slot(Slot { op: id, kind, place: Place::View { rank: at.index.len() as u32 } });
        self.count(&slot, count);
        let mut words = Vec::new();
        for index in coordinate {
            let halves = [self.body.fresh(Ty::B32), self.body.fresh(Ty::B32)];
            self.body.emit(PtxOp::Unpack { ty: Ty::B64, d: halves.to_vec(), a: index });
            words.extend(halves);
        }
        self.first(&slot, &words, skip);
        self.body.emit(PtxOp::Label(skip));
        Ok(())
    }
    /// The coordinate in the view of the first place outside, in row-major order of the tile.
    fn first_outside(&mut self, at: &Access, edges: &[Edge], spans: &[Span]) -> Result<Vec<Reg>, Fault> {
        let mut starts_inside: Option<Reg> = None;
        for span in spans {
            let low = self.body.setp(Cmp::Eq, Ty::U32, span.low, Src::Imm(0));
            let high = self.body.setp(Cmp::Gt, Ty::U32, span.high, Src::Imm(0));
            let both = self.body.bin(Bin::And, Ty::Pred, low, high);
            starts_inside = self.both(starts_inside, Some(both));
        }
        let mut out = Vec::new();
        for axis in 0..at.index.len() {
            let index = self.index(at.index[axis])?;
            out.push(self.body.mov(Ty::B64, index));
        }
        // The innermost axis that ends early, where the start itself is inside.
        let mut pending = starts_inside;
        for (edge, span) in edges.iter().zip(spans).rev() {
            let Some(open) = pending else { break };
            let short = self.body.setp(Cmp::Lt, Ty::U32, span.high, span.places);
            let this = self.body.bin(Bin::And, Ty::Pred, open, short);
            let by = self.body.selp(Ty::U32, span.high, Src::Imm(0), this);
            let by = self.body.cvt(Ty::U64, Ty::U32, by);
            out[edge.axis] = self.body.bin(Bin::Add, Ty::S64, out[edge.axis], by);
            let later = self.body.un(Un::Not, Ty::Pred, short);
            pending = Some(self.body.bin(Bin::And, Ty::Pred, open, later));
        }
        Ok(out)
    }
    fn wide(&mut self, n: Src) -> Src {
        match n {
            Src::Reg(reg) => self.body.cvt(Ty::U64, Ty::U32, reg).into(),
            imm @ Src::Imm(_) => imm,
        }
    }
    /// Skips what follows in all threads but the first.
    pub(super) fn unless_first_thread(&mut self) -> Label {
        let skip = self.body.label();
        let tid = self.special(Special::TidX);
        let other = self.body.setp(Cmp::Ne, Ty::U32, tid, Src::Imm(0));
        self.body.emit_if(Guard { pred: other, negated: false }, PtxOp::Bra { to: skip, uniform: false });
        skip
    }

    /// Notes an assertion that does not hold.
    pub(super) fn assert(&mut self, id: OpId, holds: Src) -> Done {
        let pred = self.predicate(holds);
        let rest = self.unless(pred, true);
        self.rarely(rest, |cx| {
            let skip = cx.unless_first_thread();
            cx.note_one(id, RecordKind::AssertFailed, skip);
            Ok(())
        })
    }
    /// Notes a loop whose step is below 1, and ends the program there.
    pub(super) fn counts_up(&mut self, id: OpId, ty: Ty, step: Src) -> Done {
        let pred = self.body.setp(Cmp::Gt, ty, step, Src::Imm(0));
        let rest = self.unless(pred, true);
        self.rarely(rest, |cx| {
            let skip = cx.unless_first_thread();
            let slot = cx.slot(Slot { op: id, kind: RecordKind::LoopStep, place: Place::View { rank: 1 } });
            let one = cx.body.mov(Ty::B64, Src::Imm(1));
            cx.count(&slot, one);
            let wide = match (step, ty) {
                (Src::Reg(reg), Ty::S64 | Ty::U64) => reg,
                (Src::Reg(reg), _) => cx.body.cvt(Ty::S64, ty, reg),
                (imm @ Src::Imm(_), _) => cx.body.mov(Ty::B64, imm),
            };
            let halves = [cx.body.fresh(Ty::B32), cx.body.fresh(Ty::B32)];
            cx.body.emit(PtxOp::Unpack { ty: Ty::B64, d: halves.to_vec(), a: wide });
            cx.first(&slot, &halves, skip);
            cx.body.emit(PtxOp::Label(skip));
            cx.end_program(None);
            Ok(())
        })
    }
    /// Notes a `map_reduce` of no turn, and ends the program there. `some`: there is one.
    pub(super) fn ends_without_turn(&mut self, id: OpId, some: Reg) -> Done {
        let rest = self.unless(some, true);
        self.rarely(rest, |cx| {
            let skip = cx.unless_first_thread();
            cx.note_one(id, RecordKind::NoTurn, skip);
            cx.body.emit(PtxOp::Ret);
            Ok(())
        })
    }
    fn note_one(&mut self, id: OpId, kind: RecordKind, skip: Label) {
        let slot = self.slot(Slot { op: id, kind, place: Place::Nowhere });
        let one = self.body.mov(Ty::B64, Src::Imm(1));
        self.count(&slot, one);
        self.first(&slot, &[], skip);
        self.body.emit(PtxOp::Label(skip));
    }
    /// Notes integer divisors that are zero: `by` is a scalar, or a tile by register.
    pub(super) fn divisors(&mut self, id: OpId, by: &[Src], layout: Option<&RegLayout>) -> Done {
        let m = self.m;
        let (Op::Div(ops::Div { b, .. }) | Op::Rem(ops::Rem { b, .. })) = &m.op(id).op else { return Ok(()) };
        let ty = m.ty(*b);
        // A combine also runs on what no element of the tile is, so a zero there tells nothing.
        if !ty.elem().is(Class::Int) || self.is_never_zero(*b) || self.combining {
            return Ok(());
        }
        let mut zeros: Vec<Reg> = Vec::new();
        let mut any: Option<Reg> = None;
        for (i, src) in by.iter().enumerate() {
            // The registers of a tile that repeats a scalar are one.
            if let Some(at) = by[..i].iter().position(|other| other == src) {
                zeros.push(zeros[at]);
                continue;
            }
            let zero = self.body.setp(Cmp::Eq, held(ty.elem()), *src, Src::Imm(0));
            zeros.push(zero);
            any = Some(any.map_or(zero, |any| self.body.bin(Bin::Or, Ty::Pred, any, zero)));
        }
        let Some(any) = any else { return Ok(()) };
        let tile = layout.zip(ty.dims());
        let none = self.body.un(Un::Not, Ty::Pred, any);
        let rest = self.unless(none, false);
        self.rarely(rest, |cx| {
            let Some((layout, dims)) = tile else {
                let skip = cx.unless_first_thread();
                cx.note_one(id, RecordKind::DivisionByZero, skip);
                return Ok(());
            };
            let skip = cx.body.label();
            let (count, flat) = cx.zeros(&zeros, layout, dims);
            let none = cx.body.setp(Cmp::Eq, Ty::U32, count, Src::Imm(0));
            cx.body.emit_if(Guard { pred: none, negated: false }, PtxOp::Bra { to: skip, uniform: false });
            let slot = cx.slot(Slot { op: id, kind: RecordKind::DivisionByZero, place: Place::Tile { dims } });
            let count = cx.body.cvt(Ty::U64, Ty::U32, count);
            cx.count(&slot, count);
            // The smallest place wins.
            let flat = cx.body.un(Un::Not, Ty::B32, flat);
            cx.first(&slot, &[flat], skip);
            cx.body.emit(PtxOp::Label(skip));
            Ok(())
        })
    }
    fn is_never_zero(&self, b: ValueId) -> bool {
        if let Def::Result(op, _) = self.m.def(b)
            && let Op::Splat(o) = &self.m.op(op).op
        {
            return self.is_never_zero(o.x);
        }
        self.prover.facts().get(self.m, b).is_some_and(|fact| fact.lo > 0 || fact.hi < 0)
    }
    /// How many elements of this thread, counted where they are held first; the row-major position of the first of them.
    fn zeros(&mut self, zeros: &[Reg], layout: &RegLayout, dims: Dims) -> (Reg, Reg) {
        let holder = self.is_first_holder(layout);
        let thread: Vec<Reg> = (0..dims.rank()).map(|axis| self.thread_coord(layout, axis)).collect();
        let mut count = self.body.mov(Ty::B32, Src::Imm(0));
        let mut first = self.body.mov(Ty::B32, Src::Imm(u64::from(u32::MAX)));
        for (reg, zero) in zeros.iter().enumerate() {
            let (flat, exists) = self.position(layout, dims, &thread, reg);
            let here = self.both(holder, exists);
            let here = self.both(here, Some(*zero)).unwrap_or(*zero);
            let one = self.body.selp(Ty::U32, Src::Imm(1), Src::Imm(0), here);
            count = self.body.bin(Bin::Add, Ty::U32, count, one);
            let flat = self.body.selp(Ty::U32, flat, Src::Imm(u64::from(u32::MAX)), here);
            first = self.body.bin(Bin::Min, Ty::U32, first, flat);
        }
        (count, first)
    }
    /// The row-major position of a register's element, and whether the tile has it; `None`: surely. `thread`: this thread's
    /// coordinates.
    pub(super) fn position(
        &mut self,
        layout: &RegLayout,
        dims: Dims,
        thread: &[Reg],
        reg: usize,
    ) -> (Reg, Option<Reg>) {
        let (mut flat, mut exists) = (self.body.mov(Ty::B32, Src::Imm(0)), None);
        for (axis, n) in dims.as_slice().iter().enumerate() {
            let n = Src::Imm(u64::from(*n));
            let at = Src::Imm(u64::from(layout.reg_coord(reg)[axis]));
            let at = self.body.bin(Bin::Add, Ty::U32, thread[axis], at);
            if layout.rep()[axis] * layout.atom(axis) > dims.as_slice()[axis] {
                let inside = self.body.setp(Cmp::Lt, Ty::U32, at, n);
                exists = self.both(exists, Some(inside));
            }
            flat = self.body.tern(Tern::MadLo, Ty::U32, flat, n, at);
        }
        (flat, exists)
    }

    /// The address of an op's slot.
    fn slot(&mut self, slot: Slot) -> SlotAt {
        let number = match self.slots.iter().position(|known| *known == slot) {
            Some(number) => number,
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        let base = self.param(Ty::U64, Item::Records);
        SlotAt { base, offset: number as i64 * Slot::BYTES as i64 }
    }
    fn count(&mut self, slot: &SlotAt, count: Reg) {
        let at = Addr::reg(slot.base, slot.offset);
        self.body.emit(PtxOp::Red { space: Space::Global, op: Atomic::Add, ty: Ty::U64, at, a: count.into() });
    }
    /// Leaves the place of this program, unless a smaller one has left its own, or this one an earlier.
    fn first(&mut self, slot: &SlotAt, words: &[Reg], skip: Label) {
        let program = self.special(Special::CtaidX);
        let tag = self.body.un(Un::Not, Ty::B32, program);
        let zero = self.body.mov(Ty::B32, Src::Imm(0));
        let words = if words.is_empty() { &[zero][..] } else { words };
        if words.len() > 1 {
            // What this program left in an earlier turn of a loop stays, whatever it is.
            let d = self.body.fresh(Ty::B64);
            self.body.emit(PtxOp::LdAcquire { ty: Ty::B64, d, at: Addr::reg(slot.base, slot.offset + 8) });
            self.unless_later(d, tag, skip);
        }
        for (i, word) in words.iter().enumerate() {
            let a = self.body.fresh(Ty::B64);
            self.body.emit(PtxOp::Pack { ty: Ty::B64, d: a, parts: vec![*word, tag] });
            let at = Addr::reg(slot.base, slot.offset + 8 + 8 * i as i64);
            let (space, op, ty) = (Space::Global, Atomic::Max, Ty::U64);
            if i > 0 || words.len() == 1 {
                self.body.emit(PtxOp::Red { space, op, ty, at, a: a.into() });
                continue;
            }
            let d = self.body.fresh(Ty::B64);
            self.body.emit(PtxOp::Atom { space, op, ty, d, at, a: a.into(), b: None });
            self.unless_later(d, tag, skip);
        }
    }
    /// Skips what follows unless the word is of a later program.
    fn unless_later(&mut self, word: Reg, tag: Reg, skip: Label) {
        let halves = [self.body.fresh(Ty::B32), self.body.fresh(Ty::B32)];
        self.body.emit(PtxOp::Unpack { ty: Ty::B64, d: halves.to_vec(), a: word });
        let known = self.body.setp(Cmp::Ge, Ty::U32, halves[1], tag);
        self.body.emit_if(Guard { pred: known, negated: false }, PtxOp::Bra { to: skip, uniform: false });
    }
}

/// Where a slot lies.
struct SlotAt {
    base: Reg,
    offset: i64,
}
