use tilewright::prelude::*;

#[kernel]
fn k() {
    let a = zeros::<f32, D1<16>>();
    let _ = select(a > 0.0 && a < 1.0, a, 0.0);
}

fn main() {}
