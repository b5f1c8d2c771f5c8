//! Loads and stores of views: as many elements at once as is known to be aligned and to exist together.
//! `width.rs`: how many that is. `apart.rs`: whether a loop's turns collide. `window.rs`: addresses and which places exist.

mod apart;
mod width;
mod window;

pub(super) use width::vector;

use super::errors::Fault;
use super::held::{bits, held, stored};
use super::{Done, Lower};
use crate::layout::RegLayout;
use crate::ptx::{Addr, Bin, CacheHint, Cmp, Guard, Memory, Op as PtxOp, Reg, Space, Special, Src, Touch, Ty};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::ops::{self, Access};
use tilewright_core::ir::{Dims, OpId, ValueId};

impl Lower<'_> {
    pub(super) fn load(&mut self, id: OpId, o: &ops::Load) -> Done {
        let elem = o.to.0.elem();
        let touch = self.reads(&o.at);
        if o.to.0.is_scalar() {
            let address = self.element_address(&o.at, elem)?;
            let reg = self.load_one(elem, touch, CacheHint::default(), Addr::reg(address, 0));
            self.set_scalar(id, reg);
            return Ok(());
        }
        let layout = self.layout(self.m.op(id).results.first)?;
        let window = self.window(id, &o.at, o.to.0, &layout)?;
        let fill = match o.fill.0 {
            Some(fill) => self.scalar(fill)?,
            None => Src::Imm(0),
        };
        let width = self.width(id, &layout);
        let mut regs = Vec::with_capacity(layout.regs());
        for first in (0..layout.regs()).step_by(width) {
            let at = self.address(&window, &layout, first);
            let exists = self.exists(&window, &layout, first);
            regs.extend(self.load_run(elem, width, touch, exists.map(|pred| (pred, fill)), at));
        }
        self.set_tile(id, regs);
        Ok(())
    }
    pub(super) fn store(&mut self, id: OpId, o: &ops::Store) -> Done {
        let ty = self.m.ty(o.value);
        let touch = Touch {
            apart: self.is_apart(&o.at, ty.dims().unwrap_or(Dims::SCALAR)),
            ..Touch::write(Memory::View(self.view_param(o.at.view)), self.body.group())
        };
        let elem = ty.elem();
        if ty.is_scalar() {
            let address = self.element_address(&o.at, elem)?;
            let value = self.scalar_reg(o.value)?;
            let tid = self.special(Special::TidX);
            let first = self.body.setp(Cmp::Eq, Ty::U32, tid, Src::Imm(0));
            self.store_run(elem, touch, Some(first), Addr::reg(address, 0), &[value]);
            return Ok(());
        }
        let layout = self.layout(o.value)?;
        let values = self.tile(o.value, &layout)?;
        let window = self.window(id, &o.at, ty, &layout)?;
        let holder = self.is_first_holder(&layout);
        let width = self.width(id, &layout);
        for first in (0..layout.regs()).step_by(width) {
            let at = self.address(&window, &layout, first);
            let exists = self.exists(&window, &layout, first);
            let pred = match (holder, exists) {
                (Some(a), Some(b)) => Some(self.body.bin(Bin::And, Ty::Pred, a, b)),
                (a, b) => a.or(b),
            };
            self.store_run(elem, touch, pred, at, &values[first..first + width]);
        }
        Ok(())
    }
    fn reads(&mut self, at: &Access) -> Touch {
        Touch::read(Memory::View(self.view_param(at.view)), self.body.group())
    }
    /// Registers that one access moves.
    fn width(&self, id: OpId, layout: &RegLayout) -> usize {
        vector(self.m, self.prover, id).min(layout.vector()) as usize
    }
    fn scalar_reg(&mut self, v: ValueId) -> Result<Reg, Fault> {
        Ok(match self.scalar(v)? {
            Src::Reg(reg) => reg,
            imm @ Src::Imm(_) => self.constant(held(self.m.ty(v).elem()), imm),
        })
    }

    /// Consecutive elements; the fill where the predicate does not hold.
    fn load_run(&mut self, elem: ElemType, count: usize, touch: Touch, or: Option<(Reg, Src)>, at: Addr) -> Vec<Reg> {
        let packed = Packing::of(elem, count);
        let d: Vec<Reg> = match or {
            None => (0..packed.words).map(|_| self.body.fresh(packed.ty)).collect(),
            Some((_, fill)) => self.filled(elem, &packed, fill),
        };
        let guard = or.map(|(pred, _)| Guard { pred, negated: false });
        let load = PtxOp::Ld { space: Space::Global, hint: CacheHint::default(), ty: packed.memory, d: d.clone(), at };
        self.body.touch(touch, guard, load);
        d.into_iter().flat_map(|word| self.unpack(elem, &packed, word)).collect()
    }
    fn store_run(&mut self, elem: ElemType, touch: Touch, pred: Option<Reg>, at: Addr, values: &[Reg]) {
        let packed = Packing::of(elem, values.len());
        let a = values.chunks(packed.per_word).map(|chunk| self.pack(elem, &packed, chunk)).collect();
        let store = PtxOp::St { space: Space::Global, hint: CacheHint::default(), ty: packed.memory, at, a };
        self.body.touch(touch, pred.map(|pred| Guard { pred, negated: false }), store);
    }
    /// Words that hold the fill in every element.
    fn filled(&mut self, elem: ElemType, packed: &Packing, fill: Src) -> Vec<Reg> {
        let word = match (fill, packed.per_word) {
            (fill, 1) if elem == ElemType::I1 => {
                let p = self.predicate(fill);
                Src::Reg(self.body.selp(Ty::U32, Src::Imm(1), Src::Imm(0), p))
            }
            (fill, 1) => fill,
            (fill, n) => {
                let reg = match fill {
                    Src::Reg(reg) => reg,
                    imm @ Src::Imm(_) => self.constant(held(elem), imm),
                };
                Src::Reg(self.pack(elem, packed, &vec![reg; n]))
            }
        };
        (0..packed.words).map(|_| self.body.mov(bits(packed.ty), word)).collect()
    }
    /// A word's elements.
    fn unpack(&mut self, elem: ElemType, packed: &Packing, word: Reg) -> Vec<Reg> {
        match (elem, packed.per_word) {
            (ElemType::I1, 1) => vec![self.body.setp(Cmp::Ne, Ty::U32, word, Src::Imm(0))],
            (_, 1) => vec![word],
            (ElemType::F16 | ElemType::BF16, n) => {
                let d: Vec<Reg> = (0..n).map(|_| self.body.fresh(Ty::B16)).collect();
                self.body.emit(PtxOp::Unpack { ty: Ty::B32, d: d.clone(), a: word });
                d
            }
            (_, n) => {
                let width = elem.bits();
                (0..n as u32).map(|i| self.field(elem, word, i * width, width)).collect()
            }
        }
    }
    /// A field of a word, extended as its element is held.
    fn field(&mut self, elem: ElemType, word: Reg, from: u32, width: u32) -> Reg {
        let ty = if held(elem) == Ty::S32 { Ty::S32 } else { Ty::U32 };
        let d = self.body.fresh(ty);
        self.body.emit(PtxOp::Bfe { ty, d, a: word, from, width });
        if elem == ElemType::I1 { self.body.setp(Cmp::Ne, Ty::U32, d, Src::Imm(0)) } else { d }
    }
    fn pack(&mut self, elem: ElemType, packed: &Packing, values: &[Reg]) -> Reg {
        if packed.per_word == 1 {
            return self.as_stored(elem, values[0]);
        }
        let d = self.body.fresh(Ty::B32);
        if matches!(elem, ElemType::F16 | ElemType::BF16) {
            self.body.emit(PtxOp::Pack { ty: Ty::B32, d, parts: values.to_vec() });
            return d;
        }
        let (mut word, width) = (self.as_stored(elem, values[0]), elem.bits());
        for (i, value) in values.iter().enumerate().skip(1) {
            let value = self.as_stored(elem, *value);
            let d = self.body.fresh(Ty::B32);
            self.body.emit(PtxOp::Bfi { d, a: value, into: word, from: i as u32 * width, width });
            word = d;
        }
        word
    }
}

/// How consecutive elements lie in the words of one access.
struct Packing {
    words: usize,
    per_word: usize,
    /// Of a word in memory.
    memory: Ty,
    /// Of the register that holds a word.
    ty: Ty,
}

impl Packing {
    fn of(elem: ElemType, count: usize) -> Packing {
        let bytes = elem.bytes() as usize;
        if bytes * count < 4 || bytes >= 4 {
            // One element a word. Where several do not fill a word, the layout has made them one access each.
            let ty = if elem == ElemType::I1 { Ty::U32 } else { held(elem) };
            return Packing { words: count, per_word: 1, memory: stored(elem), ty };
        }
        Packing { words: bytes * count / 4, per_word: 4 / bytes, memory: Ty::B32, ty: Ty::B32 }
    }
}
