use tilewright::prelude::*;

#[kernel]
fn k(x: View<f16, 2>) {
    x.at(0, 0).store(zeros::<f16, D2<16, 16>>());
}

fn main() {}
