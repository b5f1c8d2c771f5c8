use tilewright::prelude::*;

#[kernel]
fn a((x, y): (Scalar<i32>, Scalar<i32>)) {
    keep(x + y);
}
#[kernel]
fn b(f: impl Fn(Scalar<i32>)) {}
#[kernel]
fn c(self, n: Scalar<i32>) {}
#[kernel]
fn d(#[inline] n: Scalar<i32>, ref m: Scalar<i32>) {}
#[kernel]
fn e<T: Num, const N: usize>(x: View<T, 1>, y: ViewMut<T, 1>, #[comptime] [m, n]: [usize; 2]) {
    y.at(m).store(x.at(n).load::<D1<N>>());
}

// Calls of refused kernels are not told again.
fn main() {
    let (x, mut y) = (Tensor::<f32, 1>::zeros([4]), Tensor::zeros([4]));
    let launches = [a((1, 2)), b(3), c(4), d(5, 6), e::<_, 2>(&x, &mut y, [0, 1]).grid(Grid::cubes(2))];
    let _ = launches;
}
