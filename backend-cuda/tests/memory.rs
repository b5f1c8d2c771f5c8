//! Accesses to memory, and what a kernel shows of its values: emitted PTX on the emulator gives what the interpreter
//! gives.

mod common;

use common::{Value, both, difference, some};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;

fn agrees(tir: &str, args: &[Value]) {
    for threads in [32, 128] {
        let (reference, emulated) = both(tir, Grid::cubes(2).pes(2), threads, args);
        for (a, b) in reference.iter().zip(&emulated) {
            assert_eq!(difference(a, b, 0), None, "{threads} threads\n{tir}");
        }
    }
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
