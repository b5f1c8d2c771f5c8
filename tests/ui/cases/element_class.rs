use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, x: Scalar<f32>, on: Scalar<bool>) {
    let _ = exp(n);
    let _ = x & x;
    let _ = x % 2.0;
    let _ = zeros::<usize, D1<4>>();
    let mut bytes = zeros::<F8E4M3, D1<4>>();
    bytes += bytes;
    let _ = on < on;
}

#[device]
fn any<T: Elem>(x: Scalar<T>) -> Scalar<T> {
    x + x
}

fn main() {}
