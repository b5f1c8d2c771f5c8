use tilewright::prelude::*;

#[kernel]
fn k() {
    let a = zeros::<f32, D2<16, 16>>();
    let b = zeros::<f32, D2<16, 8>>();
    let _ = dot(b, a);
}

fn main() {}
