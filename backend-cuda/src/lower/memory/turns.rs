//! The loops around an access. What it needs is computed before the loop where it can be; an address that moves by so many
//! bytes a turn lies in a register that the loop moves on, so that no turn multiplies.

use super::super::Lower;
use super::super::errors::Fault;
use super::window::Hoisted;
use crate::layout::RegLayout;
use crate::ptx::{Bin, Line, Op as PtxOp, Place, Reg, Src, Ty};
use rustc_hash::FxHashMap;
use std::convert::Infallible;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::ops::{Access, Op, Range};
use tilewright_core::ir::{Module, OpId, RegionId, ValueId};

/// A loop around the current op.
#[derive(Default)]
pub(in crate::lower) struct Around {
    regions: Vec<RegionId>,
    /// Its ops, which lie side by side in the module's arena: first and one past the last.
    ops: (u32, u32),
    /// `None`: it does not count.
    counted: Option<Counted>,
    /// Stands before the first turn.
    before: Vec<Line>,
    pointers: Vec<Pointer>,
    distances: Vec<(Distance, Reg)>,
    /// Operands of products that no turn changes, in registers.
    kept: Vec<(Kept, Vec<Reg>)>,
    /// What is computed once before its first turn.
    hoisted: FxHashMap<Hoisted, Reg>,
    /// It fills slots of a ring: addresses move on with each filling.
    fills: bool,
    /// Other loops stand in it.
    is_outer: bool,
}

/// Which operand, the layout of its fragments, and whether that is of its transpose.
pub(in crate::lower) type Kept = (ValueId, RegLayout, bool);
/// Registers that a loop keeps for operands at most.
const KEPT: usize = 32;
/// Registers of its sums, products and kept operands together: ptxas has 255, and wants as many again for addresses and for what
/// it reads early as are left. Attention with 32 rows a warp (160 with q) spilled.
const KEPT_BESIDE: usize = 140;

struct Counted {
    index: ValueId,
    lo: ValueId,
    step: Option<ValueId>,
    /// What its turns are at least apart.
    least: u128,
}

/// An address that the loop moves on by so many bytes a turn.
struct Pointer {
    base: Reg,
    /// How it follows the loop's index: bytes a place, and places a step of 1.
    follows: Vec<(Src, i64)>,
    /// How far from the base the first turn's is.
    from: Distance,
    at: Reg,
    by: Src,
}

/// Bytes that no turn changes.
#[derive(Clone, PartialEq, Eq, Default)]
struct Distance {
    /// Bytes a place, and places.
    places: Vec<(Src, ValueId, i64)>,
    constants: Vec<(Src, i64)>,
}

impl Around {
    /// What counts its turns.
    pub(super) fn index(&self) -> Option<ValueId> {
        self.counted.as_ref().map(|counted| counted.index)
    }
    pub(super) fn least_step(&self) -> Option<(ValueId, u128)> {
        self.counted.as_ref().map(|counted| (counted.index, counted.least))
    }
    pub(super) fn has_region(&self, r: RegionId) -> bool {
        self.regions.contains(&r)
    }
    pub(super) fn has_op(&self, op: OpId) -> bool {
        (self.ops.0..self.ops.1).contains(&op.0)
    }
}

impl Lower<'_> {
    /// `counted`: the index and range of a loop that counts.
    pub(in crate::lower) fn enter_loop(&mut self, regions: &[RegionId], counted: Option<(ValueId, &Range)>) {
        let least = |v: ValueId| self.prover.facts().get(self.m, v).map_or(1, |fact| fact.divisor.max(1));
        let counted = counted.map(|(index, range)| Counted {
            index,
            lo: range.lo,
            step: range.step,
            least: range.step.map_or(1, least),
        });
        let (regions, ops) = (regions.to_vec(), span(self.m, regions));
        let mut is_outer = false;
        for r in &regions {
            self.m.walk(*r, &mut |op| is_outer |= matches!(self.m.op(op).op, Op::For(_) | Op::While(_)));
        }
        self.loops.push(Around { regions, ops, counted, is_outer, ..Around::default() });
    }
    /// What `f` computes, once for the whole kernel; for the slots of a ring, once for its loop; and where it stands in a loop
    /// around others, whose turns would have to keep it.
    pub(in crate::lower) fn hoisted(&mut self, what: Hoisted, f: impl FnOnce(&mut Self) -> Reg) -> Reg {
        let Ok(reg) = self.try_hoisted(what, |cx| Ok::<Reg, Infallible>(f(cx)));
        reg
    }
    pub(super) fn try_hoisted<E>(
        &mut self,
        what: Hoisted,
        f: impl FnOnce(&mut Self) -> Result<Reg, E>,
    ) -> Result<Reg, E> {
        if let Some(reg) = self.hoisted.get(&what) {
            return Ok(*reg);
        }
        match self.loops.last() {
            Some(around) if around.fills => {
                if let Some(reg) = around.hoisted.get(&what) {
                    return Ok(*reg);
                }
                let from = self.body.aside();
                let reg = f(self)?;
                let lines = self.body.apart(from);
                if let Some(around) = self.loops.last_mut() {
                    around.before.extend(lines);
                    around.hoisted.insert(what, reg);
                }
                Ok(reg)
            }
            Some(around) if around.is_outer => f(self),
            Some(_) | None => {
                let from = self.body.aside();
                let reg = f(self)?;
                self.body.resume(from, Place::Entry);
                self.hoisted.insert(what, reg);
                Ok(reg)
            }
        }
    }
    /// The same loop, ahead of its turns: what fills the slots of its rings.
    pub(in crate::lower) fn filling(&mut self, regions: &[RegionId], counted: (ValueId, &Range)) -> Around {
        self.enter_loop(regions, Some(counted));
        Around { fills: true, ..self.loops.pop().unwrap_or_default() }
    }
    /// Ends the turn of a loop: moves its addresses on. Gives what stands before the first turn.
    pub(in crate::lower) fn leave_loop(&mut self) -> Vec<Line> {
        let Some(mut around) = self.loops.pop() else { return Vec::new() };
        self.move_on(&mut around)
    }
    /// Moves the addresses on by a turn. Gives what stands before the first one and has not been given.
    pub(in crate::lower) fn move_on(&mut self, around: &mut Around) -> Vec<Line> {
        for Pointer { at, by, .. } in &around.pointers {
            self.body.emit(PtxOp::Bin { op: Bin::Add, ty: Ty::S64, d: *at, a: (*at).into(), b: *by });
        }
        std::mem::take(&mut around.before)
    }
    /// Whether slots of a ring are being filled.
    pub(super) fn fills_a_ring(&self) -> bool {
        self.loops.last().is_some_and(|around| around.fills)
    }
    /// What the innermost loop keeps of an operand that it does not change: `read` reads so many words before the first turn.
    /// `None`: no loop does, its turns change the value, or it keeps enough.
    pub(in crate::lower) fn kept(
        &mut self,
        what: Kept,
        words: usize,
        read: impl FnOnce(&mut Self) -> Result<Vec<Reg>, Fault>,
    ) -> Result<Option<Vec<Reg>>, Fault> {
        let Some(around) = self.loops.last() else { return Ok(None) };
        if around.counted.is_none() || self.changes_in(what.0, around) {
            return Ok(None);
        }
        if let Some((_, known)) = around.kept.iter().find(|(known, _)| *known == what) {
            return Ok(Some(known.clone()));
        }
        let kept = around.kept.iter().map(|(_, regs)| regs.len()).sum::<usize>() + words;
        if kept > KEPT || kept + self.sums_in(&around.regions) > KEPT_BESIDE {
            return Ok(None);
        }
        let depth = self.loops.len() - 1;
        let regs = self.before_loop(depth, read)?;
        self.loops[depth].kept.push((what, regs.clone()));
        Ok(Some(regs))
    }
    /// Registers of the tiles that a loop carries.
    pub(in crate::lower) fn carried_in(&self, regions: &[RegionId]) -> usize {
        regions.iter().flat_map(|r| &self.m.region(*r).args).map(|v| self.regs_of(*v)).sum()
    }
    fn regs_of(&self, v: ValueId) -> usize {
        self.layouts.get(v).map_or(0, |layout| layout.regs())
    }
    /// Registers of the tiles that a loop carries, and of the products that start anew in its turns.
    pub(in crate::lower) fn sums_in(&self, regions: &[RegionId]) -> usize {
        let m = self.m;
        let mut sum = self.carried_in(regions);
        for r in regions {
            m.walk(*r, &mut |op| match &m.op(op).op {
                Op::Dot(o) if o.c.is_none() => sum += self.regs_of(m.op(op).results.first),
                _ => {}
            });
        }
        sum
    }
    /// The address of an access as one that the innermost loop that moves it carries, and a constant. `None`: no loop does,
    /// or computing it anew costs no more.
    pub(super) fn carried(&mut self, at: &Access, elem: ElemType, base: Reg) -> Result<Option<(Reg, i64)>, Fault> {
        if self.loops.last().is_some_and(|around| around.is_outer && !around.fills) {
            // The turns of the loops in it would have to keep it.
            return Ok(None);
        }
        let moves = |cx: &Self, around: &Around| at.index.iter().any(|v| cx.changes_in(*v, around));
        let Some(depth) = self.loops.iter().rposition(|around| moves(self, around)) else { return Ok(None) };
        let around = &self.loops[depth];
        let Some(sums) = at.index.iter().map(|v| self.affine(*v, around)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let (mut follows, mut distance, mut offset) = (Vec::new(), Distance::default(), 0i64);
        let mut is_cheap = true;
        for (axis, sum) in sums.into_iter().enumerate() {
            let stride = self.stride(at, axis as u32, elem);
            if sum.times != 0 {
                follows.push((stride, sum.times));
                // One instruction multiplies 32 bits and adds 64.
                is_cheap &= matches!(stride, Src::Imm(_)) && self.m.ty(at.index[axis]).elem() == ElemType::I32;
            }
            distance.places.extend(sum.terms.into_iter().map(|(v, n)| (stride, v, n)));
            match (stride, sum.constant) {
                (_, 0) => {}
                (Src::Imm(bytes), n)
                    if let Some(sum) = (bytes as i64).checked_mul(n).and_then(|by| by.checked_add(offset)) =>
                {
                    offset = sum;
                }
                (stride, n) => distance.constants.push((stride, n)),
            }
        }
        if is_cheap && !self.loops[depth].fills {
            return Ok(None);
        }
        if i32::try_from(offset).is_err() {
            distance.constants.push((Src::Imm(1), std::mem::take(&mut offset)));
        }
        if self.loops[depth].fills {
            return Ok(Some((self.pointer(depth, base, follows, distance)?, offset)));
        }
        self.streams = true;
        let pointer = self.pointer(depth, base, follows, Distance::default())?;
        Ok(Some(match self.distance(depth, distance)? {
            None => (pointer, offset),
            Some(by) => (self.body.bin(Bin::Add, Ty::S64, pointer, by), offset),
        }))
    }
    /// The register that the loop moves on for everything that follows its index from `base` on in the same steps.
    fn pointer(&mut self, depth: usize, base: Reg, follows: Vec<(Src, i64)>, from: Distance) -> Result<Reg, Fault> {
        let around = &self.loops[depth];
        let same = |known: &&Pointer| known.base == base && known.follows == follows && known.from == from;
        if let Some(known) = around.pointers.iter().find(same) {
            return Ok(known.at);
        }
        let Some(Counted { lo, step, .. }) = around.counted else { return Err(Fault::NoValue) };
        let (at, by) = self.before_loop(depth, |cx| {
            let lo = cx.index(lo)?;
            let step = step.map_or(Ok(Src::Imm(1)), |step| cx.index(step))?;
            let distance = cx.bytes_of(&from)?;
            let (mut first, mut by) = (cx.sum(Src::Reg(base), distance), Src::Imm(0));
            for (stride, times) in &follows {
                let bytes = cx.product(*stride, Src::Imm(*times as u64));
                let (more, each) = (cx.product(bytes, lo), cx.product(bytes, step));
                (first, by) = (cx.sum(first, more), cx.sum(by, each));
            }
            Ok((cx.body.mov(Ty::B64, first), by))
        })?;
        self.loops[depth].pointers.push(Pointer { base, follows, from, at, by });
        Ok(at)
    }
    /// `None`: none.
    fn distance(&mut self, depth: usize, distance: Distance) -> Result<Option<Reg>, Fault> {
        if distance == Distance::default() {
            return Ok(None);
        }
        if let Some((_, known)) = self.loops[depth].distances.iter().find(|(known, _)| *known == distance) {
            return Ok(Some(*known));
        }
        let reg = self.before_loop(depth, |cx| {
            let sum = cx.bytes_of(&distance)?;
            Ok(cx.in_register(Ty::S64, sum))
        })?;
        self.loops[depth].distances.push((distance, reg));
        Ok(Some(reg))
    }
    fn bytes_of(&mut self, distance: &Distance) -> Result<Src, Fault> {
        let mut sum = Src::Imm(0);
        for (stride, v, n) in &distance.places {
            let places = self.index(*v)?;
            let places = self.product(places, Src::Imm(*n as u64));
            let bytes = self.product(places, *stride);
            sum = self.sum(sum, bytes);
        }
        for (stride, n) in &distance.constants {
            let bytes = self.product(*stride, Src::Imm(*n as u64));
            sum = self.sum(sum, bytes);
        }
        Ok(sum)
    }
    /// What `f` emits stands before the first turn of the loop.
    fn before_loop<T>(&mut self, depth: usize, f: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let from = self.body.aside();
        let out = f(self);
        let lines = self.body.apart(from);
        self.loops[depth].before.extend(lines);
        out
    }
    /// 64 bits.
    fn product(&mut self, a: Src, b: Src) -> Src {
        match (a, b) {
            (Src::Imm(a), Src::Imm(b)) => Src::Imm(a.wrapping_mul(b)),
            (Src::Imm(0), _) | (_, Src::Imm(0)) => Src::Imm(0),
            (a, Src::Imm(1)) | (Src::Imm(1), a) => a,
            (a @ Src::Reg(_), Src::Imm(n)) | (Src::Imm(n), a @ Src::Reg(_)) if n.is_power_of_two() => {
                self.body.bin(Bin::Shl, Ty::B64, a, Src::Imm(u64::from(n.trailing_zeros()))).into()
            }
            (a, b) => self.body.bin(Bin::MulLo, Ty::S64, a, b).into(),
        }
    }
    fn sum(&mut self, a: Src, b: Src) -> Src {
        match (a, b) {
            (Src::Imm(a), Src::Imm(b)) => Src::Imm(a.wrapping_add(b)),
            (a, Src::Imm(0)) | (Src::Imm(0), a) => a,
            (a, b) => self.body.bin(Bin::Add, Ty::S64, a, b).into(),
        }
    }
    /// Whether one of the loops around the current op holds this one.
    pub(super) fn is_in_a_loop(&self, op: OpId) -> bool {
        self.loops.first().is_some_and(|outermost| outermost.has_op(op))
    }
}

/// The ops under some regions.
fn span(m: &Module, regions: &[RegionId]) -> (u32, u32) {
    let (mut from, mut to) = (u32::MAX, 0);
    for r in regions {
        m.walk(*r, &mut |op| (from, to) = (from.min(op.0), to.max(op.0 + 1)));
    }
    (from, to)
}
