use tilewright::prelude::*;

#[derive(Value)]
enum Either {
    A(Scalar<i32>),
}
#[kernel]
fn k() {
    let _ = recv::<usize>(Port::pe(Dir::East));
    send(Port::pe(Dir::East), 3);
}

fn main() {}
