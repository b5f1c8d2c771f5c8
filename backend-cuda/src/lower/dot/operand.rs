//! An operand of `mma`: registers that hold its fragments already, or a tile in shared memory.

use super::super::Lower;
use super::super::errors::Fault;
use super::super::held::{Held, bits, held};
use super::super::memory::{Kept, Packing};
use super::super::panels::{Fragments, Panels};
use super::super::reduce::by_coord;
use crate::layout::{Conversion, RegLayout, conversion, is_anew};
use crate::ptx::{Cmp, Reg, Src, Ty};
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::{Op, OpId, ValueId};

/// Gives the words of one step of its layout after the other.
pub(super) enum Operand {
    /// By step, rows first.
    Words {
        words: Vec<Reg>,
        per_step: usize,
        columns: usize,
    },
    Panels {
        from: Fragments,
        step: [u32; 2],
    },
}

/// What an operand is needed as.
pub(super) struct Wanted<'w> {
    pub value: ValueId,
    /// Of its fragments, as the instruction sees them.
    pub layout: &'w RegLayout,
    /// The instruction sees the transpose.
    pub turned: bool,
    /// Along which axis of the value the sum runs, and its length there.
    pub along: (usize, u32),
}

impl Lower<'_> {
    pub(super) fn mma_operand(&mut self, wanted: &Wanted<'_>) -> Result<Operand, Fault> {
        let Wanted { value, layout, turned, .. } = *wanted;
        let as_it_is = if turned { layout.transposed() } else { layout.clone() };
        let cover = [0, 1].map(|axis| as_it_is.rep()[axis] * as_it_is.atom(axis));
        if let Some(regs) = self.held_as(value, &as_it_is)? {
            let elem = self.m.ty(value).elem();
            let regs = self.zero_beyond(elem, regs, &as_it_is, wanted.along);
            let regs = reordered(regs, &as_it_is, layout, turned);
            let per_word = (4 / elem.bytes()).max(1) as usize;
            let packed = Packing::of(elem, per_word);
            let words = regs.chunks(per_word).map(|word| self.pack(elem, &packed, word)).collect();
            let per_step = (1 << layout.reg_bases().len()) / per_word;
            return Ok(Operand::Words { words, per_step, columns: layout.rep()[1] as usize });
        }
        let panels = self.in_panels(value, cover)?;
        let panels = Panels { turned: panels.turned ^ turned, ..panels };
        let step = [layout.atom(0), layout.atom(1)];
        if let Some(words) = self.kept_words((value, layout.clone(), turned), &panels, step)? {
            let [rows, columns] = [layout.rep()[0] as usize, layout.rep()[1] as usize];
            return Ok(Operand::Words { per_step: words.len() / (rows * columns), words, columns });
        }
        Ok(Operand::Panels { from: self.fragments(&panels, layout), step })
    }
    /// Packs a rounded tile's registers into the words of the product that reads it as they are: what it was rounded from is
    /// then over and done with, whatever stands between the two.
    pub(in crate::lower) fn pack_for_product(&mut self, id: OpId) -> Result<(), Fault> {
        let (m, value) = (self.m, self.m.op(id).results.first);
        let elem = m.ty(value).elem();
        let short = matches!(elem, ElemType::F16 | ElemType::BF16);
        if !short || !self.is_parted() || !self.uses.only_products(value) {
            return Ok(());
        }
        let mut wanted = None;
        m.each_op(&mut |op| {
            if let (Op::Dot(o), Some(product)) = (&m.op(op).op, self.layouts.product(op))
                && o.a == value
                && !product.swapped
            {
                wanted = product.fragments(m, o).map(|[a, _]| a);
            }
        });
        let Some(wanted) = wanted else { return Ok(()) };
        if !matches!(conversion(&self.layout(value)?, &wanted), Conversion::Rename(_)) {
            return Ok(());
        }
        let packed = Packing::of(elem, 2);
        for pair in self.tile(value, &wanted)?.chunks_exact(2) {
            let word = self.pack(elem, &packed, pair);
            self.words.insert([pair[0], pair[1]], word);
        }
        Ok(())
    }
    /// All of an operand, read before the loop that does not change it.
    fn kept_words(&mut self, what: Kept, panels: &Panels, step: [u32; 2]) -> Result<Option<Vec<Reg>>, Fault> {
        if panels.slot.is_some() {
            return Ok(None);
        }
        let layout = what.1.clone();
        let words = layout.regs() * panels.format.elem.bytes() as usize / 4;
        self.kept(what, words, |cx| {
            let mut from = cx.fragments(panels, &layout);
            let mut words = Vec::new();
            for row in 0..layout.rep()[0] {
                for column in 0..layout.rep()[1] {
                    words.extend(cx.fragment(&mut from, [row * step[0], column * step[1]]));
                }
            }
            Ok(words)
        })
    }
    pub(super) fn mma_words(&mut self, operand: &mut Operand, row: u32, column: u32) -> Vec<Reg> {
        match operand {
            Operand::Words { words, per_step, columns } => {
                let first = (row as usize * *columns + column as usize) * *per_step;
                words[first..first + *per_step].to_vec()
            }
            Operand::Panels { from, step } => self.fragment(from, [row * step[0], column * step[1]]),
        }
    }
    /// The registers, where they hold the value in this layout, could do so under other names, or with their matrices turned.
    fn held_as(&mut self, value: ValueId, layout: &RegLayout) -> Result<Option<Vec<Reg>>, Fault> {
        let elem = self.m.ty(value).elem();
        if elem.kind() == Kind::Storage {
            return Ok(None);
        }
        if is_anew(self.m, value) {
            return self.tile(value, layout).map(Some);
        }
        let Some(Held::Tile(_)) = &self.values[value.index()] else { return Ok(None) };
        let from = self.layout(value)?;
        match conversion(&from, layout) {
            Conversion::Rename(_) => self.tile(value, layout).map(Some),
            _ if self.turned(self.m.ty(value), &from, layout).is_some() => self.tile(value, layout).map(Some),
            Conversion::Shuffle(_) | Conversion::Shared => Ok(None),
        }
    }
    /// What the layout covers beyond the tile must add nothing to the sum.
    fn zero_beyond(&mut self, elem: ElemType, regs: Vec<Reg>, layout: &RegLayout, (axis, n): (usize, u32)) -> Vec<Reg> {
        if layout.rep()[axis] * layout.atom(axis) <= n {
            return regs;
        }
        let thread = self.thread_coord(layout, axis);
        let one = |(reg, value): (usize, Reg)| {
            let left = n.saturating_sub(layout.reg_coord(reg)[axis]);
            let exists = self.body.setp(Cmp::Lt, Ty::U32, thread, Src::Imm(u64::from(left)));
            self.body.selp(bits(held(elem)), value, Src::Imm(0), exists)
        };
        regs.into_iter().enumerate().map(one).collect()
    }
}

/// Registers of the value's layout in the order of the layout that the instruction sees.
pub(super) fn reordered(regs: Vec<Reg>, from: &RegLayout, to: &RegLayout, turned: bool) -> Vec<Reg> {
    if !turned {
        return regs;
    }
    let at = by_coord(from);
    let place = |reg: usize| {
        let [row, column, ..] = to.reg_coord(reg);
        at.get(&[column, row, 0, 0]).copied().unwrap_or(reg)
    };
    (0..to.regs()).map(|reg| regs[place(reg)]).collect()
}
