//! Loads that run turns ahead of their loop: any number of stages gives the same bits, at any number of turns, in any order
//! of the threads and of the copies.

mod common;

use common::{Value, bind, difference, interpreted, parse, some, tensors};
use std::sync::Arc;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::Module;
use tilewright_core::launch::{Grid, LaunchConfig, Ready};
use tilewright_core::tensor::AnyTensor;
use tilewright_cuda::Target;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::launch::{Variants, execute};
use tilewright_ptx_emu::Schedule;

/// A product over all of k, block by block, in a loop of blocks.
fn product(stages: u32, elem: ElemType, depth: usize) -> String {
    format!(
        "kernel @product(%a: view<?x?x{elem}>, %b: view<?x?x{elem}>, %c: view_mut<?x?xf32>) {{
  %0 = len %a axis 0 : i32
  %1 = len %a axis 1 : i32
  for %row in 0..%0 step 16 {{
    %2 = splat 0.0 : tile<16x32xf32>
    %sum = for %k in 0..%1 step {depth} stages {stages} carry (%acc = %2) {{
      %x = load %a[%row, %k] else 0.0 : tile<16x{depth}x{elem}>
      %y = load %b[%k, 0] else 0.0 : tile<{depth}x32x{elem}>
      %3 = dot %x, %y, %acc : tile<16x32xf32>
      yield %3
    }}
    store inside %c[%row, 0], %sum
  }}
}}
"
    )
}
fn emulated(module: &Arc<Module>, threads: u32, schedule: Schedule, args: &[Value]) -> Vec<AnyTensor> {
    let mut device = Emulator::new(Target::Sm90a);
    device.limits.schedule = schedule;
    let mut values = args.to_vec();
    let config = LaunchConfig { grid: Grid::cubes(1), threads: Some(threads), ..LaunchConfig::default() };
    let ready = Ready { module: module.clone(), args: bind(module, &mut values), config };
    let outcome = execute(&mut device, &mut Variants::default(), ready).unwrap_or_else(|e| panic!("{e}"));
    outcome.errors.finish().unwrap_or_else(|e| panic!("{e}"));
    tensors(values)
}

#[test]
fn any_number_of_stages_gives_the_same() {
    // Lengths with a ragged last turn, with fewer turns than slots, with none.
    for (elem, k, depth) in [
        (ElemType::F16, 128, 16),
        (ElemType::F16, 104, 16),
        (ElemType::BF16, 37, 16),
        (ElemType::F16, 16, 16),
        (ElemType::F32, 50, 12),
        (ElemType::F16, 96, 24),
    ] {
        let view = |elem, a, b| Value::Tensor(some(elem, &[a, b]));
        let args = [view(elem, 40, k), view(elem, k, 32), view(ElemType::F32, 40, 32)];
        let reference = interpreted(&product(1, elem, depth), Grid::cubes(1), 64, &args);
        for stages in 1..=4 {
            let module = parse(&product(stages, elem, depth));
            for schedule in [Schedule::InOrder, Schedule::Random(1), Schedule::Random(2)] {
                let found = emulated(&module, 64, schedule, &args);
                for (a, b) in reference.tensors.iter().zip(&found) {
                    assert_eq!(difference(a, b, 0), None, "{elem}, k {k}, {stages} stages, {schedule:?}");
                }
            }
        }
    }
}
