use tilewright::prelude::*;

#[kernel]
fn k<T: Float>(x: View<T, 2>, y: ViewMut<T, 2>, n: Scalar<i32>) {
    y.at(n, 0).set(x.at(0, 0).get());
}

fn main() {
    let x = Tensor::<f32, 2>::zeros([4, 4]);
    let mut y = Tensor::<f16, 2>::zeros([4, 4]);
    let _ = k(&x, &mut y, 3);
    let _ = k(&x, &x, 3);
    let mut flat = Tensor::<f32, 1>::zeros([4]);
    let _ = k(&x, &mut flat, 3);
}
