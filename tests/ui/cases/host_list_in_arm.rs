use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>) {
    let mut log = Vec::new();
    if n > 2 {
        log.push(n);
    }
}

fn main() {}
