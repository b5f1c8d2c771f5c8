use tilewright::prelude::*;

#[derive(Clone, Debug)]
struct Mode;

#[kernel]
fn k(#[comptime] scale: f32, #[comptime] mode: Mode) {
    let _ = (scale, mode);
}

fn main() {}
