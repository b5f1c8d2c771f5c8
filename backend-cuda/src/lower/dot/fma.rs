//! Products of f32, whose bits no tensor core keeps: each thread sums its elements, 16 bytes along k of each of its
//! rows and columns at a time.

use super::super::Lower;
use super::super::errors::Fault;
use super::super::held::held;
use super::super::panels::read_by;
use super::Lens;
use crate::layout::{Coord, Product};
use crate::ptx::{Reg, Src, Tern};
use tilewright_core::ir::{OpId, ops};

impl Lower<'_> {
    pub(super) fn by_fma(
        &mut self,
        (id, o): (OpId, &ops::Dot),
        product: &Product,
        lens: Lens,
        start: Option<Vec<Reg>>,
    ) -> Result<Vec<Reg>, Fault> {
        self.unrolls = true;
        let ty = held(o.to.0.elem());
        let layout = &product.layout;
        let [cover_a, cover_b] = read_by(self.m, &self.layouts, id).ok_or(Fault::NoValue)?;
        let (a, b) = (self.in_panels(o.a, cover_a)?, self.in_panels(o.b, cover_b)?);
        let only = |axis: usize| -> Vec<Coord> {
            let keep = |at: &Coord| std::array::from_fn(|i| if i == axis { at[i] } else { 0 });
            layout.thread_bases().iter().map(keep).collect()
        };
        let (mut read_a, mut read_b) = (self.block(&a, &only(0)), self.block(&b, &only(1)));
        let coords: Vec<Coord> = (0..layout.regs()).map(|reg| layout.reg_coord(reg)).collect();
        let distinct = |axis: usize| {
            let mut all: Vec<u32> = coords.iter().map(|at| at[axis]).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let (rows, columns) = (distinct(0), distinct(1));
        let position = |of: &[u32], n: u32| of.iter().position(|at| *at == n).unwrap_or(0);
        let places: Vec<(usize, usize)> =
            coords.iter().map(|at| (position(&rows, at[0]), position(&columns, at[1]))).collect();

        let zero = self.constant(ty, Src::Imm(0));
        let mut sums = start.unwrap_or_else(|| vec![zero; layout.regs()]);
        let per_step = 16 / o.to.0.elem().bytes() as u32;
        for first in (0..lens.k).step_by(per_step as usize) {
            let steps: Vec<u32> = (first..first + per_step).collect();
            let of_a: Vec<[u32; 2]> = rows.iter().flat_map(|row| steps.iter().map(|k| [*row, *k])).collect();
            let of_b: Vec<[u32; 2]> = steps.iter().flat_map(|k| columns.iter().map(|column| [*k, *column])).collect();
            let (of_a, of_b) = (self.block_elements(&mut read_a, &of_a), self.block_elements(&mut read_b, &of_b));
            for (k, _) in steps.iter().enumerate().filter(|(_, k)| **k < lens.k) {
                for (sum, (row, column)) in sums.iter_mut().zip(&places) {
                    let (a, b) = (of_a[row * steps.len() + k], of_b[k * columns.len() + column]);
                    *sum = self.body.tern(Tern::FmaRn, ty, a, b, *sum);
                }
            }
        }
        Ok(sums)
    }
}
