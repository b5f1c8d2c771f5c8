//! Launches that do not fit the machine, or each other.

use super::{SMALL, args, module, show, user};
use insta::assert_snapshot;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::Literal;
use tilewright_core::launch::{Grid, LaunchConfig};
use tilewright_sim::engine::Wheel;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Compiled, Operand, User, Watch, time};

/// What is wrong with launches of an empty kernel of one parameter.
fn launch_fault(make: impl Fn(User<'_>) -> Vec<User<'_>>) -> String {
    let text = "kernel @k(%n: i32) {\n}\n";
    let m = module(text);
    let args = args(&m);
    let users = make(user(&m, &args, Grid::cubes(2).pes(8)));
    match time(&Machine::ahbm(), &users, SMALL) {
        Ok(t) => format!("no fault, {}", t.wall),
        Err(found) => show(found.0, text),
    }
}
#[test]
fn a_grid_larger_than_the_machine() {
    assert_snapshot!(launch_fault(|u| vec![User { first_cube: 15, ..u }]), @r"
    error[TW-E0540]: the grid 2 cubes x 8 PEs does not fit the machine
     |
     = note: the machine has 4 SIPs of 16 cubes of 8 PEs
     = note: the launch begins at cube 15 of its SIP
     = next: loop over the work from `program_id()` in steps of `num_programs()`, or use more SIPs
     = more: tilewright explain TW-E0540
    ");
    let grid = |u: &User<'_>, grid| LaunchConfig { grid, ..u.config };
    assert_snapshot!(launch_fault(|u| vec![User { config: grid(&u, Grid::cubes(1).pes(9)), ..u }]), @r"
    error[TW-E0540]: the grid 1 cubes x 9 PEs does not fit the machine
     |
     = note: the machine has 4 SIPs of 16 cubes of 8 PEs
     = next: loop over the work from `program_id()` in steps of `num_programs()`, or use more SIPs
     = more: tilewright explain TW-E0540
    ");
    assert_snapshot!(launch_fault(|u| vec![User { config: grid(&u, Grid::cubes(0)), ..u }]), @r"
    error[TW-E0318]: the grid has no programs: 0 cubes x 1 PEs
     |
     = next: launch with a grid and arguments that fit the kernel's parameters
     = more: tilewright explain TW-E0318
    ");
}
#[test]
fn two_launches_on_one_cube() {
    assert_snapshot!(launch_fault(|u| vec![u.clone(), User { first_cube: 1, ..u }]), @r"
    error[TW-E0541]: two launches use cube 1 at once
     |
     = next: let each begin behind the other's last cube
     = more: tilewright explain TW-E0541
    ");
}
#[test]
fn queues_without_a_slot() {
    assert_snapshot!(launch_fault(|u| vec![User { config: LaunchConfig { queue_depth: Some(0), ..u.config }, ..u }]), @r"
    error[TW-E0542]: a queue depth of 0 lets no message pass
     |
     = next: use a depth of 1 or more
     = more: tilewright explain TW-E0542
    ");
}
#[test]
fn arguments_that_are_not_the_parameters() {
    assert_snapshot!(launch_fault(|u| vec![User { args: vec![], ..u }]), @r"
    error[TW-E0318]: `k` has 1 parameters, 0 arguments given
     |
     = next: launch with a grid and arguments that fit the kernel's parameters
     = more: tilewright explain TW-E0318
    ");
    let float = Literal::float(ElemType::F32, 1.0).unwrap();
    assert_snapshot!(launch_fault(|u| vec![User { args: vec![Operand::Scalar(float)], ..u }]), @r"
    error[TW-E0318]: argument `n` of `k`: expected i32, found a scalar f32
     |
     = next: launch with a grid and arguments that fit the kernel's parameters
     = more: tilewright explain TW-E0318
    ");
}

#[test]
fn a_run_tells_who_looks_on_how_far_it_has_come() {
    let m = module("kernel @k() {\n  for %t in 0..10000 {\n    barrier cube\n  }\n}\n");
    let (machine, watch) = (Machine::ahbm(), Watch::default());
    let users = [user(&m, &[], Grid::cubes(1).pes(2))];
    let [alone, watched] = [None, Some(&watch)].map(|watch| {
        Compiled::of(&machine, &users)
            .unwrap_or_else(|e| panic!("{e}"))
            .watched(watch)
            .time::<Wheel>(SMALL)
            .unwrap_or_else(|e| panic!("{e}"))
    });
    assert_eq!(alone, watched);
    let (events, ended) = watch.look();
    assert!(events > 0 && events < watched.events, "{events} of {}", watched.events);
    assert_eq!(ended, 0, "the last look is before the end");
}
