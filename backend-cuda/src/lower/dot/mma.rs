//! Products by the tensor cores, a step of k after the other, each over all of the warp's part. A product of few rows is
//! computed as its transpose (`layout/product.rs`).

use super::super::Lower;
use super::super::errors::Fault;
use super::Lens;
use super::operand::{Operand, Wanted, reordered};
use crate::layout::{Atom, Product, RegLayout};
use crate::ptx::{Bin, Cmp, Mma, Op as PtxOp, Reg, Src, Ty};
use tilewright_core::ir::{OpId, ops};

/// Registers of one instruction's result.
const SUMS: usize = 4;

impl Lower<'_> {
    /// `start`: the accumulator, in the layout of the result; whether the sum grows in those registers.
    pub(super) fn by_mma(
        &mut self,
        (_, o): (OpId, &ops::Dot),
        product: &Product,
        atom: Atom,
        lens: Lens,
        (start, in_place): (Option<Vec<Reg>>, bool),
    ) -> Result<Vec<Reg>, Fault> {
        let Lens { rows, k, columns } = lens;
        let swapped = product.swapped;
        let (tall, flat) = if swapped { (columns, rows) } else { (rows, columns) };
        let a_layout = RegLayout::mma_a(tall, k, atom, product.warps);
        let b_layout = RegLayout::mma_b(k, flat, atom, product.pairs, product.warps);
        let c_layout = RegLayout::mma_c(tall, flat, product.pairs, product.warps);
        // The axis of k is the second of a and the first of b.
        let (left, right) = if swapped { ((o.b, 0), (o.a, 1)) } else { ((o.a, 1), (o.b, 0)) };
        let wanted = |(value, axis), layout| Wanted { value, layout, turned: swapped, along: (axis, k) };
        let mut a = self.mma_operand(&wanted(left, &a_layout))?;
        let mut b = self.mma_operand(&wanted(right, &b_layout))?;

        let sum = match atom {
            Atom::S8 | Atom::U8 => Ty::S32,
            Atom::F16 | Atom::Bf16 | Atom::Tf32 => Ty::F32,
            Atom::F64 => Ty::F64,
        };
        let mut sums: Vec<Option<Reg>> = match start {
            Some(regs) => reordered(regs, &product.layout, &c_layout, swapped).into_iter().map(Some).collect(),
            None => vec![None; c_layout.regs()],
        };
        let mut own = in_place;
        let [down, across] = [c_layout.rep()[0], c_layout.rep()[1]];
        let per_step = 1 << c_layout.reg_bases().len();
        // Of an instruction's sums, the register of each in a step: of two in pairs, every other.
        let (apart, next) = if product.pairs && per_step > SUMS { (2, 1) } else { (1, SUMS) };
        let zero = self.constant(sum, Src::Imm(0));
        for step in 0..a_layout.rep()[1] {
            let lefts: Vec<Vec<Reg>> = (0..down).map(|row| self.rounded_words(&mut a, atom, row, step)).collect();
            for column in 0..across {
                let right = self.rounded_words(&mut b, atom, step, column);
                for (row, left) in lefts.iter().enumerate() {
                    for (half, right) in right.chunks(left.len() / 2).enumerate() {
                        let first = (row * across as usize + column as usize) * per_step + half * next;
                        let places = (0..SUMS).map(|i| first + i * apart);
                        let c: Vec<Reg> = places.clone().map(|at| sums[at].unwrap_or(zero)).collect();
                        let d = if own { c.clone() } else { (0..SUMS).map(|_| self.body.fresh(sum)).collect() };
                        places.zip(&d).for_each(|(at, d)| sums[at] = Some(*d));
                        self.multiply(atom, [left, right], (c, d));
                    }
                }
            }
            own = true;
        }
        let sums: Vec<Reg> = sums.into_iter().map(|reg| reg.unwrap_or(zero)).collect();
        Ok(if swapped { reordered(sums, &c_layout, &product.layout, true) } else { sums })
    }
    /// One step of a product: `d = a . b + c`, of sixteen rows and eight columns.
    fn multiply(&mut self, atom: Atom, [a, b]: [&[Reg]; 2], (c, d): (Vec<Reg>, Vec<Reg>)) {
        let how = match atom {
            Atom::F16 => Mma::F16,
            Atom::Bf16 => Mma::Bf16,
            Atom::Tf32 => Mma::Tf32,
            Atom::S8 => Mma::S8,
            Atom::U8 => Mma::U8,
            Atom::F64 => return self.multiply_f64([a, b], (c, d)),
        };
        self.body.emit(PtxOp::Mma { how, d, a: a.to_vec(), b: b.to_vec(), c });
    }
    /// One instruction of sixteen rows and places of k, or one for each eight rows and four places.
    fn multiply_f64(&mut self, [a, b]: [&[Reg]; 2], (mut c, d): (Vec<Reg>, Vec<Reg>)) {
        if self.options.target.has_tall_f64() {
            self.body.emit(PtxOp::Mma { how: Mma::F64, d, a: a.to_vec(), b: b.to_vec(), c });
            return;
        }
        for (halves, right) in a.chunks(2).zip(b) {
            for (half, left) in halves.iter().enumerate() {
                let sums = 2 * half..2 * half + 2;
                let (d, c) = (d[sums.clone()].to_vec(), c[sums].to_vec());
                self.body.emit(PtxOp::Mma { how: Mma::F64Small, d, a: vec![*left], b: vec![*right], c });
            }
            c.clone_from(&d);
        }
    }
    fn rounded_words(&mut self, operand: &mut Operand, atom: Atom, row: u32, column: u32) -> Vec<Reg> {
        let words = self.mma_words(operand, row, column);
        match atom {
            Atom::Tf32 => words.into_iter().map(|word| self.as_tf32(word)).collect(),
            Atom::F16 | Atom::Bf16 | Atom::F64 | Atom::S8 | Atom::U8 => words,
        }
    }
    /// Ten bits of mantissa, to nearest even: the instruction would cut the others off. A carry goes into the exponent, as it
    /// should; NaN and infinities stay.
    fn as_tf32(&mut self, x: Reg) -> Reg {
        let imm = |n: u32| Src::Imm(u64::from(n));
        let d = self.body.fresh(Ty::U32);
        self.body.emit(PtxOp::Bfe { ty: Ty::U32, d, a: x, from: 13, width: 1 });
        let up = self.body.bin(Bin::Add, Ty::U32, x, d);
        let up = self.body.bin(Bin::Add, Ty::U32, up, imm(0x0FFF));
        let size = self.body.bin(Bin::And, Ty::B32, x, imm(0x7FFF_FFFF));
        let finite = self.body.setp(Cmp::Lt, Ty::U32, size, imm(0x7F80_0000));
        self.body.selp(Ty::B32, up, x, finite)
    }
}
