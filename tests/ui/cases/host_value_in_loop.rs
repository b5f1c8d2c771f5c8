use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>) {
    let mut count = 0;
    for i in 0..n {
        count += 1;
    }
}

fn main() {}
