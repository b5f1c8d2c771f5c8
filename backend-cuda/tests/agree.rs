//! Emitted PTX, run by the emulator, gives what the interpreter gives.

mod common;

use common::{Value, both, difference, some};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;

fn agrees(tir: &str, args: &[Value], ulps: u64) {
    for threads in [32, 128] {
        let (reference, emulated) = both(tir, Grid::cubes(2).pes(2), threads, args);
        for (a, b) in reference.iter().zip(&emulated) {
            assert_eq!(difference(a, b, ulps), None, "{threads} threads");
        }
    }
}
fn view(elem: ElemType, dims: &[usize]) -> Value {
    Value::Tensor(some(elem, dims))
}

#[test]
fn a_vector_of_any_length_is_added() {
    for elem in
        [ElemType::F32, ElemType::BF16, ElemType::F16, ElemType::F64, ElemType::I32, ElemType::I8, ElemType::U16]
    {
        let zero = if elem.as_float_zero() { "0.0" } else { "0" };
        let tir = format!(
            "kernel @add(%x: view<?x{elem}>, %y: view<?x{elem}>, %z: view_mut<?x{elem}>) {{
  %0 = program_id : i32
  %1 = mul %0, 64 : i32
  %2 = len %x axis 0 : i32
  %3 = num_programs : i32
  %4 = mul %3, 64 : i32
  for %i in %1..%2 step %4 {{
    %5 = load %x[%i] else {zero} : tile<64x{elem}>
    %6 = load %y[%i] else {zero} : tile<64x{elem}>
    %sum = add %5, %6 : tile<64x{elem}>
    store inside %z[%i], %sum
  }}
}}
"
        );
        for n in [1, 63, 64, 257, 512] {
            agrees(&tir, &[view(elem, &[n]), view(elem, &[n]), view(elem, &[n])], 0);
        }
    }
}

trait Zero {
    fn as_float_zero(&self) -> bool;
}
impl Zero for ElemType {
    fn as_float_zero(&self) -> bool {
        self.is(tilewright_core::elem::Class::Float)
    }
}

#[test]
fn rows_are_divided_by_the_sum_of_their_exponentials() {
    let tir = |n: usize| {
        format!(
            "kernel @softmax(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {{
  %0 = program_id : i32
  %1 = len %x axis 0 : i32
  %2 = num_programs : i32
  for %r in %0..%1 step %2 {{
    %row = load %x[%r, 0] : tile<{n}xf32>
    %3 = reduce_max %row axis 0 : f32
    %4 = splat %3 : tile<{n}xf32>
    %5 = sub %row, %4 : tile<{n}xf32>
    %e = exp %5 : tile<{n}xf32>
    %6 = reduce_sum %e axis 0 : f32
    %7 = splat %6 : tile<{n}xf32>
    %8 = div %e, %7 : tile<{n}xf32>
    store %y[%r, 0], %8
  }}
}}
"
        )
    };
    for n in [1, 3, 64, 100, 1000] {
        agrees(&tir(n), &[view(ElemType::F32, &[9, n]), view(ElemType::F32, &[9, n])], 16);
    }
}

#[test]
fn a_scalar_argument_scales_a_vector() {
    let tir = "kernel @scale(%x: view<?xf32>, %y: view_mut<?xf32>, %a: f32) {
  %0 = load %x[0] else 0.0 : tile<100xf32>
  %1 = splat %a : tile<100xf32>
  %2 = mul %0, %1 : tile<100xf32>
  store inside %y[0], %2
}
";
    let a = Value::Scalar(2.5f32.into());
    agrees(tir, &[view(ElemType::F32, &[77]), view(ElemType::F32, &[77]), a], 0);
}
