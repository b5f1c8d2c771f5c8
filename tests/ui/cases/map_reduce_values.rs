use tilewright::prelude::*;

#[kernel]
fn k(x: View<f32, 1>, n: Scalar<i32>) {
    let host = map_reduce(0..n, |_| 1, |a, b| a + b);
    let other = map_reduce(0..n, |i| x.at(i).get(), |a, b| a < b);
}

fn main() {}
