//! Fragments of operands out of shared memory: whole matrices by `ldmatrix` where the elements of a register lie side by
//! side (or, transposed, have 16 bits, or 8 in pairs), else element by element.

use super::super::Lower;
use super::super::memory::Packing;
use super::{Panels, Spots};
use crate::layout::{Coord, RegLayout};
use crate::ptx::{CacheHint, Op as PtxOp, Reg, Space, Src, Tern, Touch, Ty};
use tilewright_core::elem::ElemType;

/// Reads one operand, a step of its layout at a time.
pub(in crate::lower) struct Fragments {
    spots: Spots,
    elem: ElemType,
    touch: Touch,
    /// The layout is of the transpose of what lies there.
    turned: bool,
    how: How,
}

enum How {
    /// So many matrices at once.
    Matrices { count: usize, trans: bool },
    /// Four matrices at once, transposed, of pairs of bytes; the bytes of each element of the pairs are put together.
    Pairs,
    /// Elements at these distances, joined in words of so many.
    Elements { at: Vec<Coord>, per_word: usize },
}

/// Reads single elements.
pub(in crate::lower) struct Block {
    spots: Spots,
    elem: ElemType,
    touch: Touch,
    turned: bool,
}

const LANE_BITS: usize = 5;

impl Lower<'_> {
    /// `layout`: of the operand as it is used, whose steps are its atoms.
    pub(in crate::lower) fn fragments(&mut self, panels: &Panels, layout: &RegLayout) -> Fragments {
        let (elem, turned) = (panels.format.elem, panels.turned);
        let layout = if turned { layout.transposed() } else { layout.clone() };
        let per_word = (4 / elem.bytes()).max(1) as usize;
        let (bases, how) = match matrices(&layout, elem) {
            Some((bases, count, trans)) => (bases, How::Matrices { count, trans }),
            None if let Some(bases) = pairs(&layout, elem) => (bases, How::Pairs),
            None => {
                let at = (0..1 << layout.reg_bases().len()).map(|reg| layout.reg_coord(reg)).collect();
                (layout.thread_bases().to_vec(), How::Elements { at, per_word })
            }
        };
        self.await_copies(panels.copies);
        let (spots, group) = (self.spots(panels, &bases), self.body.group());
        Fragments { spots, elem, touch: self.panel_touch(panels, group, false), turned, how }
    }
    /// The words of the step at `origin`, in the operand's own coordinates.
    pub(in crate::lower) fn fragment(&mut self, from: &mut Fragments, origin: [u32; 2]) -> Vec<Reg> {
        let [row, column] = if from.turned { [origin[1], origin[0]] } else { origin };
        match &from.how {
            How::Matrices { count, trans } => {
                let (count, trans) = (*count, *trans);
                self.load_matrices(from, [row, column], (count, trans))
            }
            How::Pairs => {
                let d = self.load_matrices(from, [row, column], (4, true));
                // Each register holds two places of k of both columns; the next one the two after.
                let of = |cx: &mut Self, half: &[Reg], bytes: u64| {
                    cx.body.tern(Tern::Permute, Ty::B32, half[0], half[1], Src::Imm(bytes))
                };
                [0x6420, 0x7531]
                    .iter()
                    .flat_map(|bytes| d.chunks(2).map(|half| (half, *bytes)).collect::<Vec<_>>())
                    .map(|(half, bytes)| of(self, half, bytes))
                    .collect()
            }
            How::Elements { at, per_word } => {
                let at: Vec<Coord> = at.iter().map(|[r, c, ..]| [r + row, c + column, 0, 0]).collect();
                let (elem, per_word) = (from.elem, *per_word);
                let values = self.elements(&mut from.spots, elem, from.touch, &at);
                let packed = Packing::of(elem, per_word);
                values.chunks(per_word).map(|word| self.pack(elem, &packed, word)).collect()
            }
        }
    }
    fn load_matrices(
        &mut self,
        from: &mut Fragments,
        [row, column]: [u32; 2],
        (count, trans): (usize, bool),
    ) -> Vec<Reg> {
        let d: Vec<Reg> = (0..count).map(|_| self.body.fresh(Ty::B32)).collect();
        let at = self.spot(&mut from.spots, [row, column, 0, 0]);
        self.body.touch(from.touch, None, PtxOp::LdMatrix { trans, d: d.clone(), at });
        d
    }
    /// Elements at constant distances from the thread's, neighbours of a row in one load.
    fn elements(&mut self, spots: &mut Spots, elem: ElemType, touch: Touch, at: &[Coord]) -> Vec<Reg> {
        let mut out = Vec::with_capacity(at.len());
        let most = (16 / elem.bytes()).min(u64::from(spots.column)) as usize;
        while out.len() < at.len() {
            let left = &at[out.len()..];
            let beside = |n: &usize| {
                left.len() >= *n
                    && left[0][1].is_multiple_of(*n as u32)
                    && (0..*n).all(|i| left[i][0] == left[0][0] && left[i][1] == left[0][1] + i as u32)
            };
            let run = [8, 4, 2].into_iter().filter(|n| *n <= most).find(beside).unwrap_or(1);
            let packed = Packing::of(elem, run);
            let d: Vec<Reg> = (0..packed.words).map(|_| self.body.fresh(packed.ty)).collect();
            let place = self.spot(spots, left[0]);
            let (space, hint, ty) = (Space::Shared, CacheHint::default(), packed.memory);
            self.body.touch(touch, None, PtxOp::Ld { space, hint, ty, d: d.clone(), at: place });
            let values: Vec<Reg> = d.into_iter().flat_map(|word| self.unpack(elem, &packed, word)).collect();
            out.extend(values);
        }
        out
    }
    /// For threads that lie over the value as `bases` say.
    pub(in crate::lower) fn block(&mut self, panels: &Panels, bases: &[Coord]) -> Block {
        let turn = |at: &Coord| if panels.turned { [at[1], at[0], 0, 0] } else { *at };
        let bases: Vec<Coord> = bases.iter().map(turn).collect();
        self.await_copies(panels.copies);
        let (spots, group) = (self.spots(panels, &bases), self.body.group());
        let (elem, turned) = (panels.format.elem, panels.turned);
        Block { spots, elem, touch: self.panel_touch(panels, group, false), turned }
    }
    /// The elements at these distances from the thread's, in the value's own coordinates.
    pub(in crate::lower) fn block_elements(&mut self, from: &mut Block, wanted: &[[u32; 2]]) -> Vec<Reg> {
        let place = |[r, c]: &[u32; 2]| if from.turned { [*c, *r, 0, 0] } else { [*r, *c, 0, 0] };
        // Neighbours in memory one after the other.
        let mut at: Vec<(Coord, usize)> = wanted.iter().enumerate().map(|(i, at)| (place(at), i)).collect();
        at.sort_unstable();
        let sorted: Vec<Coord> = at.iter().map(|(at, _)| *at).collect();
        let values = self.elements(&mut from.spots, from.elem, from.touch, &sorted);
        let mut out: Vec<(usize, Reg)> = at.iter().map(|(_, i)| *i).zip(values).collect();
        out.sort_unstable_by_key(|(i, _)| *i);
        out.into_iter().map(|(_, value)| value).collect()
    }
}

/// Where the lanes point that give the rows of each matrix, how many matrices there are, and whether they are transposed;
/// `None`: the layout is not one of matrices.
fn matrices(layout: &RegLayout, elem: ElemType) -> Option<(Vec<Coord>, usize, bool)> {
    let per_word = (4 / elem.bytes()) as u32;
    let (lanes, warps) = layout.thread_bases().split_at_checked(LANE_BITS)?;
    let bits = per_word.checked_ilog2()? as usize;
    let (inside, others) = layout.reg_bases().split_at_checked(bits)?;
    let row = |bit: u32| [1 << bit, 0, 0, 0];
    let column = |n: u32| [0, n, 0, 0];
    let straight = lanes == [column(per_word), column(2 * per_word), row(0), row(1), row(2)]
        && inside.iter().enumerate().all(|(bit, at)| *at == column(1 << bit));
    let turned = per_word == 2 && lanes == [row(1), row(2), column(1), column(2), column(4)] && inside == [row(0)];
    // A matrix has eight rows of sixteen bytes.
    let apart = |at: &Coord| at[0].is_multiple_of(8) && at[1].is_multiple_of(4 * per_word);
    ((straight || turned) && others.len() <= 2 && others.iter().all(apart)).then_some(())?;
    let mut bases = vec![row(0), row(1), row(2)];
    bases.extend(others);
    bases.resize(LANE_BITS, [0; 4]);
    bases.extend(warps);
    Some((bases, 1 << others.len(), turned))
}

/// The same for bytes in pairs along a row, whose columns are the layout's registers and lanes: four matrices, by rows of the
/// two bits of k that a register has and lanes share.
fn pairs(layout: &RegLayout, elem: ElemType) -> Option<Vec<Coord>> {
    let (lanes, warps) = layout.thread_bases().split_at_checked(LANE_BITS)?;
    let (row, column) = (|bit: u32| [1 << bit, 0, 0, 0], |bit: u32| [0, 1 << bit, 0, 0]);
    let fits = elem.bytes() == 1
        && lanes == [row(2), row(3), column(1), column(2), column(3)]
        && layout.reg_bases() == [row(0), row(1), row(4), column(0)];
    fits.then(|| [row(0), row(2), row(3), row(1), row(4)].into_iter().chain(warps.iter().copied()).collect())
}
