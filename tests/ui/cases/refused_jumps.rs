use tilewright::prelude::*;

#[device]
fn d(n: Scalar<i32>, fast: bool) -> Scalar<i32> {
    if fast {
        return n;
    }
    let m = 'found: {
        for u in unroll(0..4) {
            if u == 2 {
                break 'found n;
            }
        }
        n + 1
    };
    while n > 3 {
        if n == 5 {
            continue;
        }
    }
    m
}

fn main() {}
