use tilewright::prelude::*;

#[kernel]
fn k(y: ViewMut<f32, 2>) {
    let a = zeros::<f32, D2<16, 16>>();
    if a > 0.0 {
        y.at(0, 0).store(a);
    }
}

fn main() {}
