//! How consecutive elements lie in the words of one access.

use super::super::Lower;
use super::super::held::{bits, held, stored};
use crate::ptx::{Cmp, Op as PtxOp, Reg, Src, Ty};
use tilewright_core::elem::ElemType;

impl Lower<'_> {
    /// Words that hold the fill in every element.
    pub(in crate::lower) fn filled(&mut self, elem: ElemType, packed: &Packing, fill: Src) -> Vec<Reg> {
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
    pub(in crate::lower) fn unpack(&mut self, elem: ElemType, packed: &Packing, word: Reg) -> Vec<Reg> {
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
    pub(in crate::lower) fn pack(&mut self, elem: ElemType, packed: &Packing, values: &[Reg]) -> Reg {
        if packed.per_word == 1 {
            return self.as_stored(elem, values[0]);
        }
        if let Some(word) = <&[Reg; 2]>::try_from(values).ok().and_then(|pair| self.words.get(pair)) {
            return *word;
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
pub(in crate::lower) struct Packing {
    pub(in crate::lower) words: usize,
    pub(in crate::lower) per_word: usize,
    /// Of a word in memory.
    pub(in crate::lower) memory: Ty,
    /// Of the register that holds a word.
    pub(in crate::lower) ty: Ty,
}

impl Packing {
    pub(in crate::lower) fn of(elem: ElemType, count: usize) -> Packing {
        let bytes = elem.bytes() as usize;
        if bytes * count < 4 || bytes >= 4 {
            // One element a word. Where several do not fill a word, the layout has made them one access each.
            let ty = if elem == ElemType::I1 { Ty::U32 } else { held(elem) };
            return Packing { words: count, per_word: 1, memory: stored(elem), ty };
        }
        Packing { words: bytes * count / 4, per_word: 4 / bytes, memory: Ty::B32, ty: Ty::B32 }
    }
}
