use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, x: Scalar<f32>) {
    keep((2 * n, 2.0 * x, 1 - n));
    keep(2i32 * n);
    keep(2 * x);
    keep(1.5 < n);
}

fn main() {}
