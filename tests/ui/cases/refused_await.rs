use tilewright::prelude::*;

#[device]
fn d(n: Scalar<i32>) -> Scalar<i32> {
    let f = async { 3 };
    let g = || {
        if n > 2 {
            return n;
        }
        n + 1
    };
    f.await;
    g()
}

fn main() {}
