use tilewright::prelude::*;

#[kernel]
fn k(x: View<f16, 2>) {
    let _ = x.at(0).load::<D1<16>>();
    let _ = x.at(0, 1.5).get();
}

fn main() {}
