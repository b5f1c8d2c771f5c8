//! What all lanes of a warp do with matrices that they hold together: products, loads and stores of 8 x 8 pieces,
//! transposition. An element is as defined as what it is made of.

use super::memory::{Place, Touch};
use super::warp::{Next, Run};
use crate::fault::Fault;
use crate::inst::{LANES, Lanes, Op, Space, Src};

/// Bytes of a row of an 8 x 8 matrix of 16 bits.
const ROW: u32 = 16;
/// The largest sides of a product's operands.
const MOST: usize = 32;

/// An element, and whether somebody wrote it.
type Known = (u64, bool);

impl Run<'_, '_> {
    pub(super) fn matrix(&mut self, op: &Op, mask: u32) -> Result<Next, Fault> {
        if mask != u32::MAX {
            return Ok(Next::Wait { missing: !mask, needed: true });
        }
        match op {
            Op::Mma { .. } => self.multiply(op),
            Op::LoadMatrix { .. } => self.load_matrices(op)?,
            Op::StoreMatrix { .. } => self.store_matrices(op)?,
            Op::TransposeMatrix { d, a } => {
                let (value, known) = self.src(*a);
                let half = |row: usize, column: usize| {
                    let lane = row * 4 + column / 2;
                    (value[lane] >> (column % 2 * 16) & 0xFFFF, known >> lane & 1 == 1)
                };
                let (out, defined) = transposed(half);
                self.set(*d, u32::MAX, &out, defined);
            }
            _ => {}
        }
        Ok(Next::Go)
    }

    fn multiply(&mut self, op: &Op) {
        let Op::Mma { how, d, a, b, c } = op else { return };
        let [per_a, per_b, per_c] = how.per_reg();
        let (mut left, mut right) = ([[(0u64, false); MOST]; 16], [[(0u64, false); MOST]; 8]);
        self.gather((a, per_a), |lane, reg, at, (bits, known)| {
            let (row, k) = how.place_a(lane, reg, at);
            left[row][k] = (how.element(0, bits, at), known);
        });
        self.gather((b, per_b), |lane, reg, at, (bits, known)| {
            let (k, column) = how.place_b(lane, reg, at);
            right[column][k] = (how.element(1, bits, at), known);
        });
        let whole = |side: &[Known; MOST]| side[..how.k].iter().all(|(_, known)| *known);
        let (rows, columns): (Vec<bool>, Vec<bool>) =
            (left.iter().map(whole).collect(), right.iter().map(whole).collect());
        let (mut out, mut defined): (Vec<Lanes>, Vec<u32>) = (vec![[0; LANES]; d.len()], vec![u32::MAX; d.len()]);
        self.gather((c, per_c), |lane, reg, at, (bits, known)| {
            let (row, column) = how.place_c(lane, reg, at);
            let pairs = left[row][..how.k].iter().zip(&right[column]).map(|((a, _), (b, _))| (*a, *b));
            out[reg][lane] |= how.placed(how.sum(pairs, how.element(2, bits, at)), at);
            if !(known && rows[row] && columns[column]) {
                defined[reg] &= !(1 << lane);
            }
        });
        for ((d, out), defined) in d.iter().zip(&out).zip(defined) {
            self.set(*d, u32::MAX, out, defined);
        }
    }
    /// Every register of every lane, once for each of its elements.
    fn gather(&self, (regs, per): (&[Src], usize), mut each: impl FnMut(usize, usize, usize, Known)) {
        for (reg, src) in regs.iter().enumerate() {
            let (value, known) = self.src(*src);
            for (lane, value) in value.iter().enumerate() {
                (0..per).for_each(|at| each(lane, reg, at, (*value, known >> lane & 1 == 1)));
            }
        }
    }

    fn load_matrices(&mut self, op: &Op) -> Result<(), Fault> {
        let Op::LoadMatrix { transposed: turned, d, at } = op else { return Ok(()) };
        let addresses = self.addresses(*at, rows(d.len()))?;
        self.count_banks((Space::Shared, &addresses), rows(d.len()), ROW);
        let mut loaded: Vec<[[u64; 4]; 8]> = Vec::with_capacity(d.len());
        for matrix in 0..d.len() {
            let mut words = [[0; 4]; 8];
            for (row, words) in words.iter_mut().enumerate() {
                let lane = matrix * 8 + row;
                let spot = self.place(Space::Shared, addresses[lane], (4, 4), lane, &mut Place::default())?;
                self.touch(spot, ROW, self.access(lane, 0), Touch::Read)?;
                for (i, word) in words.iter_mut().enumerate() {
                    *word = self.held(spot.element(i), lane)?;
                }
            }
            loaded.push(words);
        }
        for (d, words) in d.iter().zip(&loaded) {
            let half = |row: usize, column: usize| (words[row][column / 2] >> (column % 2 * 16) & 0xFFFF, true);
            let out = if *turned { transposed(half).0 } else { std::array::from_fn(|lane| words[lane / 4][lane % 4]) };
            self.set(*d, u32::MAX, &out, u32::MAX);
        }
        Ok(())
    }
    fn store_matrices(&mut self, op: &Op) -> Result<(), Fault> {
        let Op::StoreMatrix { transposed: turned, a, at } = op else { return Ok(()) };
        let addresses = self.addresses(*at, rows(a.len()))?;
        self.count_banks((Space::Shared, &addresses), rows(a.len()), ROW);
        for (matrix, a) in a.iter().enumerate() {
            let value = *self.defined(*a, u32::MAX)?;
            let half = |row: usize, column: usize| (value[row * 4 + column / 2] >> (column % 2 * 16) & 0xFFFF, true);
            let value = if *turned { transposed(half).0 } else { value };
            for row in 0..8 {
                let lane = matrix * 8 + row;
                let spot = self.place(Space::Shared, addresses[lane], (4, 4), lane, &mut Place::default())?;
                let words: [u64; 4] = std::array::from_fn(|i| value[row * 4 + i]);
                let bits = std::array::from_fn(|i| words.get(i).map_or(0, |word| *word as u32));
                self.touch(spot, ROW, self.access(lane, 0), Touch::Write(bits))?;
                for (i, word) in words.into_iter().enumerate() {
                    self.piece(spot).store(spot.element(i).from, 4, word);
                }
            }
        }
        self.world.changes += 1;
        Ok(())
    }
}

/// The lanes whose addresses count.
const fn rows(matrices: usize) -> u32 {
    u32::MAX >> (LANES - 8 * matrices)
}
/// By lane, two elements of the transposed matrix.
fn transposed(half: impl Fn(usize, usize) -> Known) -> (Lanes, u32) {
    let (mut out, mut defined): (Lanes, u32) = ([0; LANES], 0);
    for (lane, out) in out.iter_mut().enumerate() {
        let (row, column) = (lane / 4, lane % 4 * 2);
        let ((low, a), (high, b)) = (half(column, row), half(column + 1, row));
        *out = low | high << 16;
        defined |= u32::from(a && b) << lane;
    }
    (out, defined)
}
