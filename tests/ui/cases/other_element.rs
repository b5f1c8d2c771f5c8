use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>) {
    let a = zeros::<f16, D2<16, 16>>();
    let b = zeros::<f32, D2<16, 16>>();
    let _ = a + b;
    let _ = a * 2;
    let _ = n * b;
}

fn main() {}
