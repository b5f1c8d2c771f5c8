//! What time depends on, what a PE has room for, and accesses that reach outside.

use super::{Arg, SMALL, args, fault, module, user};
use insta::assert_snapshot;
use tilewright_core::data::Data;
use tilewright_core::launch::Grid;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::time;

#[test]
fn live_tiles_above_the_capacity_of_scratch() {
    assert_snapshot!(fault("\
  %a = splat 0.5 : tile<512x512xf16>
  %b = exp %a : tile<512x512xf16>
  %c = exp %b : tile<512x512xf16>
  %d = add %b, %c : tile<512x512xf16>
  keep %d
"), @r"
    error[TW-E0353]: scratch is full: the result needs 524288 B, 0 B of 1048576 B are free
     --> k.tir:5:3
      |
    3 |   %b = exp %a : tile<512x512xf16>
      |   -- %b holds 524288 B
    4 |   %c = exp %b : tile<512x512xf16>
      |   -- %c holds 524288 B
    5 |   %d = add %b, %c : tile<512x512xf16>
      |   ^^ PE 0 has no room for this result
      |
      = note: not one row of it would fit
      = next: use a smaller tile, or end the use of one of these before this line
      = more: tilewright explain TW-E0353
    ");
}
#[test]
fn time_that_depends_on_a_received_scalar() {
    assert_snapshot!(fault("\
  %s = recv pe.east : i32
  for %t in 0..%s {
    %a = load %x[0, 0] : tile<64xf16>
    keep %a
  }
"), @r"
    error[TW-E0350]: the time of this kernel depends on a value that `recv` makes
     --> k.tir:2:1
      |
    2 | %s = recv pe.east : i32
      | ^^ only a run with values knows this scalar
    3 |   for %t in 0..%s {
      |   --- it decides what happens here
      |
      = note: without data there is no control trace to take it from
      = next: run with data, or compute bounds, conditions and positions from parameters, ids and lengths
      = more: tilewright explain TW-E0350
    ");
}
#[test]
fn time_that_depends_on_an_element_without_data() {
    assert_snapshot!(fault("  %s = load %i[0] : i32\n  %a = load %x[%s, 0] : tile<64xf16>\n  keep %a\n"), @r"
    error[TW-E0351]: the time of this kernel depends on an element of a tensor
     --> k.tir:2:3
      |
    2 |   %s = load %i[0] : i32
      |   ^^ this element is not known while timing
    3 |   %a = load %x[%s, 0] : tile<64xf16>
      |   -- it decides what happens here
      |
      = note: the tensor has a shape but no data
      = next: give this tensor data; the others may stay shapes
      = more: tilewright explain TW-E0351
    ");
}
#[test]
fn a_composite_that_loads_its_first_operand() {
    assert_snapshot!(fault("\
  %k = load %x[0, 0] : tile<8x64xf16>
  %s = composite {
    %q = load %x[0, 64] : tile<8x64xf16>
    %t = trans %k : tile<64x8xf16>
    %d = dot %q, %t : tile<8x8xf16>
    yield %d
  }
  keep %s
"), @r"
    error[TW-E0352]: a composite streams the second operand of its dot, and no other tile
     --> k.tir:4:5
      |
    3 |   %s = composite {
      |   -- the composite
    4 |     %q = load %x[0, 64] : tile<8x64xf16>
      |     ^^ this tile does not feed it
      |
      = next: load the tile before the composite
      = more: tilewright explain TW-E0352
    ");
}
#[test]
fn accesses_outside_their_view() {
    assert_snapshot!(fault("\
  %a = load %x[0, 1000] : tile<2x64xf16>
  store %y[7, 0], %a
"), @r"
    error[TW-E0310]: 160 elements loaded outside the view
     --> k.tir:2:1
      |
    2 | %a = load %x[0, 1000] : tile<2x64xf16>
      | ^^ first by PE 0 at [0, 1024]
      |
      = note: in `%a = load %x[0, 1000] : tile<2x64xf16>`; they were read as 0
      = next: use `load_or`, or `.limit(axis, n)`
      = more: tilewright explain TW-E0310
    error[TW-E0311]: 128 elements stored outside the view
     --> k.tir:3:3
      |
    3 |   store %y[7, 0], %a
      |   ^^^^^ first by PE 0 at [8, 0]
      |
      = note: in `store %y[7, 0], %a`; they were dropped
      = next: use `store_inside`, or `.limit(axis, n)`
      = more: tilewright explain TW-E0311
    ");
}

/// The element is in range of the view, and the tensor that it comes from has data.
#[test]
fn time_may_depend_on_elements_of_tensors_with_data() {
    let text = "kernel @k(%x: view<?x?xf16>, %i: view<?xi32>) {\n  %s = load %i[1] : i32\n  for %t in 0..%s {\n    %a = load %x[%t, 0] : tile<64xf16>\n    keep %a\n  }\n}\n";
    let m = module(text);
    let mut args = args(&m);
    if let Some(Arg::View(t)) = args.last_mut() {
        (t.dims, t.data) = (vec![2], Some(Data::I32(vec![7, 5])));
    }
    let t = time(&Machine::ahbm(), &[user(&m, &args, Grid::cubes(1))], SMALL).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(t.commands.get("load"), Some(&6));
}
