use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, x: Scalar<f32>) {
    let _ = n < x;
    let _ = x == 1;
}

fn main() {}
