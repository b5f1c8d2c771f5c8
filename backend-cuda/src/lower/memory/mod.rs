//! Loads and stores of views. Where all of a tile exists, which is decided once for all threads, as many elements move at
//! once as are aligned together. Where a part may not exist, as many as exist together, each behind its own condition;
//! those instructions stand behind everything else.
//!
//! `width.rs`: how many elements that is. `window.rs`: addresses; `edges.rs`: which places exist. `pack.rs`: elements in words.
//! `turns.rs`: the loops around an access, and addresses that they carry; `affine.rs`: indices in their terms; `apart.rs`:
//! whether turns collide. `atomic.rs`: sums and maxima in memory. `early.rs`: the order of loads.

mod affine;
mod apart;
mod atomic;
mod early;
mod edges;
mod pack;
mod turns;
mod width;
mod window;

pub(super) use early::issue_order;
pub(super) use edges::{Edge, Span};
pub(super) use pack::Packing;
pub(super) use turns::{Around, Kept};
pub(super) use width::vector;
pub(super) use window::Hoisted;

use super::errors::Fault;
use super::held::{Held, bits, held};
use super::{Done, Lower};
use crate::layout::RegLayout;
use crate::ptx::{
    Addr, Bin, CacheHint, Cmp, Guard, Label, Memory, Op as PtxOp, Place, Reg, Space, Special, Src, Touch, Ty,
};
use tilewright_core::elem::ElemType;
use tilewright_core::interp::RecordKind;
use tilewright_core::ir::ops::{self, Access, Cache};
use tilewright_core::ir::{Dims, OpId, ValueId};
use window::{Way, Window};

impl Lower<'_> {
    pub(super) fn load(&mut self, id: OpId, o: &ops::Load) -> Done {
        if o.to.0.is_scalar() {
            return self.load_scalar(id, o);
        }
        let v = self.m.op(id).results.first;
        if self.uses.only_products(v) {
            let panels = match self.ringed.get(&id) {
                Some(panels) => panels.clone(),
                None => self.load_alone(id, o)?,
            };
            self.values[v.index()] = Some(Held::Panels(panels));
            return Ok(());
        }
        let layout = self.layout(v)?;
        let regs = self.loaded(id, o, &layout)?;
        self.set_tile(id, regs);
        Ok(())
    }
    /// What the instructions of a load have in common.
    pub(super) fn read(&mut self, o: &ops::Load) -> Result<Read, Fault> {
        let fill = match o.fill.0 {
            Some(fill) => self.scalar(fill)?,
            None => Src::Imm(0),
        };
        Ok(Read { elem: o.to.0.elem(), touch: self.reads(&o.at), hint: self.cached(&o.at), fill })
    }
    /// A load's tile in the registers of this layout.
    pub(super) fn loaded(&mut self, id: OpId, o: &ops::Load, layout: &RegLayout) -> Result<Vec<Reg>, Fault> {
        let read = self.read(o)?;
        let elem = read.elem;
        let window = self.window(id, &o.at, o.to.0, Some(layout))?;
        let width = self.width(id, layout);
        let packed = Packing::of(elem, width.aligned);
        let words: Vec<Reg> =
            (0..layout.regs() / width.aligned * packed.words).map(|_| self.body.fresh(packed.ty)).collect();
        let rest = self.unless_whole(&window);
        let mut way = self.whole_way(&window, layout);
        for (i, d) in words.chunks(packed.words).enumerate() {
            self.load_words(&read, &mut way, i * width.aligned, width.aligned, d);
        }
        if let Some(rest) = rest {
            self.rarely(rest, |cx| {
                let spans = cx.spans(&window.edges);
                let mut way = cx.part_way(&window, layout, &spans);
                let from = read.touch.map(|touch| Touch { group: cx.body.group(), ..touch });
                let read = Read { touch: from, ..read };
                for (i, d) in words.chunks(packed.words).enumerate() {
                    cx.load_part(&read, &mut way, i * width.aligned, &width, &packed, d);
                }
                cx.outside(id, RecordKind::LoadOutside, &o.at, o.to.0, &window.edges, &spans)
            })?;
        }
        Ok(words.into_iter().flat_map(|word| self.unpack(elem, &packed, word)).collect())
    }
    fn load_scalar(&mut self, id: OpId, o: &ops::Load) -> Done {
        let read = self.read(o)?;
        let (elem, fill) = (read.elem, read.fill);
        let window = self.window(id, &o.at, o.to.0, None)?;
        let packed = Packing::of(elem, 1);
        let d = match window.whole {
            None => vec![self.body.fresh(packed.ty)],
            Some(_) => self.filled(elem, &packed, fill),
        };
        let at = self.only(&window);
        self.load_at(&read, window.whole, packed.memory, d.clone(), at);
        if let Some(rest) = self.unless_recorded(id, &window) {
            self.rarely(rest, |cx| {
                let spans = cx.spans(&window.edges);
                cx.outside(id, RecordKind::LoadOutside, &o.at, o.to.0, &window.edges, &spans)
            })?;
        }
        let regs = self.unpack(elem, &packed, d[0]);
        self.set_scalar(id, regs[0]);
        Ok(())
    }
    pub(super) fn store(&mut self, id: OpId, o: &ops::Store) -> Done {
        let ty = self.m.ty(o.value);
        let touch = Touch {
            apart: self.is_apart(&o.at, ty.dims().unwrap_or(Dims::SCALAR)),
            ..Touch::write(Memory::View(self.view_param(o.at.view)), self.body.group())
        };
        let write = Write { elem: ty.elem(), touch, hint: self.cached(&o.at) };
        if ty.is_scalar() {
            let window = self.window(id, &o.at, ty, None)?;
            let value = self.scalar_reg(o.value)?;
            let first = self.is_first_thread();
            let pred = self.both(Some(first), window.whole);
            let at = self.only(&window);
            self.store_run(&write, pred, at, &[value]);
            if let Some(rest) = self.unless_recorded(id, &window) {
                self.rarely(rest, |cx| {
                    let spans = cx.spans(&window.edges);
                    cx.outside(id, RecordKind::StoreOutside, &o.at, ty, &window.edges, &spans)
                })?;
            }
            return Ok(());
        }
        let layout = self.layout(o.value)?;
        let values = self.tile(o.value, &layout)?;
        let window = self.window(id, &o.at, ty, Some(&layout))?;
        let holder = self.is_first_holder(&layout);
        let width = self.width(id, &layout);
        let rest = self.unless_whole(&window);
        let mut way = self.whole_way(&window, &layout);
        self.store_all(&write, &mut way, width.aligned, holder, &values);
        if let Some(rest) = rest {
            self.rarely(rest, |cx| {
                let spans = cx.spans(&window.edges);
                let mut way = cx.part_way(&window, &layout, &spans);
                // In another turn of a loop the other way may have been taken.
                let group = if touch.apart { touch.group } else { cx.body.group() };
                let write = Write { touch: Touch { group, ..touch }, ..write };
                cx.store_all(&write, &mut way, width.together, holder, &values);
                cx.outside(id, RecordKind::StoreOutside, &o.at, ty, &window.edges, &spans)
            })?;
        }
        Ok(())
    }
    fn store_all(&mut self, write: &Write, way: &mut Way<'_>, width: usize, holder: Option<Reg>, values: &[Reg]) {
        for (i, values) in values.chunks(width).enumerate() {
            let at = self.address(way, i * width);
            let exists = self.exists(way, i * width);
            let pred = self.both(holder, exists);
            self.store_run(write, pred, at, values);
        }
    }

    /// A branch to what is done where not all of the tile exists.
    pub(super) fn unless_whole(&mut self, window: &Window) -> Option<Rest> {
        window.whole.map(|whole| self.unless(whole, true))
    }
    /// The same where that is an error.
    fn unless_recorded(&mut self, id: OpId, window: &Window) -> Option<Rest> {
        if self.checked[id.index()] { self.unless_whole(window) } else { None }
    }
    /// A branch to what is done where the predicate does not hold. `uniform`: it is equal in all threads.
    pub(super) fn unless(&mut self, pred: Reg, uniform: bool) -> Rest {
        let rest = Rest { from: self.body.label(), back: self.body.label() };
        self.body.emit_if(Guard { pred, negated: true }, PtxOp::Bra { to: rest.from, uniform });
        rest
    }
    /// Emits what is rarely done behind everything else, and the place that it comes back to here.
    pub(super) fn rarely(&mut self, rest: Rest, f: impl FnOnce(&mut Self) -> Done) -> Done {
        self.body.emit(PtxOp::Label(rest.back));
        let from = self.body.aside();
        self.body.emit(PtxOp::Label(rest.from));
        let done = f(self);
        self.body.emit(PtxOp::Bra { to: rest.back, uniform: true });
        self.body.resume(from, Place::Rare);
        done
    }
    /// What a read needs to be ordered against; `None`: nobody writes the view.
    fn reads(&mut self, at: &Access) -> Option<Touch> {
        let param = self.view_param(at.view);
        self.written[param as usize].then(|| Touch::read(Memory::View(param), self.body.group()))
    }
    /// The other hints of a stream, among them larger fetches into L2, cost time (PTX.md 2).
    fn cached(&mut self, at: &Access) -> CacheHint {
        let read_only = !self.written[self.view_param(at.view) as usize];
        if at.cache != Some(Cache::Stream) {
            return CacheHint { read_only, ..CacheHint::default() };
        }
        let policy = self.hoisted(Hoisted::EvictFirst, |cx| {
            let d = cx.body.fresh(Ty::B64);
            cx.body.emit(PtxOp::EvictFirst { d });
            d
        });
        CacheHint { read_only, no_l1: true, policy: Some(policy) }
    }
    pub(super) fn width(&self, id: OpId, layout: &RegLayout) -> Width {
        let (most, addresses) = (layout.vector() as usize, &self.options.aligned);
        let aligned = (vector(self.m, self.prover, addresses, id) as usize).min(most);
        Width { aligned, together: (width::together(self.m, self.prover, addresses, id) as usize).min(aligned) }
    }
    pub(super) fn scalar_reg(&mut self, v: ValueId) -> Result<Reg, Fault> {
        Ok(match self.scalar(v)? {
            Src::Reg(reg) => reg,
            imm @ Src::Imm(_) => self.constant(held(self.m.ty(v).elem()), imm),
        })
    }
    pub(super) fn is_first_thread(&mut self) -> Reg {
        let tid = self.special(Special::TidX);
        self.body.setp(Cmp::Eq, Ty::U32, tid, Src::Imm(0))
    }
    pub(super) fn both(&mut self, a: Option<Reg>, b: Option<Reg>) -> Option<Reg> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.body.bin(Bin::And, Ty::Pred, a, b)),
            (a, b) => a.or(b),
        }
    }

    /// Consecutive elements from register `first` on, into words.
    fn load_words(&mut self, read: &Read, way: &mut Way<'_>, first: usize, count: usize, d: &[Reg]) {
        let packed = Packing::of(read.elem, count);
        let at = self.address(way, first);
        let pred = self.exists(way, first);
        if pred.is_some() {
            let filled = self.filled(read.elem, &packed, read.fill);
            d.iter().zip(filled).for_each(|(d, a)| self.body.assign(bits(packed.ty), *d, a));
        }
        self.load_at(read, pred, packed.memory, d.to_vec(), at);
    }
    /// The same, in runs of elements that exist together.
    pub(super) fn load_part(
        &mut self,
        read: &Read,
        way: &mut Way<'_>,
        first: usize,
        width: &Width,
        packed: &Packing,
        d: &[Reg],
    ) {
        if width.together == width.aligned {
            return self.load_words(read, way, first, width.aligned, d);
        }
        let part = Packing::of(read.elem, width.together);
        let mut values = Vec::new();
        for run in (first..first + width.aligned).step_by(width.together) {
            let words: Vec<Reg> = (0..part.words).map(|_| self.body.fresh(part.ty)).collect();
            self.load_words(read, way, run, width.together, &words);
            values.extend(words.into_iter().flat_map(|word| self.unpack(read.elem, &part, word)));
        }
        for (d, values) in d.iter().zip(values.chunks(packed.per_word)) {
            let word = self.pack(read.elem, packed, values);
            self.body.assign(bits(packed.ty), *d, word);
        }
    }
    fn load_at(&mut self, read: &Read, pred: Option<Reg>, ty: Ty, d: Vec<Reg>, at: Addr) {
        let guard = pred.map(|pred| Guard { pred, negated: false });
        let load = PtxOp::Ld { space: Space::Global, hint: read.hint, ty, d, at };
        match (read.touch, guard) {
            (Some(touch), guard) => self.body.touch(touch, guard, load),
            (None, Some(guard)) => self.body.emit_if(guard, load),
            (None, None) => self.body.emit(load),
        }
    }
    fn store_run(&mut self, write: &Write, pred: Option<Reg>, at: Addr, values: &[Reg]) {
        let packed = Packing::of(write.elem, values.len());
        let a = values.chunks(packed.per_word).map(|chunk| self.pack(write.elem, &packed, chunk)).collect();
        let store = PtxOp::St { space: Space::Global, hint: write.hint, ty: packed.memory, at, a };
        self.body.touch(write.touch, pred.map(|pred| Guard { pred, negated: false }), store);
    }
}

/// What all instructions of a load have in common.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) elem: ElemType,
    pub(super) touch: Option<Touch>,
    pub(super) hint: CacheHint,
    pub(super) fill: Src,
}
/// The same of a store.
#[derive(Clone, Copy)]
struct Write {
    elem: ElemType,
    touch: Touch,
    hint: CacheHint,
}
/// Elements that one instruction moves: where all exist, and elsewhere.
pub(super) struct Width {
    pub(super) aligned: usize,
    pub(super) together: usize,
}
/// The labels of what stands behind everything else: its start, and where it comes back to.
pub(super) struct Rest {
    from: Label,
    back: Label,
}
