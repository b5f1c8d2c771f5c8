//! `reshape`, `rows`, `trans`, `broadcast` put every element where the interpreter puts it.

mod common;

use common::{Value, both, difference, interpreted, on, parse, some};
use insta::assert_snapshot;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_core::passes::facts::Known;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::{Options, Target, compile};

fn joined(dims: &[usize]) -> String {
    dims.iter().map(|n| format!("{n}x")).collect()
}
fn zeros(dims: &[usize]) -> String {
    vec!["0"; dims.len()].join(", ")
}
/// One op from a tile of one shape to a tile of another.
fn agrees(op: &str, from: &[usize], to: &[usize]) {
    for elem in [ElemType::I32, ElemType::F16, ElemType::U8, ElemType::F64] {
        let tir = format!(
            "kernel @k(%x: view<{}{elem}>, %y: view_mut<{}{elem}>) {{
  %0 = load %x[{}] : tile<{}{elem}>
  %1 = {op} : tile<{}{elem}>
  store %y[{}], %1
}}
",
            "?x".repeat(from.len()),
            "?x".repeat(to.len()),
            zeros(from),
            joined(from),
            joined(to),
            zeros(to),
        );
        for threads in [32, 128] {
            let args = [Value::Tensor(some(elem, from)), Value::Tensor(some(elem, to))];
            let (reference, emulated) = both(&tir, Grid::cubes(1), threads, &args);
            for (a, b) in reference.iter().zip(&emulated) {
                assert_eq!(difference(a, b, 0), None, "{op}: {from:?} to {to:?}, {elem}, {threads} threads");
            }
        }
    }
}

#[test]
fn a_reshaped_tile_keeps_its_row_major_order() {
    let shapes: &[(&[usize], &[usize])] = &[
        (&[64], &[8, 8]),
        (&[8, 8], &[64]),
        (&[16, 32], &[32, 16]),
        (&[6, 10], &[60]),
        (&[60], &[3, 4, 5]),
        (&[3, 4, 5], &[15, 4]),
        (&[1], &[1, 1]),
        (&[2, 3, 4, 5], &[120]),
        (&[7, 9], &[9, 7]),
    ];
    shapes.iter().for_each(|(from, to)| agrees("reshape %0", from, to));
}

#[test]
fn rows_are_cut_at_any_place() {
    for (first, from, to) in [(0, [8, 16], [4, 16]), (4, [8, 16], [4, 16]), (3, [8, 16], [2, 16]), (5, [9, 7], [3, 7])]
    {
        agrees(&format!("rows %0, {first}"), &from, &to);
    }
    agrees("rows %0, 3", &[20], &[5]);
}

#[test]
fn rows_are_cut_from_what_is_computed() {
    for (columns, threads, first) in [(64, 128, 3), (128, 128, 0), (200, 64, 5), (7, 32, 2)] {
        let tir = format!(
            "kernel @k(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {{
  %0 = load %x[0, 0] : tile<{columns}x8xf32>
  %1 = trans %0 : tile<8x{columns}xf32>
  %2 = rows %1, {first} : tile<2x{columns}xf32>
  %3 = reduce_max %1 axis 1 : tile<8xf32>
  %4 = rows %3, {first} : tile<2xf32>
  %5 = broadcast %4 axis 1 : tile<2x{columns}xf32>
  %6 = sub %2, %5 : tile<2x{columns}xf32>
  store %y[0, 0], %6
}}
"
        );
        let args =
            [Value::Tensor(some(ElemType::F32, &[columns, 8])), Value::Tensor(some(ElemType::F32, &[2, columns]))];
        let (reference, emulated) = both(&tir, Grid::cubes(1), threads, &args);
        for (a, b) in reference.iter().zip(&emulated) {
            assert_eq!(difference(a, b, 0), None, "{columns} columns, {threads} threads");
        }
    }
}

#[test]
fn a_transposed_matrix_has_its_axes_exchanged() {
    for (m, n) in [(8, 8), (16, 64), (3, 5), (1, 33), (40, 1)] {
        agrees("trans %0", &[m, n], &[n, m]);
    }
}

#[test]
fn a_broadcast_tile_is_repeated_along_the_new_axis() {
    for axis in 0..2 {
        for (n, times) in [(8, 4), (33, 3), (1, 7), (64, 16)] {
            let to = if axis == 0 { [times, n] } else { [n, times] };
            agrees(&format!("broadcast %0 axis {axis}"), &[n], &to);
        }
    }
}

#[test]
fn a_tile_larger_than_shared_memory_goes_through_it_piece_by_piece() {
    // Bytes: 256 KiB, which no target has; 128 KiB and with an odd length, which sm_80 has not; truth values.
    let cases: [(&str, ElemType, &[usize], &[usize]); 5] = [
        ("trans %0", ElemType::F32, &[256, 256], &[256, 256]),
        ("trans %0", ElemType::F64, &[128, 256], &[256, 128]),
        ("trans %0", ElemType::F16, &[250, 255], &[255, 250]),
        ("reshape %0", ElemType::F32, &[253, 129], &[129, 253]),
        ("trans %0", ElemType::I1, &[512, 256], &[256, 512]),
    ];
    for (op, elem, from, to) in cases {
        let tir = format!(
            "kernel @k(%x: view<?x?x{elem}>, %y: view_mut<?x?x{elem}>) {{
  %0 = load %x[0, 0] : tile<{}{elem}>
  %1 = {op} : tile<{}{elem}>
  store %y[0, 0], %1
}}
",
            joined(from),
            joined(to)
        );
        let args = [Value::Tensor(some(elem, from)), Value::Tensor(some(elem, to))];
        let wanted = interpreted(&tir, Grid::cubes(1), 1024, &args);
        for target in Target::ALL {
            let ran = on(&mut Emulator::new(target), &tir, Grid::cubes(1), 1024, &args);
            assert!(ran.errors.is_none(), "{op}, {elem}, {target}: {}", ran.errors.unwrap_or_default());
            assert_eq!(difference(&wanted.tensors[1], &ran.tensors[1], 0), None, "{op}, {elem}, {target}");
        }
    }
}

#[test]
fn sums_of_more_columns_than_shared_memory_holds_parts_of_take_turns() {
    for (elem, rows, columns) in [("f32", 64, 2048), ("i32", 33, 1999), ("f64", 16, 2048)] {
        let tir = format!(
            "kernel @columns(%x: view<?x?x{elem}>, %y: view_mut<?x{elem}>, %z: view_mut<?x{elem}>) {{
  %0 = load %x[0, 0] : tile<{rows}x{columns}x{elem}>
  %1 = reduce_sum %0 axis 0 : tile<{columns}x{elem}>
  store %y[0], %1
  %2 = reduce_max %0 axis 0 : tile<{columns}x{elem}>
  store %z[0], %2
}}
"
        );
        let elem = ElemType::from_name(elem).unwrap_or(ElemType::F32);
        let view = |dims: &[usize]| Value::Tensor(some(elem, dims));
        let args = [view(&[rows, columns]), view(&[columns]), view(&[columns])];
        let wanted = interpreted(&tir, Grid::cubes(1), 1024, &args);
        for target in Target::ALL {
            let ran = on(&mut Emulator::new(target), &tir, Grid::cubes(1), 1024, &args);
            assert!(ran.errors.is_none(), "{elem}, {target}: {}", ran.errors.unwrap_or_default());
            for (a, b) in wanted.tensors.iter().zip(&ran.tensors) {
                assert_eq!(difference(a, b, 0), None, "{elem}, {target}");
            }
        }
    }
}

#[test]
fn a_product_whose_operands_do_not_fit_shared_memory_is_told_with_the_line() {
    let tir = "kernel @wide(%a: view<?x?xf32>, %b: view<?x?xf32>, %c: view_mut<?x?xf32>) {
  %0 = load %a[0, 0] : tile<160x160xf32>
  %1 = load %b[0, 0] : tile<160x160xf32>
  %2 = dot %0, %1 : tile<160x160xf32>
  store %c[0, 0], %2
}
";
    let known = Known::default();
    let options = Options { known, ..Options::new(Target::Sm80, 256) };
    assert_snapshot!(compile(&parse(tir), &options).map(|_| ()).unwrap_err().to_string(), @r"
    error[TW-E0613]: the kernel needs 266240 bytes of shared memory, a program has 101376
    --> test.tir:3:3
     = note: the largest part, 163840 bytes, is of this line
     = next: use smaller tiles, or fewer stages of the loop around them
     = more: tilewright explain TW-E0613
    ");
}
