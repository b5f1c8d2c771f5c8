//! Kernels that deny checks of bounds while they run. `bounds.rs` beside `kernels` holds what is said of each, by line.

use tilewright::prelude::*;

/// Every access is shown inside by its loop, or needs no check.
#[kernel(deny(in_kernel_checks))]
pub fn whole_blocks(x: View<f32, 1>, y: ViewMut<f32, 1>) {
    let len = x.len(Axis::<0>);
    if len % 8 == 0 && len <= y.len(Axis::<0>) {
        for i in (program_id() * 8..len).step_by(num_programs() * 8) {
            y.at(i).store(x.at(i).load::<D1<8>>());
        }
    }
    y.at(len).store_inside(x.at(len - 4).load_or::<D1<8>>(0.0));
}

#[device]
fn gathered(x: View<f32, 1>, at: Scalar<i32>) -> Tile<f32, D1<4>> {
    x.at(at).load()
}

/// Indices that come from data, through a device function, from a carried value; and one that only a launch can show.
#[kernel(deny(in_kernel_checks))]
pub fn gather(x: View<f32, 1>, at: View<i32, 1>, y: ViewMut<f32, 1>) {
    let i = at.at(program_id()).get();
    y.at(i).store(gathered(x, i));
    let mut j: Scalar<i32> = scalar(0);
    while j < 100 {
        j = j * 3 + 1;
        y.at(j).set(0.0);
    }
    for k in 0..4 {
        y.at(i + k).set(1.0);
    }
}

/// The same indices, with what is missing written.
#[kernel(deny(in_kernel_checks))]
pub fn guarded_gather(x: View<f32, 1>, at: View<i32, 1>, y: ViewMut<f32, 1>) {
    let i = at.at(program_id()).get();
    y.at(i).store_inside(x.at(i).load_or::<D1<4>>(0.0));
    let mut j: Scalar<i32> = scalar(0);
    while j < 100 {
        j = j * 3 + 1;
        if j >= 0 && j < y.len(Axis::<0>) {
            y.at(j).set(0.0);
        }
    }
    for k in 0..4 {
        y.at(maximum(minimum(i + k, y.len(Axis::<0>) - 1), 0)).store_inside(full::<f32, D1<1>>(1.0));
    }
}
