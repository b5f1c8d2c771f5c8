//! `reshape`, `rows`, `trans`, `broadcast` put every element where the interpreter puts it.

mod common;

use common::{Value, both, difference, some};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;

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
