//! `#[kernel(deny(in_kernel_checks))]`: in the module, and what a launch says that cannot keep it.

use crate::kernels::bounds::*;
use insta::assert_snapshot;
use tilewright::Runtime;
use tilewright::core_api::passes::{Options, optimise};
use tilewright::prelude::*;

fn floats(n: usize) -> Tensor<f32, 1> {
    Tensor::from_vec([n], (0..n).map(|i| i as f32).collect()).expect("n elements")
}

#[test]
fn what_a_kernel_denies_is_in_its_text() {
    let (x, mut y) = (floats(64), Tensor::zeros([64]));
    let text = tilewright::ir::text::print(&whole_blocks(&x, &mut y).trace().unwrap());
    assert_snapshot!(text.lines().next().unwrap_or_default(), @"kernel @whole_blocks(%x: view<?xf32>, %y: view_mut<?xf32>) deny(in_kernel_checks) {");
}

#[test]
fn a_kernel_whose_accesses_are_all_shown_runs() {
    for (len, copied) in [(64, 64), (60, 0)] {
        let (x, mut y) = (floats(len), Tensor::zeros([len]));
        whole_blocks(&x, &mut y).grid(Grid::cubes(1).pes(2)).run(&mut Runtime::reference()).unwrap();
        assert_eq!(y.elements()[..copied], x.elements()[..copied]);
        assert!(y.elements()[copied..].iter().all(|v| *v == 0.0));
    }
    // For every launch at once, too.
    let (x, mut y) = (Tensor::shape_only([1]), Tensor::shape_only([1]));
    optimise(&whole_blocks(&x, &mut y).trace().unwrap(), &Options::default()).unwrap();
}

#[test]
fn each_access_that_would_be_checked_in_the_kernel_is_told_with_what_is_missing() {
    let (x, at, mut y) = (floats(64), Tensor::from_vec([1], vec![3]).unwrap(), Tensor::zeros([64]));
    assert_snapshot!(gather(&x, &at, &mut y).run(&mut Runtime::sim()).unwrap_err().to_string());
}

#[test]
fn a_launch_whose_numbers_do_not_show_it_is_refused_before_it_runs() {
    let (x, at, mut y) = (floats(64), Tensor::from_vec([1], vec![3]).unwrap(), Tensor::zeros([64]));
    guarded_gather(&x, &at, &mut y).run(&mut Runtime::sim()).unwrap();
    // Two programs, one index.
    let two = guarded_gather(&x, &at, &mut y).grid(Grid::cubes(2)).run(&mut Runtime::sim());
    assert_snapshot!(two.unwrap_err().to_string());
}
