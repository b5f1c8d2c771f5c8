use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, size: Scalar<i64>) {
    let a = zeros::<f32, D2<16, 8>>();
    let b = zeros::<f32, D2<16, 16>>();
    keep(a == b);
    keep(a.max(Axis::<1>) < a);
    if n == size {
        keep(n);
    }
    while n < 1.5 {}
}

fn main() {}
