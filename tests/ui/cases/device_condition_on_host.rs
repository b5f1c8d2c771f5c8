use tilewright::prelude::*;

#[kernel]
fn k(n: Scalar<i32>, #[comptime] size: Option<usize>) {
    if let Some(s) = size
        && n > 2
    {
        keep(n + s);
    }
    match size {
        Some(s) if n == 3 => keep(n * s),
        _ => {}
    }
}

fn main() {}
