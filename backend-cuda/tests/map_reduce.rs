//! `map_reduce` with each warp by itself: the interpreter's values, however many turns there are, in any order of the threads
//! and of the copies, with any number of stages.

mod common;
#[path = "common/ptxas.rs"]
mod ptxas;

use common::{Value, difference, emulated, interpreted, parse, some};
use ptxas::{Assembled, assemble};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::Literal;
use tilewright_core::launch::Grid;
use tilewright_core::tensor::AnyTensor;
use tilewright_cuda::{Compiled, Options, Target, compile};
use tilewright_ptx_emu::Schedule;

/// Attention of one program over its tokens, tiles of 32 of them; `heads` of them one after the other.
fn attention(elem: ElemType, rows: usize, d: usize, stages: u32) -> String {
    let stages = if stages > 1 { format!(" stages {stages}") } else { String::new() };
    format!(
        "kernel @attention(%q: view<?x?x?x{elem}>, %k: view<?x?x?x{elem}>, %v: view<?x?x?x{elem}>, %o: view_mut<?x?x?xf32>, %tiles: i32) {{
  %heads = len %q axis 0 : i32
  for %head in 0..%heads {{
    %0 = load %q[%head, 0, 0] : tile<{rows}x{d}x{elem}>
    %m, %l, %p = map_reduce %t in 0..%tiles{stages} {{
      %1 = mul %t, 32 : i32
      %2 = load %k[%head, %1, 0] : tile<32x{d}x{elem}>
      %3 = load %v[%head, %1, 0] : tile<32x{d}x{elem}>
      %4 = trans %2 : tile<{d}x32x{elem}>
      %s = dot %0, %4 : tile<{rows}x32xf32>
      %m1 = reduce_max %s axis 1 : tile<{rows}xf32>
      %5 = broadcast %m1 axis 1 : tile<{rows}x32xf32>
      %6 = sub %s, %5 : tile<{rows}x32xf32>
      %e = exp %6 : tile<{rows}x32xf32>
      %l1 = reduce_sum %e axis 1 : tile<{rows}xf32>
      %7 = cast %e : tile<{rows}x32x{elem}>
      %o1 = dot %7, %3 : tile<{rows}x{d}xf32>
      yield %m1, %l1, %o1
    }} merge (%ma, %la, %oa, %mb, %lb, %ob) {{
      %8 = maximum %ma, %mb : tile<{rows}xf32>
      %9 = sub %ma, %8 : tile<{rows}xf32>
      %a = exp %9 : tile<{rows}xf32>
      %10 = sub %mb, %8 : tile<{rows}xf32>
      %b = exp %10 : tile<{rows}xf32>
      %11 = mul %la, %a : tile<{rows}xf32>
      %12 = mul %lb, %b : tile<{rows}xf32>
      %13 = add %11, %12 : tile<{rows}xf32>
      %14 = broadcast %a axis 1 : tile<{rows}x{d}xf32>
      %15 = broadcast %b axis 1 : tile<{rows}x{d}xf32>
      %16 = mul %oa, %14 : tile<{rows}x{d}xf32>
      %17 = mul %ob, %15 : tile<{rows}x{d}xf32>
      %18 = add %16, %17 : tile<{rows}x{d}xf32>
      yield %8, %13, %18
    }}
    %19 = broadcast %l axis 1 : tile<{rows}x{d}xf32>
    %20 = div %p, %19 : tile<{rows}x{d}xf32>
    store %o[%head, 0, 0], %20
  }}
}}
"
    )
}

fn compiled(tir: &str, threads: u32, target: Target) -> Compiled {
    compile(&parse(tir), &Options::new(target, threads)).unwrap_or_else(|e| panic!("{e}"))
}
/// Whether warps take the turns by themselves, or why not.
fn by_warps(tir: &str, threads: u32) -> Result<(), String> {
    let compiled = compiled(tir, threads, Target::Sm90a);
    let remark = compiled.remarks.iter().find(|r| r.pass == "warps").expect("a remark");
    if remark.text.starts_with("each of") { Ok(()) } else { Err(remark.text.clone()) }
}
fn attention_args(elem: ElemType, rows: usize, d: usize, tiles: usize) -> [Value; 5] {
    let view = |elem, a, b| Value::Tensor(some(elem, &[2, a, b]));
    let tiles_arg = Value::Scalar(Literal::int(ElemType::I32, tiles as i128).expect("small"));
    [view(elem, rows, d), view(elem, 32 * tiles, d), view(elem, 32 * tiles, d), view(ElemType::F32, rows, d), tiles_arg]
}
/// The largest distance of two tensors of numbers around 1.
fn distance(a: &AnyTensor, b: &AnyTensor) -> f64 {
    let (a, b) = (a.data.as_ref().expect("data"), b.data.as_ref().expect("data"));
    let far = |i| (a.get(i).as_float().expect("f") - b.get(i).as_float().expect("f")).abs();
    (0..a.len()).map(far).fold(0.0, f64::max)
}

const SCHEDULES: [Schedule; 3] = [Schedule::InOrder, Schedule::Random(1), Schedule::Random(2)];

#[test]
fn attention_over_any_number_of_tiles_is_the_interpreters() {
    for (elem, rows, d, tiles) in
        [(ElemType::F16, 8, 64, 9), (ElemType::BF16, 8, 64, 2), (ElemType::F16, 4, 32, 1), (ElemType::BF16, 16, 32, 5)]
    {
        let tir = attention(elem, rows, d, 2);
        assert_eq!(by_warps(&tir, 128), Ok(()));
        let args = attention_args(elem, rows, d, tiles);
        let reference = interpreted(&tir, Grid::cubes(1), 128, &args);
        let mut first: Option<Vec<AnyTensor>> = None;
        for stages in 1..=4 {
            let module = parse(&attention(elem, rows, d, stages));
            for schedule in SCHEDULES {
                let found = emulated(&module, 128, schedule, &args);
                let far = distance(&reference.tensors[3], &found[3]);
                assert!(far < 1e-2, "{elem}, {rows} rows, {tiles} tiles, {stages} stages, {schedule:?}: {far}");
                // The order of the merges is the same, so the bits are.
                let first = first.get_or_insert_with(|| found.clone());
                assert_eq!(difference(&first[3], &found[3], 0), None, "{stages} stages, {schedule:?}");
            }
        }
    }
}

/// Sums and largest numbers of integers, which no order changes: a tile and scalars, a step, places that run backwards.
const INTEGERS: &str = "kernel @integers(%x: view<?xi32>, %y: view_mut<?xi32>, %lo: i32, %hi: i32, %step: i32) {
  %scale = load %x[0] : tile<64xi32>
  %sum, %most, %n = map_reduce %i in %lo..%hi step %step {
    %1 = load %x[%i] else 0 : tile<64xi32>
    %2 = mul %1, %scale : tile<64xi32>
    %3 = reduce_max %2 axis 0 : i32
    yield %2, %3, 1:i32
  } merge (%a, %ma, %na, %b, %mb, %nb) {
    %4 = add %a, %b : tile<64xi32>
    %5 = maximum %ma, %mb : i32
    %6 = add %na, %nb : i32
    yield %4, %5, %6
  }
  %7 = splat %most : tile<64xi32>
  %8 = splat %n : tile<64xi32>
  store %y[0], %sum
  store %y[64], %7
  store %y[128], %8
}
";

#[test]
fn integers_are_merged_to_the_bit_with_any_range() {
    for (lo, hi, step, threads) in
        [(0, 40, 1, 128), (3, 100, 7, 128), (5, 6, 1, 256), (0, 3, 1, 64), (-20, 20, 3, 1024), (2, 300, 1, 64)]
    {
        let int = |n| Value::Scalar(Literal::int(ElemType::I32, n).expect("small"));
        let x = Value::Tensor(some(ElemType::I32, &[400]));
        let args = [x, Value::Tensor(some(ElemType::I32, &[192])), int(lo), int(hi), int(step)];
        let reference = interpreted(INTEGERS, Grid::cubes(1), threads, &args);
        assert!(reference.errors.is_none(), "{:?}", reference.errors);
        for schedule in SCHEDULES {
            let found = emulated(&parse(INTEGERS), threads, schedule, &args);
            assert_eq!(difference(&reference.tensors[1], &found[1], 0), None, "{lo}..{hi} step {step}, {threads}");
        }
    }
}
/// What else may stand in a turn: products of f32, loops and branches, sums and scans in order, tiles of before used in
/// two ways, tiles that no length divides; each has its layouts and buffers for a warp.
const MIXED: &str = "kernel @mixed(%x: view<?x?xf32>, %w: view<?x?xf32>, %y: view_mut<?x?xf32>, %hi: i32) {
  %w0 = load %w[0, 0] : tile<12x20xf32>
  %w1 = add %w0, %w0 : tile<12x20xf32>
  %sum, %last = map_reduce %i in 0..%hi stages 2 {
    %1 = mul %i, 12 : i32
    %a = load %x[%1, 0] : tile<12x12xf32>
    %b = dot %a, %w1 : tile<12x20xf32>
    %odd = rem %i, 2 : i32
    %2 = cmp eq %odd, 1:i32 : i1
    %c = if %2 {
      %3 = add %b, %w1 : tile<12x20xf32>
      yield %3
    } else {
      yield %b
    }
    %d = for %k in 0..%odd carry (%e = %c) {
      %4 = scan_sum %e axis 1 : tile<12x20xf32>
      yield %4
    }
    %f = reduce_sum %d axis 0 : tile<20xf32>
    yield %d, %f
  } merge (%da, %fa, %db, %fb) {
    %5 = add %da, %db : tile<12x20xf32>
    %6 = maximum %fa, %fb : tile<20xf32>
    yield %5, %6
  }
  %7 = broadcast %last axis 0 : tile<12x20xf32>
  %8 = add %sum, %7 : tile<12x20xf32>
  store %y[0, 0], %8
}
";

#[test]
fn what_else_may_stand_in_a_turn_is_done_by_a_warp() {
    assert_eq!(by_warps(MIXED, 128), Ok(()));
    for tiles in [1, 3, 9] {
        let int = |n: usize| Value::Scalar(Literal::int(ElemType::I32, n as i128).expect("small"));
        // Whole numbers, whose sums are exact in any order.
        let whole = |rows: usize, columns: usize| {
            let mut t = some(ElemType::F32, &[rows, columns]);
            let data = t.data.as_mut().expect("data");
            for i in 0..rows * columns {
                data.set(i, Literal::float(ElemType::F32, ((i * 7919) % 7) as f64 - 3.0).expect("small"));
            }
            Value::Tensor(t)
        };
        let args = [whole(12 * tiles, 12), whole(12, 20), whole(12, 20), int(tiles)];
        let reference = interpreted(MIXED, Grid::cubes(1), 128, &args);
        assert!(reference.errors.is_none(), "{:?}", reference.errors);
        for schedule in SCHEDULES {
            let found = emulated(&parse(MIXED), 128, schedule, &args);
            assert_eq!(difference(&reference.tensors[2], &found[2], 0), None, "{tiles} tiles, {schedule:?}");
        }
    }
}
#[test]
fn no_turn_is_the_interpreters_error() {
    let int = |n| Value::Scalar(Literal::int(ElemType::I32, n).expect("small"));
    let x = Value::Tensor(some(ElemType::I32, &[400]));
    let args = [x, Value::Tensor(some(ElemType::I32, &[192])), int(4), int(4), int(1)];
    let (reference, found) = common::runs(INTEGERS, Grid::cubes(1), 128, &args);
    let text = |ran: common::Ran| ran.errors.expect("an error").to_string();
    assert_eq!(text(reference), text(found));
}
/// What a launch finds outside is told as the interpreter does, in the order of turns.
#[test]
fn accesses_that_a_launch_cannot_show_to_be_inside_are_the_interpreters_errors() {
    let int = |n| Value::Scalar(Literal::int(ElemType::I32, n).expect("small"));
    let tir = INTEGERS.replace(" else 0 :", " :");
    let x = Value::Tensor(some(ElemType::I32, &[400]));
    let args = |hi| [x.clone(), Value::Tensor(some(ElemType::I32, &[192])), int(4), int(hi), int(9)];
    assert_eq!(by_warps(&tir, 128), Ok(()));
    let (reference, found) = common::runs(&tir, Grid::cubes(1), 128, &args(600));
    // Up to the line that quotes the op, whose names the passes change.
    let told = |ran: common::Ran| ran.errors.expect("an error").to_string().split("in `").next().map(str::to_string);
    assert_eq!(told(reference), told(found));
    let (reference, found) = common::runs(&tir, Grid::cubes(1), 128, &args(300));
    assert!(reference.errors.is_none() && found.errors.is_none());
    assert_eq!(difference(&reference.tensors[1], &found.tensors[1], 0), None);
}
#[test]
fn what_warps_cannot_do_by_themselves_all_threads_do_in_turn() {
    let tir = attention(ElemType::F16, 8, 64, 2);
    assert_eq!(by_warps(&tir, 32), Err("a program of 32 threads has one warp".to_string()));
    let dividing = INTEGERS.replace("mul %1, %scale", "div %1, %scale");
    assert_eq!(by_warps(&dividing, 64), Err("has a divisor that may be 0".to_string()));
    let large = attention(ElemType::F16, 8, 256, 2);
    assert_eq!(by_warps(&large, 256), Err("its tiles take 262144 bytes of shared memory, of 232448".to_string()));
}
#[test]
fn attention_waits_once_for_all_warps_and_spills_nothing() {
    let tir = attention(ElemType::BF16, 8, 128, 2);
    for target in Target::ALL {
        let text = compiled(&tir, 128, target).printed.text;
        let count = |what: &str| text.matches(what).count();
        // One where warps meet, one before the next head begins.
        assert_eq!(count("bar.sync"), 2, "{text}");
        assert_eq!(count("movmatrix"), 4);
        match assemble(target, &[text]) {
            Assembled::Right => {}
            Assembled::Skipped(why) => common::skipped(&why),
            Assembled::Wrong(log) => panic!("{log}"),
        }
    }
}
