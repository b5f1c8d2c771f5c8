//! Control flow, limits, prints, launches, and what a timing run needs to know.

use crate::support::Launch;
use tilewright_core::half::f16;
use tilewright_core::interp::{Interp, Order};
use tilewright_core::launch::Grid;

/// Matmul with a loop, a guard at the edge, and one program a block.
#[test]
fn a_blocked_product_of_ragged_matrices() {
    let text = r#"kernel @matmul(%a: view<?x?xf32>, %b: view<?x?xf32>, %c: view_mut<?x?xf32>) {
  %n = len %b axis 1 : i32
  %k = len %a axis 1 : i32
  %n'2 = add %n, 3 : i32
  %blocks = div %n'2, 4 : i32
  %p = program_id : i32
  %r = div %p, %blocks : i32
  %q = rem %p, %blocks : i32
  %row = mul %r, 4 : i32
  %col = mul %q, 4 : i32
  %zero = splat 0.0 : tile<4x4xf32>
  %acc = for %i in 0..%k step 2 stages 3 carry (%acc'2 = %zero) {
    %x = load %a[%row, %i] else 0.0 : tile<4x2xf32>
    %y = load %b[%i, %col] else 0.0 : tile<2x4xf32>
    %acc'3 = dot %x, %y, %acc'2 : tile<4x4xf32>
    yield %acc'3
  }
  store inside %c[%row, %col], %acc
}
"#;
    let (m, k, n) = (7, 5, 6);
    let a: Vec<f32> = (0..m * k).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 7) as f32 - 3.0).collect();
    let want: Vec<f32> = (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect();
    let ran = Launch::new(text)
        .input(&[m, k], a)
        .input(&[k, n], b)
        .output(&[m, n], vec![f32::NAN; m * n])
        .grid(Grid::cubes(4))
        .run();
    assert_eq!(ran.get::<f32>(2), want);
}

/// A ring inside a cube: each PE sends its id East, South, West, North along the 2 x 4 mesh and receives its neighbour's.
#[test]
fn a_ring_of_messages() {
    let text = r#"kernel @ring(%y: view_mut<?xi32>) {
  %id = pe_id : i32
  %c = cmp lt %id, 3:i32 : i1
  if %c {
    send pe.east, %id
  } else {
    %c'2 = cmp eq %id, 3:i32 : i1
    if %c'2 {
      send pe.south, %id
    } else {
      %c'3 = cmp gt %id, 4:i32 : i1
      if %c'3 {
        send pe.west, %id
      } else {
        send pe.north, %id
      }
    }
  }
  %z = cmp eq %id, 0:i32 : i1
  %got = if %z {
    %g = recv pe.south : i32
    yield %g
  } else {
    %c'4 = cmp lt %id, 4:i32 : i1
    %g'2 = if %c'4 {
      %g'3 = recv pe.west : i32
      yield %g'3
    } else {
      %c'5 = cmp eq %id, 7:i32 : i1
      %g'4 = if %c'5 {
        %g'5 = recv pe.north : i32
        yield %g'5
      } else {
        %g'6 = recv pe.east : i32
        yield %g'6
      }
      yield %g'4
    }
    yield %g'2
  }
  store %y[%id], %got
}
"#;
    let ran = Launch::new(text).output(&[8], vec![-1i32; 8]).grid(Grid::cubes(1).pes(8)).run();
    assert_eq!(ran.get::<i32>(0), [4, 0, 1, 2, 5, 6, 7, 3]);
}

fn printed(lines: &str) -> String {
    let ran = Launch::new(&format!("kernel @t() {{\n{lines}}}\n")).run();
    ran.result.unwrap_or_else(|e| panic!("{e}")).prints.into_iter().map(|p| p.text).collect::<Vec<_>>().join("; ")
}

/// Carried values are all read before the first is written (F07), zero turns leave them as they were (F04).
#[test]
fn loops_carry_values_from_turn_to_turn() {
    let fibonacci = "%p, %q = for %i in 0..10 carry (%a = 0:i32, %b = 1:i32) {
  %c = add %a, %b : i32
  yield %b, %c
}
print \"{} {}\", %p, %q\n";
    assert_eq!(printed(fibonacci), "55 89");
    let turns = |range: &str| {
        printed(&format!(
            "%n, %last = for %i in {range} carry (%a = 0:i32, %l = -1:i32) {{\n%b = add %a, 1 : i32\nyield %b, %i\n}}\nprint \"{{}} {{}}\", %n, %last\n"
        ))
    };
    assert_eq!(turns("5..3"), "0 -1");
    assert_eq!(turns("0..0 step 7"), "0 -1");
    assert_eq!(turns("-3..4 step 3"), "3 3");
    assert_eq!(turns("2147483640..2147483647 step 5"), "2 2147483645");
    let narrow = "%n = for %i in 250:u8..255:u8 step 4:u8 carry (%a = 0:u8) {\nyield %i\n}\nprint \"{}\", %n\n";
    assert_eq!(printed(narrow), "254");
    let nested = "%s = for %i in 0..3 carry (%a = 0:i32) {
  %b = for %j in 0..%i carry (%c = %a) {
    %d = add %c, %j : i32
    %e = add %d, 10 : i32
    yield %e
  }
  yield %b
}
print \"{}\", %s\n";
    assert_eq!(printed(nested), "31");
}

#[test]
fn a_while_tests_before_each_turn_and_hands_its_values_out() {
    let collatz = "%n, %steps = while carry (%a = 27:i64, %k = 0:i32) {
  %go = cmp ne %a, 1:i64 : i1
  %odd = rem %a, 2 : i64
  while %go
  %is = cmp eq %odd, 1:i64 : i1
  %b = if %is {
    %three = mul %a, 3 : i64
    %up = add %three, 1 : i64
    yield %up
  } else {
    %half = div %a, 2 : i64
    yield %half
  }
  %l = add %k, 1 : i32
  yield %b, %l
}
print \"{} after {}\", %n, %steps\n";
    assert_eq!(printed(collatz), "1 after 111");
}

#[test]
fn a_step_that_does_not_count_up_is_an_error_even_without_a_turn() {
    for (step, range) in [(0, "0..9"), (-1, "0..9"), (0, "9..0")] {
        let text = format!("kernel @t(%s: i32) {{\n  for %i in {range} step %s {{\n  }}\n}}\n");
        assert_eq!(Launch::new(&text).scalar(step).run().codes(), ["TW-E0308"], "{range} step {step}");
    }
    let text = "kernel @t(%s: i32) {\n  for %i in 0..9 step %s {\n  }\n}\n";
    insta::assert_snapshot!(Launch::new(text).scalar(0i32).grid(Grid::cubes(4)).run().errors(), @r#"
    error[TW-E0308]: the step of this loop is 0
    --> t.tir:2:3
     = note: reached by PE 0 in 4 cubes
     = next: a step is at least 1
     = more: tilewright explain TW-E0308
    "#);
}

#[test]
fn a_loop_without_end_meets_the_limits() {
    let text = "kernel @t() {\n  while {\n    while true\n  }\n}\n";
    let mut launch = Launch::new(text);
    launch.options.max_steps = 1000;
    // A turn of an empty body runs no op, and must still be counted.
    insta::assert_snapshot!(launch.run().errors(), @r#"
    error[TW-E0316]: stopped after 1000 ops
    --> t.tir:2:3
     = note: PE 0 was here
     = next: look for a loop that does not end, or raise the limit
     = more: tilewright explain TW-E0316
    "#);
    let text = "kernel @t(%n: i32) {\n  for %i in 0..%n {\n    %q = div %i, 0 : i32\n    while {\n      while true\n    }\n  }\n}\n";
    let mut launch = Launch::new(text).scalar(2i32);
    launch.options.max_steps = 1000;
    // Which loop has no end is not known, and what went wrong before is told.
    insta::assert_snapshot!(launch.run().errors(), @r#"
    error[TW-E0316]: stopped after 1000 ops
    --> t.tir:4:5
     = note: PE 0 was here
     = note: t.tir:2:3: in this loop
     = next: look for a loop that does not end, or raise the limit
     = more: tilewright explain TW-E0316
    error[TW-E0313]: division by zero, 1 time
    --> t.tir:3:5
     = note: first by PE 0
     = note: in `%q = div %i, 0 : i32`; the result is 0
     = next: guard the line, or divide by `select(b == 0, 1, b)`
     = more: tilewright explain TW-E0313
    "#);
    launch.options.max_steps = u64::MAX;
    launch.options.max_time = Some(std::time::Duration::from_millis(20));
    assert_eq!(launch.run().codes(), ["TW-E0317", "TW-E0313"]);
}

/// Concatenation of decimal digits is associative but not commutative.
#[test]
fn a_combine_sees_the_elements_in_order() {
    let digits = "%i = iota axis 0 : tile<5xi64>
%x = reduce_with %i axis 0 (%a, %b) {
  %t = mul %a, 10 : i64
  %c = add %t, %b : i64
  yield %c
}
%s = scan_with %i axis 0 (%a'2, %b'2) {
  %t'2 = mul %a'2, 10 : i64
  %c'2 = add %t'2, %b'2 : i64
  yield %c'2
}
print \"{} {}\", %x, %s\n";
    assert_eq!(printed(digits), "1234 [0, 1, 12, 123, 1234]");
}

#[test]
fn prints_come_program_by_program_in_any_order_of_running() {
    let text =
        "kernel @p() {\n  %p = program_id : i32\n  print \"a {}\", %p\n  barrier launch\n  print \"b {}\", %p\n}\n";
    for order in [Order::Ascending, Order::Descending, Order::From(2)] {
        let prints = Launch::new(text).grid(Grid::cubes(3)).order(order).run().result.unwrap().prints;
        let lines: Vec<String> = prints.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "cube 0, PE 0, t.tir:3: a 0",
                "cube 0, PE 0, t.tir:5: b 0",
                "cube 1, PE 0, t.tir:3: a 1",
                "cube 1, PE 0, t.tir:5: b 1",
                "cube 2, PE 0, t.tir:3: a 2",
                "cube 2, PE 0, t.tir:5: b 2",
            ]
        );
    }
}

#[test]
fn what_was_printed_before_an_error_is_kept() {
    let texts = |body: &str| {
        let mut interp = Interp::default();
        let ran = Launch::new(&format!("kernel @p() {{\n  print \"before\"\n{body}\n}}\n")).run_on(&mut interp);
        (ran.codes(), interp.prints().iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let before = "PE 0, t.tir:2: before".to_string();
    let waits = texts("  %m = recv pe.east : i32\n  print \"after {}\", %m");
    assert_eq!(waits, (vec!["TW-E0306"], vec![before.clone()]));
    let fails = texts("  assert false, \"no\"\n  print \"after\"");
    assert_eq!(fails, (vec!["TW-E0314"], vec![before, "PE 0, t.tir:4: after".to_string()]));
}

#[test]
fn a_loop_that_prints_is_cut_short() {
    let prints = Launch::new("kernel @p() {\n  for %i in 0..30000 {\n    print \"{}\", %i\n  }\n}\n")
        .run()
        .result
        .unwrap()
        .prints;
    assert_eq!(
        (prints.len(), prints[9999].text.as_str(), prints[10000].text.as_str()),
        (10001, "9999", "(more lines are not shown)")
    );
}

/// The kernel of the bench, against plain attention in f64, in every order of programs.
#[test]
fn decode_is_attention_in_every_order_of_running() {
    let (heads, pes, d, tiles) = (2, 2, 64, 2);
    let tokens = pes * tiles * 1024;
    let noise = |len: usize, seed: u32| -> Vec<f16> {
        let value = |i: u32| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 9) as f32 / (1 << 22) as f32 - 1.0;
        (0..len as u32).map(|i| f16::from_f32(value(i))).collect()
    };
    let (q, k, v) = (noise(heads * 8 * d, 1), noise(heads * tokens * d, 2), noise(heads * tokens * d, 3));
    let at = |x: &[f16], i: usize| x[i].to_f64();
    // PE 0 of each cube stores its own share, the first tokens of the head.
    let mut want = Vec::new();
    for (h, row) in (0..heads).flat_map(|h| (0..8).map(move |r| (h, r))) {
        let score =
            |t: usize| (0..d).map(|c| at(&q, (h * 8 + row) * d + c) * at(&k, (h * tokens + t) * d + c)).sum::<f64>();
        let scores: Vec<f64> = (0..tiles * 1024).map(score).collect();
        let top = scores.iter().fold(f64::NEG_INFINITY, |m, s| m.max(*s));
        let p: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
        let sum: f64 = p.iter().sum();
        want.extend(
            (0..d).map(|c| p.iter().enumerate().map(|(t, p)| p * at(&v, (h * tokens + t) * d + c)).sum::<f64>() / sum),
        );
    }
    let launch = Launch::new(include_str!("../../benches/decode.tir"))
        .input(&[heads, 8, d], q.clone())
        .input(&[heads, tokens, d], k.clone())
        .input(&[heads, tokens, d], v.clone())
        .output(&[heads, 8, d], vec![f16::NAN; heads * 8 * d])
        .scalar(tiles as i32)
        .grid(Grid::cubes(heads).pes(pes));
    let first = launch.run().get::<f16>(3);
    let (mut off, mut norm, mut worst) = (0.0, 0.0, 0f64);
    for (got, want) in first.iter().zip(&want) {
        let error = got.to_f64() - want;
        (off, norm, worst) = (off + error * error, norm + want * want, worst.max(error.abs()));
    }
    let largest = want.iter().fold(0f64, |m, v| m.max(v.abs()));
    assert!((off / norm).sqrt() < 1e-3 && worst < 1e-3 * largest, "{} and {worst}", (off / norm).sqrt());
    for order in [Order::Descending, Order::From(1), Order::From(3)] {
        let bits = |x: Vec<f16>| x.into_iter().map(f16::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(launch.clone().order(order).run().get(3)), bits(first.clone()));
    }
}

/// The first value of data that decides how long a program runs, and nothing else, is in the trace.
#[test]
fn the_control_trace_holds_the_scalars_that_decide_control() {
    let text = "kernel @c(%n: view<?xi32>, %x: view<?xf32>, %y: view_mut<?xf32>) {
  %p = program_id : i32
  %turns = load %n[%p] : i32
  %unused = load %x[%p] : f32
  %s = for %i in 0..%turns carry (%a = 0.0:f32) {
    %v = load %x[%i] : f32
    %b = add %a, %v : f32
    yield %b
  }
  %t = load %x[0] : tile<4xf32>
  %top = reduce_max %t axis 0 : f32
  %at = cast %top : i32
  store %y[%at], %s
}\n";
    let launch =
        Launch::new(text).input(&[3], vec![2, 0, 4]).input(&[4], vec![1f32, 2.0, 0.5, 2.0]).output(&[3], vec![0f32; 3]);
    for order in [Order::Ascending, Order::Descending] {
        let control = launch.clone().grid(Grid::cubes(3)).order(order).run().result.unwrap().control;
        let two = u64::from(2f32.to_bits());
        assert_eq!([0, 1, 2].map(|p| control.of_program(p).to_vec()), [[2, two], [0, two], [4, two]]);
        assert!(!control.sources.is_empty());
    }
    // Values through messages and loops.
    let text = "kernel @c() {
  %id = pe_id : i32
  %zero = cmp eq %id, 0:i32 : i1
  if %zero {
    send pe.east, 3:i32
    send pe.east, 8:i32
  } else {
    %n = recv pe.west : i32
    %m = recv pe.west : i32
    %k = while carry (%j = %n) {
      %go = cmp lt %j, 5:i32 : i1
      while %go
      %j'2 = add %j, 1 : i32
      yield %j'2
    }
    keep %m
    keep %k
  }
}\n";
    let control = Launch::new(text).grid(Grid::cubes(1).pes(2)).run().result.unwrap().control;
    assert_eq!([0, 1].map(|p| control.of_program(p).to_vec()), [vec![], vec![3]]);
}

#[test]
fn launches_that_do_not_fit_are_refused_with_every_reason() {
    let text = "kernel @l(%x: view<?x4xf32>, %y: view_mut<?xi32>, %n: i32) {\n  %k = len %y axis 0 : i32\n  store %y[0], %n\n}\n";
    let wrong =
        Launch::new(text).input(&[2, 5], vec![0f32; 10]).input(&[3], vec![0i32; 3]).scalar(1i64).grid(Grid::cubes(0));
    insta::assert_snapshot!(wrong.run().errors(), @r#"
    error[TW-E0318]: the grid has no programs: 0 cubes x 1 PEs
     |
     = next: launch with a grid and arguments that fit the kernel's parameters
     = more: tilewright explain TW-E0318
    error[TW-E0318]: argument `x` of `l`: expected view<?x4xf32>, found a tensor of f32 with lengths [2, 5]
     |
     = next: launch with a grid and arguments that fit the kernel's parameters
     = more: tilewright explain TW-E0318
    error[TW-E0318]: argument `y` of `l`: expected view_mut<?xi32>, found a read-only tensor of i32
     |
     = next: launch with a grid and arguments that fit the kernel's parameters
     = more: tilewright explain TW-E0318
    error[TW-E0318]: argument `n` of `l`: expected i32, found a scalar i64
     |
     = next: launch with a grid and arguments that fit the kernel's parameters
     = more: tilewright explain TW-E0318
    "#);
    let few = Launch::new(text).input(&[2, 4], vec![0f32; 8]);
    assert_eq!(few.run().codes(), ["TW-E0318"]);
    let huge = Launch::new("kernel @l() {\n}\n").grid(Grid::cubes(1 << 61).pes(8));
    assert_eq!(huge.run().codes(), ["TW-E0318"]);
    // A length that i32 does not hold, which the kernel asks for.
    let text = "kernel @l(%x: view<?x?xi8>) {\n  %k = len %x axis 0 : i32\n  keep %k\n}\n";
    assert_eq!(Launch::new(text).input::<i8>(&[1 << 31, 0], vec![]).run().codes(), ["TW-E0318"]);
    let text = text.replace("axis 0", "axis 1");
    assert_eq!(Launch::new(&text).input::<i8>(&[1 << 31, 0], vec![]).run().codes(), [""; 0]);
}

#[test]
fn a_tensor_without_elements_stops_who_reads_it() {
    let text = "kernel @s(%x: view<?xf32>) {\n  %n = len %x axis 0 : i32\n  %v = load %x[0] : f32\n  keep %v\n}\n";
    insta::assert_snapshot!(Launch::new(text).shape_only::<f32>(&[8]).grid(Grid::cubes(2)).run().errors(), @r#"
    error[TW-E0315]: `x` has a shape but no elements
    --> t.tir:3:3
     = note: needed here by PE 0 in 2 cubes
     = next: launch with a tensor that has data
     = more: tilewright explain TW-E0315
    "#);
}
