use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, x: Scalar<f32>) {
    let _ = exp(n);
    let _ = x & x;
    let _ = x % 2.0;
    let _ = zeros::<usize, D1<4>>();
}

fn main() {}
