//! What `ir --stage layout` says of small kernels.

mod common;

use insta::assert_snapshot;
use tilewright_core::passes::facts::{Fact, Known, KnownArg};
use tilewright_cuda::{Options, Target, compile, layout};

fn described(tir: &str, threads: u32) -> String {
    let module = common::parse(tir);
    let fact = Fact { lo: 0, hi: i128::from(i64::MAX), divisor: 16 };
    let args = module.params.iter().map(|_| KnownArg::LenFacts(vec![fact; 4])).collect();
    let known = Known { grid: None, args };
    let options = Options { known, ..Options::new(Target::Sm90a, threads) };
    layout::describe(&compile(&module, &options).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn a_row_lies_in_vectors_and_its_reduction_meets_in_shared_memory() {
    assert_snapshot!(described(
        "kernel @norm(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {
  %r = program_id : i32
  %row = load %x[%r, 0] : tile<1024xf32>
  %sum = reduce_sum %row axis 0 : f32
  %all = splat %sum : tile<1024xf32>
  %out = div %row, %all : tile<1024xf32>
  store %y[%r, 0], %out
}
",
        64
    ));
}

#[test]
fn a_vector_beside_a_matrix_lies_as_the_matrix_does() {
    assert_snapshot!(described(
        "kernel @bias(%x: view<?x?xf16>, %b: view<?xf16>, %y: view_mut<?x?xf16>) {
  %m = load %x[0, 0] : tile<16x64xf16>
  %v = load %b[0] : tile<64xf16>
  %row = broadcast %v axis 0 : tile<16x64xf16>
  %out = add %m, %row : tile<16x64xf16>
  store %y[0, 0], %out
}
",
        64
    ));
}

#[test]
fn a_scan_goes_through_an_ordered_layout_and_back() {
    assert_snapshot!(described(
        "kernel @scan(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %0 = load %x[0] : tile<256xi32>
  %1 = scan_sum %0 axis 0 : tile<256xi32>
  store %y[0], %1
}
",
        64
    ));
}

#[test]
fn a_transposed_matrix_is_swizzled_on_its_way_through_shared_memory() {
    assert_snapshot!(described(
        "kernel @turn(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {
  %0 = load %x[0, 0] : tile<64x64xf32>
  %1 = trans %0 : tile<64x64xf32>
  store %y[0, 0], %1
}
",
        128
    ));
}

#[test]
fn rows_that_are_cut_from_a_computed_tile_are_registers_of_it() {
    assert_snapshot!(described(
        "kernel @cut(%x: view<?x64xf32>, %y: view_mut<?x64xf32>) {
  %0 = load %x[0, 0] : tile<8x64xf32>
  %1 = load %x[8, 0] : tile<64x8xf32>
  %2 = trans %1 : tile<8x64xf32>
  %3 = rows %2, 2 : tile<1x64xf32>
  %4 = reduce_sum %2 axis 1 : tile<8xf32>
  %5 = rows %4, 2 : tile<1xf32>
  %6 = broadcast %5 axis 1 : tile<1x64xf32>
  %7 = mul %3, %6 : tile<1x64xf32>
  store %y[0, 0], %7
  %8 = rows %0, 4 : tile<4x64xf32>
  store %y[4, 0], %8
}
",
        128
    ));
}
