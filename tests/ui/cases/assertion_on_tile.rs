use tilewright::prelude::*;

#[kernel]
fn k() {
    assert_k!(zeros::<f32, D1<4>>() > 1.0, "all");
    let _ = select(true, 1.0, scalar::<f32>(2.0));
}

fn main() {}
