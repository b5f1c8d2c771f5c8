use tilewright::prelude::*;

#[kernel]
fn k(x: View<f32, 1>, n: Scalar<i32>) {
    let list = [0, 4, 8];
    let a = map_reduce(list, |i| x.at(i).get(), |a, b| a + b);
    let b = map_reduce((0..n).rev(), |i| x.at(i).get(), |a, b| a + b);
    let c = map_reduce(0..=n, |i| x.at(i).get(), |a, b| a + b);
    keep((a, b, c));
}

fn main() {}
