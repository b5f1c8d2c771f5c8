//! Where a tile lies in shared memory on its way from one layout into another: so that neither the writes nor the reads of
//! a warp meet in a bank, with accesses as wide as the registers allow (PTX.md 4 and 12).
//!
//! An element's offset is a linear map over GF(2) of its coordinate's bits. Offsets fall into three parts: the elements of
//! one access, the 128 bytes that one wavefront moves, and the rest. Two lanes meet in a bank if they differ in the rest
//! alone. So the vectors of the rest are chosen outside of what the lanes of one wavefront span, with their accesses, on
//! either side: two spaces of the same dimension have a common complement, hence such a choice always exists.

use super::linear::Solver;
use super::reg::{Coord, LANE_BITS, RegLayout};
use std::collections::BTreeSet;
use std::fmt;

/// Bytes that all banks together move at once: 32 of four bytes (PTX.md 4).
const WAVEFRONT: u32 = 128;
/// Bytes of a bank's word.
const WORD: u32 = 4;
/// Bytes of the widest access.
const WIDEST: u32 = 16;

/// The places of a tile's elements, counted in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swizzle {
    bytes: u32,
    /// By axis and bit of the coordinate: what it adds (XOR) to the offset inside a block.
    adds: Vec<Vec<u32>>,
    /// Blocks along each axis: what the bits of `adds` cover is a block.
    blocks: Vec<u32>,
    /// Elements of one store, a power of two.
    pub store: u32,
    /// Elements of one load, a power of two.
    pub load: u32,
}

impl Swizzle {
    /// For elements of so many bytes, a power of two up to 8.
    pub fn of(from: &RegLayout, to: &RegLayout, bytes: u32) -> Swizzle {
        let rank = from.rank().max(to.rank());
        let covered = |layout: &RegLayout, axis: usize| layout.rep()[axis] * layout.atom(axis);
        // Along each axis a whole number of the larger atom, so that what threads add stays inside a block.
        let pitch = |axis: usize| {
            let most = covered(from, axis).max(covered(to, axis));
            most.next_multiple_of(from.atom(axis).max(to.atom(axis)))
        };
        let bits: Vec<u32> = (0..rank).map(|axis| pitch(axis).trailing_zeros()).collect();
        let blocks = (0..rank).map(|axis| pitch(axis) >> bits[axis]).collect();
        // Loads that are wider than one element would need masks where the target covers more than was written.
        let masked = (0..rank).any(|axis| covered(to, axis) > covered(from, axis));
        let (written, read) = (Side::of(from, &bits, true), Side::of(to, &bits, !masked));
        let n = bits.iter().sum::<u32>() as usize;
        let adds = |basis: &[u32]| -> Vec<Vec<u32>> {
            let solver = Solver::new(basis.iter().map(|v| [*v, 0, 0, 0]));
            // The basis spans everything; what each unit vector is the sum of, is its offset.
            let add = |bit: u32| solver.solve(&[1 << bit, 0, 0, 0]).unwrap_or(0) as u32;
            let first = |axis: usize| bits[axis + 1..].iter().sum::<u32>();
            (0..rank).map(|axis| (first(axis)..first(axis) + bits[axis]).map(add).collect()).collect()
        };
        let mut found = Swizzle { bytes, adds: Vec::new(), blocks, store: 1, load: 1 };
        // The widest accesses whose elements lie in the same order for every thread; single elements always do.
        for (vector, store, load) in vectors(&written, &read, (WIDEST / bytes).trailing_zeros() as usize) {
            found.adds = adds(&offsets((&written, store), (&read, load), &vector, n, bytes));
            (found.store, found.load) = (1 << store, 1 << load);
            let starts = |layout, width: u32| found.of_threads(layout).iter().all(|add| add.is_multiple_of(width));
            if starts(from, found.store) && starts(to, found.load) {
                break;
            }
        }
        found
    }
    /// Elements of the whole, those that hold none included.
    pub fn elems(&self) -> u32 {
        self.blocks.iter().product::<u32>() << self.adds.iter().map(Vec::len).sum::<usize>()
    }
    /// Where an element lies.
    pub fn offset(&self, at: &Coord) -> u32 {
        let (mut block, mut inside, mut bits) = (0, 0, 0);
        for (axis, adds) in self.adds.iter().enumerate() {
            block = block * self.blocks[axis] + (at[axis] >> adds.len());
            let set = adds.iter().enumerate().filter(|(bit, _)| at[axis] >> bit & 1 == 1);
            inside = set.fold(inside, |sum, (_, add)| sum ^ add);
            bits += adds.len();
        }
        block << bits | inside
    }
    /// By bit of the thread's number: what it adds (XOR) to the offset.
    pub fn of_threads(&self, layout: &RegLayout) -> Vec<u32> {
        layout.thread_bases().iter().map(|basis| self.offset(basis)).collect()
    }
    /// Registers by the access that moves them, each as so many elements one after the other.
    pub fn accesses(&self, layout: &RegLayout, width: u32) -> Vec<Vec<usize>> {
        let mut places: Vec<(u32, usize)> =
            (0..layout.regs()).map(|reg| (self.offset(&layout.reg_coord(reg)), reg)).collect();
        places.sort_unstable();
        places.dedup_by_key(|(offset, _)| *offset);
        places.chunks(width as usize).map(|chunk| chunk.iter().map(|(_, reg)| *reg).collect()).collect()
    }
    /// Wavefronts beyond the least that the accesses of all warps take.
    pub fn extra_wavefronts(&self, layout: &RegLayout, width: u32) -> u32 {
        let mut extra = 0;
        for regs in self.accesses(layout, width) {
            for warp in (0..layout.threads()).step_by(1 << LANE_BITS) {
                let lanes = warp..warp + (1 << LANE_BITS);
                let at: Vec<u32> =
                    lanes.map(|thread| self.offset(&layout.coord(thread, regs[0])) * self.bytes).collect();
                let access = width * self.bytes;
                extra += wavefronts(&at, access) - (access << LANE_BITS).div_ceil(WAVEFRONT);
            }
        }
        extra
    }
}

/// Wavefronts that shared memory takes for one access of a warp, `bytes` at each lane's address: as many lanes as 128 bytes
/// are for take one, and one more for each further word that one of the banks has to give.
pub fn wavefronts(addresses: &[u32], bytes: u32) -> u32 {
    let phase = (WAVEFRONT / bytes).min(1 << LANE_BITS) as usize;
    let of_phase = |lanes: &[u32]| {
        let words: BTreeSet<u32> = lanes.iter().flat_map(|at| (at / WORD)..(at + bytes).div_ceil(WORD)).collect();
        let mut banks = [0; 32];
        words.iter().for_each(|word| banks[*word as usize % banks.len()] += 1);
        banks.into_iter().max().unwrap_or(0)
    };
    addresses.chunks(phase).map(of_phase).sum()
}

/// One of the two layouts, its basis vectors as numbers: the bits of all axes side by side, the last axis lowest.
struct Side {
    regs: Vec<u32>,
    /// Lanes, then warps.
    threads: Vec<u32>,
}
impl Side {
    /// `wide`: accesses of several registers are allowed.
    fn of(layout: &RegLayout, bits: &[u32], wide: bool) -> Side {
        let flat = |at: &Coord| {
            bits.iter()
                .zip(at)
                .all(|(bits, at)| at >> bits == 0)
                .then(|| bits.iter().zip(at).fold(0, |sum, (bits, at)| sum << bits | at))
        };
        let regs = layout.all_reg_bases().unwrap_or_else(|| layout.reg_bases().to_vec());
        let regs = if wide { regs.iter().filter_map(flat).collect() } else { Vec::new() };
        let threads = layout.thread_bases().iter().filter_map(flat).collect();
        Side { regs, threads }
    }
    fn lanes(&self) -> &[u32] {
        &self.threads[..self.threads.len().min(LANE_BITS)]
    }
    /// What the lanes of one wavefront span with their accesses; `vector`: of one access, `words`: of one word.
    fn wavefront(&self, vector: &[u32], words: &[u32], bytes: u32) -> Span {
        let lanes = (WAVEFRONT / (bytes << vector.len())).min(1 << LANE_BITS).trailing_zeros() as usize;
        let all: Vec<u32> = vector.iter().chain(words).chain(self.threads.iter().take(lanes)).copied().collect();
        Span::of(&all)
    }
}

/// Vectors of one access, of at most so many bits, and how many of them a store and a load have: those that both sides hold
/// in registers come first, then more of one side. From the widest to single elements.
fn vectors(written: &Side, read: &Side, most: usize) -> Vec<(Vec<u32>, usize, usize)> {
    let both = common(&written.regs, &read.regs);
    let mut out = Vec::new();
    for n in (0..=both.len().min(most)).rev() {
        let both = &both[..n];
        for wider in (0..=most - n).rev() {
            let more = |side: &Side| {
                let mut span = Span::of(both);
                let more: Vec<u32> = side.regs.iter().copied().filter(|v| span.insert(*v)).take(wider).collect();
                (more.len() == wider).then(|| both.iter().copied().chain(more).collect::<Vec<u32>>())
            };
            out.extend(more(written).map(|vector| (vector, n + wider, n)));
            if wider > 0 {
                out.extend(more(read).map(|vector| (vector, n, n + wider)));
            }
        }
    }
    // Fewer accesses first.
    out.sort_by_key(|(_, store, load)| (1u32 << most >> store) + (1 << most >> load));
    out
}

/// A basis of all `n` bits, by bit of the offset.
fn offsets(
    (written, store): (&Side, usize),
    (read, load): (&Side, usize),
    vector: &[u32],
    n: usize,
    bytes: u32,
) -> Vec<u32> {
    let units = || (0..n as u32).map(|bit| 1u32 << bit);
    let row = (WAVEFRONT / bytes).trailing_zeros() as usize;
    // What lies in one word meets in no bank. Where an access is less than a word, neighbouring lanes share it.
    let mut low = Span::of(vector);
    let in_word = (WORD / bytes).max(1).trailing_zeros() as usize;
    for v in written.lanes().iter().copied().chain(units()) {
        if low.vectors.len() < in_word {
            low.insert(v);
        }
    }
    let words = &low.vectors[..in_word.min(low.vectors.len())];
    let a = written.wavefront(&vector[..store], words, bytes);
    let b = read.wavefront(&vector[..load], words, bytes);
    let shared = common(&a.vectors, &b.vectors);
    // What is one access's comes first, paired with what no thread of that side has: an access keeps its order then.
    let beyond = |of: &Span, other: &Side| {
        let (mut span, vector, other) = (Span::of(&shared), Span::of(vector), Span::of(&other.threads));
        let mut beyond: Vec<u32> = of.vectors.iter().copied().filter(|v| span.insert(*v)).collect();
        beyond.sort_by_key(|v| (vector.reduce(*v) != 0, other.reduce(*v) == 0));
        beyond
    };
    let mut all = Span::of(&a.vectors);
    b.vectors.iter().for_each(|v| _ = all.insert(*v));
    let neither: Vec<u32> = units().rev().filter(|v| all.insert(*v)).collect();
    let mixed: Vec<u32> = beyond(&a, read).into_iter().zip(beyond(&b, written)).map(|(a, b)| a ^ b).collect();
    let rest: Vec<u32> = neither.into_iter().chain(mixed.into_iter().rev()).take(n.saturating_sub(row)).collect();
    // Low bits, banks, the rest: independent of each other, as no vector of the rest is in `a` or `b`.
    let mut span = Span::of(&rest);
    low.vectors.iter().for_each(|v| _ = span.insert(*v));
    // Banks from what threads have, so that threads change nothing inside an access.
    let threads = written.threads.iter().chain(&read.threads).copied();
    let banks: Vec<u32> = threads.chain(units()).filter(|v| span.insert(*v)).collect();
    low.vectors.into_iter().chain(banks).chain(rest.into_iter().rev()).collect()
}

/// A basis of the vectors that lie in the spans of both.
fn common(a: &[u32], b: &[u32]) -> Vec<u32> {
    let of_a = Span::of(a);
    // What of `b` is in the span of `a` and of earlier ones of `b`: the sum of the latter is in that of `a`.
    let mut rows: Vec<(u32, u32)> = of_a.rows.iter().map(|row| (*row, 0)).collect();
    let mut out = Span::default();
    for v in b {
        let (left, sum) =
            rows.iter().fold(
                (*v, *v),
                |(left, sum), (row, of)| {
                    if left >> row.ilog2() & 1 == 1 { (left ^ row, sum ^ of) } else { (left, sum) }
                },
            );
        if left == 0 {
            out.insert(sum);
        } else {
            rows.push((left, sum));
        }
    }
    out.vectors
}

/// Vectors, and those of them that are independent of the ones before.
#[derive(Default)]
struct Span {
    /// In echelon form.
    rows: Vec<u32>,
    /// In the order they came.
    vectors: Vec<u32>,
}
impl Span {
    fn of(vectors: &[u32]) -> Span {
        let mut span = Span::default();
        vectors.iter().for_each(|v| _ = span.insert(*v));
        span
    }
    fn reduce(&self, v: u32) -> u32 {
        self.rows.iter().fold(v, |v, row| if v >> row.ilog2() & 1 == 1 { v ^ row } else { v })
    }
    /// Whether it was independent of those before.
    fn insert(&mut self, v: u32) -> bool {
        let left = self.reduce(v);
        if left != 0 {
            self.rows.push(left);
            self.vectors.push(v);
        }
        left != 0
    }
}

/// By axis and bit of a coordinate, what it adds (XOR) to an offset, in elements: `stores of 4, loads of 1, offset bits [16 36 | 1 2 4 8]`
impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |adds: &Vec<u32>| adds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let axes: Vec<String> = self.adds.iter().map(list).collect();
        write!(f, "stores of {}, loads of {}, offset bits [{}]", self.store, self.load, axes.join(" | "))
    }
}
