//! The values of the warps become one: each warp lays its own down in shared memory, and all threads merge them, in layouts
//! of all threads. Where there are fewer turns than warps, some have none: then one is merged after the other.

use super::super::Lower;
use super::super::errors::Fault;
use super::super::held::{Held, stored};
use super::Turns;
use crate::layout::{RegLayout, Swizzle};
use crate::ptx::{Addr, Bin, Buffer, CacheHint, Cmp, Guard, Memory, Op as PtxOp, Place, Space, Src, Touch};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::{OpId, Type, ValueId, ops};

/// Where the warps' parts of a value lie, side by side.
pub(super) struct Laid {
    buffer: Buffer,
    /// Of one warp's.
    bytes: u32,
    tile: Option<Across>,
}
/// How a tile gets from a warp's layout into that of all threads.
struct Across {
    swizzle: Swizzle,
    from: RegLayout,
    to: RegLayout,
}

/// Alignment of what a warp lays down.
const ALIGNED: u32 = 16;

impl Lower<'_> {
    /// By each warp. `so_far`: arguments of the merge that stand for the state.
    pub(super) fn lay_down_all(&mut self, id: OpId, so_far: &[ValueId], state: &[Held]) -> Result<Vec<Laid>, Fault> {
        let results = self.m.op(id).results;
        let mut out = Vec::new();
        for ((v, held), result) in so_far.iter().zip(state).zip(results.iter()) {
            let ty = self.m.ty(*v);
            let elem = ty.elem();
            out.push(match held {
                Held::Tile(regs) => {
                    let from = self.layout(*v)?;
                    let to = self.others.layouts.get(result).cloned().ok_or(Fault::NoValue)?;
                    let swizzle = Swizzle::of(&from, &to, elem.bytes() as u32);
                    let bytes = (swizzle.elems() * elem.bytes() as u32).next_multiple_of(ALIGNED);
                    let buffer = self.buffer(bytes, ALIGNED);
                    self.lay_down(elem, &swizzle, regs, &from, buffer);
                    Laid { buffer, bytes, tile: Some(Across { swizzle, from, to }) }
                }
                Held::Scalar(value) => {
                    let buffer = self.buffer(ALIGNED, ALIGNED);
                    let base = self.buffer_base(buffer);
                    let value = self.in_register(super::held(elem), *value);
                    let (at, a) = (Addr::reg(base, 0), vec![self.as_stored(elem, value)]);
                    let touch = Touch::write(Memory::Shared(buffer), self.body.group());
                    let hint = CacheHint::default();
                    self.body.touch(touch, None, PtxOp::St { space: Space::Shared, hint, ty: stored(elem), at, a });
                    Laid { buffer, bytes: ALIGNED, tile: None }
                }
                Held::Panels(_) => return Err(Fault::NoValue),
            });
        }
        Ok(out)
    }
    /// By all threads.
    pub(super) fn meet(
        &mut self,
        id: OpId,
        o: &ops::MapReduce,
        turns: &Turns,
        laid: &[Laid],
    ) -> Result<(), Diagnostics> {
        let m = self.m;
        let (results, merge) = (m.op(id).results, m.region(o.merge));
        let (so_far, other) = merge.args.split_at(results.count as usize);
        let at = |fault: Fault| Diagnostics::from(fault.diagnostic(m, id));
        let sum: Vec<Held> = results.iter().map(|v| self.room(v)).collect::<Result<_, _>>().map_err(at)?;
        let wide = super::super::control::unsigned(turns.ty);
        let few = self.body.setp(Cmp::Lt, wide, turns.count, Src::Imm(u64::from(self.warps())));
        let (one_by_one, end) = (self.body.label(), self.body.label());
        self.body.emit_if(Guard { pred: few, negated: false }, PtxOp::Bra { to: one_by_one, uniform: true });
        self.meet_all(id, o, laid)?;
        self.hand_over(id, other, results.iter(), &sum)?;
        self.body.emit(PtxOp::Label(end));

        let from = self.body.aside();
        self.body.emit(PtxOp::Label(one_by_one));
        results.iter().chain(so_far.iter().copied()).zip(sum.iter().chain(&sum)).for_each(|(v, held)| {
            self.values[v.index()] = Some(held.clone());
        });
        for warp in 0..self.warps() {
            if warp > 0 {
                let none = self.body.setp(Cmp::Le, wide, turns.count, Src::Imm(u64::from(warp)));
                self.body.emit_if(Guard { pred: none, negated: false }, PtxOp::Bra { to: end, uniform: true });
            }
            self.take_up(other, laid, warp);
            if warp == 0 {
                self.hand_over(id, other, results.iter(), &sum)?;
                continue;
            }
            self.region(o.merge)?;
            self.await_all_copies();
            self.hand_over(id, &merge.yields, results.iter(), &sum)?;
        }
        self.body.emit(PtxOp::Bra { to: end, uniform: true });
        self.body.resume(from, Place::Rare);
        Ok(())
    }
    /// The values of all warps, neighbours first, so that what does not depend on each other is merged at the same time. The
    /// sum is what the merge has as its other argument.
    fn meet_all(&mut self, id: OpId, o: &ops::MapReduce, laid: &[Laid]) -> Result<(), Diagnostics> {
        let m = self.m;
        let merge = m.region(o.merge);
        let (so_far, other) = merge.args.split_at(laid.len());
        let mut values: Vec<Vec<Held>> = Vec::new();
        for warp in 0..self.warps() {
            self.take_up(other, laid, warp);
            values.push(other.iter().filter_map(|v| self.values[v.index()].clone()).collect());
        }
        while values.len() > 1 {
            let mut merged = Vec::new();
            for pair in values.chunks(2) {
                let [a, b] = pair else { continue };
                for (v, held) in so_far.iter().zip(a).chain(other.iter().zip(b)) {
                    self.values[v.index()] = Some(held.clone());
                }
                self.region(o.merge)?;
                self.await_all_copies();
                for (v, from) in other.iter().zip(&merge.yields) {
                    self.alias(*v, *from).map_err(|fault| Diagnostics::from(fault.diagnostic(m, id)))?;
                }
                merged.push(other.iter().filter_map(|v| self.values[v.index()].clone()).collect());
            }
            values = merged;
        }
        Ok(())
    }
    /// What a warp has laid down, as the merge's other argument.
    fn take_up(&mut self, other: &[ValueId], laid: &[Laid], warp: u32) {
        for (v, laid) in other.iter().zip(laid) {
            let held = self.warp_value(self.m.ty(*v), laid, warp);
            self.values[v.index()] = Some(held);
        }
    }
    /// What a warp has laid down.
    fn warp_value(&mut self, ty: Type, laid: &Laid, warp: u32) -> Held {
        let base = self.body.buffer_base(laid.buffer);
        let base = match warp {
            0 => base,
            n => self.body.bin(Bin::Add, super::Ty::U32, base, Src::Imm(u64::from(n * laid.bytes))),
        };
        match &laid.tile {
            Some(Across { swizzle, from, to }) => {
                Held::Tile(self.pick_up(ty.elem(), swizzle, (from, to), (laid.buffer, base)))
            }
            None => {
                let touch = Touch::read(Memory::Shared(laid.buffer), self.body.group());
                Held::Scalar(self.load_one(ty.elem(), touch, CacheHint::default(), Addr::reg(base, 0)).into())
            }
        }
    }
}
