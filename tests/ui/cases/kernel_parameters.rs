use tilewright::prelude::*;

#[kernel]
fn a((x, y): (Scalar<i32>, Scalar<i32>)) {
    keep(x + y);
}
#[kernel]
fn b(f: impl Fn(Scalar<i32>)) {}
#[kernel]
fn c(self, n: Scalar<i32>) {}
#[kernel]
fn d(#[inline] n: Scalar<i32>, ref m: Scalar<i32>) {}

fn main() {}
