//! Every barrier that the compiler places is needed: without it the emulator reports a race, an unwritten read, or other
//! values come out.

mod common;

use common::{Value, bind, difference, parse, some, tensors};
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::{Grid, LaunchConfig, Ready};
use tilewright_cuda::emulator::{Emulator, Loaded};
use tilewright_cuda::launch::{Address, Ctas, Device, Outcome, Variants, execute};
use tilewright_cuda::{Compiled, Target};

/// The emulator, with one barrier of each kernel left out.
struct Without {
    emulator: Emulator,
    barrier: Option<usize>,
    /// Barriers of the last kernel.
    barriers: usize,
}

impl Device for Without {
    as_the_emulator_does!();
    fn load(&mut self, compiled: Arc<Compiled>) -> Result<Loaded, Diagnostics> {
        let mut compiled = (*compiled).clone();
        let mut seen = 0;
        let keep = |line: &&str| {
            let barrier = line.trim_start().starts_with("bar.sync");
            seen += usize::from(barrier);
            !barrier || self.barrier != Some(seen - 1)
        };
        compiled.printed.text =
            compiled.printed.text.clone().lines().filter(keep).map(|line| format!("{line}\n")).collect();
        self.barriers = seen;
        self.emulator.load(Arc::new(compiled))
    }
    fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        self.emulator.alloc(bytes)
    }
}

/// The values after a run without one of the barriers, and how many barriers there are.
fn run(tir: &str, args: &[Value], barrier: Option<usize>) -> (Result<Vec<Value>, Diagnostics>, usize) {
    let module = parse(tir);
    let config = LaunchConfig { grid: Grid::cubes(1), threads: Some(128), ..LaunchConfig::default() };
    let mut values = args.to_vec();
    let ready = Ready { module: module.clone(), args: bind(&module, &mut values), config };
    let mut device = Without { emulator: Emulator::new(Target::Sm90a), barrier, barriers: 0 };
    let done = execute(&mut device, &mut Variants::default(), ready).and_then(Outcome::checked);
    (done.map(|_| values), device.barriers)
}

fn every_barrier_is_needed(tir: &str, args: &[Value], expected: usize) {
    let (right, barriers) = run(tir, args, None);
    let right = tensors(right.unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(barriers, expected);
    for barrier in 0..barriers {
        let (Ok(values), _) = run(tir, args, Some(barrier)) else { continue };
        let same = right.iter().zip(tensors(values)).all(|(a, b)| difference(a, &b, 0).is_none());
        assert!(!same, "barrier {barrier} of {barriers} is not needed, or its loss is not seen");
    }
}
fn view(elem: ElemType, dims: &[usize]) -> Value {
    Value::Tensor(some(elem, dims))
}

#[test]
fn of_a_reduction_in_a_loop() {
    let tir = "kernel @softmax(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {
  %1 = len %x axis 0 : i32
  for %r in 0..%1 {
    %row = load %x[%r, 0] : tile<512xf32>
    %3 = reduce_max %row axis 0 : f32
    %4 = splat %3 : tile<512xf32>
    %5 = sub %row, %4 : tile<512xf32>
    %e = exp %5 : tile<512xf32>
    %6 = reduce_sum %e axis 0 : f32
    %7 = splat %6 : tile<512xf32>
    %8 = div %e, %7 : tile<512xf32>
    store %y[%r, 0], %8
  }
}
";
    every_barrier_is_needed(tir, &[view(ElemType::F32, &[3, 512]), view(ElemType::F32, &[3, 512])], 2);
}

#[test]
fn of_scans_one_after_the_other() {
    let tir = "kernel @scan(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %0 = load %x[0] : tile<512xi32>
  %1 = scan_sum %0 axis 0 : tile<512xi32>
  %2 = scan_sum %1 axis 0 : tile<512xi32>
  store %y[0], %2
}
";
    every_barrier_is_needed(tir, &[view(ElemType::I32, &[512]), view(ElemType::I32, &[512])], 2);
}

#[test]
fn of_a_program_that_reads_back_what_it_stored() {
    // Elements go to other threads than those that store them: after the loads, after the store, after the loads again.
    let tir = "kernel @shift(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %0 = load %y[0] : tile<512xi32>
  store %y[1], %0
  %1 = load %y[3] : tile<512xi32>
  %2 = load %x[0] : tile<512xi32>
  %3 = add %1, %2 : tile<512xi32>
  store %y[2], %3
}
";
    every_barrier_is_needed(tir, &[view(ElemType::I32, &[515]), view(ElemType::I32, &[515])], 3);
}

#[test]
fn of_a_loop_that_stores_what_its_next_turn_reads() {
    let tir = "kernel @turns(%y: view_mut<?xi32>) {
  for %i in 0..3 {
    %0 = load %y[%i] : tile<512xi32>
    %1 = add %i, 2 : i32
    store %y[%1], %0
  }
}
";
    every_barrier_is_needed(tir, &[view(ElemType::I32, &[516])], 2);
}

#[test]
fn of_an_atomic_after_a_store() {
    let tir = "kernel @added(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %0 = load %x[0] : tile<512xi32>
  store %y[0], %0
  atomic_add %y[1], %0
  %1 = load %y[0] : tile<512xi32>
  store %y[1], %1
}
";
    every_barrier_is_needed(tir, &[view(ElemType::I32, &[512]), view(ElemType::I32, &[513])], 3);
}
