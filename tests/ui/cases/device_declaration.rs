use tilewright::prelude::*;

trait Step {
    #[device]
    fn step(self) -> Self;
}

fn main() {}
