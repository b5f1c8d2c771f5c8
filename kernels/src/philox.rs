//! Random numbers by counting: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011).
//! A word depends on its counter and the key alone: the same on every target, on any grid, in any order, and again whenever
//! it is needed, so nothing random is ever stored.

use tilewright::prelude::*;

/// Four random words of each counter; a counter is four words, the least significant first.
#[device]
pub fn philox<S: Shape>(counter: [Tile<u32, S>; 4], key: [Scalar<u32>; 2]) -> [Tile<u32, S>; 4] {
    let [mut k0, mut k1] = key;
    let mut c = counter;
    for _ in unroll(0..10) {
        let (hi0, lo0) = (mul_hi(c[0], 0xD2511F53u32), c[0] * 0xD2511F53u32);
        let (hi1, lo1) = (mul_hi(c[2], 0xCD9E8D57u32), c[2] * 0xCD9E8D57u32);
        c = [hi1 ^ c[1] ^ k0, lo1, hi0 ^ c[3] ^ k1, lo0];
        k0 += 0x9E3779B9u32;
        k1 += 0xBB67AE85u32;
    }
    c
}

/// A word as a number from 0 up to, but without, 1: a multiple of 2^-24, all equally likely, exact in f32.
#[device]
pub fn unit<S: Shape>(word: Tile<u32, S>) -> Tile<f32, S> {
    (word >> 8).cast::<f32>() * 2f64.powi(-24)
}
