//! Accesses to memory, and what a kernel shows of its values: emitted PTX on the emulator gives what the interpreter
//! gives. `memory/told.rs`: what a kernel tells. `memory/resident.rs`: launches over memory that stays.

mod common;
#[path = "common/ptxas.rs"]
mod ptxas;
#[path = "memory/resident.rs"]
mod resident;
#[path = "memory/told.rs"]
mod told;

use common::{Ran, Value, both, difference, runs, some};
use ptxas::Assembled;
use tilewright_core::data::Data;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::{Class, ElemType};
use tilewright_core::ir::Literal;
use tilewright_core::launch::Grid;
use tilewright_core::passes::facts::Known;
use tilewright_cuda::{Options, Target, compile};

fn agrees(tir: &str, args: &[Value]) {
    for threads in [32, 128] {
        let (reference, emulated) = both(tir, Grid::cubes(2).pes(2), threads, args);
        for (a, b) in reference.iter().zip(&emulated) {
            assert_eq!(difference(a, b, 0), None, "{threads} threads\n{tir}");
        }
    }
}
/// The same on a GPU, where there is one.
#[cfg(feature = "cuda")]
fn on_a_gpu(tir: &str, grid: Grid, threads: u32, args: &[Value], reference: &Ran) {
    let Ok(mut gpu) = tilewright_cuda::driver::Gpu::open(0) else { return };
    let ran = common::on(&mut gpu, tir, grid, threads, args);
    let text = |errors: &Option<Diagnostics>| errors.as_ref().map_or(String::new(), ToString::to_string);
    assert_eq!(ran.prints, reference.prints, "{threads} threads\n{tir}");
    assert_eq!(text(&ran.errors), text(&reference.errors), "{threads} threads\n{tir}");
    for (a, b) in reference.tensors.iter().zip(&ran.tensors) {
        assert_eq!(difference(a, b, 0), None, "{threads} threads\n{tir}");
    }
}
#[cfg(not(feature = "cuda"))]
fn on_a_gpu(_: &str, _: Grid, _: u32, _: &[Value], _: &Ran) {}
#[cfg(feature = "cuda")]
#[test]
fn accesses_are_compared_with_those_of_a_gpu() {
    common::gpu("accesses on a GPU");
}
/// The same values and the same errors, of four programs.
fn tells_the_same(tir: &str, args: &[Value]) -> String {
    programs_tell_the_same(Grid::cubes(2).pes(2), tir, args)
}
/// Of one program, where several would write the same places.
fn alone_tells_the_same(tir: &str, args: &[Value]) -> String {
    programs_tell_the_same(Grid::cubes(1).pes(1), tir, args)
}
fn programs_tell_the_same(grid: Grid, tir: &str, args: &[Value]) -> String {
    let mut told = String::new();
    for threads in [32, 128] {
        let (reference, emulated) = runs(tir, grid, threads, args);
        on_a_gpu(tir, grid, threads, args, &reference);
        let text = |errors: Option<Diagnostics>| errors.map_or(String::new(), |e| e.to_string());
        told = text(reference.errors);
        assert_eq!(emulated.prints, reference.prints, "{threads} threads\n{tir}");
        assert_eq!(text(emulated.errors), told, "{threads} threads\n{tir}");
        for (a, b) in reference.tensors.iter().zip(&emulated.tensors) {
            assert_eq!(difference(a, b, 0), None, "{threads} threads\n{tir}");
        }
    }
    told
}
fn view(elem: ElemType, dims: &[usize]) -> Value {
    Value::Tensor(some(elem, dims))
}
#[test]
fn what_is_kept_is_computed_and_nothing_is_written() {
    for &elem in ElemType::ALL {
        let tir = format!(
            "kernel @keep(%x: view<?x{elem}>, %y: view_mut<?xf32>, %a: i32) {{
  keep %a
  %0 = load %x[0] : tile<100x{elem}>
  keep %0
  %1 = load %x[3] : {elem}
  keep %1
  %2 = splat %1 : tile<100x{elem}>
  keep %2
}}
"
        );
        agrees(&tir, &[view(elem, &[100]), view(ElemType::F32, &[5]), Value::Scalar(7.into())]);
    }
}

#[test]
fn limits_leave_places_out_of_an_access() {
    let tir = "kernel @limit(%x: view<?x?xf32>, %y: view_mut<?x?xf32>, %n: i32, %at: i32) {
  %t = load %x[%at, 0] limit 0: %n limit 1: %n else 2.5 : tile<4x16xf32>
  store %y[%at, 0] limit 1: %n, %t
}
";
    for n in [-3, 0, 1, 4, 7, 16, 40] {
        for at in [0, 1, 3] {
            let args = [view(ElemType::F32, &[6, 12]), view(ElemType::F32, &[6, 13])];
            alone_tells_the_same(
                tir,
                &[args.as_slice(), &[Value::Scalar(n.into()), Value::Scalar(at.into())]].concat(),
            );
        }
    }
}

#[test]
fn sums_and_maxima_in_memory_count_every_element_once() {
    for &elem in ElemType::ALL.iter().filter(|elem| elem.is(Class::Num)) {
        for op in ["atomic_add", "atomic_max"] {
            let tir = format!(
                "kernel @count(%x: view<?x{elem}>, %y: view_mut<?x{elem}>, %z: view_mut<?x{elem}>, %at: i32) {{
  %p = program_id : i32
  for %i in 0..3 {{
    %t = load %x[%i] : tile<5x{elem}>
    {op} %y[%p], %t
    {op} inside %y[%at], %t
    %s = load %x[%p] : {elem}
    {op} %y[2], %s
    {op} %z[%p], %s
  }}
  %back = load %z[%p] : {elem}
  {op} %y[%at], %back
}}
"
            );
            for at in [0, 6] {
                let (x, y, z) = (view(elem, &[16]), view(elem, &[8]), view(elem, &[4]));
                alone_tells_the_same(&tir, &[x, y, z, Value::Scalar(at.into())]);
            }
        }
    }
}

#[test]
fn tensors_without_elements_are_launched() {
    let tir = "kernel @none(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {
  %n = len %x axis 0 : i32
  for %i in 0..%n {
    %t = load %x[%i, 0] else 0.0 : tile<8xf32>
    store inside %y[%i, 0], %t
  }
  %u = load %x[0, 0] else 1.0 : tile<8x8xf32>
  store inside %y[0, 0], %u
}
";
    for dims in [[0, 5], [5, 0], [0, 0]] {
        alone_tells_the_same(tir, &[view(ElemType::F32, &dims), view(ElemType::F32, &dims)]);
    }
}

#[test]
fn every_kind_of_access_is_assembled() {
    let tir = |elem: ElemType| {
        let atomics = if elem.is(Class::Num) {
            "atomic_add %y[%i, 0], %u\n  atomic_max inside %y[%i, %i], %u\n  atomic_add %y[%i, 1], %s"
        } else {
            ""
        };
        format!(
            "kernel @all_{elem}(%x: view<?x?x{elem}>, %y: view_mut<?x?x{elem}>, %i: i32, %f: {elem}) {{
  %t = load %x[%i, %i] : tile<9x32x{elem}>
  %u = load %x[%i, 0] limit 1: %i cache stream else %f : tile<9x32x{elem}>
  %s = load %x[0, %i] : {elem}
  store %y[%i, %i], %t
  store inside %y[%i, 0], %u
  store %y[0, %i], %s
  print \"{{}} {{}}\", %u, %s
  keep %t
  {atomics}
  %ok = cmp lt %i, 5:i32 : i1
  assert %ok, \"five\"
}}
"
        )
    };
    for target in Target::ALL {
        let text = |elem: &ElemType| {
            let (known, in_place, aligned) = (Known::default(), Vec::new(), Vec::new());
            let options = Options { known, in_place, aligned, ..Options::new(target, 128) };
            compile(&common::parse(&tir(*elem)), &options).unwrap_or_else(|e| panic!("{e}")).printed.text
        };
        match ptxas::assemble(target, &ElemType::ALL.iter().map(text).collect::<Vec<_>>()) {
            Assembled::Right => {}
            Assembled::Skipped(what) => common::skipped(&what),
            Assembled::Wrong(log) => panic!("{log}"),
        }
    }
}

/// `x.at(i, j).load_or(f)` of more than the view, stored into the middle of a larger one.
#[test]
fn a_tile_over_an_edge_has_the_fill_there_and_touches_no_neighbour() {
    let fills = |elem: ElemType| -> Vec<Literal> {
        let float = |x: f64| Literal::float(elem, x).or(Literal::int(elem, x as i128));
        [-99.0, f64::from(f32::MIN), f64::NEG_INFINITY, f64::NAN].into_iter().filter_map(float).collect()
    };
    for elem in [ElemType::F32, ElemType::F16, ElemType::I8, ElemType::F8E5M2] {
        let tir = format!(
            "kernel @edge(%x: view<?x?x{elem}>, %y: view_mut<?x?x{elem}>, %i: i32, %j: i32, %f: {elem}) {{
  %t = load %x[%i, %j] else %f : tile<16x16x{elem}>
  store %y[1, 1], %t
  store inside %y[%i, %j], %t
}}
"
        );
        let zero = Literal { elem, bits: 0 };
        for (i, j) in [(0, 0), (-3, -3), (10, 10), (14, 14), (15, 0), (-16, 0), (1 << 20, 0), (i32::MIN, i32::MAX)] {
            for fill in if fills(elem).is_empty() { vec![zero] } else { fills(elem) } {
                let args = [view(elem, &[15, 15]), view(elem, &[18, 18])];
                let numbers = [Value::Scalar(i.into()), Value::Scalar(j.into()), Value::Scalar(fill)];
                alone_tells_the_same(&tir, &[args.as_slice(), &numbers].concat());
            }
        }
    }
}

#[test]
fn rows_of_an_odd_length_are_read_and_written_exactly() {
    for (elem, n) in
        [(ElemType::F32, 37), (ElemType::F16, 33), (ElemType::F16, 65), (ElemType::U8, 63), (ElemType::BF16, 64)]
    {
        let tir = format!(
            "kernel @rows(%x: view<?x?x{elem}>, %y: view_mut<?x?x{elem}>) {{
  %p = program_id : i32
  %t = load %x[%p, 0] vec 4 : tile<32x{elem}>
  store inside %y[%p, 1] vec 8, %t
  %u = load %x[%p, 0] vec 4 else {zero} : tile<4x64x{elem}>
  %q = mul %p, 4 : i32
  %r = add %q, 5 : i32
  store inside %y[%r, 0], %u
}}
",
            zero = if elem.is(Class::Float) { "0.0" } else { "0" }
        );
        alone_tells_the_same(&tir, &[view(elem, &[4, n]), view(elem, &[21, n])]);
    }
}

#[test]
fn sixteen_bit_sums_in_memory_leave_their_neighbours_alone() {
    for elem in [ElemType::BF16, ElemType::F16, ElemType::I16, ElemType::U8] {
        let one = if elem.is(Class::Float) { "1.0" } else { "1" };
        let tir = format!(
            "kernel @sum(%y: view_mut<?x{elem}>) {{
  atomic_add %y[3], {one}:{elem}
}}
"
        );
        let mut data = Data::zeros(elem, 5);
        let nan = match elem {
            ElemType::BF16 => 0x7FA5,
            ElemType::F16 => 0x7D25,
            _ => 0x5A,
        };
        [2, 4].into_iter().for_each(|i| data.set(i, Literal { elem, bits: nan }));
        let y = Value::Tensor(common::tensor(elem, &[5], data));
        let (_, emulated) = runs(&tir, Grid::cubes(300).pes(1), 32, &[y]);
        assert!(emulated.errors.is_none(), "{:?}", emulated.errors);
        let bits: Vec<u64> =
            (0..5).filter_map(|i| emulated.tensors[0].data.as_ref().map(|data| data.get(i).bits)).collect();
        // 1 added to 256 is a tie in bf16, and stays.
        let sum = match elem {
            ElemType::BF16 => Literal::float(elem, 256.0),
            ElemType::F16 => Literal::float(elem, 300.0),
            ElemType::U8 => Literal::int(elem, 300 - 256),
            _ => Literal::int(elem, 300),
        };
        assert_eq!(bits, [0, 0, nan, sum.map_or(0, |sum| sum.bits), nan], "{elem}");
    }
}

/// Rows whose length the code knows, by the view's type or by the launch's class, at an index of either width.
#[test]
fn rows_of_a_known_length_are_found() {
    for (len, fixed) in [(64, false), (128, false), (256, false), (96, true), (24, true)] {
        let last = if fixed { len.to_string() } else { "?".to_string() };
        for index in ["i32", "i64"] {
            let tir = format!(
                "kernel @rows(%x: view<?x{last}xf32>, %y: view_mut<?x{last}xf32>, %n: {index}) {{
  for %i in 0..%n step 4 {{
    %a = load %x[%i, 0] : tile<4x{len}xf32>
    %b = add %a, %a : tile<4x{len}xf32>
    store %y[%i, 0], %b
  }}
}}
"
            );
            let elem = if index == "i32" { ElemType::I32 } else { ElemType::I64 };
            let n = Value::Scalar(Literal::int(elem, 12).expect("small"));
            let view = || Value::Tensor(some(ElemType::F32, &[12, len]));
            let (reference, emulated) = both(&tir, Grid::cubes(1), 64, &[view(), view(), n]);
            assert_eq!(difference(&reference[1], &emulated[1], 0), None, "{len}, {index}");
        }
    }
}
