use tilewright::prelude::*;

#[derive(Value)]
struct State {
    m: Scalar<i32>,
}
impl State {
    #[device]
    fn step(&mut self, n: Scalar<i32>) {
        self.m = n;
        if n > 0 {
            self.m += 1;
        }
    }
}
#[device]
fn add(into: &mut Scalar<i32>, n: Scalar<i32>) {
    *into += n;
    for i in 0..n {
        *into += i;
    }
}

fn main() {}
