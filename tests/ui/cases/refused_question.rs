use tilewright::prelude::*;

#[device]
fn d(n: Scalar<i32>, sizes: Result<[usize; 2], ()>) -> Scalar<i32> {
    let [a, b] = sizes?;
    let c = n?;
    n * a + b + c
}

fn main() {}
