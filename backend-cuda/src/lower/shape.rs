//! Ops that only say where an element belongs: registers under other names where the layouts allow it.

use super::errors::Fault;
use super::held::{Held, flat, stored};
use super::panels::Panels;
use super::queue::Store;
use super::reduce::by_coord;
use super::{Done, Lower};
use crate::layout::{Coord, Layouts, RegLayout, RowOut, cut_layout, row_out, without_axis};
use crate::ptx::{Addr, Bin, CacheHint, Cmp, Guard, Memory, Op as PtxOp, Reg, Space, Src, Tern, Touch, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Dims, MAX_RANK, Module, Op, OpId, ValueId, ops};

/// Bytes of an element that goes out by rows, and of the most that go at once.
const WORD: u32 = 4;
const WIDEST: u32 = 16;

/// Which tiles rows are cut from, and these tiles as they are cut: each is laid so once, where it is made, and not for each
/// cut. A row that is sent, or meets others that are received, goes from the threads that hold it to where it is wanted.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    wanted: FxHashSet<ValueId>,
    laid: FxHashMap<ValueId, (RegLayout, Vec<Reg>)>,
    /// By row: the tile that it is cut from, and how it goes out.
    rows: FxHashMap<ValueId, (ValueId, RowOut)>,
    /// Rows that sends alone use.
    sent: FxHashSet<ValueId>,
}

impl Cuts {
    pub(super) fn of(m: &Module, layouts: &Layouts) -> Cuts {
        let (mut cuts, kept) = (Cuts::default(), used_but_for_sends(m));
        let mut rows = Vec::new();
        m.each_op(&mut |op| {
            if let Op::Rows(o) = &m.op(op).op {
                rows.push((m.op(op).results.first, o));
            }
        });
        cuts.sent = rows.iter().map(|(row, _)| *row).filter(|row| !kept.contains(row)).collect();
        let goes_out: FxHashSet<ValueId> =
            rows.iter().filter(|(row, _)| cuts.sent.contains(row)).map(|(_, o)| o.x).collect();
        for (row, o) in rows {
            match row_of(m, layouts, row, o).filter(|_| goes_out.contains(&o.x)) {
                Some(out) => _ = cuts.rows.insert(row, (o.x, out)),
                None => _ = cuts.wanted.insert(o.x),
            }
        }
        cuts
    }
    /// The tile that a row is of which sends alone use, and how it goes out from there.
    pub(super) fn sent(&self, row: ValueId) -> Option<&(ValueId, RowOut)> {
        self.rows.get(&row).filter(|_| self.sent.contains(&row))
    }
}

/// How one row goes out, where its threads can write it.
fn row_of(m: &Module, layouts: &Layouts, row: ValueId, o: &ops::Rows) -> Option<RowOut> {
    let is_row = m.ty(row).dims()?.as_slice()[0] == 1 && m.ty(row).elem().bytes() == 4;
    let (from, to) = (layouts.get(o.x)?, layouts.get(row)?);
    is_row.then(|| row_out(from, to, o.first.0)).flatten()
}
/// What others than sends use.
fn used_but_for_sends(m: &Module) -> FxHashSet<ValueId> {
    let mut out: FxHashSet<ValueId> = m.region(m.body).yields.iter().copied().collect();
    m.each_op(&mut |op| {
        let data = &m.op(op).op;
        if !matches!(data, Op::Send(_)) {
            data.each_operand(&mut |v| _ = out.insert(v));
        }
        data.each_region(&mut |r| out.extend(&m.region(r).yields));
    });
    out
}

impl Lower<'_> {
    /// Of what an op has made.
    pub(super) fn lay_for_cuts(&mut self, id: OpId) -> Done {
        for v in self.m.op(id).results.iter() {
            if self.cuts.wanted.contains(&v)
                && let Some(layout) = cut_layout(self.m.ty(v), self.threads())
            {
                let regs = self.tile(v, &layout)?;
                self.cuts.laid.insert(v, (layout, regs));
            }
        }
        Ok(())
    }
    /// Threads that differ along the new axis hold the same elements of the operand.
    pub(super) fn broadcast(&mut self, id: OpId, o: &ops::Broadcast) -> Done {
        let to = self.layout(self.m.op(id).results.first)?;
        let axis = o.axis.0 as usize;
        let from = to.without(axis);
        let (regs, at) = (self.tile(o.x, &from)?, by_coord(&from));
        let pick = |reg: usize| at.get(&without_axis(&to.reg_coord(reg), axis)).map(|reg| regs[*reg]);
        let picked: Option<Vec<Reg>> = (0..to.regs()).map(pick).collect();
        self.set_tile(id, picked.ok_or(Fault::NoValue)?);
        Ok(())
    }
    pub(super) fn trans(&mut self, id: OpId, o: &ops::Trans) -> Done {
        let result = self.m.op(id).results.first;
        if self.uses.only_products(result) {
            let cover = self.uses.cover(o.x).ok_or(Fault::NoValue)?;
            let panels = self.in_panels(o.x, cover)?;
            self.values[result.index()] = Some(Held::Panels(Panels { turned: !panels.turned, ..panels }));
            return Ok(());
        }
        let to = self.layout(result)?;
        let from = to.transposed();
        let (regs, at) = (self.tile(o.x, &from)?, by_coord(&from));
        let pick = |reg: usize| {
            let [row, column, ..] = to.reg_coord(reg);
            at.get(&[column, row, 0, 0]).map(|reg| regs[*reg])
        };
        let picked: Option<Vec<Reg>> = (0..to.regs()).map(pick).collect();
        self.set_tile(id, picked.ok_or(Fault::NoValue)?);
        Ok(())
    }
    /// Consecutive rows lie where they lay; those of the result begin at a fixed one.
    pub(super) fn rows(&mut self, id: OpId, o: &ops::Rows) -> Done {
        let row = self.m.op(id).results.first;
        if self.cuts.sent(row).is_some() {
            return Ok(());
        }
        if let Some((_, out)) = self.cuts.rows.get(&row).cloned().filter(|_| !self.body.by_warp) {
            return self.row_through_shared(id, o.x, &out);
        }
        let first = o.first.0;
        let laid = self.cuts.laid.get(&o.x).filter(|(layout, _)| layout.threads() == self.threads()).cloned();
        self.moved((id, o.x), laid, |at| {
            let mut from = *at;
            from[0] += first;
            from
        })
    }
    /// The threads that hold a row write it, and each reads its element.
    fn row_through_shared(&mut self, id: OpId, x: ValueId, out: &RowOut) -> Done {
        let row = self.m.op(id).results.first;
        let (elem, from, to) = (self.m.ty(row).elem(), self.layout(x)?, self.layout(row)?);
        let senders = !to.replicated() & (to.threads() - 1);
        let buffer = self.buffer((senders + 1) * WORD, WIDEST);
        let memory = Memory::Shared(buffer);
        let (regs, base) = (self.tile(x, &from)?, self.buffer_base(buffer));
        let group = self.body.group();
        for Store { who, at, words: a } in self.row_stores(out, &regs, Addr::reg(base, 0), Tern::MadLo) {
            let guard = self.is_one_of(who).map(|pred| Guard { pred, negated: false });
            let a = a.into_iter().map(|reg| self.as_stored(elem, reg)).collect();
            let store = PtxOp::St { space: Space::Shared, hint: CacheHint::default(), ty: stored(elem), at, a };
            self.body.touch(Touch::write(memory, group), guard, store);
        }
        let at = match senders {
            0 => base,
            senders => {
                let tid = self.thread();
                let number = self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(u64::from(senders)));
                self.body.tern(Tern::MadLo, Ty::U32, number, Src::Imm(u64::from(WORD)), base)
            }
        };
        let touch = Touch::read(memory, self.body.group());
        let element = self.load_one(elem, touch, CacheHint::default(), Addr::reg(at, 0));
        self.set_tile(id, vec![element]);
        Ok(())
    }
    /// The same elements in row-major order.
    pub(super) fn reshape(&mut self, id: OpId, o: &ops::Reshape) -> Done {
        let dims = |v| self.m.ty(v).dims().ok_or(Fault::NoValue);
        let (from, to) = (dims(o.x)?, dims(self.m.op(id).results.first)?);
        let place = move |at: &Coord| {
            let mut index = flat(at, to.as_slice());
            let mut out = [0; MAX_RANK];
            for (axis, n) in from.as_slice().iter().enumerate().rev() {
                (out[axis], index) = (index % n, index / n);
            }
            out
        };
        self.moved((id, o.x), None, place)
    }
    /// A result whose element at a place is the operand's at another. Renamed where every thread holds what it needs,
    /// else through shared memory. `laid`: the operand, in another layout than its own.
    fn moved(
        &mut self,
        (id, x): (OpId, ValueId),
        laid: Option<(RegLayout, Vec<Reg>)>,
        place: impl Fn(&Coord) -> Coord,
    ) -> Done {
        let result = self.m.op(id).results.first;
        let (from_dims, to_dims) =
            (self.m.ty(x).dims().ok_or(Fault::NoValue)?, self.m.ty(result).dims().ok_or(Fault::NoValue)?);
        let to = self.layout(result)?;
        let (from, regs) = match laid {
            Some(laid) => laid,
            None => {
                let from = self.layout(x)?;
                let regs = self.tile(x, &from)?;
                (from, regs)
            }
        };
        if let Some(order) = renamed(&from, &to, to_dims, &place) {
            self.set_tile(id, order.into_iter().map(|reg| regs[reg]).collect());
            return Ok(());
        }
        let moved = self.through_rows(self.m.ty(x).elem(), (&regs, &from, from_dims), (&to, to_dims), &place);
        self.set_tile(id, moved);
        Ok(())
    }
    /// Written in row-major order of the operand, read where the places of the result lie in it: piece by piece, where the
    /// tile is larger than shared memory.
    pub(super) fn through_rows(
        &mut self,
        elem: ElemType,
        (regs, from, from_dims): (&[Reg], &RegLayout, Dims),
        (to, to_dims): (&RegLayout, Dims),
        place: &dyn Fn(&Coord) -> Coord,
    ) -> Vec<Reg> {
        let (bytes, all) = (elem.bytes() as u32, from_dims.elems() as u32);
        let piece = all.min(self.shared_room() / bytes);
        let buffer = self.buffer(piece * bytes, 16);
        let memory = Memory::Shared(buffer);
        let base = self.buffer_base(buffer);
        // The first of the result's elements; all others lie as far behind it as in row-major order.
        let origin = flat(&place(&[0; MAX_RANK]), from_dims.as_slice());
        let mut read: Vec<Option<Reg>> = vec![None; to.regs()];
        for first in (0..all).step_by(piece as usize) {
            let part = (piece < all).then_some((first, piece));
            let group = self.body.group();
            for (reg, value) in regs.iter().enumerate() {
                let (index, inside) = self.flat_place(from, from_dims, reg);
                let (at, here) = self.in_piece((index, inside), part, 0, (base, bytes));
                let a = vec![self.as_stored(elem, *value)];
                let store = PtxOp::St { space: Space::Shared, hint: CacheHint::default(), ty: stored(elem), at, a };
                self.body.touch(Touch::write(memory, group), here.map(|pred| Guard { pred, negated: false }), store);
            }
            let group = self.body.group();
            for (reg, read) in read.iter_mut().enumerate() {
                let (index, inside) = self.flat_place(to, to_dims, reg);
                let (at, here) = self.in_piece((index, inside), part, origin, (base, bytes));
                let touch = Touch::read(memory, group);
                *read = Some(match (here, *read) {
                    (None, _) => self.load_one(elem, touch, CacheHint::default(), at),
                    (Some(pred), None) => self.load_if(elem, touch, (pred, Src::Imm(0)), at),
                    (Some(pred), Some(earlier)) => {
                        let now = self.load_if(elem, touch, (pred, Src::Imm(0)), at);
                        self.select(elem, pred.into(), now.into(), earlier.into())
                    }
                });
            }
        }
        read.into_iter().flatten().collect()
    }
    /// Where the element of this index, and so many behind it, lies in a piece of the tile, and whether it does.
    fn in_piece(
        &mut self,
        (index, inside): (Reg, Option<Reg>),
        part: Option<(u32, u32)>,
        behind: u32,
        (base, bytes): (Reg, u32),
    ) -> (Addr, Option<Reg>) {
        let Some((first, piece)) = part else {
            let address = self.body.tern(Tern::MadLo, Ty::U32, index, Src::Imm(u64::from(bytes)), base);
            return (Addr::reg(address, i64::from(behind * bytes)), inside);
        };
        // What lies before the piece wraps, and is beyond it too.
        let from = self.body.bin(Bin::Add, Ty::U32, index, Src::Imm(u64::from(behind.wrapping_sub(first))));
        let here = self.body.setp(Cmp::Lt, Ty::U32, from, Src::Imm(u64::from(piece)));
        let here = inside.map_or(here, |inside| self.body.bin(Bin::And, Ty::Pred, inside, here));
        let address = self.body.tern(Tern::MadLo, Ty::U32, from, Src::Imm(u64::from(bytes)), base);
        (Addr::reg(address, 0), Some(here))
    }
    /// The row-major index of a register's element, and whether it exists; `None`: surely.
    fn flat_place(&mut self, layout: &RegLayout, dims: Dims, reg: usize) -> (Reg, Option<Reg>) {
        let coord = layout.reg_coord(reg);
        let (mut index, mut inside): (Option<Reg>, Option<Reg>) = (None, None);
        for (axis, n) in dims.as_slice().iter().enumerate() {
            let thread = self.thread_coord(layout, axis);
            let at = self.body.bin(Bin::Add, Ty::U32, thread, Src::Imm(u64::from(coord[axis])));
            if layout.rep()[axis] * layout.atom(axis) > *n {
                let p = self.body.setp(Cmp::Lt, Ty::U32, at, Src::Imm(u64::from(*n)));
                inside = Some(inside.map_or(p, |other| self.body.bin(Bin::And, Ty::Pred, other, p)));
            }
            index = Some(match index {
                None => at,
                Some(index) => self.body.tern(Tern::MadLo, Ty::U32, index, Src::Imm(u64::from(*n)), at),
            });
        }
        (index.unwrap_or_else(|| self.body.mov(Ty::B32, Src::Imm(0))), inside)
    }
}

/// By register of the result, the register of the operand with its element in every thread; `None`: another thread has it.
fn renamed(from: &RegLayout, to: &RegLayout, dims: Dims, place: &dyn Fn(&Coord) -> Coord) -> Option<Vec<usize>> {
    let held = by_coord(from);
    let exists = |at: &Coord| at.iter().zip(dims.as_slice()).all(|(i, n)| i < n);
    // Layouts are linear in the thread's number, but a row-major index need not be: look at every thread.
    let of = |reg: usize| {
        let mut found = None;
        for thread in 0..to.threads() {
            let at = to.coord(thread, reg);
            if !exists(&at) {
                continue;
            }
            let (wanted, mine) = (place(&at), from.thread_coord(thread));
            let rest: Coord = std::array::from_fn(|axis| wanted[axis].wrapping_sub(mine[axis]));
            let source = *held.get(&rest)?;
            if found.is_some_and(|found| found != source) || from.coord(thread, source) != wanted {
                return None;
            }
            found = Some(source);
        }
        Some(found.unwrap_or(0))
    };
    (0..to.regs()).map(of).collect()
}
