use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>) {
    let mut i: Scalar<i32> = scalar(0);
    while {
        i += 1;
        i < n
    } {}
    let mut seen: Scalar<i32> = scalar(0);
    let _ = n > 2 && {
        seen = n;
        n > 3
    };
}

fn main() {}
