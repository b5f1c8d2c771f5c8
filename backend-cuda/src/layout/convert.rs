//! How the elements of a tile get from one layout into another: an element's place in the source is the inverse of the
//! source's map applied to the target's. What that takes of the thread's number says how far elements have to travel.

use super::linear::Solver;
use super::reg::{Coord, LANE_BITS, RegLayout, unit};
use rustc_hash::FxHashMap;

/// The cheapest way that does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Every thread has all its elements already: by register of the target, the register of the source.
    Rename(Vec<usize>),
    /// The lanes of a warp have them among themselves.
    Shuffle(Shuffled),
    /// Written in one layout and read in the other, through shared memory.
    Shared,
}

/// A permutation of registers and lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shuffled {
    /// By register of the target: the register of the source, and what is added (XOR) to the lane it comes from.
    pub regs: Vec<(usize, u32)>,
    /// By lane bit of the target: what it adds to the source's lane.
    pub lanes: [u32; LANE_BITS],
    /// Lane bits of the target that change the source's register, and what each adds to its number.
    pub picks: Vec<(u32, usize)>,
}

/// Registers that a lane may have to choose from; beyond, shared memory is cheaper.
const MAX_PICKS: usize = 2;

/// From `a` to `b`, layouts of one tile.
pub fn conversion(a: &RegLayout, b: &RegLayout) -> Conversion {
    if let Some(order) = renamed(a, b) {
        return Conversion::Rename(order);
    }
    match shuffled(a, b) {
        Some(shuffled) => Conversion::Shuffle(shuffled),
        None => Conversion::Shared,
    }
}

/// Whether, of 16-bit elements, each 8 x 8 matrix of the source only has to be turned to become one of the target: two
/// neighbours of a thread lie along one axis here, and along the other one there (PTX ISA, `movmatrix`). By pair of the
/// target's registers, the pair of the source.
pub fn turned(a: &RegLayout, b: &RegLayout) -> Option<Vec<usize>> {
    let matrix = |layout: &RegLayout, x: usize, y: usize| {
        let lanes = layout.thread_bases().get(..LANE_BITS);
        let expected = [unit(x, 1), unit(x, 2), unit(y, 0), unit(y, 1), unit(y, 2)];
        layout.reg_bases().first() == Some(&unit(x, 0)) && lanes == Some(&expected[..])
    };
    let warps = |layout: &RegLayout| layout.thread_bases().get(LANE_BITS..).map(<[Coord]>::to_vec);
    let turns = [(0, 1), (1, 0)].into_iter().any(|(x, y)| matrix(a, x, y) && matrix(b, y, x));
    (a.rank() == 2 && b.rank() == 2 && turns && warps(a) == warps(b)).then_some(())?;
    let held: FxHashMap<Coord, usize> = (0..a.regs() / 2).map(|pair| (a.reg_coord(2 * pair), pair)).collect();
    (0..b.regs() / 2).map(|pair| held.get(&b.reg_coord(2 * pair)).copied()).collect()
}

fn renamed(a: &RegLayout, b: &RegLayout) -> Option<Vec<usize>> {
    (a.thread_bases() == b.thread_bases()).then_some(())?;
    let held: FxHashMap<Coord, usize> = (0..a.regs()).rev().map(|reg| (a.reg_coord(reg), reg)).collect();
    (0..b.regs()).map(|reg| held.get(&b.reg_coord(reg)).copied()).collect()
}

fn shuffled(a: &RegLayout, b: &RegLayout) -> Option<Shuffled> {
    let ((a_lanes, a_warps), (b_lanes, b_warps)) =
        (a.thread_bases().split_at_checked(LANE_BITS)?, b.thread_bases().split_at_checked(LANE_BITS)?);
    (a_warps == b_warps).then_some(())?;
    let (a_regs, b_regs) = (a.all_reg_bases()?, b.all_reg_bases()?);
    let solver = Solver::new(a_regs.iter().chain(a_lanes).copied());
    // A sum of the source's vectors, as its register and its lane.
    let split = |of: u64| ((of & ((1 << a_regs.len()) - 1)) as usize, (of >> a_regs.len()) as u32);
    let solved = |bases: &[Coord]| -> Option<Vec<(usize, u32)>> {
        bases.iter().map(|basis| solver.solve(basis).map(split)).collect()
    };
    let (by_reg, by_lane) = (solved(&b_regs)?, solved(b_lanes)?);
    let regs = (0..b.regs())
        .map(|reg| {
            let set = by_reg.iter().enumerate().filter(|(bit, _)| reg >> bit & 1 == 1);
            set.fold((0, 0), |(reg, lane), (_, (r, l))| (reg ^ r, lane ^ l))
        })
        .collect();
    let picks: Vec<(u32, usize)> =
        (0u32..).zip(&by_lane).filter(|(_, (reg, _))| *reg != 0).map(|(bit, (reg, _))| (bit, *reg)).collect();
    (picks.len() <= MAX_PICKS).then_some(())?;
    Some(Shuffled { regs, lanes: std::array::from_fn(|bit| by_lane[bit].1), picks })
}

#[cfg(test)]
mod tests {
    use super::super::product::{Atom, Warps};
    use super::*;
    use tilewright_core::ir::Dims;

    /// Where the conversion takes each element from, simulated; `None`: through shared memory.
    fn works(a: &RegLayout, b: &RegLayout) -> Option<bool> {
        let from = |thread: u32, reg: usize| match conversion(a, b) {
            Conversion::Rename(order) => Some(a.coord(thread, order[reg])),
            Conversion::Shuffle(s) => {
                let (lane, warp) = (thread & 31, thread & !31);
                let (mut r, mut l) = s.regs[reg];
                l ^= (0..5).filter(|bit| lane >> bit & 1 == 1).fold(0, |sum, bit| sum ^ s.lanes[bit]);
                r ^= s.picks.iter().filter(|(bit, _)| lane >> bit & 1 == 1).fold(0, |sum, (_, reg)| sum ^ reg);
                Some(a.coord(warp | l, r))
            }
            Conversion::Shared => None,
        };
        let mut all = true;
        for thread in 0..b.threads() {
            for reg in 0..b.regs() {
                all &= from(thread, reg)? == b.coord(thread, reg);
            }
        }
        Some(all)
    }
    fn dims(lens: &[usize]) -> Dims {
        Dims::new(lens).expect("a shape")
    }

    #[test]
    fn vectors_of_other_widths_are_exchanged_inside_a_warp() {
        for threads in [32, 128] {
            for (a, b) in [(1, 2), (1, 4), (4, 2), (2, 4), (4, 1)] {
                let shape = dims(&[threads as usize * 8]);
                let (a, b) = (RegLayout::blocked(shape, 4, a, threads), RegLayout::blocked(shape, 4, b, threads));
                // Of several warps, each holds another part.
                let expected = (threads == 32).then_some(true);
                assert_eq!(works(&a, &b), expected, "{a} to {b}");
            }
        }
    }

    #[test]
    fn what_lies_in_other_warps_goes_through_shared_memory() {
        let shape = dims(&[64, 64]);
        let rows = RegLayout::blocked(shape, 4, 4, 128);
        assert_eq!(works(&rows, &rows.transposed()), None);
        assert_eq!(works(&rows, &rows), Some(true));
    }

    #[test]
    fn a_result_of_few_rows_becomes_an_operand_by_turning_its_matrices() {
        let warps = Warps { rows: 1, columns: 1, spare: 1 };
        let c = RegLayout::mma_c(32, 8, false, warps).transposed();
        let b = RegLayout::mma_b(32, 8, Atom::F16, false, warps).transposed();
        assert_eq!(turned(&c, &b), Some(vec![0, 1, 2, 3]));
        assert_eq!(turned(&c, &c), None);
        // An element at (row, column) of a matrix lies in the lane that has it turned.
        for lane in 0..32 {
            for reg in 0..8 {
                let [x, y, ..] = b.coord(lane, reg);
                let (row, column) = (y & 7, x & 7);
                assert_eq!(c.coord(4 * row + column / 2, (reg & !1) | (column & 1) as usize)[..2], [x, y]);
            }
        }
    }

    #[test]
    fn a_replicated_tile_is_where_it_is_needed() {
        let shape = dims(&[8]);
        let few = RegLayout::blocked(shape, 4, 1, 32);
        let all = RegLayout::new(1, vec![[1, 0, 0, 0], [2, 0, 0, 0], [4, 0, 0, 0]], vec![[0; 4]; 5], [1; 4]);
        assert_eq!(works(&all, &few), None, "a choice of eight");
        assert_eq!(works(&few, &all), Some(true));
    }
}
