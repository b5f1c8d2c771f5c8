//! Loads of views that only products use: from global to shared memory without a register between, as far as places are
//! aligned for it. What lies outside the view is stored there as the load's fill.

use super::super::errors::Fault;
use super::super::memory::{Packing, Read};
use super::super::{Done, Lower};
use super::{Format, Panels};
use crate::layout::sides;
use crate::ptx::{CacheHint, Guard, Op as PtxOp, Reg, Space, Touch, Ty, Un};
use tilewright_core::elem::Kind;
use tilewright_core::interp::RecordKind;
use tilewright_core::ir::{OpId, ops};

impl Lower<'_> {
    /// The place for a load's tile, as large as its products read it.
    pub(in crate::lower) fn place_of(&self, id: OpId) -> Result<Format, Fault> {
        let v = self.m.op(id).results.first;
        let [rows, columns] = self.uses.cover(v).ok_or(Fault::NoValue)?;
        Ok(Format::of(self.m.ty(v).elem(), rows, columns))
    }
    /// Fills `panels` with what the load reads. Copies belong to the group that the next commit ends.
    pub(in crate::lower) fn load_into(&mut self, id: OpId, o: &ops::Load, panels: &Panels) -> Done {
        let (elem, v) = (o.to.0.elem(), self.m.op(id).results.first);
        let dims = sides(o.to.0.dims()).ok_or(Fault::NoValue)?;
        let layout = self.layouts.get(v).cloned().ok_or(Fault::NoValue)?;
        let width = self.width(id, &layout);
        let bytes = width.aligned as u32 * elem.bytes() as u32;
        let read = self.read(o)?;
        // Copies are ordered by no barrier of the view's other accesses, and cannot convert.
        if !matches!(bytes, 4 | 8 | 16) || read.touch.is_some() || elem.kind() == Kind::Storage {
            let layout = self.layout(v)?;
            let regs = self.loaded(id, o, &layout)?;
            return self.put_into(panels, v, &regs, &layout);
        }
        if panels.ring.is_none() {
            self.clear_padding(panels, dims);
        }
        let window = self.window(id, &o.at, o.to.0, Some(&layout))?;
        // A copy is no store of a value that all hold: one thread makes it. Both ways that follow ask who.
        let holder = self.is_first_holder(&layout);
        let rest = self.unless_whole(&window);
        let mut way = self.whole_way(&window, &layout);
        let (mut spots, group) = (self.spots(panels, layout.thread_bases()), self.body.group());
        let touch = self.panel_touch(panels, group, true);
        let copied = Touch { lands: Some(self.body.open_copies()), ..touch };
        for first in (0..layout.regs()).step_by(width.aligned) {
            let from = self.address(&mut way, first);
            let exists = self.exists(&way, first);
            let exists = self.both(holder, exists);
            let to = self.spot(&mut spots, layout.reg_coord(first));
            let guard = exists.map(|pred| Guard { pred, negated: false });
            self.body.touch(copied, guard, PtxOp::CopyAsync { to, from, bytes });
        }
        let Some(rest) = rest else { return Ok(()) };
        self.rarely(rest, |cx| {
            let spans = cx.spans(&window.edges);
            let mut way = cx.part_way(&window, &layout, &spans);
            let mut spots = cx.spots(panels, layout.thread_bases());
            let padding = cx.whole_way(&window, &layout);
            for first in (0..layout.regs()).step_by(width.aligned) {
                let to = cx.spot(&mut spots, layout.reg_coord(first));
                // Where the layout covers more than the tile, nothing is stored.
                let in_tile = cx.exists(&padding, first);
                let in_tile = cx.both(holder, in_tile);
                if width.together == width.aligned {
                    let from = cx.address(&mut way, first);
                    let exists = cx.exists(&way, first);
                    let copy = |cx: &mut Self, pred: Option<Reg>| {
                        let guard = pred.map(|pred| Guard { pred, negated: false });
                        cx.body.touch(copied, guard, PtxOp::CopyAsync { to, from, bytes });
                    };
                    let Some(exists) = exists else {
                        copy(cx, in_tile);
                        continue;
                    };
                    let both = cx.both(Some(exists), in_tile);
                    copy(cx, both);
                    let missing = cx.body.un(Un::Not, Ty::Pred, exists);
                    let missing = cx.both(Some(missing), in_tile);
                    let packed = Packing::of(elem, width.aligned);
                    let a = cx.filled(elem, &packed, read.fill);
                    let (space, hint, ty) = (Space::Shared, CacheHint::default(), packed.memory);
                    let guard = missing.map(|pred| Guard { pred, negated: false });
                    cx.body.touch(touch, guard, PtxOp::St { space, hint, ty, at: to, a });
                    continue;
                }
                let packed = Packing::of(elem, width.aligned);
                let words: Vec<Reg> = (0..packed.words).map(|_| cx.body.fresh(packed.ty)).collect();
                let read = Read { touch: None, ..read };
                cx.load_part(&read, &mut way, first, &width, &packed, &words);
                let (space, hint, ty) = (Space::Shared, CacheHint::default(), packed.memory);
                let guard = in_tile.map(|pred| Guard { pred, negated: false });
                cx.body.touch(touch, guard, PtxOp::St { space, hint, ty, at: to, a: words });
            }
            cx.outside(id, RecordKind::LoadOutside, &o.at, o.to.0, &window.edges, &spans)
        })
    }
    /// A load of its own.
    pub(in crate::lower) fn load_alone(&mut self, id: OpId, o: &ops::Load) -> Result<Panels, Fault> {
        let format = self.place_of(id)?;
        let mut panels = self.panels(format);
        self.load_into(id, o, &panels)?;
        panels.copies = Some(self.commit());
        Ok(panels)
    }
}
