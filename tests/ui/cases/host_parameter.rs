use tilewright::prelude::*;

#[kernel]
fn k(x: View<f32, 1>, n: usize) {
    keep(x.at(n).get());
}

fn main() {}
