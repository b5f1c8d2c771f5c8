use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, step: Scalar<i64>) {
    for i in (0..n).step_by(1.5) {}
    for i in (0..n).step_by(step) {}
    for i in (0..n).stages(n) {}
}

fn main() {}
