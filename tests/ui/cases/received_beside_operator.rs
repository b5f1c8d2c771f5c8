use tilewright::prelude::*;

#[kernel]
fn k() {
    let mut sum = zeros::<f32, D1<8>>();
    sum += recv(Port::pe(Dir::West));
}

fn main() {}
