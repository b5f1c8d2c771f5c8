//! An access in the terms of its tile: the address of a thread's first element, the steps between its others, and which of
//! them exist.

use super::super::Lower;
use super::super::errors::Fault;
use super::super::panels::Format;
use super::edges::{Edge, Span};
use crate::abi::Item;
use crate::layout::{Coord, RegLayout};
use crate::ptx::{Addr, Bin, Cmp, Reg, Src, Tern, Ty};
use rustc_hash::FxHashMap;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::ops::Access;
use tilewright_core::ir::{Def, Dims, OpId, Type, ValueId};

/// What is computed once, before everything else.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(in crate::lower) enum Hoisted {
    /// Bytes from one place of a view to the next.
    Stride {
        param: u32,
        axis: u32,
    },
    /// A thread's coordinate.
    Coord {
        layout: RegLayout,
        axis: usize,
    },
    /// Address of a thread's first element when the access begins at the first element of the view.
    Base {
        param: u32,
        layout: RegLayout,
        rank: u32,
    },
    /// The thread's number in its warp, and the warp's in the CTA.
    Lane,
    Warp,
    /// Bytes of so many places, each of so many as the register says.
    Places {
        stride: Reg,
        places: u32,
    },
    /// The policy of memory that is read once.
    EvictFirst,
    /// Whether a tile exists along the axes where the loop whose turns are loaded ahead does not move it.
    Whole {
        op: OpId,
    },
    /// The last index along an axis that leaves room for the whole tile.
    Last {
        op: OpId,
        axis: usize,
    },
    /// A thread's place in a tile in shared memory.
    Panel {
        format: Format,
        bases: Vec<Coord>,
    },
}

/// An access in the terms of its tile.
pub(in crate::lower) struct Window {
    /// Address of the thread's first element.
    base: Reg,
    offset: i64,
    /// Bytes from one place to the next, by tile axis.
    strides: Vec<Src>,
    /// This thread's coordinate, by tile axis.
    thread: Vec<Reg>,
    /// By tile axis: its length, where the layout covers more.
    padding: Vec<Option<u32>>,
    /// Axes along which only the run knows what exists.
    pub(in crate::lower) edges: Vec<Edge>,
    /// Whether all of the tile exists; `None`: surely.
    pub(in crate::lower) whole: Option<Reg>,
}

/// Which of a thread's elements exist, and the addresses of its rows.
pub(in crate::lower) struct Way<'w> {
    window: &'w Window,
    layout: &'w RegLayout,
    /// By tile axis.
    inside: Vec<Option<(Src, Src)>>,
    /// Of the axes that the tile does not have.
    others: Option<Reg>,
    rows: FxHashMap<Coord, Reg>,
    /// The row whose address was made last.
    last: (Coord, Reg),
}

impl Lower<'_> {
    /// Bytes from one place to the next along an axis of the view.
    pub(super) fn stride(&mut self, at: &Access, axis: u32, elem: ElemType) -> Src {
        let (param, rank) = (self.view_param(at.view), at.index.len() as u32);
        match self.view_stride(at.view, axis, rank) {
            Src::Imm(n) => Src::Imm(n * elem.bytes()),
            stride if elem.bytes() == 1 => stride,
            stride => {
                let shift = Src::Imm(u64::from(elem.bytes().trailing_zeros()));
                self.hoisted(Hoisted::Stride { param, axis }, |cx| cx.body.bin(Bin::Shl, Ty::B64, stride, shift)).into()
            }
        }
    }
    /// `base` moved to the access's position, as an address and a constant.
    fn at_position(&mut self, at: &Access, elem: ElemType, mut base: Reg) -> Result<(Reg, i64), Fault> {
        let mut offset = 0i64;
        // What a loop does not change comes first, so that it can leave the loop.
        let mut axes: Vec<usize> = (0..at.index.len()).collect();
        axes.sort_by_key(|axis| self.changes_in_loops(at.index[*axis]));
        for axis in axes {
            let index = self.scalar(at.index[axis])?;
            let stride = self.stride(at, axis as u32, elem);
            base = match (index, stride) {
                (Src::Imm(0), _) => base,
                (Src::Imm(n), Src::Imm(bytes)) => match (n as i64).checked_mul(bytes as i64) {
                    Some(by) if i32::try_from(offset + by).is_ok() => {
                        offset += by;
                        base
                    }
                    _ => self.body.bin(Bin::Add, Ty::S64, base, Src::Imm(n.wrapping_mul(bytes))),
                },
                (Src::Reg(index), Src::Imm(bytes)) if self.m.ty(at.index[axis]).elem() == ElemType::I32 => {
                    self.body.tern(Tern::MadWide, Ty::S32, index, Src::Imm(bytes), base)
                }
                (Src::Reg(index), Src::Imm(1)) => self.body.bin(Bin::Add, Ty::S64, base, index),
                (Src::Reg(index), Src::Imm(bytes)) if bytes.is_power_of_two() => {
                    let by = self.body.bin(Bin::Shl, Ty::B64, index, Src::Imm(u64::from(bytes.trailing_zeros())));
                    self.body.bin(Bin::Add, Ty::S64, base, by)
                }
                (_, stride) => {
                    let index = self.index(at.index[axis])?;
                    self.body.tern(Tern::MadLo, Ty::S64, stride, index, base)
                }
            };
        }
        Ok((base, offset))
    }
    fn changes_in_loops(&self, v: ValueId) -> bool {
        match self.m.def(v) {
            Def::Const(_) | Def::Param(_) => false,
            Def::Arg(..) => true,
            Def::Result(op, _) => self.is_in_a_loop(op),
        }
    }
    /// An index as 64 bits.
    pub(in crate::lower) fn index(&mut self, v: ValueId) -> Result<Src, Fault> {
        let src = self.scalar(v)?;
        Ok(match (src, self.m.ty(v)) {
            (Src::Reg(reg), Type::Scalar(ElemType::I32)) => self.body.cvt(Ty::S64, Ty::S32, reg).into(),
            (src, _) => src,
        })
    }

    /// `layout`: of a tile; `None`: the access is to one element, the same in all threads.
    pub(in crate::lower) fn window(
        &mut self,
        id: OpId,
        at: &Access,
        ty: Type,
        layout: Option<&RegLayout>,
    ) -> Result<Window, Fault> {
        let (elem, dims) = (ty.elem(), ty.dims().unwrap_or(Dims::SCALAR));
        let (param, rank) = (self.view_param(at.view), at.index.len() as u32);
        let skipped = at.index.len() - dims.rank();
        let (mut strides, mut padding, mut thread) = (Vec::new(), Vec::new(), Vec::new());
        let mut base = self.param(Ty::U64, Item::Pointer { param });
        if let Some(layout) = layout {
            for (axis, n) in dims.as_slice().iter().enumerate() {
                strides.push(self.stride(at, (skipped + axis) as u32, elem));
                let coord = Hoisted::Coord { layout: layout.clone(), axis };
                thread.push(self.hoisted(coord, |cx| cx.thread_coord(layout, axis)));
                padding.push((layout.rep()[axis] * layout.atom(axis) > *n).then_some(*n));
            }
            let what = Hoisted::Base { param, layout: layout.clone(), rank };
            base = self.hoisted(what, |cx| cx.thread_base(base, &thread, &strides));
        }
        // A loop keeps registers for what it carries: those are worth more where many instructions share an address.
        let instructions = layout.map_or(1, |layout| layout.regs() / self.width(id, layout).aligned);
        let carried = if instructions == 1 || self.fills_a_ring() { self.carried(at, elem, base)? } else { None };
        let (base, offset) = match carried {
            Some(carried) => carried,
            None => self.at_position(at, elem, base)?,
        };
        let edges = self.edges(id, at, ty, |_, _| true)?;
        let whole = self.is_whole((id, at, ty), &edges)?;
        Ok(Window { base, offset, strides, thread, padding, edges, whole })
    }
    fn thread_base(&mut self, mut base: Reg, thread: &[Reg], strides: &[Src]) -> Reg {
        for (coord, stride) in thread.iter().zip(strides) {
            base = match *stride {
                Src::Imm(bytes) => self.body.tern(Tern::MadWide, Ty::U32, *coord, Src::Imm(bytes), base),
                stride @ Src::Reg(_) => {
                    let wide = self.body.cvt(Ty::U64, Ty::U32, *coord);
                    self.body.tern(Tern::MadLo, Ty::U64, wide, stride, base)
                }
            };
        }
        base
    }
    /// Where all of the tile exists.
    pub(in crate::lower) fn whole_way<'w>(&self, window: &'w Window, layout: &'w RegLayout) -> Way<'w> {
        let inside = window.padding.iter().map(|n| n.map(|n| (Src::Imm(0), Src::Imm(u64::from(n))))).collect();
        Way { window, layout, inside, others: None, rows: FxHashMap::default(), last: ([0; 4], window.base) }
    }
    /// Where some of it may not.
    pub(in crate::lower) fn part_way<'w>(
        &mut self,
        window: &'w Window,
        layout: &'w RegLayout,
        spans: &[Span],
    ) -> Way<'w> {
        let mut way = self.whole_way(window, layout);
        for (edge, span) in window.edges.iter().zip(spans) {
            match edge.along {
                Some(axis) => way.inside[axis] = Some((span.low.into(), span.high.into())),
                None => {
                    let exists = self.body.setp(Cmp::Gt, Ty::U32, span.high, span.low);
                    way.others = Some(match way.others {
                        None => exists,
                        Some(others) => self.body.bin(Bin::And, Ty::Pred, others, exists),
                    });
                }
            }
        }
        way
    }
    pub(in crate::lower) fn address(&mut self, way: &mut Way<'_>, reg: usize) -> Addr {
        let Way { window, layout, .. } = *way;
        let mut offset = window.offset;
        let mut row: Coord = layout.reg_coord(reg);
        for (at, stride) in row.iter_mut().zip(&window.strides) {
            if let Src::Imm(bytes) = stride {
                offset += i64::from(*at) * *bytes as i64;
                *at = 0;
            }
        }
        let base = match way.rows.get(&row) {
            Some(base) => *base,
            None => {
                // On from the last one, by a distance that is known before everything else, where none goes back.
                let (from, last) = way.last;
                let onward = row.iter().zip(&from).all(|(at, from)| at >= from);
                let (from, mut base) = if onward { (from, last) } else { ([0; 4], window.base) };
                for ((at, from), stride) in
                    row.iter().zip(from).zip(&window.strides).filter(|((at, from), _)| *at > from)
                {
                    let by = self.bytes_apart(*stride, *at - from);
                    base = self.body.bin(Bin::Add, Ty::S64, base, by);
                }
                way.rows.insert(row, base);
                way.last = (row, base);
                base
            }
        };
        Addr::reg(base, offset)
    }
    /// Bytes of so many places.
    fn bytes_apart(&mut self, stride: Src, places: u32) -> Src {
        match stride {
            Src::Imm(bytes) => Src::Imm(bytes * u64::from(places)),
            Src::Reg(_) if places == 1 => stride,
            Src::Reg(reg) => {
                let by = Src::Imm(u64::from(places));
                self.hoisted(Hoisted::Places { stride: reg, places }, |cx| cx.body.bin(Bin::MulLo, Ty::S64, reg, by))
                    .into()
            }
        }
    }
    /// The address of the only element.
    pub(in crate::lower) fn only(&self, window: &Window) -> Addr {
        Addr::reg(window.base, window.offset)
    }
    /// Whether a register's element exists; `None`: surely.
    pub(in crate::lower) fn exists(&mut self, way: &Way<'_>, reg: usize) -> Option<Reg> {
        let coord = way.layout.reg_coord(reg);
        let mut all = way.others;
        for (axis, inside) in way.inside.iter().enumerate() {
            let Some((lo, hi)) = *inside else { continue };
            let at = match coord[axis] {
                0 => way.window.thread[axis],
                n => self.body.bin(Bin::Add, Ty::U32, way.window.thread[axis], Src::Imm(u64::from(n))),
            };
            let mut both = self.body.setp(Cmp::Lt, Ty::U32, at, hi);
            if lo != Src::Imm(0) {
                let after = self.body.setp(Cmp::Ge, Ty::U32, at, lo);
                both = self.body.bin(Bin::And, Ty::Pred, both, after);
            }
            all = Some(match all {
                None => both,
                Some(all) => self.body.bin(Bin::And, Ty::Pred, all, both),
            });
        }
        all
    }
}
