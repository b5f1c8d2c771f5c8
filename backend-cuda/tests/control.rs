//! Branches and loops go the way they go in the interpreter, and carry what they carry there.

mod common;

use common::{Value, both, difference, some};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;

fn agrees(tir: &str, args: &[Value]) {
    for threads in [32, 128] {
        let (reference, emulated) = both(tir, Grid::cubes(2), threads, args);
        for (a, b) in reference.iter().zip(&emulated) {
            assert_eq!(difference(a, b, 0), None, "{threads} threads");
        }
    }
}
fn view(elem: ElemType, dims: &[usize]) -> Value {
    Value::Tensor(some(elem, dims))
}
fn i32s() -> Value {
    view(ElemType::I32, &[8])
}

#[test]
fn carried_values_may_change_places() {
    let tir = "kernel @fibonacci(%y: view_mut<?xi32>) {
  %p, %q, %r = for %i in 0..10 carry (%a = 0:i32, %b = 1:i32, %c = 7:i32) {
    %s = add %a, %b : i32
    yield %b, %s, %a
  }
  store %y[0], %p
  store %y[1], %q
  store %y[2], %r
}
";
    agrees(tir, &[i32s()]);
}

#[test]
fn a_loop_without_a_turn_hands_on_what_it_was_given() {
    for range in ["5..3", "0..0", "-3..-3", "2147483647..2147483647"] {
        let tir = format!(
            "kernel @k(%y: view_mut<?xi32>) {{
  %s = for %i in {range} carry (%a = 42:i32) {{
    %b = add %a, %i : i32
    yield %b
  }}
  store %y[0], %s
}}
"
        );
        agrees(&tir, &[i32s()]);
    }
}

#[test]
fn an_index_does_not_wrap_at_the_end_of_its_type() {
    for range in
        ["2147483600..2147483647 step 10", "-2147483648..-2147483600 step 7", "2147483646..2147483647 step 2000000000"]
    {
        let tir = format!(
            "kernel @k(%y: view_mut<?xi32>) {{
  %s, %n = for %i in {range} carry (%a = 0:i32, %b = 0:i32) {{
    %c = add %a, %i : i32
    %d = add %b, 1 : i32
    yield %c, %d
  }}
  store %y[0], %s
  store %y[1], %n
}}
"
        );
        agrees(&tir, &[i32s()]);
    }
}

#[test]
fn tiles_are_carried_and_chosen() {
    let tir = "kernel @k(%x: view<?xf32>, %y: view_mut<?xf32>) {
  %n = len %x axis 0 : i32
  %zero = splat 0.0 : tile<100xf32>
  %sum = for %i in 0..%n step 100 carry (%a = %zero) {
    %t = load %x[%i] else 1.0 : tile<100xf32>
    %big = cmp gt %i, 150:i32 : i1
    %u = if %big {
      %v = mul %t, %t : tile<100xf32>
      yield %v
    } else {
      yield %a
    }
    %w = add %u, %t : tile<100xf32>
    yield %w
  }
  store %y[0], %sum
}
";
    for n in [1, 100, 437] {
        agrees(tir, &[view(ElemType::F32, &[n]), view(ElemType::F32, &[100])]);
    }
}

#[test]
fn a_while_loop_stops_by_what_it_reads() {
    let tir = "kernel @k(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %n = len %x axis 0 : i32
  %j, %s = while carry (%i = 0:i32, %a = 0:i32) {
    %in = cmp lt %i, %n : i1
    %go = if %in {
      %v = load %x[%i] : i32
      %small = cmp lt %v, 30:i32 : i1
      yield %small
    } else {
      yield false
    }
    while %go
    %v'2 = load %x[%i] : i32
    %b = add %a, %v'2 : i32
    %k = add %i, 1 : i32
    yield %k, %b
  }
  store %y[0], %j
  store %y[1], %s
}
";
    for n in [1, 2, 50] {
        agrees(tir, &[view(ElemType::I32, &[n]), i32s()]);
    }
}

#[test]
fn a_store_is_seen_by_the_loads_after_it() {
    let tir = "kernel @k(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %0 = load %x[0] : tile<200xi32>
  store %y[0], %0
  for %i in 0..3 {
    %1 = load %y[%i] : tile<150xi32>
    %2 = add %1, %1 : tile<150xi32>
    store %y[7], %2
    %3 = load %y[20] : i32
    %4 = add %3, 1 : i32
    store %y[100], %4
  }
}
";
    // One program: others would store to the same places.
    for threads in [32, 128] {
        let args = [view(ElemType::I32, &[200]), view(ElemType::I32, &[200])];
        let (reference, emulated) = both(tir, Grid::cubes(1), threads, &args);
        assert_eq!(difference(&reference[1], &emulated[1], 0), None, "{threads} threads");
    }
}
