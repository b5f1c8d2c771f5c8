//! Layouts of products (PTX ISA, `mma` fragments; PTX.md 5 and 12): how the warps of a CTA share one, and which lane holds
//! which element of the result and of both operands.
//!
//! A product of few rows is computed as its transpose, so that no row is made up: `b^T . a^T`, with the longer side where
//! an instruction takes sixteen. Its layouts are those of the transpose with the axes exchanged.

use super::reg::{Coord, LANE_BITS, RegLayout, unit};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::ops::{self, Op, Precision};
use tilewright_core::ir::{Def, Dims, Module, OpId, ValueId};

/// How a product is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// `None`: one multiplication and addition after the other.
    pub atom: Option<Atom>,
    /// Computed as the transpose.
    pub swapped: bool,
    /// Two instructions side by side take every other column, so that a lane has two neighbours of a row of the right operand.
    pub pairs: bool,
    pub warps: Warps,
    /// Of the result.
    pub layout: RegLayout,
}

/// The kinds of `mma` with the elements of k that one takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atom {
    F16,
    Bf16,
    Tf32,
    F64,
    S8,
    U8,
}
impl Atom {
    /// By the operands' element; 8-bit floats become f16. f32 has no instruction that keeps its bits.
    pub fn of(elem: ElemType, precision: Precision) -> Option<Atom> {
        match (elem, precision) {
            (ElemType::F16 | ElemType::F8E4M3 | ElemType::F8E5M2, _) => Some(Atom::F16),
            (ElemType::BF16, _) => Some(Atom::Bf16),
            (ElemType::F32, Precision::Tf32) => Some(Atom::Tf32),
            (ElemType::F64, _) => Some(Atom::F64),
            (ElemType::I8, _) => Some(Atom::S8),
            (ElemType::U8, _) => Some(Atom::U8),
            _ => None,
        }
    }
    /// Elements that a thread holds side by side along k: four bytes of a row, or one element.
    pub const fn run(self) -> u32 {
        match self {
            Atom::S8 | Atom::U8 => 4,
            Atom::F16 | Atom::Bf16 => 2,
            Atom::Tf32 | Atom::F64 => 1,
        }
    }
    /// Runs of a thread along k.
    const fn runs(self) -> u32 {
        match self {
            Atom::F64 => 4,
            Atom::F16 | Atom::Bf16 | Atom::Tf32 | Atom::S8 | Atom::U8 => 2,
        }
    }
    /// Elements of k in one step: four lanes share a row.
    pub const fn depth(self) -> u32 {
        4 * self.run() * self.runs()
    }
    /// By which bits of k the runs of a thread differ.
    fn further(self) -> std::ops::Range<u32> {
        (self.depth() / self.runs()).trailing_zeros()..self.depth().trailing_zeros()
    }
}

/// How the warps of a CTA lie over a result, each a power of two; those that are left over compute the same as others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warps {
    pub rows: u32,
    pub columns: u32,
    pub spare: u32,
}

/// Rows of one instruction's result.
const ROWS: u32 = 16;
/// Columns of one instruction's result.
const COLUMNS: u32 = 8;

impl Warps {
    /// `along_rows`: a row of the result lies in one warp, so that what is computed from it does too.
    pub fn of(rows: u32, columns: u32, threads: u32, along_rows: bool) -> Warps {
        let all = threads >> LANE_BITS;
        let most = |n: u32, of: u32| n.div_ceil(of).next_power_of_two();
        let (most_rows, most_columns) = (most(rows, ROWS), most(columns, 2 * COLUMNS));
        let splits = (0..=all.trailing_zeros()).map(|bit| {
            let down = (1 << bit).min(most_rows);
            let across = if along_rows { 1 } else { (all / down).min(most_columns) };
            Warps { rows: down, columns: across, spare: all / down / across }
        });
        // What a warp reads of both operands: the edges of its part.
        let cost =
            |w: &Warps| (w.spare, rows.div_ceil(w.rows) + columns.div_ceil(w.columns), std::cmp::Reverse(w.rows));
        splits.min_by_key(cost).unwrap_or(Warps { rows: 1, columns: 1, spare: all })
    }
    /// Basis vectors of the warp's bits, where each side takes so much.
    fn bases(self, row: Option<u32>, column: Option<u32>) -> Vec<Coord> {
        let side = |axis: usize, first: Option<u32>, count: u32| {
            let bits = 0..count.trailing_zeros();
            bits.map(move |bit| first.map_or([0; 4], |first| unit(axis, first.trailing_zeros() + bit)))
        };
        let spare = (0..self.spare.trailing_zeros()).map(|_| [0; 4]);
        side(0, row, self.rows).chain(side(1, column, self.columns)).chain(spare).collect()
    }
}

/// Columns of a warp's step: two instructions wide, since one load of operands feeds both.
const fn wide(columns: u32) -> u32 {
    if columns > COLUMNS { 2 * COLUMNS } else { COLUMNS }
}
fn powers(axis: usize, from: u32, count: u32) -> impl Iterator<Item = Coord> {
    (0..count).map(move |bit| unit(axis, from.trailing_zeros() + bit))
}

impl RegLayout {
    /// The result: two neighbours of a row, eight rows below, then the next eight columns. In pairs: four neighbours, of which
    /// the first and third are one instruction's, then eight rows below.
    pub fn mma_c(rows: u32, columns: u32, pairs: bool, warps: Warps) -> RegLayout {
        let wide = wide(columns);
        let (reg, first) = match (pairs && wide > COLUMNS, wide > COLUMNS) {
            (true, _) => (vec![unit(1, 0), unit(1, 1), unit(0, 3)], 4),
            (false, true) => (vec![unit(1, 0), unit(0, 3), unit(1, 3)], 2),
            (false, false) => (vec![unit(1, 0), unit(0, 3)], 2),
        };
        let mut thread: Vec<Coord> = powers(1, first, 2).chain(powers(0, 1, 3)).collect();
        thread.extend(warps.bases(Some(ROWS), Some(wide)));
        let rep = [rows.div_ceil(ROWS * warps.rows), columns.div_ceil(wide * warps.columns), 1, 1];
        RegLayout::new(2, reg, thread, rep)
    }
    /// The left operand, rows by k: a run of a row, eight rows below, then the next runs.
    pub fn mma_a(rows: u32, k: u32, atom: Atom, warps: Warps) -> RegLayout {
        let mut reg: Vec<Coord> = powers(1, 1, atom.run().trailing_zeros()).collect();
        reg.push(unit(0, 3));
        reg.extend(atom.further().map(|bit| unit(1, bit)));
        let mut thread: Vec<Coord> = powers(1, atom.run(), 2).chain(powers(0, 1, 3)).collect();
        thread.extend(warps.bases(Some(ROWS), None));
        RegLayout::new(2, reg, thread, [rows.div_ceil(ROWS * warps.rows), k.div_ceil(atom.depth()), 1, 1])
    }
    /// The right operand, k by columns: a run along k, the next runs, then the next eight columns; in pairs, the next
    /// column.
    pub fn mma_b(k: u32, columns: u32, atom: Atom, pairs: bool, warps: Warps) -> RegLayout {
        let wide = wide(columns);
        let (first, other) = if pairs && wide > COLUMNS { (2, unit(1, 0)) } else { (1, unit(1, 3)) };
        let mut reg: Vec<Coord> = powers(0, 1, atom.run().trailing_zeros()).collect();
        reg.extend(atom.further().map(|bit| unit(0, bit)));
        reg.extend((wide > COLUMNS).then_some(other));
        let mut thread: Vec<Coord> = powers(0, atom.run(), 2).chain(powers(1, first, 3)).collect();
        thread.extend(warps.bases(None, Some(wide)));
        RegLayout::new(2, reg, thread, [k.div_ceil(atom.depth()), columns.div_ceil(wide * warps.columns), 1, 1])
    }
}

/// Rows up to which a product is computed as its transpose.
const FEW_ROWS: u32 = 16;

impl Product {
    /// `along_rows`: what is computed from a row of the result stays in a warp, in the orientation of the result.
    pub(super) fn of(m: &Module, o: &ops::Dot, threads: u32, along_rows: bool) -> Option<Product> {
        let dims = o.to.0.dims()?;
        let [rows, columns] = *dims.as_slice() else { return None };
        let atom = Atom::of(m.ty(o.a).elem(), o.precision);
        let Some(atom) = atom else {
            let bytes = o.to.0.elem().bytes() as u32;
            let layout = RegLayout::blocked(dims, bytes, 16 / bytes, threads);
            let warps = Warps { rows: 1, columns: 1, spare: threads >> LANE_BITS };
            return Some(Product { atom: None, swapped: false, pairs: false, warps, layout });
        };
        let swapped = rows <= FEW_ROWS && columns > rows;
        let (tall, flat) = if swapped { (columns, rows) } else { (rows, columns) };
        let warps = Warps::of(tall, flat, threads, along_rows && !swapped);
        // Bytes whose k runs down the rows can be read in pairs only (`ldmatrix` transposes 16 bits).
        let turned = matches!(m.def(o.b), Def::Result(op, _) if matches!(m.op(op).op, Op::Trans(_)));
        let pairs = matches!(atom, Atom::S8 | Atom::U8) && !swapped && !turned;
        let layout = RegLayout::mma_c(tall, flat, pairs, warps);
        let layout = if swapped { layout.transposed() } else { layout };
        Some(Product { atom: Some(atom), swapped, pairs, warps, layout })
    }
    /// Layouts of both operands of the product; `None`: no instruction asks for one.
    pub fn fragments(&self, m: &Module, o: &ops::Dot) -> Option<[RegLayout; 2]> {
        let ([rows, k], [_, columns]) = (sides(m.ty(o.a).dims())?, sides(m.ty(o.b).dims())?);
        Some(self.operands(rows, k, columns, self.atom?))
    }
    /// Layouts of both operands, `[M, K]` and `[K, N]`.
    pub fn operands(&self, rows: u32, k: u32, columns: u32, atom: Atom) -> [RegLayout; 2] {
        if self.swapped {
            let tall = RegLayout::mma_a(columns, k, atom, self.warps).transposed();
            return [RegLayout::mma_b(k, rows, atom, self.pairs, self.warps).transposed(), tall];
        }
        [RegLayout::mma_a(rows, k, atom, self.warps), RegLayout::mma_b(k, columns, atom, self.pairs, self.warps)]
    }
}

/// Every product of these ops, by so many threads.
pub(super) fn products(
    m: &Module,
    (threads, ops): (u32, &[OpId]),
    mut same: impl FnMut(ValueId, ValueId) -> bool,
) -> Vec<(OpId, Product)> {
    let dot = |op: &OpId| match &m.op(*op).op {
        Op::Dot(o) => Some((*op, o)),
        _ => None,
    };
    let dots: Vec<(OpId, &ops::Dot)> = ops.iter().filter_map(dot).collect();
    let results: Vec<ValueId> = dots.iter().map(|(op, _)| m.op(*op).results.first).collect();
    // Where one product feeds another, rows stay in their warps, in all: what is known of a row is used by both.
    let chained = dots.iter().any(|(_, o)| results.iter().any(|result| same(*result, o.a)));
    dots.iter().filter_map(|(op, o)| Some((*op, Product::of(m, o, threads, chained)?))).collect()
}

/// A shape of two axes.
pub(crate) fn sides(dims: Option<Dims>) -> Option<[u32; 2]> {
    match *dims?.as_slice() {
        [rows, columns] => Some([rows, columns]),
        _ => None,
    }
}
