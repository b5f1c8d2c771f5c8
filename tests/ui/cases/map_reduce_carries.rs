use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>) {
    let mut seen = scalar::<i32>(0);
    let sum = map_reduce(
        0..n,
        |i| {
            seen += 1;
            i
        },
        |a, b| a + b,
    );
    keep((sum, seen));
}

fn main() {}
