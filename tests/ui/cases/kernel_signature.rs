use tilewright::prelude::*;

#[kernel]
async fn a() {}
#[kernel]
const unsafe fn b() {}
#[kernel]
extern "C" fn c() {}
#[kernel]
fn d<'a>(n: Scalar<i32>) {}
#[kernel]
fn e(n: Scalar<i32>) -> Scalar<i32> {
    n
}
#[kernel]
struct G;

fn main() {}
