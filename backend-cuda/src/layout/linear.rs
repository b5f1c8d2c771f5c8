//! Linear algebra over GF(2) on coordinates: a vector is the bits of a coordinate, all axes side by side.

use super::reg::Coord;

/// Finds which of some vectors add up to a given one.
pub struct Solver {
    /// In echelon form: a vector with a leading bit of its own, and the vectors that it is the sum of.
    rows: Vec<(u128, u64)>,
}

impl Solver {
    /// At most 64 vectors. Zero vectors take no part.
    pub fn new(vectors: impl IntoIterator<Item = Coord>) -> Solver {
        let mut solver = Solver { rows: Vec::new() };
        for (i, vector) in vectors.into_iter().enumerate() {
            let (left, of) = solver.reduce(flat(&vector), 1 << i);
            if left != 0 {
                solver.rows.push((left, of));
            }
        }
        solver
    }
    /// The vectors whose sum is `target`, by bit; `None`: no sum is.
    pub fn solve(&self, target: &Coord) -> Option<u64> {
        let (left, of) = self.reduce(flat(target), 0);
        (left == 0).then_some(of)
    }
    fn reduce(&self, mut vector: u128, mut of: u64) -> (u128, u64) {
        for (row, sum) in &self.rows {
            if vector >> (127 - row.leading_zeros()) & 1 == 1 {
                (vector, of) = (vector ^ row, of ^ sum);
            }
        }
        (vector, of)
    }
}

fn flat(at: &Coord) -> u128 {
    at.iter().fold(0, |bits, n| bits << 32 | u128::from(*n))
}

#[cfg(test)]
mod tests {
    use super::Solver;

    #[test]
    fn a_sum_of_vectors_is_found_and_nothing_else() {
        let vectors = [[1, 0, 0, 0], [0, 2, 0, 0], [3, 2, 0, 0], [0, 0, 0, 0]];
        let solver = Solver::new(vectors);
        for target in [[1, 0, 0, 0], [2, 0, 0, 0], [3, 2, 0, 0], [0, 2, 0, 0], [2, 2, 0, 0]] {
            let of = solver.solve(&target).expect("in the span");
            let picked = vectors.iter().enumerate().filter(|(i, _)| of >> i & 1 == 1);
            let sum = picked.fold([0; 4], |sum, (_, v)| std::array::from_fn(|axis| sum[axis] ^ v[axis]));
            assert_eq!(sum, target);
        }
        assert_eq!(solver.solve(&[4, 0, 0, 0]), None);
        assert_eq!(solver.solve(&[0, 1, 0, 0]), None);
    }

    #[test]
    fn rows_that_share_a_leading_bit_are_told_apart() {
        let vectors = [[6, 0, 0, 0], [5, 0, 0, 0], [3, 0, 0, 0], [4, 0, 0, 0]];
        let solver = Solver::new(vectors);
        for target in 0..8u32 {
            let of = solver.solve(&[target, 0, 0, 0]).expect("in the span");
            let sum = vectors.iter().enumerate().filter(|(i, _)| of >> i & 1 == 1).fold(0, |sum, (_, v)| sum ^ v[0]);
            assert_eq!(sum, target);
        }
    }
}
