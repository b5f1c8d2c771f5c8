//! A register layout: a linear map over GF(2) from the bits of register and thread numbers to tile coordinates, repeated
//! any number of times along each axis.
//!
//! The map is a list of basis vectors, one a bit: an element's coordinate is the XOR of those whose bit is set. A zero
//! vector means that the bit does not matter: the threads that differ in it hold the same element. What the atom and its
//! repetitions cover beyond the tile holds no element; whoever reads or reduces it masks it.

use std::fmt;
use tilewright_core::ir::{Dims, MAX_RANK};

/// One number an axis; zero beyond the rank.
pub type Coord = [u32; MAX_RANK];

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RegLayout {
    rank: usize,
    /// By bit of the register number inside the atom.
    reg: Vec<Coord>,
    /// By bit of the thread number in the CTA: five lane bits, then warp bits.
    thread: Vec<Coord>,
    /// Atoms along each axis, held in registers; 1 beyond the rank. The last axis varies fastest.
    rep: Coord,
}

/// Bits of a thread's number inside its warp.
pub const LANE_BITS: usize = 5;
/// Bytes that one instruction loads or stores for a thread.
const VECTOR_BYTES: u32 = 16;

impl RegLayout {
    /// From basis vectors: by bit of the register, by bit of the thread.
    pub fn new(rank: usize, reg: Vec<Coord>, thread: Vec<Coord>, rep: Coord) -> RegLayout {
        RegLayout { rank, reg, thread, rep }
    }
    /// For memory in row-major order: neighbouring registers, then lanes along the last axis; what lanes and warps are
    /// left over go along the axes before it, outermost last; warps go first along the outer axes, so that a row stays
    /// inside a warp where it can. `vector`: elements of one access, a power of two; `threads`: a power of two, at least 32.
    pub fn blocked(dims: Dims, elem_bytes: u32, vector: u32, threads: u32) -> RegLayout {
        let rank = dims.rank();
        let mut free: Vec<u32> = dims.as_slice().iter().map(|n| n.next_power_of_two().trailing_zeros()).collect();
        let mut used = [0u32; MAX_RANK];
        let mut take = |axis: usize, free: &mut Vec<u32>| {
            let mut basis = [0; MAX_RANK];
            if free[axis] > 0 {
                free[axis] -= 1;
                basis[axis] = 1 << used[axis];
                used[axis] += 1;
            }
            basis
        };
        let last = rank.saturating_sub(1);
        let vector = vector.min(VECTOR_BYTES / elem_bytes.max(1)).max(1);
        let reg = (0..vector.trailing_zeros()).map_while(|_| (free[last] > 0).then(|| take(last, &mut free))).collect();
        let mut thread = Vec::new();
        let bits = threads.trailing_zeros() as usize;
        for bit in 0..bits {
            let lane = bit < LANE_BITS;
            let inner_first = (0..rank).rev().find(|axis| free[*axis] > 0);
            let outer_first = (0..rank).find(|axis| free[*axis] > 0);
            let axis = if lane { inner_first } else { outer_first };
            thread.push(axis.map_or([0; MAX_RANK], |axis| take(axis, &mut free)));
        }
        let mut layout = RegLayout { rank, reg, thread, rep: [1; MAX_RANK] };
        for (axis, n) in dims.as_slice().iter().enumerate() {
            layout.rep[axis] = n.div_ceil(layout.atom(axis));
        }
        layout
    }

    /// For work in the order of an axis: a thread holds a run of it, the next run is in the next thread, and one atom covers
    /// it. The other axes take threads first, so that runs are as long as they can be.
    pub fn ordered(dims: Dims, axis: usize, threads: u32) -> RegLayout {
        let rank = dims.rank();
        let bits = |axis: usize| dims.as_slice()[axis].next_power_of_two().trailing_zeros();
        let thread_bits = threads.trailing_zeros();
        let mut layout = RegLayout { rank, reg: Vec::new(), thread: Vec::new(), rep: [1; MAX_RANK] };
        for other in (0..rank).rev().filter(|other| *other != axis) {
            let taken = bits(other).min(thread_bits - layout.thread.len() as u32);
            layout.thread.extend((0..taken).map(|bit| unit(other, bit)));
            layout.rep[other] = dims.as_slice()[other].div_ceil(1 << taken);
        }
        let across = bits(axis).min(thread_bits - layout.thread.len() as u32);
        let within = bits(axis) - across;
        layout.reg.extend((0..within).map(|bit| unit(axis, bit)));
        layout.thread.extend((within..within + across).map(|bit| unit(axis, bit)));
        layout.thread.resize(thread_bits as usize, [0; MAX_RANK]);
        layout
    }

    /// All of the first axis in each thread; the others as in [`RegLayout::blocked`], one element a thread. Threads that are
    /// left over hold the same again.
    pub fn columns(dims: Dims, threads: u32) -> RegLayout {
        let (rank, mut thread) = (dims.rank(), Vec::new());
        for (axis, n) in dims.as_slice().iter().enumerate().skip(1).rev() {
            thread.extend((0..n.next_power_of_two().trailing_zeros()).map(|bit| unit(axis, bit)));
        }
        thread.resize(threads.trailing_zeros() as usize, [0; MAX_RANK]);
        let mut layout = RegLayout { rank, reg: Vec::new(), thread, rep: [1; MAX_RANK] };
        for (axis, n) in dims.as_slice().iter().enumerate() {
            layout.rep[axis] = n.div_ceil(layout.atom(axis));
        }
        layout
    }

    /// As [`RegLayout::columns`], with the quarters of a row in neighbouring threads: as long as threads hold one element
    /// each. Threads that hold a row of [`RegLayout::rows_apart`] have four elements that are neighbours here.
    pub fn quarters(dims: Dims, threads: u32) -> RegLayout {
        let mut layout = RegLayout::columns(dims, threads);
        let held = layout.thread.iter().take_while(|basis| basis.iter().any(|n| *n != 0)).count();
        if dims.rank() == 2 && held >= 2 && layout.rep[1] == 1 {
            layout.thread[..held].rotate_right(2);
        }
        layout
    }

    /// Few rows of many columns, with rows in different threads as far as there are any, so that a thread has little to do
    /// for each row. The lowest bits of the thread's number go along the columns.
    pub fn rows_apart(dims: Dims, threads: u32) -> RegLayout {
        let bits = |axis: usize| dims.as_slice()[axis].next_power_of_two().trailing_zeros();
        let all = threads.trailing_zeros();
        let rows = bits(0).min(all);
        let columns = bits(1).min(all - rows);
        let mut thread: Vec<Coord> = (0..columns).map(|bit| unit(1, bit)).collect();
        thread.resize((all - rows) as usize, [0; MAX_RANK]);
        thread.extend((0..rows).map(|bit| unit(0, bit)));
        let mut layout = RegLayout { rank: 2, reg: Vec::new(), thread, rep: [1; MAX_RANK] };
        for (axis, n) in dims.as_slice().iter().enumerate() {
            layout.rep[axis] = n.div_ceil(layout.atom(axis));
        }
        layout
    }

    pub fn rank(&self) -> usize {
        self.rank
    }
    pub fn thread_bases(&self) -> &[Coord] {
        &self.thread
    }
    pub fn reg_bases(&self) -> &[Coord] {
        &self.reg
    }
    /// By bit of the register number, repetitions included; `None` if their number is no power of two.
    pub fn all_reg_bases(&self) -> Option<Vec<Coord>> {
        let mut out = self.reg.clone();
        for axis in (0..self.rank).rev() {
            let n = self.rep[axis];
            n.is_power_of_two().then_some(())?;
            out.extend((0..n.trailing_zeros()).map(|bit| unit(axis, self.atom(axis).trailing_zeros() + bit)));
        }
        Some(out)
    }
    pub fn rep(&self) -> Coord {
        self.rep
    }
    /// Length of the atom along an axis, a power of two.
    pub fn atom(&self, axis: usize) -> u32 {
        let bits = self.reg.iter().chain(&self.thread).fold(0, |bits, basis| bits | basis[axis]);
        (bits + 1).next_power_of_two()
    }
    /// Registers of one thread.
    pub fn regs(&self) -> usize {
        (1 << self.reg.len()) * self.rep.iter().map(|n| *n as usize).product::<usize>()
    }
    pub fn threads(&self) -> u32 {
        1 << self.thread.len()
    }
    /// The same in so many threads, at least its own: each warp holds all of it.
    pub fn in_each_warp_of(&self, threads: u32) -> RegLayout {
        let mut layout = self.clone();
        layout.thread.resize(threads.trailing_zeros() as usize, [0; MAX_RANK]);
        layout
    }
    /// What a register adds to a thread's coordinates.
    pub fn reg_coord(&self, reg: usize) -> Coord {
        let in_atom = reg & ((1 << self.reg.len()) - 1);
        let mut atom = reg >> self.reg.len();
        let mut at = xor(&self.reg, in_atom as u32);
        for axis in (0..self.rank).rev() {
            let n = self.rep[axis] as usize;
            at[axis] += (atom % n) as u32 * self.atom(axis);
            atom /= n;
        }
        at
    }
    /// The coordinates of a thread's register 0.
    pub fn thread_coord(&self, thread: u32) -> Coord {
        xor(&self.thread, thread)
    }
    /// Where an element lies. Registers and threads use different bits of each coordinate.
    pub fn coord(&self, thread: u32, reg: usize) -> Coord {
        let (a, b) = (self.thread_coord(thread), self.reg_coord(reg));
        std::array::from_fn(|axis| a[axis] ^ b[axis])
    }
    /// Bits of the thread number that do not matter.
    pub fn replicated(&self) -> u32 {
        let zero = self.thread.iter().enumerate().filter(|(_, basis)| basis.iter().all(|n| *n == 0));
        zero.fold(0, |mask, (bit, _)| mask | 1 << bit)
    }
    /// Whether every coordinate that the layout covers is in the tile, so that nothing needs a mask.
    pub fn is_full(&self, dims: Dims) -> bool {
        dims.as_slice().iter().enumerate().all(|(axis, n)| self.rep[axis] * self.atom(axis) == *n)
    }
    /// Consecutive registers that hold consecutive elements of the last axis: a power of two.
    pub fn vector(&self) -> u32 {
        let last = self.rank.saturating_sub(1);
        let unit = |bit: usize, basis: &Coord| {
            (0..MAX_RANK).all(|axis| basis[axis] == if axis == last { 1 << bit } else { 0 })
        };
        let run = self.reg.iter().enumerate().take_while(|(bit, basis)| unit(*bit, basis)).count();
        1 << run
    }
    /// What is left of an axis after a reduction along it: threads that differed in it hold the same.
    pub fn without(&self, axis: usize) -> RegLayout {
        let drop = |c: &Coord| without_axis(c, axis);
        let reg = self.reg.iter().map(drop).filter(|basis| basis.iter().any(|n| *n != 0)).collect();
        let mut rep = drop(&self.rep);
        rep.iter_mut().skip(self.rank - 1).for_each(|n| *n = 1);
        RegLayout { rank: self.rank - 1, reg, thread: self.thread.iter().map(drop).collect(), rep }
    }
    /// With two axes exchanged: the layout of the transposed tile in the same registers, up to their order.
    pub fn transposed(&self) -> RegLayout {
        let swap = |c: &Coord| [c[1], c[0], 0, 0];
        let mut rep = self.rep;
        rep.swap(0, 1);
        let (reg, thread) = (self.reg.iter().map(swap).collect(), self.thread.iter().map(swap).collect());
        RegLayout { rank: 2, reg, thread, rep }
    }
}

/// The coordinate without one of its numbers; those behind it move up.
pub fn without_axis(at: &Coord, axis: usize) -> Coord {
    std::array::from_fn(|i| at.get(if i < axis { i } else { i + 1 }).copied().unwrap_or(0))
}
pub(super) fn unit(axis: usize, bit: u32) -> Coord {
    std::array::from_fn(|i| if i == axis { 1 << bit } else { 0 })
}
fn xor(bases: &[Coord], bits: u32) -> Coord {
    let set = bases.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
    set.fold([0; MAX_RANK], |at, (_, basis)| std::array::from_fn(|axis| at[axis] ^ basis[axis]))
}

/// `reg [0,1 0,2] lane [0,4 …] warp [1,0 …] rep 4,1`
impl fmt::Display for RegLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |c: &Coord| c[..self.rank].iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let list = |bases: &[Coord]| bases.iter().map(one).collect::<Vec<_>>().join(" ");
        let (lane, warp) = self.thread.split_at(self.thread.len().min(LANE_BITS));
        write!(f, "reg [{}] lane [{}] warp [{}] rep {}", list(&self.reg), list(lane), list(warp), one(&self.rep))
    }
}
impl fmt::Debug for RegLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
