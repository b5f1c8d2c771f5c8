//! Tiles in registers, put into shared memory for products.

use super::super::Lower;
use super::super::errors::Fault;
use super::super::memory::Packing;
use super::{Format, Panels};
use crate::layout::{RegLayout, sides};
use crate::ptx::{Addr, Bin, CacheHint, Cmp, Guard, Op as PtxOp, Reg, Space, Src, Tern, Ty};
use tilewright_core::elem::Kind;
use tilewright_core::ir::ValueId;

/// Bytes of one store.
const WIDE: u32 = 16;

impl Lower<'_> {
    /// A value, held in this layout, in a place of its own.
    pub(super) fn put_aside(
        &mut self,
        v: ValueId,
        cover: [u32; 2],
        regs: &[Reg],
        layout: &RegLayout,
    ) -> Result<Panels, Fault> {
        let ty = self.m.ty(v);
        let panels = self.panels(Format::of(ty.elem(), cover[0], cover[1]));
        self.put_into(&panels, v, regs, layout)?;
        Ok(panels)
    }
    pub(super) fn put_into(
        &mut self,
        panels: &Panels,
        v: ValueId,
        regs: &[Reg],
        layout: &RegLayout,
    ) -> Result<(), Fault> {
        let (ty, elem) = (self.m.ty(v), panels.format.elem);
        let dims = sides(ty.dims()).ok_or(Fault::NoValue)?;
        if panels.ring.is_none() {
            self.clear_padding(panels, dims);
        }
        let mut regs = regs.to_vec();
        if ty.elem().kind() == Kind::Storage {
            regs = regs.into_iter().map(|code| self.fp8_to_f16(ty.elem(), code)).collect();
        }
        // As many elements as lie side by side, in both, all of them in the tile or none.
        let alone = WIDE / elem.bytes() as u32;
        let run = layout.vector().min(alone).min(1 << dims[1].trailing_zeros().min(4)) as usize;
        let packed = Packing::of(elem, run);
        let (mut spots, group) = (self.spots(panels, layout.thread_bases()), self.body.group());
        let touch = self.panel_touch(panels, group, true);
        let thread: Vec<Option<Reg>> = (0..2)
            .map(|axis| (layout.rep()[axis] * layout.atom(axis) > dims[axis]).then(|| self.thread_coord(layout, axis)))
            .collect();
        for (i, values) in regs.chunks(run).enumerate() {
            let coord = layout.reg_coord(i * run);
            let mut inside: Option<Reg> = None;
            for (axis, thread) in thread.iter().enumerate() {
                let Some(thread) = thread else { continue };
                let left = dims[axis].saturating_sub(coord[axis]);
                let p = self.body.setp(Cmp::Lt, Ty::U32, *thread, Src::Imm(u64::from(left)));
                inside = self.both(inside, Some(p));
            }
            let at = self.spot(&mut spots, coord);
            let a = values.chunks(packed.per_word).map(|word| self.pack(elem, &packed, word)).collect();
            let store = PtxOp::St { space: Space::Shared, hint: CacheHint::default(), ty: packed.memory, at, a };
            self.body.touch(touch, inside.map(|pred| Guard { pred, negated: false }), store);
        }
        Ok(())
    }
    /// Zeros where the place is larger than the tile: they are multiplied, and must add nothing.
    pub(in crate::lower) fn clear_padding(&mut self, panels: &Panels, dims: [u32; 2]) {
        if !panels.format.is_padded(dims) {
            return;
        }
        let (threads, stores) = (self.threads(), panels.format.bytes() / WIDE);
        let tid = self.thread();
        let base = self.buffer_base(panels.buffer);
        let base = match panels.slot {
            Some(slot) => self.body.bin(Bin::Add, Ty::U32, base, slot),
            None => base,
        };
        let mine = self.body.tern(Tern::MadLo, Ty::U32, tid, Src::Imm(u64::from(WIDE)), base);
        let zero = self.body.mov(Ty::B32, Src::Imm(0));
        let group = self.body.group();
        let touch = self.panel_touch(panels, group, true);
        for first in (0..stores).step_by(threads as usize) {
            let at = Addr::reg(mine, i64::from(first * WIDE));
            let (hint, ty, a) = (CacheHint::default(), Ty::B32, vec![zero; 4]);
            let guard = (first + threads > stores).then(|| {
                let pred = self.body.setp(Cmp::Lt, Ty::U32, tid, Src::Imm(u64::from(stores - first)));
                Guard { pred, negated: false }
            });
            self.body.touch(touch, guard, PtxOp::St { space: Space::Shared, hint, ty, at, a });
        }
    }
}
