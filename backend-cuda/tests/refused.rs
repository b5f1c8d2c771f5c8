//! What a launch is refused for, and what the emulator says of a run that it stops.

mod common;

use common::{parse, some};
use insta::assert_snapshot;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_cuda::Target;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::launch::{Address, Outcome, Variants, execute, resident};

const COPY: &str = "kernel @copy(%x: view<?xf32>, %y: view_mut<?xf32>) {
  %0 = load %x[0] else 0.0 : tile<32xf32>
  store inside %y[0], %0
}
";

fn said(device: &mut Emulator, args: Vec<Arg<'_>>, grid: Grid) -> String {
    let config = LaunchConfig { grid, ..LaunchConfig::default() };
    let ready = Ready { module: parse(COPY), args, config };
    execute(device, &mut Variants::default(), ready)
        .and_then(Outcome::checked)
        .map_or_else(|e| e.to_string(), |_| "ran".to_string())
}
fn emulator() -> Emulator {
    Emulator::new(Target::Sm90a)
}

#[test]
fn more_programs_than_a_grid_counts() {
    let (x, mut y) = (some(ElemType::F32, &[32]), some(ElemType::F32, &[32]));
    let args = vec![Arg::View(&x), Arg::ViewMut(&mut y)];
    assert_snapshot!(said(&mut emulator(), args, Grid::cubes(1 << 31)), @r"
    error[TW-E0621]: a GPU cannot run 2147483648 cubes x 1 PEs
     |
     = next: 1 to 2147483647 programs
     = more: tilewright explain TW-E0621
    ");
}

#[test]
fn a_tensor_without_its_elements() {
    let (x, mut y) = (AnyTensor::new(ElemType::F32, vec![32], None, Placement::default()), some(ElemType::F32, &[32]));
    let args = vec![Arg::View(&x), Arg::ViewMut(&mut y)];
    assert_snapshot!(said(&mut emulator(), args, Grid::cubes(1)), @r"
    error[TW-E0622]: a tensor of this launch has no elements
     |
     = next: make it with elements: `Tensor::from_vec`, or from an ndarray
     = more: tilewright explain TW-E0622
    ");
}

#[test]
fn fewer_arguments_than_parameters() {
    let x = some(ElemType::F32, &[32]);
    assert_snapshot!(said(&mut emulator(), vec![Arg::View(&x)], Grid::cubes(1)), @r"
    error[TW-E0318]: `copy` has 2 parameters, 1 arguments given
     |
     = next: launch with a grid and arguments that fit the kernel's parameters
     = more: tilewright explain TW-E0318
    ");
}

#[test]
fn more_instructions_than_the_emulator_may_run() {
    let (x, mut y) = (some(ElemType::F32, &[32]), some(ElemType::F32, &[32]));
    let mut device = emulator();
    device.limits.steps = 10;
    assert_snapshot!(said(&mut device, vec![Arg::View(&x), Arg::ViewMut(&mut y)], Grid::cubes(1)), @r"
    error[TW-E0660]: more than 10 instructions
     |
     = note: line 12 of the PTX: ld.param.u64 %d0, [args]
     = note: block 0, thread 0
     = more: tilewright explain TW-E0660
    ");
}

#[test]
fn a_launch_made_ready_once_relies_on_aligned_addresses() {
    let (x, mut y) = (some(ElemType::F32, &[32]), some(ElemType::F32, &[32]));
    let args = vec![Arg::View(&x), Arg::ViewMut(&mut y)];
    let ready = Ready { module: parse(COPY), args, config: LaunchConfig::default() };
    let at = [Address(0x1000), Address(0x1004)];
    let refused = resident(&mut emulator(), &mut Variants::default(), &ready, &at).expect_err("an odd address");
    assert_snapshot!(refused.to_string(), @r"
    error[TW-E0628]: address 0x1004 is no multiple of 16
     |
     = next: launch with a tensor at that address, or copy it
     = more: tilewright explain TW-E0628
    ");
}

#[test]
fn names_from_a_text_are_made_names_of_ptx() {
    // A dot, a keyword, and more letters than PTX allows.
    for (kernel, x) in [("add.entry", "reg"), ("ret", "tid.x"), ("x".repeat(10_000).as_str(), "args")] {
        let tir = format!(
            "kernel @{kernel}(%{x}: view<?xf32>, %tiles.b: view_mut<?xf32>) {{
  %0 = load %{x}[0] else 0.0 : tile<32xf32>
  store inside %tiles.b[0], %0
}}
"
        );
        let args =
            [common::Value::Tensor(some(ElemType::F32, &[32])), common::Value::Tensor(some(ElemType::F32, &[40]))];
        let (wanted, ran) = common::runs(&tir, Grid::cubes(1), 32, &args);
        assert!(ran.errors.is_none(), "{}", ran.errors.unwrap_or_default());
        assert_eq!(common::difference(&wanted.tensors[1], &ran.tensors[1], 0), None);
    }
}
