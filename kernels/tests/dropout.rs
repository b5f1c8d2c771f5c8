//! The counter-based generator against its published test vectors, and what follows from it for dropout.

use tilewright::Runtime;
use tilewright::prelude::*;
use tilewright_kernels::dropout::{BLOCK, dropout, philox_words};
use tilewright_kernels::philox::philox;

#[kernel]
fn words(counter: View<u32, 1>, key: View<u32, 1>, out: ViewMut<u32, 1>) {
    let counter = [0, 1, 2, 3].map(|i| counter.at(i as usize).load::<D1<1>>());
    let words = philox(counter, [key.at(0).get(), key.at(1).get()]);
    for i in unroll(0..4) {
        out.at(i).store(words[i]);
    }
}

/// Counter, key, words: the lines `philox4x32 10` of the file `kat_vectors` in the authors' Random123.
const KNOWN: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
    ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
    ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
    (
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xa409_3822, 0x299f_31d0],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
];

fn both() -> [Runtime; 2] {
    [Runtime::reference(), Runtime::sim()]
}
fn vector<T: Elem>(elements: Vec<T>) -> Tensor<T, 1> {
    Tensor::from_vec([elements.len()], elements).unwrap()
}

#[test]
fn philox_gives_the_published_words() {
    for (counter, key, expected) in KNOWN {
        assert_eq!(philox_words(counter, key), expected, "on the host");
        for mut runtime in both() {
            let (counter, key) = (vector(counter.to_vec()), vector(key.to_vec()));
            let mut out = Tensor::zeros([4]);
            words(&counter, &key, &mut out).run(&mut runtime).unwrap();
            assert_eq!(out.elements(), expected, "on {}", runtime.target());
        }
    }
}

fn dropped(n: usize, p: f32, seed: u32, grid: Grid, runtime: &mut Runtime) -> Vec<f32> {
    let (x, mut y) = (vector(vec![1.0; n]), Tensor::zeros([n]).placed(Placement::at(0, 0)));
    dropout::<f32, BLOCK>(&x, &mut y, p, 1.0, seed).grid(grid).run(runtime).unwrap();
    y.elements().to_vec()
}

#[test]
fn what_is_dropped_depends_on_the_seed_and_not_on_the_grid() {
    let [mut reference, mut sim] = both();
    let once = dropped(3000, 0.5, 7, Grid::cubes(1).pes(8), &mut reference);
    assert_eq!(once, dropped(3000, 0.5, 7, Grid::cubes(1).pes(1), &mut reference));
    assert_eq!(once, dropped(3000, 0.5, 7, Grid::cubes(2).pes(8), &mut sim));
    assert_eq!(once[..1100], dropped(1100, 0.5, 7, Grid::cubes(1).pes(8), &mut reference));
    assert_ne!(once, dropped(3000, 0.5, 8, Grid::cubes(1).pes(8), &mut reference));
}
#[test]
fn the_share_of_zeros_is_the_probability() {
    let n = 20_000;
    for p in [0.0, 0.1, 0.5, 0.9] {
        let y = dropped(n, p, 3, Grid::cubes(1).pes(8), &mut Runtime::reference());
        let zeros = y.iter().filter(|y| **y == 0.0).count() as f64;
        let (mean, sigma) = (n as f64 * f64::from(p), (n as f64 * f64::from(p * (1.0 - p))).sqrt());
        assert!((zeros - mean).abs() <= 4.0 * sigma, "p = {p}: {zeros} zeros of {n}");
    }
}
