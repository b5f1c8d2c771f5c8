use tilewright::prelude::*;

#[kernel]
fn k() {
    let a = zeros::<f32, D2<16, 16>>();
    let b = zeros::<f32, D2<16, 8>>();
    let _ = a + b;
    let _ = a - a.max(Axis::<1>);
}

fn main() {}
