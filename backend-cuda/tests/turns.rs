//! Addresses in loops: those that follow the loop's index are moved on from turn to turn, and no turn multiplies.

mod common;

use common::{Value, both, difference, parse, some};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_core::passes::facts::Known;
use tilewright_cuda::{Options, Target, compile};

fn agrees(tir: &str, args: &[Value]) {
    for threads in [32, 128] {
        let (reference, emulated) = both(tir, Grid::cubes(2), threads, args);
        for (a, b) in reference.iter().zip(&emulated) {
            assert_eq!(difference(a, b, 0), None, "{threads} threads\n{tir}");
        }
    }
}
fn f32s(dims: &[usize]) -> Value {
    Value::Tensor(some(ElemType::F32, dims))
}
fn compiled(tir: &str) -> String {
    let known = Known::default();
    let options = Options { known, ..Options::new(Target::Sm90a, 64) };
    compile(&parse(tir), &options).unwrap_or_else(|e| panic!("{e}")).printed.text
}
/// The instructions of the innermost loop: from the last label that a branch goes back to until that branch.
fn turn(tir: &str) -> Vec<String> {
    let text = compiled(tir);
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_string()).collect();
    let back = |end: &usize| {
        let label = lines[*end].split("bra.uni ").nth(1)?.trim_end_matches(';').to_string();
        let start = lines[..*end].iter().position(|line| *line == format!("{label}:"))?;
        Some(lines[start..*end].to_vec())
    };
    let ends = (0..lines.len()).filter(|i| lines[*i].contains("bra.uni"));
    let loops: Vec<Vec<String>> = ends.filter_map(|end| back(&end)).collect();
    loops.into_iter().min_by_key(Vec::len).unwrap_or_else(|| panic!("no loop\n{text}"))
}
/// Instructions of a turn that multiply addresses.
fn multiplications(tir: &str) -> Vec<String> {
    turn(tir).into_iter().filter(|line| line.contains("64") && (line.contains("mad") || line.contains("mul"))).collect()
}

/// Rows `first, first + step, ..` of x and those `apart` further on, added up row by row into y.
const ROWS: &str = "kernel @rows(%x: view<?x?xf32>, %y: view_mut<?x?xf32>, %first: i64, %step: i64, %apart: i64) {
  %n = len %x axis 0 : i32
  %m = cast %n : i64
  %end = sub %m, %apart : i64
  %p = program_id : i32
  for %i in %first..%end step %step {
    %a = load %x[%i, 0] else 0.0 : tile<2x24xf32>
    %j = add %i, %apart : i64
    %b = load %x[%j, 1] else 0.0 : tile<2x24xf32>
    %back = sub %m, %j : i64
    %c = load %x[%back, 0] else 0.0 : tile<2x24xf32>
    %d = add %a, %b : tile<2x24xf32>
    %e = add %c, %d : tile<2x24xf32>
    %q = mul %p, 24 : i32
    store inside %y[%i, %q], %e
  }
}
";

#[test]
fn rows_that_follow_an_index_of_64_bits_are_where_the_interpreter_finds_them() {
    for (first, step, apart) in [(0i64, 2i64, 4i64), (3, 5, 0), (-4, 3, 2), (7, 1000, 1), (40, 2, 1)] {
        let scalars = [first, step, apart].map(|n| Value::Scalar(n.into()));
        agrees(ROWS, &[&[f32s(&[17, 24]), f32s(&[17, 48])], scalars.as_slice()].concat());
    }
}

#[test]
fn no_turn_multiplies_for_an_address_that_follows_its_index() {
    assert_eq!(multiplications(ROWS), Vec::<String>::new());
}

#[test]
fn several_accesses_of_one_tile_move_one_register_a_turn() {
    let tir = "kernel @k(%x: view<?x?xf32>, %y: view_mut<?x?xf32>, %hi: i64, %u: i64, %v: i64) {
  %zero = splat 0.0 : tile<4x16xf32>
  %0 = sub %hi, %hi : i64
  %sum = for %i in %0..%hi step 64:i64 carry (%acc = %zero) {
    %a = load %x[%i, 0] else 0.0 : tile<4x16xf32>
    %j = add %i, %u : i64
    %b = load %x[%j, 0] else 0.0 : tile<4x16xf32>
    %k = add %j, %v : i64
    %c = load %x[%k, 0] else 0.0 : tile<4x16xf32>
    %d = add %a, %b : tile<4x16xf32>
    %e = add %d, %c : tile<4x16xf32>
    %f = add %acc, %e : tile<4x16xf32>
    yield %f
  }
  store inside %y[0, 0], %sum
}
";
    assert_eq!(multiplications(tir), Vec::<String>::new());
    let moved = turn(tir).iter().filter(|line| is_moved_on(line)).count();
    // The pointer and the loop's own index.
    assert_eq!(moved, 2, "{:#?}", turn(tir));
    let scalars = [200i64, 3, 9].map(|n| Value::Scalar(n.into()));
    let alone = |threads| {
        both(tir, Grid::cubes(1), threads, &[&[f32s(&[190, 16]), f32s(&[4, 16])], scalars.as_slice()].concat())
    };
    for threads in [32, 128] {
        let (reference, emulated) = alone(threads);
        assert_eq!(difference(&reference[1], &emulated[1], 0), None);
    }
}
/// `add.s64 %d1, %d1, ..`
fn is_moved_on(line: &str) -> bool {
    let Some(operands) = line.strip_prefix("add.s64 ") else { return false };
    let mut operands = operands.split(", ");
    operands.next() == operands.next()
}

#[test]
fn an_index_of_32_bits_that_may_wrap_is_computed_in_every_turn() {
    // i + by wraps: rows 0 and 1 are read where i is near the end of its type.
    let tir = "kernel @k(%x: view<?x?xf32>, %y: view_mut<?x?xf32>, %lo: i32, %hi: i32, %by: i32) {
  for %i in %lo..%hi {
    %j = add %i, %by : i32
    %a = load %x[%j, 0] else 7.0 : tile<1x8xf32>
    %k = sub %i, %lo : i32
    store inside %y[%k, 0], %a
  }
}
";
    for (lo, hi, by) in [(i32::MAX - 6, i32::MAX, i32::MAX), (0, 6, 1), (i32::MIN, i32::MIN + 6, i32::MIN)] {
        let scalars = [lo, hi, by].map(|n| Value::Scalar(n.into()));
        let alone = |threads| {
            both(tir, Grid::cubes(1), threads, &[&[f32s(&[5, 8]), f32s(&[6, 8])], scalars.as_slice()].concat())
        };
        let (reference, emulated) = alone(32);
        assert_eq!(difference(&reference[1], &emulated[1], 0), None, "{lo} {hi} {by}");
    }
}

#[test]
fn loops_in_loops_and_branches_move_what_they_change() {
    let tir = "kernel @k(%x: view<?x?x?xf32>, %y: view_mut<?x?xf32>, %n: i64) {
  %p = program_id : i32
  %q = cast %p : i64
  %0 = sub %n, %n : i64
  for %i in %0..%n {
    for %j in %0..%i step 2:i64 {
      %twice = mul %j, 2 : i64
      %a = load %x[%i, %twice, 0] else 0.0 : tile<8xf32>
      %same = load %x[%i, %q, 0] else 0.0 : tile<8xf32>
      %odd = rem %i, 2 : i64
      %is = cmp eq %odd, 1:i64 : i1
      if %is {
        %back = sub %i, %j : i64
        %b = load %x[%back, %j, 0] else 0.0 : tile<8xf32>
        %c = add %a, %b : tile<8xf32>
        %d = add %c, %same : tile<8xf32>
        %r = mul %i, 2 : i64
        %s = add %r, %q : i64
        %8 = mul %j, 8 : i64
        store inside %y[%s, %8], %d
      }
    }
  }
}
";
    agrees(tir, &[f32s(&[9, 20, 8]), f32s(&[20, 80]), Value::Scalar(9i64.into())]);
}

#[test]
fn a_loop_with_stages_asks_for_its_next_tile_first_and_gives_the_same() {
    let tir = |stages: u32| {
        format!(
            "kernel @k(%x: view<?x?xf32>, %y: view_mut<?x?xf32>, %step: i32) {{
  %n = len %x axis 0 : i32
  %p = program_id : i32
  for %r in %p..%n step %step stages {stages} {{
    %a = load %x[%r, 0] else 0.0 : tile<2x32xf32>
    %s = reduce_sum %a axis 1 : tile<2xf32>
    %b = broadcast %s axis 1 : tile<2x32xf32>
    %c = sub %a, %b : tile<2x32xf32>
    store inside %y[%r, 0], %c
  }}
}}
"
        )
    };
    for (rows, step) in [(0, 4), (1, 4), (7, 4), (33, 6), (9, 1000)] {
        let alone = [f32s(&[rows, 32]), f32s(&[rows, 32]), Value::Scalar(step.into())];
        agrees(&tir(2), &alone);
    }
    // The tile of the first turn is loaded before the loop, that of the next in each.
    let text = |stages| compiled(&tir(stages));
    assert_eq!(text(2).matches("ld.global").count(), 2 * text(1).matches("ld.global").count(), "{}", text(2));
}
