//! The loops around an access. What it needs is computed before the loop where it can be; an address that moves by so many
//! bytes a turn lies in a register that the loop moves on, so that no turn multiplies.

use super::super::Lower;
use super::super::errors::Fault;
use crate::ptx::{Bin, Line, Op as PtxOp, Reg, Src, Ty};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::ops::{Access, Range};
use tilewright_core::ir::{Module, OpId, RegionId, ValueId};

/// A loop around the current op.
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
}

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
        let (before, pointers, distances) = (Vec::new(), Vec::new(), Vec::new());
        self.loops.push(Around { regions, ops, counted, before, pointers, distances });
    }
    /// Ends the turn of a loop: moves its addresses on. Gives what stands before the first turn.
    pub(in crate::lower) fn leave_loop(&mut self) -> Vec<Line> {
        let Some(around) = self.loops.pop() else { return Vec::new() };
        for Pointer { at, by, .. } in around.pointers {
            self.body.emit(PtxOp::Bin { op: Bin::Add, ty: Ty::S64, d: at, a: at.into(), b: by });
        }
        around.before
    }
    /// The address of an access as one that the innermost loop that moves it carries, and a constant. `None`: no loop does,
    /// or computing it anew costs no more.
    pub(super) fn carried(&mut self, at: &Access, elem: ElemType, base: Reg) -> Result<Option<(Reg, i64)>, Fault> {
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
        if is_cheap {
            return Ok(None);
        }
        if i32::try_from(offset).is_err() {
            distance.constants.push((Src::Imm(1), std::mem::take(&mut offset)));
        }
        self.streams = true;
        let pointer = self.pointer(depth, base, follows)?;
        Ok(Some(match self.distance(depth, distance)? {
            None => (pointer, offset),
            Some(by) => (self.body.bin(Bin::Add, Ty::S64, pointer, by), offset),
        }))
    }
    /// The register that the loop moves on for everything that follows its index from `base` on in the same steps.
    fn pointer(&mut self, depth: usize, base: Reg, follows: Vec<(Src, i64)>) -> Result<Reg, Fault> {
        let around = &self.loops[depth];
        if let Some(known) = around.pointers.iter().find(|known| known.base == base && known.follows == follows) {
            return Ok(known.at);
        }
        let Some(Counted { lo, step, .. }) = around.counted else { return Err(Fault::NoValue) };
        let (at, by) = self.before_loop(depth, |cx| {
            let lo = cx.index(lo)?;
            let step = step.map_or(Ok(Src::Imm(1)), |step| cx.index(step))?;
            let (mut from, mut by) = (Src::Reg(base), Src::Imm(0));
            for (stride, times) in &follows {
                let bytes = cx.product(*stride, Src::Imm(*times as u64));
                let (first, more) = (cx.product(bytes, lo), cx.product(bytes, step));
                (from, by) = (cx.sum(from, first), cx.sum(by, more));
            }
            Ok((cx.body.mov(Ty::B64, from), by))
        })?;
        self.loops[depth].pointers.push(Pointer { base, follows, at, by });
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
            let mut sum = Src::Imm(0);
            for (stride, v, n) in &distance.places {
                let places = cx.index(*v)?;
                let places = cx.product(places, Src::Imm(*n as u64));
                let bytes = cx.product(places, *stride);
                sum = cx.sum(sum, bytes);
            }
            for (stride, n) in &distance.constants {
                let bytes = cx.product(*stride, Src::Imm(*n as u64));
                sum = cx.sum(sum, bytes);
            }
            Ok(cx.in_register(Ty::S64, sum))
        })?;
        self.loops[depth].distances.push((distance, reg));
        Ok(Some(reg))
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
