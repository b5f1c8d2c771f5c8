use tilewright::prelude::*;

#[kernel]
fn k() {
    let a = zeros::<f32, D2<16, 16>>();
    let b = zeros::<f32, D2<16, 8>>();
    let _ = a + b;
    let _ = a - a.max(Axis::<1>);
    let _ = b - b.max(Axis::<1>).row();
    let _ = b - b.max(Axis::<0>).col();
}

fn main() {}
