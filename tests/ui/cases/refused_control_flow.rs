use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, #[comptime] limit: Option<i32>) {
    let x;
    if n > 1 {
        x = n;
    } else {
        x = n + 1;
    }
    for i in 0..n {
        if i > 3 {
            break;
        }
    }
    for u in unroll(0..4) {
        if u == 2 {
            continue;
        }
    }
    for i in 0..=n {}
    for i in 0.. {}
    for i in (0..n).rev() {}
    if n > 2 {
        return;
    }
    loop {
        keep(x);
    }
    let y = limit? + 1;
    keep(n + y);
}

fn main() {}
