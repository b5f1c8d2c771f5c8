//! No detector accuses a shipped kernel: every listed instance passes the verifier and the check before the run, and in
//! whatever order its programs run it is free of races, reads nothing unwritten, and has the same values to the bit, which
//! agree with f64.

use rayon::prelude::*;
use tilewright::Runtime;
use tilewright::core_api::check::{self, Capacity, Shape, Sufficient, capacity};
use tilewright::core_api::interp::{EveryOrder, Mesh, Order};
use tilewright::core_api::launch::{Backend, Ready};
use tilewright::diag::Diagnostics;
use tilewright::ir::text::{print, read};
use tilewright::prelude::*;
use tilewright::registry::{Inputs, Instance, Limits, Target};

/// All detectors on one instance, its outputs held against f64 in the end.
fn accusation(instance: &Instance) -> Result<(), Diagnostics> {
    let limits = Limits { target: Target::Sim, arch: None, scratch_bytes: 1 << 20 };
    let mut case = instance.case(Inputs::Random { seed: 1 }, &limits)?;
    let module = case.launch()?.trace()?;
    let text = print(&module);
    read(&text, "traced.tir")?;
    for runtime in [Runtime::sim(), Runtime::reference()] {
        let remarks = runtime.check(&case.launch()?.ready()?)?;
        assert_eq!(remarks, [], "{instance}: what is sent must not follow data");
    }
    // Queues of the machine's depth, and the smallest that the check says will do: who sends early waits.
    let smallest = smallest_depth(&case.launch()?.ready()?);
    for depth in [None, Some(smallest)] {
        let mut ready = case.launch()?.ready()?;
        ready.config.queue_depth = depth;
        EveryOrder { orders: Order::adversarial(1), ..EveryOrder::default() }.execute(ready)?;
        for agreement in case.check()? {
            assert!(agreement.agrees(), "{instance}: {agreement:?}");
        }
        if !text.contains("send ") {
            break;
        }
        case = instance.case(Inputs::Random { seed: 1 }, &limits)?;
    }
    Ok(())
}

/// An exchange sends before it receives, so its queues hold what one partial is made of; all else does with one message.
fn smallest_depth(ready: &Ready<'_>) -> u32 {
    let shape = Shape { depth: 1, ..Shape::of(ready, Mesh::default(), 1) };
    match capacity(&shape, &check::Limits::default()) {
        Capacity::Enough => 1,
        Capacity::Needs(Sufficient { all: 3, .. }) => 3,
        other => panic!("queues hold a partial at most: {other:?}"),
    }
}

#[test]
fn no_detector_accuses_a_listed_instance_in_any_order() {
    let all = tilewright_kernels::all().instances();
    let told = all.par_iter().filter_map(|i| Some(format!("{i}: {}", accusation(i).err()?)));
    let told: Vec<String> = told.collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// Each PE writes its number and reads that of the PE at the other end.
#[kernel]
fn mirror(x: ViewMut<i32, 1>, y: ViewMut<i32, 1>, #[comptime] fenced: bool) {
    x.at(pe_id()).set(pe_id());
    if fenced {
        barrier(Scope::Cube);
    }
    y.at(pe_id()).set(x.at(7 - pe_id()).get());
}

#[test]
fn a_missing_barrier_is_told_at_the_lines_of_the_kernel() {
    let mirrored = |fenced: bool| {
        let (mut x, mut y) = (Tensor::uninit([8]), Tensor::uninit([8]));
        let launch = mirror(&mut x, &mut y, fenced).grid(Grid::cubes(1).pes(8));
        let run = launch.run(&mut Runtime::sim().check_races());
        (run.map(|_| ()), y)
    };
    let (run, y) = mirrored(true);
    assert_eq!(run, Ok(()));
    assert_eq!(y.elements(), [7, 6, 5, 4, 3, 2, 1, 0]);
    assert!(y.as_any().unwritten.is_empty(), "a launch leaves written what it wrote");

    let errors = mirrored(false).0.expect_err("there is no barrier").0;
    let [error] = &errors[..] else { panic!("{errors:?}") };
    let lines: Vec<u32> = error.labels.iter().map(|label| label.place.line).collect();
    let text = include_str!("races.rs");
    let line = |of: &str| text.lines().position(|l| l.contains(of)).map_or(0, |i| i as u32 + 1);
    assert_eq!((error.code, lines), ("TW-E0320", vec![line("x.at(pe_id()).set"), line("x.at(7 - pe_id()).get")]));
}
