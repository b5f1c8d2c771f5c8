use tilewright::prelude::*;

#[derive(Value)]
struct Mixed<T: Elem> {
    n: Scalar<T>,
    size: usize,
}

fn main() {}
