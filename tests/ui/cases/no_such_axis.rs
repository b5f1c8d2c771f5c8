use tilewright::prelude::*;

#[kernel]
fn k() {
    let a = zeros::<f32, D2<16, 16>>();
    let _ = a.sum(Axis::<2>);
    let _ = iota::<i32, D1<4>>(Axis::<1>);
}

fn main() {}
