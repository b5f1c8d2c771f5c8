use tilewright::prelude::*;

#[kernel]
fn k() {
    let a = zeros::<f16, D2<4, 4>>();
    let undecided = dot(a, a);
}

fn main() {}
