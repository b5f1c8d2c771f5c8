use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>) {
    let _ = if n > 2 { 30 } else { 50 };
}

fn main() {}
