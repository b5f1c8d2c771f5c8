use tilewright::prelude::*;

#[kernel]
fn k(#[comptime] size: usize) {
    while size > 3 {}
}

fn main() {}
