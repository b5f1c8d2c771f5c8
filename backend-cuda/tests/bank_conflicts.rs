//! Tiles on their way through shared memory: no two lanes of a wavefront ask one bank for different words, whichever two
//! layouts a tile goes between, and every element has a place of its own.

use std::collections::HashMap;
use tilewright_cuda::layout::{Coord, RegLayout, Swizzle, wavefronts};
use tilewright_test_random::Source;

#[test]
fn a_bank_gives_one_word_a_wavefront() {
    let every = |step: u32| (0..32).map(|lane| lane * step).collect::<Vec<u32>>();
    assert_eq!(wavefronts(&every(4), 4), 1, "neighbours");
    assert_eq!(wavefronts(&every(8), 4), 2, "every other word");
    assert_eq!(wavefronts(&every(128), 4), 32, "a column of 32 words");
    assert_eq!(wavefronts(&every(0), 4), 1, "one word for all");
    assert_eq!(wavefronts(&every(2), 2), 1, "two lanes a word");
    assert_eq!(wavefronts(&every(16), 16), 4, "eight lanes a wavefront");
    assert_eq!(wavefronts(&every(128), 16), 32, "a column of 16 bytes");
    assert_eq!(wavefronts(&every(132), 4), 1, "a padded column");
}

/// Any assignment of a tile's bits to registers, lanes and warps, with repetitions and threads that hold the same.
fn layout(random: &mut Source, bits: [u32; 2], warp_bits: usize, rep: [u32; 2]) -> RegLayout {
    let mut units: Vec<Coord> = (0..2)
        .flat_map(|axis| (0..bits[axis]).map(move |bit| std::array::from_fn(|i| u32::from(i == axis) << bit)))
        .collect();
    for i in (1..units.len()).rev() {
        units.swap(i, random.below(i + 1));
    }
    let mut thread: Vec<Coord> = units.drain(..units.len().min(5 + warp_bits)).collect();
    thread.resize(5 + warp_bits, [0; 4]);
    if random.once_in(4) {
        let at = random.below(thread.len());
        units.push(std::mem::take(&mut thread[at]));
    }
    units.retain(|unit| *unit != [0; 4]);
    RegLayout::new(2, units, thread, [rep[0], rep[1], 1, 1])
}

fn check(from: &RegLayout, to: &RegLayout, bytes: u32) -> Swizzle {
    let swizzle = Swizzle::of(from, to, bytes);
    let what = || format!("{bytes} bytes\n{from}\n{to}\n{swizzle}");
    for (layout, width) in [(from, swizzle.store), (to, swizzle.load)] {
        assert_eq!(swizzle.extra_wavefronts(layout, width), 0, "{}", what());
        let mut places = HashMap::new();
        for thread in 0..layout.threads() {
            for access in swizzle.accesses(layout, width) {
                let first = swizzle.offset(&layout.coord(thread, access[0]));
                assert!(first.is_multiple_of(width) && access.len() == width as usize, "{}", what());
                for (i, reg) in (0..).zip(access) {
                    let at = layout.coord(thread, reg);
                    assert_eq!(swizzle.offset(&at), first + i, "{}", what());
                    assert!(first + i < swizzle.elems(), "{}", what());
                    assert_eq!(*places.entry(first + i).or_insert(at), at, "{}", what());
                }
            }
        }
    }
    swizzle
}

#[test]
fn no_pair_of_layouts_meets_in_a_bank() {
    let mut random = Source::seeded(1);
    for _ in 0..400 {
        let bits = [1 + random.below(5) as u32, 1 + random.below(5) as u32];
        let warp_bits = random.below(3);
        let rep = [1 + random.below(3) as u32, 1 + random.below(3) as u32];
        let (from, to) = (layout(&mut random, bits, warp_bits, rep), layout(&mut random, bits, warp_bits, rep));
        check(&from, &to, 1 << random.below(4));
    }
}

#[test]
fn a_transposed_matrix_is_written_in_vectors_and_read_by_words() {
    let dims = tilewright_core::ir::Dims::new(&[64, 64]).expect("a shape");
    let rows = RegLayout::blocked(dims, 4, 4, 128);
    let swizzle = check(&rows, &rows.transposed(), 4);
    assert_eq!((swizzle.store, swizzle.load), (4, 1));
    // In row-major order a lane's neighbours are a row apart: every word of a warp's read is in one bank.
    let read: Vec<u32> =
        (0..32).map(|lane| rows.transposed().thread_coord(lane)).map(|at| (at[0] * 64 + at[1]) * 4).collect();
    assert_eq!(wavefronts(&read, 4), 16);
}
