use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, m: Scalar<i64>) {
    for i in n..m {}
    for i in 0..1.5 {}
}

fn main() {}
