//! Every shipped kernel is free of races, writes all of its outputs before anything reads them, and has the same values
//! to the bit in whatever order its programs run.

use tilewright::Runtime;
use tilewright::core_api::interp::{EveryOrder, Order};
use tilewright::prelude::*;
use tilewright::registry::{Inputs, Limits, Target};

#[test]
fn every_listed_instance_has_the_same_values_in_every_order() {
    let limits = Limits { target: Target::Sim, scratch_bytes: 1 << 20 };
    for instance in tilewright_kernels::all().instances() {
        let mut all = EveryOrder { orders: Order::adversarial(1), ..EveryOrder::default() };
        let case = instance.case(Inputs::Random { seed: 1 }, &limits);
        let mut case = case.unwrap_or_else(|e| panic!("{instance}: {e}"));
        let run = case.launch().and_then(|launch| launch.run(&mut all));
        run.unwrap_or_else(|e| panic!("{instance}: {e}"));
        for agreement in case.check().unwrap_or_else(|e| panic!("{instance}: {e}")) {
            assert!(agreement.agrees(), "{instance}: {agreement:?}");
        }
    }
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
