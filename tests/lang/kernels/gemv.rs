//! `y = W . x`, W of 2-bit codes, four to a byte, low bits first; one f16 scale per 64 weights; code c stands for c - 2.
//! w: R x K/4 of u8.  scales: R x K/64.  x: K.  y: R of f32.
use tilewright::prelude::*;

/// A step takes K weights a row: B = K/4 bytes, S = K/64 scales. Types cannot divide, so the caller writes all three.
#[kernel]
pub fn gemv_2bit<const R: usize, const K: usize, const B: usize, const S: usize>(
    w: View<u8, 2>,
    scales: View<f16, 2>,
    x: View<f16, 1>,
    y: ViewMut<f32, 1>,
) {
    const { assert!(K == 4 * B && K == 64 * S) }
    let row = program_id() * R;
    let shift = iota::<u8, D3<R, B, 4>>(Axis::<2>) * 2;
    let mut acc = zeros::<f32, D1<R>>();
    for i in 0..x.len(Axis::<0>) / K {
        let bytes = w.at(row, i * B).load::<D2<R, B>>();
        let codes = (bytes.along(Axis::<2>).broadcast::<D3<R, B, 4>>() >> shift) & 3;
        let weights = codes.reshape::<D2<R, K>>().cast::<f32>() - 2.0;
        let x = x.at(i * K).load::<D1<K>>().cast::<f32>();
        let per_scale = (weights * x.row()).reshape::<D3<R, S, 64>>().sum(Axis::<2>);
        acc += (per_scale * scales.at(row, i * S).load::<D2<R, S>>().cast::<f32>()).sum(Axis::<1>);
    }
    y.at(row).store(acc);
}
