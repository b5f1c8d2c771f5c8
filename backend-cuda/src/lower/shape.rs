//! Ops that only say where an element belongs: registers under other names where the layouts allow it.

use super::errors::Fault;
use super::held::{Held, flat, stored};
use super::panels::Panels;
use super::reduce::by_coord;
use super::{Done, Lower};
use crate::layout::{Coord, RegLayout, cut_layout, without_axis};
use crate::ptx::{Addr, Bin, CacheHint, Cmp, Guard, Memory, Op as PtxOp, Reg, Space, Src, Tern, Touch, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Dims, MAX_RANK, Module, Op, OpId, ValueId, ops};

/// Which tiles rows are cut from, and these tiles as they are cut: each is laid so once, where it is made, and not for each
/// cut.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    wanted: FxHashSet<ValueId>,
    laid: FxHashMap<ValueId, (RegLayout, Vec<Reg>)>,
}

impl Cuts {
    pub(super) fn of(m: &Module) -> Cuts {
        let mut wanted = FxHashSet::default();
        m.each_op(&mut |op| {
            if let Op::Rows(o) = &m.op(op).op {
                wanted.insert(o.x);
            }
        });
        Cuts { wanted, laid: FxHashMap::default() }
    }
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
        let first = o.first.0;
        let laid = self.cuts.laid.get(&o.x).filter(|(layout, _)| layout.threads() == self.threads()).cloned();
        self.moved((id, o.x), laid, |at| {
            let mut from = *at;
            from[0] += first;
            from
        })
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
