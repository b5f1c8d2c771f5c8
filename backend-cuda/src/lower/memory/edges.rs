//! Edges of an access: the axes along which only the run knows which places of its tile exist, and what is asked about them.

use super::super::Lower;
use super::super::errors::Fault;
use super::window::Hoisted;
use crate::ptx::{Bin, Cmp, Reg, Src, Ty};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::ops::Access;
use tilewright_core::ir::{Dims, OpId, Type, ValueId};
use tilewright_core::passes::bounds::{Open, checked_access};

/// An axis along which only the run knows which places exist.
#[derive(Clone)]
pub(in crate::lower) struct Edge {
    /// Of the view.
    pub(in crate::lower) axis: usize,
    /// The same of the tile, if it has it.
    pub(super) along: Option<usize>,
    /// Places of the tile along it.
    n: u32,
    index: Src,
    /// It may begin below 0.
    below: bool,
    /// The view's length, where the access may end past it.
    len: Option<Src>,
    limits: Vec<Src>,
}

/// Which places along an edge exist: `low..high`, of the `places` that the limits leave.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Span {
    pub(in crate::lower) low: Reg,
    pub(in crate::lower) high: Reg,
    pub(in crate::lower) places: Src,
}

impl Lower<'_> {
    /// The axes along which only the run knows what exists, of those that are wanted.
    pub(super) fn edges(
        &mut self,
        id: OpId,
        at: &Access,
        ty: Type,
        wanted: impl Fn(&Self, usize) -> bool,
    ) -> Result<Vec<Edge>, Fault> {
        let dims = ty.dims().unwrap_or(Dims::SCALAR);
        let skipped = at.index.len() - dims.rank();
        // What is checked at launch, and held there, is inside.
        let held = checked_access(self.m, id).is_some() && !self.checked[id.index()];
        let open: Vec<Open> = if held { Vec::new() } else { self.prover.open_axes(id, at, ty) };
        let mut edges = Vec::new();
        for axis in 0..at.index.len() {
            let along = axis.checked_sub(skipped);
            let n = along.map_or(1, |along| dims.as_slice()[along]);
            let open = open.iter().find(|open| open.axis == axis);
            let limits = at.limits.iter().filter(|(a, _)| Some(*a as usize) == along);
            let limits: Vec<Src> = limits.map(|(_, n)| self.index(*n)).collect::<Result<_, _>>()?;
            if open.is_none() && limits.is_empty() || !wanted(self, axis) {
                continue;
            }
            let index = self.index(at.index[axis])?;
            let below = open.is_some_and(|open| open.below);
            let len = open.filter(|open| open.past).map(|_| self.view_len(at.view, axis as u32));
            edges.push(Edge { axis, along, n, index, below, len, limits });
        }
        Ok(edges)
    }
    /// Whether every place exists; `None`: surely. What no turn of a ring's loop changes is found out before it.
    pub(super) fn is_whole(
        &mut self,
        (id, at, ty): (OpId, &Access, Type),
        edges: &[Edge],
    ) -> Result<Option<Reg>, Fault> {
        let (before, each_turn): (Vec<&Edge>, Vec<&Edge>) =
            edges.iter().partition(|edge| self.stays(at, ty, edge.axis));
        let steady = if before.is_empty() {
            None
        } else {
            let what = Hoisted::Whole { op: id };
            let steady = self.try_hoisted(what, |cx| {
                let edges = cx.edges(id, at, ty, |cx, axis| cx.stays(at, ty, axis))?;
                cx.all_exist(&edges.iter().collect::<Vec<_>>()).ok_or(Fault::NoValue)
            })?;
            Some(steady)
        };
        let mut all = steady;
        for edge in each_turn {
            let one = match self.last(id, at, edge) {
                Some(last) => {
                    let index = self.scalar(at.index[edge.axis])?;
                    Some(self.body.setp(Cmp::Le, Ty::S32, index, last))
                }
                None => self.all_exist(&[edge]),
            };
            all = match (all, one) {
                (Some(a), Some(b)) => Some(self.body.bin(Bin::And, Ty::Pred, a, b)),
                (one, other) => one.or(other),
            };
        }
        Ok(all)
    }
    /// The last index that leaves room for the whole tile, where a ring's loop moves one of 32 bits that is never below 0.
    fn last(&mut self, id: OpId, at: &Access, edge: &Edge) -> Option<Reg> {
        let len = edge.len.filter(|_| self.fills_a_ring() && !edge.below && edge.limits.is_empty())?;
        (self.m.ty(at.index[edge.axis]) == Type::Scalar(ElemType::I32)).then_some(())?;
        Some(self.hoisted(Hoisted::Last { op: id, axis: edge.axis }, |cx| {
            let last = cx.body.bin(Bin::Sub, Ty::S64, len, Src::Imm(edge.n.into()));
            let last = cx.body.bin(Bin::Min, Ty::S64, last, Src::Imm(i32::MAX as u64));
            cx.body.cvt(Ty::U32, Ty::U64, last)
        }))
    }
    /// Whether slots of a ring are filled whose loop does not move the access along this axis.
    fn stays(&self, at: &Access, ty: Type, axis: usize) -> bool {
        let Some(around) = self.loops.last().filter(|_| self.fills_a_ring()) else { return false };
        // Limits count the axes of the tile.
        let along = |a: u32| a as usize + at.index.len() - ty.dims().unwrap_or(Dims::SCALAR).rank();
        let moves = |v: ValueId| self.changes_in(v, around);
        !moves(at.index[axis]) && !at.limits.iter().any(|(a, n)| along(*a) == axis && moves(*n))
    }
    /// `None`: there are no edges.
    fn all_exist(&mut self, edges: &[&Edge]) -> Option<Reg> {
        let mut all = Vec::new();
        for edge in edges {
            let n = Src::Imm(u64::from(edge.n));
            if let Some(len) = edge.len {
                let left = self.body.bin(Bin::Sub, Ty::S64, len, edge.index);
                all.push(self.body.setp(Cmp::Ge, Ty::S64, left, n));
            }
            if edge.below {
                all.push(self.body.setp(Cmp::Ge, Ty::S64, edge.index, Src::Imm(0)));
            }
            for limit in &edge.limits {
                all.push(self.body.setp(Cmp::Ge, Ty::S64, *limit, n));
            }
        }
        all.into_iter().reduce(|a, b| self.body.bin(Bin::And, Ty::Pred, a, b))
    }
    /// Which places along each edge exist.
    pub(in crate::lower) fn spans(&mut self, edges: &[Edge]) -> Vec<Span> {
        edges.iter().map(|edge| self.span(edge)).collect()
    }
    fn span(&mut self, edge: &Edge) -> Span {
        let mut places = Src::Imm(u64::from(edge.n));
        for limit in &edge.limits {
            places = self.body.bin(Bin::Min, Ty::S64, *limit, places).into();
        }
        if let Src::Reg(limit) = places {
            places = self.body.bin(Bin::Max, Ty::S64, limit, Src::Imm(0)).into();
        }
        let narrow = |cx: &mut Self, wide: Src| match wide {
            Src::Reg(wide) => cx.body.cvt(Ty::U32, Ty::U64, wide),
            imm @ Src::Imm(_) => cx.body.mov(Ty::B32, imm),
        };
        // Far outside is far outside: nothing overflows.
        let far = 1i64 << 62;
        let index = self.body.bin(Bin::Max, Ty::S64, edge.index, Src::Imm(-far as u64));
        let index = self.body.bin(Bin::Min, Ty::S64, index, Src::Imm(far as u64));
        let low = if edge.below {
            let before = self.body.bin(Bin::Sub, Ty::S64, Src::Imm(0), index);
            let before = self.body.bin(Bin::Max, Ty::S64, before, Src::Imm(0));
            self.body.bin(Bin::Min, Ty::S64, before, places).into()
        } else {
            Src::Imm(0)
        };
        let high = match edge.len {
            Some(len) => {
                let left = self.body.bin(Bin::Sub, Ty::S64, len, index);
                let left = self.body.bin(Bin::Min, Ty::S64, left, places);
                self.body.bin(Bin::Max, Ty::S64, left, low).into()
            }
            None => places,
        };
        let places = match places {
            Src::Reg(wide) => self.body.cvt(Ty::U32, Ty::U64, wide).into(),
            imm => imm,
        };
        Span { low: narrow(self, low), high: narrow(self, high), places }
    }
}
