//! `c = leaky_relu(a . b)`: any M, N, K; what lies past an edge reads as zero and is not written.
use tilewright::prelude::*;

#[device]
fn leaky_relu<S: Shape>(x: Tile<f32, S>, slope: Scalar<f32>) -> Tile<f32, S> {
    select(x > 0.0, x, x * slope)
}

#[kernel]
pub fn matmul_leaky_relu<T: Float + DotInto<f32>, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    c: ViewMut<T, 2>,
    slope: Scalar<f32>,
) {
    let blocks = (b.len(Axis::<1>) + (BN - 1)) / BN;
    let (row, col) = (program_id() / blocks * BM, program_id() % blocks * BN);
    let mut acc = zeros::<f32, D2<BM, BN>>();
    for k in (0..a.len(Axis::<1>)).step_by(BK).stages(3) {
        let x = a.at(row, k).load_or::<D2<BM, BK>>(0.0);
        let y = b.at(k, col).load_or::<D2<BK, BN>>(0.0);
        acc = dot_acc(x, y, acc);
    }
    c.at(row, col).store_inside(leaky_relu(acc, slope).cast::<T>());
}
