use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>) {
    for i in unroll(0..n) {}
    match n {
        0 => {}
        _ => {}
    }
    let list = [1, 2];
    let _ = list[n];
}

fn main() {}
