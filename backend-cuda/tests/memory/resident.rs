//! Launches over memory that stays with the device.

use super::common::{self, some};
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_cuda::Target;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::launch::{Address, Device, Variants, resident};

#[test]
fn what_a_launch_over_resident_memory_leaves_is_taken_once() {
    let module = common::parse(
        "kernel @out(%y: view_mut<?xf32>) {
  %p = program_id : i32
  store %y[%p], 1.0:f32
  print \"{}\", %p
}
",
    );
    let mut y = some(ElemType::F32, &[3]);
    let config = LaunchConfig { grid: Grid::cubes(1).pes(4), threads: Some(32), ..LaunchConfig::default() };
    let launch = Ready { module, args: vec![Arg::ViewMut(&mut y)], config };
    let (mut device, mut variants) = (Emulator::new(Target::Sm90a), Variants::default());
    let told = || -> Result<_, Diagnostics> {
        let at = device.alloc(12)?;
        let ready = resident(&mut device, &mut variants, &launch, &[at])?;
        for _ in 0..2 {
            device.launch(&ready.loaded, ready.ctas, &ready.params)?;
        }
        let (first, second) = (ready.outcome(&mut device)?, ready.outcome(&mut device)?);
        ready.free(&mut device);
        Ok((first.prints.len(), first.errors.to_string(), second.prints.len(), second.errors.0.len()))
    }();
    let (lines, error, no_lines, no_errors) = told.unwrap_or_else(|e| panic!("{e}"));
    assert!(error.contains("2 elements stored outside the view") && error.contains("PE 3 at [3]"), "{error}");
    assert_eq!((lines, no_lines, no_errors), (8, 0, 0));
}

#[test]
fn positions_beyond_two_thousand_million_elements_are_reached() {
    let module = common::parse(
        "kernel @far(%x: view<?x?xi8>, %y: view_mut<?x?xi8>, %r: i32, %c: i64) {
  %t = load %x[%r, %c] : tile<16xi8>
  store %y[%r, %c], %t
}
",
    );
    // Only what is reached exists: three rows of 2^31 elements would be too many.
    let (mut device, mut variants) = (Emulator::new(Target::Sm90a), Variants::default());
    let length = 1usize << 31;
    let shape = || AnyTensor::new(ElemType::I8, vec![3, length], None, Placement::default());
    let told = || -> Result<Vec<u8>, Diagnostics> {
        let far = 2 * length as u64 + 1024;
        let (from, to) = (device.alloc(64)?, device.alloc(64)?);
        let bytes: Vec<u8> = (0..64).collect();
        device.write(from, &bytes)?;
        let (x, mut y) = (shape(), shape());
        let args = vec![Arg::View(&x), Arg::ViewMut(&mut y), Arg::Scalar(2.into()), Arg::Scalar(1024i64.into())];
        let config = LaunchConfig { grid: Grid::cubes(1).pes(1), threads: Some(32), ..LaunchConfig::default() };
        let launch = Ready { module: Arc::clone(&module), args, config };
        let base = |at: Address| Address(at.0.wrapping_sub(far));
        let ready = resident(&mut device, &mut variants, &launch, &[base(from), base(to)])?;
        device.launch(&ready.loaded, ready.ctas, &ready.params)?;
        let mut out = vec![0; 16];
        device.read(to, &mut out)?;
        Ok(out)
    }();
    assert_eq!(told.unwrap_or_else(|e| panic!("{e}")), (0..16).collect::<Vec<u8>>());
}
