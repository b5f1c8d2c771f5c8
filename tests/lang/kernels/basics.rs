//! Vector add, row softmax, layer norm, dropout.
use tilewright::prelude::*;

#[kernel]
pub fn vector_add<T: Num, const N: usize>(x: View<T, 1>, y: View<T, 1>, z: ViewMut<T, 1>) {
    let i = program_id() * N;
    z.at(i).store(x.at(i).load::<D1<N>>() + y.at(i).load());
}

#[kernel]
pub fn row_softmax<T: Float, const N: usize>(x: View<T, 2>, y: ViewMut<T, 2>, rows: Scalar<i32>) {
    let first = program_id() * rows;
    for r in first..first + rows {
        let row = x.at(r, 0).load::<D1<N>>().cast::<f32>();
        let e = exp(row - row.max(Axis::<0>));
        y.at(r, 0).store((e / e.sum(Axis::<0>)).cast::<T>());
    }
}

/// Blocks of B rows; the gain and the bias are vectors, so they join as rows.
#[kernel]
pub fn layer_norm<T: Float, const B: usize, const N: usize>(
    x: View<T, 2>,
    gain: View<T, 1>,
    bias: View<T, 1>,
    y: ViewMut<T, 2>,
    eps: Scalar<f32>,
) {
    let r = program_id() * B;
    let x = x.at(r, 0).load::<D2<B, N>>().cast::<f32>();
    let gain = gain.at(0).load::<D1<N>>().cast::<f32>();
    let bias = bias.at(0).load::<D1<N>>().cast::<f32>();
    let mean = x.sum(Axis::<1>) / N as f64;
    let d = x - mean.col();
    let var = (d * d).sum(Axis::<1>) / N as f64;
    let out = d * rsqrt(var + eps).col() * gain.row() + bias.row();
    y.at(r, 0).store(out.cast::<T>());
}

/// Philox 4x32-10: four random words per counter, the same on every machine and in every order.
#[device]
pub fn philox<S: Shape>(counter: Tile<u32, S>, seed: (Scalar<u32>, Scalar<u32>)) -> [Tile<u32, S>; 4] {
    let (mut k0, mut k1) = seed;
    let mut c = [counter, zeros(), zeros(), zeros()];
    for _ in unroll(0..10) {
        let (hi0, lo0) = (mul_hi(c[0], 0xD2511F53u32), c[0] * 0xD2511F53u32);
        let (hi1, lo1) = (mul_hi(c[2], 0xCD9E8D57u32), c[2] * 0xCD9E8D57u32);
        c = [hi1 ^ c[1] ^ k0, lo1, hi0 ^ c[3] ^ k1, lo0];
        k0 += 0x9E3779B9u32;
        k1 += 0xBB67AE85u32;
    }
    c
}

#[kernel]
pub fn dropout<T: Float, const N: usize>(x: View<T, 1>, y: ViewMut<T, 1>, p: Scalar<f32>, seed: Scalar<u32>) {
    let i = program_id() * N;
    let counter = iota::<u32, D1<N>>(Axis::<0>) + i.cast::<u32>();
    let [r, ..] = philox(counter, (seed, scalar(0)));
    let uniform = (r >> 8).cast::<f32>() * 2f64.powi(-24);
    let x = x.at(i).load_or::<D1<N>>(0.0).cast::<f32>();
    y.at(i).store_inside(select(uniform >= p, x / (1.0 - p), 0.0).cast::<T>());
}
