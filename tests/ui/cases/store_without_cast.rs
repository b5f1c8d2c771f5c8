use tilewright::prelude::*;

#[kernel]
fn k(y: ViewMut<f16, 2>) {
    let b = zeros::<f32, D2<16, 16>>();
    y.at(0, 0).store(b);
}

fn main() {}
