//! Scans and reductions by the user's combine give what the interpreter gives: the order of the elements is kept.

mod common;

use common::{Value, both, difference, some};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;

fn agrees(what: &str, tir: &str, args: &[Value]) {
    for threads in [64, 128, 256] {
        let (reference, emulated) = both(tir, Grid::cubes(1), threads, args);
        for (a, b) in reference.iter().zip(&emulated) {
            assert_eq!(difference(a, b, 0), None, "{what}, {threads} threads");
        }
    }
}
fn view(elem: ElemType, dims: &[usize]) -> Value {
    Value::Tensor(some(elem, dims))
}
/// Shapes and axes: powers of two and not, more elements than threads and fewer.
const SHAPES: &[(&[usize], usize)] = &[
    (&[1], 0),
    (&[3], 0),
    (&[64], 0),
    (&[100], 0),
    (&[1000], 0),
    (&[4096], 0),
    (&[5, 7], 0),
    (&[5, 7], 1),
    (&[16, 64], 0),
    (&[16, 64], 1),
    (&[200, 3], 0),
    (&[3, 200], 1),
    (&[2, 3, 40], 1),
];
fn joined(dims: &[usize]) -> String {
    dims.iter().map(|n| format!("{n}x")).collect()
}
fn zeros(dims: &[usize]) -> String {
    vec!["0"; dims.len()].join(", ")
}

/// `a - b` of affine maps would need pairs; keeping the first of two and the last of two shows the order as well.
#[test]
fn a_combine_that_keeps_the_later_element_gives_the_last() {
    for (dims, axis) in SHAPES {
        let rest: Vec<usize> = dims.iter().enumerate().filter(|(i, _)| i != axis).map(|(_, n)| *n).collect();
        let out = if rest.is_empty() { vec![1] } else { rest.clone() };
        let tir = format!(
            "kernel @last(%x: view<{}i32>, %y: view_mut<{}i32>) {{
  %0 = load %x[{}] : tile<{}i32>
  %1 = reduce_with %0 axis {axis} (%a, %b) {{
    %2 = mul %a, 3 : i32
    %3 = sub %2, %a : i32
    %4 = sub %3, %a : i32
    %5 = sub %4, %a : i32
    %6 = add %5, %b : i32
    yield %6
  }}
  store %y[{}], %1
}}
",
            "?x".repeat(dims.len()),
            "?x".repeat(out.len()),
            zeros(dims),
            joined(dims),
            zeros(&out),
        );
        agrees(&format!("{dims:?} axis {axis}"), &tir, &[view(ElemType::I32, dims), view(ElemType::I32, &out)]);
    }
}

#[test]
fn prefix_sums_are_the_interpreters() {
    for (dims, axis) in SHAPES {
        for elem in [ElemType::I32, ElemType::I64, ElemType::U8] {
            let tir = format!(
                "kernel @scan(%x: view<{v}{elem}>, %y: view_mut<{v}{elem}>) {{
  %0 = load %x[{z}] : tile<{d}{elem}>
  %1 = scan_sum %0 axis {axis} : tile<{d}{elem}>
  store %y[{z}], %1
}}
",
                v = "?x".repeat(dims.len()),
                z = zeros(dims),
                d = joined(dims),
            );
            agrees(&format!("{elem} {dims:?} axis {axis}"), &tir, &[view(elem, dims), view(elem, dims)]);
        }
    }
}

#[test]
fn running_maxima_and_last_elements_are_the_interpreters() {
    for (dims, axis) in SHAPES {
        let tir = format!(
            "kernel @scan(%x: view<{v}f16>, %y: view_mut<{v}f16>) {{
  %0 = load %x[{z}] : tile<{d}f16>
  %1 = scan_with %0 axis {axis} (%a, %b) {{
    %2 = maximum %a, %b : f16
    yield %2
  }}
  store %y[{z}], %1
}}
",
            v = "?x".repeat(dims.len()),
            z = zeros(dims),
            d = joined(dims),
        );
        agrees(&format!("{dims:?} axis {axis}"), &tir, &[view(ElemType::F16, dims), view(ElemType::F16, dims)]);
    }
}
