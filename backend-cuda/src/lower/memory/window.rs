//! An access in the terms of its tile: the address of a thread's first element, the steps between its others, and which
//! places exist.

use super::super::Lower;
use super::super::errors::Fault;
use crate::abi::Item;
use crate::layout::RegLayout;
use crate::ptx::{Addr, Bin, Cmp, Reg, Src, Tern, Ty};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::ops::Access;
use tilewright_core::ir::{OpId, Type, ValueId};
use tilewright_core::passes::bounds::checked_access;

/// An access in the terms of its tile.
pub(super) struct Window {
    /// Address of the thread's first element.
    pub(super) base: Reg,
    /// Bytes from one place to the next, by tile axis.
    strides: Vec<Src>,
    /// By tile axis: the places `lo..hi` exist. `None`: all of them.
    inside: Vec<Option<(Src, Src)>>,
    /// This thread's coordinate, by tile axis.
    thread: Vec<Reg>,
}

impl Lower<'_> {
    /// The address of the place itself; equal in all threads.
    pub(super) fn element_address(&mut self, at: &Access, elem: ElemType) -> Result<Reg, Fault> {
        let rank = at.index.len() as u32;
        let param = self.view_param(at.view);
        let mut offset: Option<Reg> = None;
        for (axis, index) in at.index.iter().enumerate() {
            let index = self.index(*index)?;
            let stride = self.view_stride(at.view, axis as u32, rank);
            offset = Some(match (offset, stride) {
                (None, Src::Imm(1)) => self.in_register(Ty::S64, index),
                (None, stride) => self.body.bin(Bin::MulLo, Ty::S64, index, stride),
                (Some(sum), Src::Imm(1)) => self.body.bin(Bin::Add, Ty::S64, sum, index),
                (Some(sum), stride) => self.body.tern(Tern::MadLo, Ty::S64, index, stride, sum),
            });
        }
        let base = self.param(Ty::U64, Item::Pointer { param });
        Ok(match offset {
            None => base,
            Some(offset) => self.body.tern(Tern::MadLo, Ty::S64, offset, Src::Imm(elem.bytes()), base),
        })
    }
    /// An index as 64 bits.
    fn index(&mut self, v: ValueId) -> Result<Src, Fault> {
        let src = self.scalar(v)?;
        Ok(match (src, self.m.ty(v)) {
            (Src::Reg(reg), Type::Scalar(ElemType::I32)) => self.body.cvt(Ty::S64, Ty::S32, reg).into(),
            (src, _) => src,
        })
    }
    fn in_register(&mut self, ty: Ty, src: Src) -> Reg {
        match src {
            Src::Reg(reg) => reg,
            imm @ Src::Imm(_) => self.constant(ty, imm),
        }
    }

    pub(super) fn window(&mut self, id: OpId, at: &Access, ty: Type, layout: &RegLayout) -> Result<Window, Fault> {
        let (elem, dims) = (ty.elem(), ty.dims().ok_or(Fault::NoValue)?);
        let (rank, skipped) = (at.index.len() as u32, at.index.len() - dims.rank());
        let mut base = self.element_address(at, elem)?;
        let (mut strides, mut inside, mut thread) = (Vec::new(), Vec::new(), Vec::new());
        // What is checked at launch, and held there, is inside.
        let held = checked_access(self.m, id).is_some() && !self.checked[id.index()];
        let open = if held { Vec::new() } else { self.prover.open_axes(id, at, ty) };
        let open: Vec<usize> = open.iter().map(|open| open.axis).collect();
        for (axis, n) in dims.as_slice().iter().enumerate() {
            let stride = match self.view_stride(at.view, (skipped + axis) as u32, rank) {
                Src::Imm(one) => Src::Imm(one * elem.bytes()),
                stride => self.body.bin(Bin::MulLo, Ty::U64, stride, Src::Imm(elem.bytes())).into(),
            };
            let coord = self.thread_coord(layout, axis);
            base = match stride {
                Src::Imm(bytes) => self.body.tern(Tern::MadWide, Ty::U32, coord, Src::Imm(bytes), base),
                Src::Reg(_) => {
                    let wide = self.body.cvt(Ty::U64, Ty::U32, coord);
                    self.body.tern(Tern::MadLo, Ty::U64, wide, stride, base)
                }
            };
            inside.push(self.places(at, skipped, axis, *n, open.contains(&(skipped + axis)), layout)?);
            strides.push(stride);
            thread.push(coord);
        }
        Ok(Window { base, strides, inside, thread })
    }
    /// Which places along a tile axis exist: inside the tile, the view and the limits.
    fn places(
        &mut self,
        at: &Access,
        skipped: usize,
        axis: usize,
        n: u32,
        open: bool,
        layout: &RegLayout,
    ) -> Result<Option<(Src, Src)>, Fault> {
        let covered = layout.rep()[axis] * layout.atom(axis);
        let limits: Vec<_> = at.limits.iter().filter(|(a, _)| *a as usize == axis).map(|(_, n)| *n).collect();
        if !open && limits.is_empty() {
            return Ok((covered > n).then_some((Src::Imm(0), Src::Imm(u64::from(n)))));
        }
        let mut hi = Src::Imm(u64::from(n));
        let mut lo = Src::Imm(0);
        if open {
            let index = self.index(at.index[skipped + axis])?;
            let len = self.view_len(at.view, (skipped + axis) as u32);
            let left = self.body.bin(Bin::Sub, Ty::S64, len, index);
            hi = self.body.bin(Bin::Min, Ty::S64, left, hi).into();
            let before = self.body.bin(Bin::Sub, Ty::S64, Src::Imm(0), index);
            let before = self.body.bin(Bin::Min, Ty::S64, before, Src::Imm(u64::from(n)));
            let before = self.body.bin(Bin::Max, Ty::S64, before, Src::Imm(0));
            lo = self.body.cvt(Ty::U32, Ty::U64, before).into();
        }
        for limit in limits {
            let limit = self.index(limit)?;
            hi = self.body.bin(Bin::Min, Ty::S64, limit, hi).into();
        }
        let hi = match hi {
            Src::Reg(hi) => {
                let hi = self.body.bin(Bin::Max, Ty::S64, hi, Src::Imm(0));
                self.body.cvt(Ty::U32, Ty::U64, hi).into()
            }
            imm => imm,
        };
        Ok(Some((lo, hi)))
    }
    pub(super) fn address(&mut self, window: &Window, layout: &RegLayout, reg: usize) -> Addr {
        let (mut base, mut offset) = (window.base, 0i64);
        for (axis, at) in layout.reg_coord(reg).iter().enumerate().take(window.strides.len()) {
            match window.strides[axis] {
                Src::Imm(bytes) => offset += i64::from(*at) * bytes as i64,
                Src::Reg(_) if *at == 0 => {}
                stride => base = self.body.tern(Tern::MadLo, Ty::U64, stride, Src::Imm(u64::from(*at)), base),
            }
        }
        Addr::reg(base, offset)
    }
    /// Whether a register's element exists; `None`: surely.
    pub(super) fn exists(&mut self, window: &Window, layout: &RegLayout, reg: usize) -> Option<Reg> {
        let coord = layout.reg_coord(reg);
        let mut all: Option<Reg> = None;
        for (axis, inside) in window.inside.iter().enumerate() {
            let Some((lo, hi)) = *inside else { continue };
            let at = match coord[axis] {
                0 => window.thread[axis],
                n => self.body.bin(Bin::Add, Ty::U32, window.thread[axis], Src::Imm(u64::from(n))),
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
