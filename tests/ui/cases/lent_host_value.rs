use tilewright::prelude::*;

fn note(log: &mut Vec<usize>) {
    log.push(1);
}

#[kernel]
fn k(n: Scalar<i32>) {
    let mut log = vec![0];
    if n > 2 {
        note(&mut log);
    }
}

fn main() {}
