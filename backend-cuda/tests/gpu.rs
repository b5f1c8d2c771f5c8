//! The driver end to end, where there is a GPU; elsewhere the tests say that they were skipped.
#![cfg(feature = "cuda")]

mod common;

use common::{Value, both_on, difference, parse, some};
use std::io::Write;
use std::sync::Arc;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_core::passes::facts::Known;
use tilewright_cuda::driver::Gpu;
use tilewright_cuda::launch::Device;
use tilewright_cuda::{Options, compile};

/// Runs `test` on the first GPU; without one says so, past the test's own capture of what it prints.
fn on_gpu(test: impl FnOnce(Gpu)) {
    match Gpu::open(0) {
        Ok(gpu) => test(gpu),
        Err(why) => {
            let why = why.0.first().map_or("", |d| d.message.as_str());
            let _ = writeln!(std::io::stdout(), "skipped: 1 GPU test ({why})");
        }
    }
}

const ADD: &str = "kernel @add(%x: view<?xf32>, %y: view<?xf32>, %z: view_mut<?xf32>) {
  %0 = program_id : i32
  %1 = mul %0, 256 : i32
  %2 = len %x axis 0 : i32
  %3 = num_programs : i32
  %4 = mul %3, 256 : i32
  for %i in %1..%2 step %4 {
    %5 = load %x[%i] else 0.0 : tile<256xf32>
    %6 = load %y[%i] else 0.0 : tile<256xf32>
    %sum = add %5, %6 : tile<256xf32>
    store inside %z[%i], %sum
  }
}
";
