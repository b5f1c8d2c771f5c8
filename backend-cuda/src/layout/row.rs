//! A row that is sent from where it lies: the threads that hold it in the tile's layout write it as the row's own layout wants
//! it, several elements at once.

use super::reg::{Coord, RegLayout};

/// How threads write a row of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowOut {
    /// The threads that hold it: bits of the thread's number, and what they are.
    pub mask: u32,
    pub holders: u32,
    /// Bits of the thread's number that move into the number of its first element among those of the row: how far left,
    /// and which.
    pub moves: Vec<(i32, u32)>,
    /// What goes out at once: how far behind the first element, and in which registers.
    pub accesses: Vec<(u32, Vec<usize>)>,
}

/// Elements of 4 bytes that move at once.
const MOST: usize = 4;

/// A row of a tile that lies as `from`, written as `to` has it: one element in each thread that sends, the lowest bits of
/// whose number count them. `None`: it is not as simple as that.
pub fn row_out(from: &RegLayout, to: &RegLayout, row: u32) -> Option<RowOut> {
    if to.regs() != 1 || from.rank() != to.rank() || from.rank() > 2 {
        return None;
    }
    let held = to.thread_bases().iter().take_while(|basis| !is_zero(basis)).count();
    if to.thread_bases()[held..].iter().any(|basis| !is_zero(basis)) {
        return None;
    }
    // The bit of an element's number that a column's bit is.
    let number = |column: u32| {
        let mut number = 0u32;
        for bit in (0..u32::BITS).filter(|bit| column >> bit & 1 == 1) {
            number |= 1 << to.thread_bases()[..held].iter().position(|basis| *basis == [0, 1 << bit, 0, 0])?;
        }
        Some(number)
    };
    let (mut mask, mut holders, mut rows, mut moves) = (0, 0, 0, Vec::<(i32, u32)>::new());
    let mut across = 0;
    for (bit, basis) in from.thread_bases().iter().enumerate() {
        match *basis {
            [0, 0, ..] => mask |= 1 << bit,
            [by, 0, ..] if by.is_power_of_two() => {
                (mask, rows) = (mask | 1 << bit, rows | by);
                holders |= u32::from(row & by != 0) << bit;
            }
            [0, by, ..] if by.is_power_of_two() => {
                let left = number(by)?.trailing_zeros() as i32 - bit as i32;
                across += 1;
                match moves.iter_mut().find(|(known, _)| *known == left) {
                    Some((_, bits)) => *bits |= 1 << bit,
                    None => moves.push((left, 1 << bit)),
                }
            }
            _ => return None,
        }
    }
    let mut elements = Vec::new();
    for reg in 0..from.regs() {
        let [in_row, column, ..] = from.reg_coord(reg);
        if in_row == row & !rows {
            elements.push((number(column)?, reg));
        }
    }
    elements.sort_unstable();
    elements.dedup_by_key(|(number, _)| *number);
    // Every element once.
    (elements.len() << across == 1 << held).then_some(())?;
    let mut accesses = Vec::new();
    let mut rest = elements.as_slice();
    while let Some((first, _)) = rest.first() {
        let fits = |n: usize| {
            (*first as usize).is_multiple_of(n) && rest.len() >= n && (0..n).all(|i| rest[i].0 == first + i as u32)
        };
        let n = [MOST, 2].into_iter().find(|n| fits(*n)).unwrap_or(1);
        accesses.push((*first, rest[..n].iter().map(|(_, reg)| *reg).collect()));
        rest = &rest[n..];
    }
    Some(RowOut { mask, holders, moves, accesses })
}

fn is_zero(basis: &Coord) -> bool {
    basis.iter().all(|n| *n == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::ir::Dims;

    /// Writes every row of `rows` by `columns` as its holders do, and reads it as `to` lies.
    fn check(rows: usize, columns: usize) -> usize {
        let dims = Dims::new(&[rows, columns]).unwrap();
        let piece = Dims::new(&[1, columns]).unwrap();
        let (from, to) = (RegLayout::rows_apart(dims, 128), RegLayout::quarters(piece, 128));
        let mut most = 0;
        for row in 0..rows as u32 {
            let out = row_out(&from, &to, row).unwrap();
            let mut written = vec![None; columns];
            for thread in (0..128).filter(|thread| thread & out.mask == out.holders) {
                let mut first = 0;
                for (left, bits) in &out.moves {
                    let bits = thread & bits;
                    first |= if *left < 0 { bits >> -left } else { bits << left };
                }
                for (behind, regs) in &out.accesses {
                    most = most.max(regs.len());
                    for (at, reg) in (first + behind..).zip(regs) {
                        assert_eq!(written[at as usize].replace(from.coord(thread, *reg)), None);
                    }
                }
            }
            for (thread, at) in (0..).zip(written) {
                assert_eq!(at, Some([row, to.coord(thread, 0)[1], 0, 0]), "row {row}, thread {thread}");
            }
        }
        most
    }

    #[test]
    fn every_row_arrives_as_its_receiver_holds_it_four_elements_at_once() {
        assert_eq!([check(8, 128), check(8, 64), check(16, 128), check(2, 64), check(5, 32)], [4, 4, 4, 1, 1]);
    }
}
