//! Kernels that cannot be timed, launches that do not fit, runs that stop: the text of each error.

use insta::assert_snapshot;
use tilewright_core::data::Data;
use tilewright_core::diag::{Color, render};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::text::parse;
use tilewright_core::ir::verify::verify;
use tilewright_core::ir::{Literal, Module, Type};
use tilewright_core::launch::{Grid, LaunchConfig};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_sim::engine::Wheel;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Compiled, Limits, Operand, User, Watch, time};
use tilewright_sim::units::Ps;

fn module(text: &str) -> Module {
    let m = parse(text, "k.tir").unwrap_or_else(|f| panic!("{}", render(&f.diagnostic(text, "k.tir"), Color::Never)));
    verify(&m).unwrap_or_else(|e| panic!("{e}"));
    m
}
/// Every view 8 x 1024, in PE 0 of cube 0; every scalar 3.
fn args(m: &Module) -> Vec<Arg> {
    let arg = |ty: Type| match ty {
        Type::View(v) => {
            Arg::View(AnyTensor::new(v.elem, [8, 1024][2 - v.rank as usize..].to_vec(), None, Placement::at(0, 0)))
        }
        ty => Arg::Scalar(Literal::int(ty.elem(), 3).unwrap()),
    };
    m.params.iter().map(|p| arg(m.ty(*p))).collect()
}
enum Arg {
    View(AnyTensor),
    Scalar(Literal),
}
fn user<'a>(m: &'a Module, args: &'a [Arg], grid: Grid) -> User<'a> {
    let args = args.iter().map(|a| match a {
        Arg::View(t) => Operand::View(t),
        Arg::Scalar(s) => Operand::Scalar(*s),
    });
    let config = LaunchConfig { grid, ..LaunchConfig::default() };
    User { module: m, args: args.collect(), config, first_cube: 0, start: Ps::ZERO, trace: None }
}
const SMALL: Limits = Limits { time: Ps::from_ns(1_000_000), steps: 100_000, free_turns: 10_000 };

/// What is wrong with a kernel body on a cube of two PEs.
fn fault(body: &str) -> String {
    let head = "kernel @k(%x: view<?x?xf16>, %y: view_mut<?x?xf16>, %i: view<?xi32>, %n: i32) {\n";
    let text = format!("{head}{body}}}\n");
    let m = module(&text);
    let args = args(&m);
    match time(&Machine::ahbm(), &[user(&m, &args, Grid::cubes(1).pes(2))], SMALL) {
        Ok(t) => format!("no fault, {}", t.wall),
        Err(found) => show(found.0, &text),
    }
}
fn show(found: Vec<tilewright_core::diag::Diagnostic>, text: &str) -> String {
    let drawn: Vec<String> = found.into_iter().map(|d| render(&d.source("k.tir", text), Color::Never)).collect();
    drawn.join("\n")
}

#[test]
fn two_programs_that_both_receive_first() {
    assert_snapshot!(fault("\
  %p = pe_id : i32
  %left = cmp eq %p, 0:i32 : i1
  if %left {
    %a = recv pe.east : tile<64xf16>
    send pe.east, %a
  } else {
    %b = recv pe.west : tile<64xf16>
    send pe.west, %b
  }
"), @r"
    error[TW-E0301]: deadlock: 2 programs wait for each other
     --> k.tir:5:5
      |
    5 |     %a = recv pe.east : tile<64xf16>
      |     ^^ PE 0 waits here for a message from PE 1 (pe.east)
    ...
    8 |     %b = recv pe.west : tile<64xf16>
      |     -- PE 1 waits here for a message from PE 0 (pe.west)
      |
      = note: the cycle, each waits for the next: PE 0 -> PE 1 -> PE 0
      = next: let one of them send before it receives
      = more: tilewright explain TW-E0301
    ");
}
#[test]
fn a_message_that_no_one_takes() {
    assert_snapshot!(fault("\
  %p = pe_id : i32
  %left = cmp eq %p, 0:i32 : i1
  if %left {
    %a = load %x[0, 0] : tile<64xf16>
    send pe.east, %a
  }
"), @r"
    error[TW-E0304]: 1 message is never received
     --> k.tir:6:5
      |
    6 |     send pe.east, %a
      |     ^^^^ PE 0 sent here, to PE 1
      |
      = note: PE 1 receives nothing from this port
      = next: receive as many messages as are sent
      = more: tilewright explain TW-E0304
    ");
}
#[test]
fn a_queue_that_is_full_for_ever() {
    assert_snapshot!(fault("\
  %p = pe_id : i32
  %left = cmp eq %p, 0:i32 : i1
  if %left {
    %a = load %x[0, 0] : tile<64xf16>
    for %t in 0..9 {
      send pe.east, %a
    }
  }
"), @r"
    error[TW-E0303]: send waits for space in a queue that nobody reads any more
     --> k.tir:7:7
      |
    7 |       send pe.east, %a
      |       ^^^^ PE 0 waits here, 4 messages are unread
      |
      = note: PE 1 has ended and received nothing from this port
      = next: receive as many messages as are sent
      = more: tilewright explain TW-E0303
    ");
}
#[test]
fn a_barrier_that_one_program_does_not_reach() {
    assert_snapshot!(fault("\
  %p = pe_id : i32
  %left = cmp eq %p, 0:i32 : i1
  if %left {
    barrier cube
  }
"), @r"
    error[TW-E0305]: a barrier that not all programs reach
     --> k.tir:5:5
      |
    5 |     barrier cube
      |     ^^^^^^^ PE 0 waits here
      |
      = note: PE 1 ended without reaching it
      = next: let all programs of the scope pass the same number of barriers
      = more: tilewright explain TW-E0305
    ");
}
#[test]
fn a_message_of_another_type() {
    assert_snapshot!(fault("\
  %p = pe_id : i32
  %left = cmp eq %p, 0:i32 : i1
  if %left {
    %a = load %x[0, 0] : tile<64xf16>
    send pe.east, %a
  } else {
    %b = recv pe.west : tile<32xf16>
    keep %b
  }
"), @r"
    error[TW-E0312]: recv expects tile<32xf16>, the matching send carries tile<64xf16>
     --> k.tir:8:5
      |
    6 |     send pe.east, %a
      |     ---- PE 0 sends tile<64xf16> here
    7 |   } else {
    8 |     %b = recv pe.west : tile<32xf16>
      |     ^^ tile<32xf16> expected here, by PE 1
      |
      = next: give both ends one type, and receive in the order of the sends
      = more: tilewright explain TW-E0312
    ");
}
#[test]
fn a_port_off_the_mesh() {
    assert_snapshot!(fault("  %a = load %x[0, 0] : tile<64xf16>\n  send pe.north, %a\n"), @r"
    error[TW-E0306]: `send pe.north, %a` leads off the mesh
     --> k.tir:3:3
      |
    3 |   send pe.north, %a
      |   ^^^^ no neighbour there for PE 0
      |
      = note: the launch is 1 cubes x 2 PEs
      = next: guard the line with a condition on `pe_id()` or `cube_id()`
      = more: tilewright explain TW-E0306
    ");
}
#[test]
fn a_step_of_zero() {
    assert_snapshot!(fault("  for %t in 0..9 step 0 {\n    %a = load %x[0, 0] : tile<64xf16>\n    keep %a\n  }\n"), @r"
    error[TW-E0308]: the step of this loop is 0
     --> k.tir:2:3
      |
    2 |   for %t in 0..9 step 0 {
      |   ^^^ reached by PE 0
      |
      = next: a step is at least 1
      = more: tilewright explain TW-E0308
    ");
}
#[test]
fn live_tiles_above_the_capacity_of_scratch() {
    assert_snapshot!(fault("\
  %a = splat 0.5 : tile<512x512xf16>
  %b = exp %a : tile<512x512xf16>
  %c = exp %b : tile<512x512xf16>
  %d = add %b, %c : tile<512x512xf16>
  keep %d
"), @r"
    error[TW-E0353]: scratch is full: the result needs 524288 B, 0 B of 1048576 B are free
     --> k.tir:5:3
      |
    3 |   %b = exp %a : tile<512x512xf16>
      |   -- %b holds 524288 B
    4 |   %c = exp %b : tile<512x512xf16>
      |   -- %c holds 524288 B
    5 |   %d = add %b, %c : tile<512x512xf16>
      |   ^^ PE 0 has no room for this result
      |
      = note: not one row of it would fit
      = next: use a smaller tile, or end the use of one of these before this line
      = more: tilewright explain TW-E0353
    ");
}
#[test]
fn time_that_depends_on_a_received_scalar() {
    assert_snapshot!(fault("\
  %s = recv pe.east : i32
  for %t in 0..%s {
    %a = load %x[0, 0] : tile<64xf16>
    keep %a
  }
"), @r"
    error[TW-E0350]: the time of this kernel depends on a value that `recv` makes
     --> k.tir:2:1
      |
    2 | %s = recv pe.east : i32
      | ^^ only a run with values knows this scalar
    3 |   for %t in 0..%s {
      |   --- it decides what happens here
      |
      = note: without data there is no control trace to take it from
      = next: run with data, or compute bounds, conditions and positions from parameters, ids and lengths
      = more: tilewright explain TW-E0350
    ");
}
#[test]
fn time_that_depends_on_an_element_without_data() {
    assert_snapshot!(fault("  %s = load %i[0] : i32\n  %a = load %x[%s, 0] : tile<64xf16>\n  keep %a\n"), @r"
    error[TW-E0351]: the time of this kernel depends on an element of a tensor
     --> k.tir:2:3
      |
    2 |   %s = load %i[0] : i32
      |   ^^ this element is not known while timing
    3 |   %a = load %x[%s, 0] : tile<64xf16>
      |   -- it decides what happens here
      |
      = note: the tensor has a shape but no data
      = next: give this tensor data; the others may stay shapes
      = more: tilewright explain TW-E0351
    ");
}
#[test]
fn a_composite_that_loads_its_first_operand() {
    assert_snapshot!(fault("\
  %k = load %x[0, 0] : tile<8x64xf16>
  %s = composite {
    %q = load %x[0, 64] : tile<8x64xf16>
    %t = trans %k : tile<64x8xf16>
    %d = dot %q, %t : tile<8x8xf16>
    yield %d
  }
  keep %s
"), @r"
    error[TW-E0352]: a composite streams the second operand of its dot, and no other tile
     --> k.tir:4:5
      |
    3 |   %s = composite {
      |   -- the composite
    4 |     %q = load %x[0, 64] : tile<8x64xf16>
      |     ^^ this tile does not feed it
      |
      = next: load the tile before the composite
      = more: tilewright explain TW-E0352
    ");
}
#[test]
fn accesses_outside_their_view() {
    assert_snapshot!(fault("\
  %a = load %x[0, 1000] : tile<2x64xf16>
  store %y[7, 0], %a
"), @r"
    error[TW-E0310]: 160 elements loaded outside the view
     --> k.tir:2:1
      |
    2 | %a = load %x[0, 1000] : tile<2x64xf16>
      | ^^ first by PE 0 at [0, 1024]
      |
      = note: in `%a = load %x[0, 1000] : tile<2x64xf16>`; they were read as 0
      = next: use `load_or`, or `.limit(axis, n)`
      = more: tilewright explain TW-E0310
    error[TW-E0311]: 128 elements stored outside the view
     --> k.tir:3:3
      |
    3 |   store %y[7, 0], %a
      |   ^^^^^ first by PE 0 at [8, 0]
      |
      = note: in `store %y[7, 0], %a`; they were dropped
      = next: use `store_inside`, or `.limit(axis, n)`
      = more: tilewright explain TW-E0311
    ");
}
#[test]
fn a_division_by_zero_in_a_bound() {
    assert_snapshot!(fault("  %z = sub %n, %n : i32\n  %q = div %n, %z : i32\n  for %t in 0..%q {\n    barrier cube\n  }\n"), @r"
    error[TW-E0313]: division by zero, 2 times
     --> k.tir:3:3
      |
    3 |   %q = div %n, %z : i32
      |   ^^ first by PE 0
      |
      = note: in `%q = div %n, %z : i32`; the result is 0
      = next: guard the line, or divide by `select(b == 0, 1, b)`
      = more: tilewright explain TW-E0313
    ");
}
#[test]
fn a_loop_that_runs_too_long() {
    assert_snapshot!(fault("  for %t in 0..1000000 {\n    barrier cube\n  }\n"), @r"
    error[TW-E0355]: the run takes more than 100000 events and turns of loops
     --> k.tir:3:5
      |
    3 |     barrier cube
      |     ^^^^^^^ a PE is here then
      |
      = next: check the loop bounds, or raise the limit
      = more: tilewright explain TW-E0355
    ");
}
#[test]
fn a_loop_without_commands_that_never_ends() {
    assert_snapshot!(fault("\
  %end = while carry (%w = 1:i32) {
    %go = cmp gt %w, 0:i32 : i1
    while %go
    yield %w
  }
"), @r"
    error[TW-E0356]: PE 0 took 10001 turns of loops without issuing a command
     --> k.tir:2:1
      |
    2 | %end = while carry (%w = 1:i32) {
      | ^^^^ in this loop
      |
      = next: check the loop's bounds or condition
      = more: tilewright explain TW-E0356
    ");
}
#[test]
fn a_counted_loop_around_nothing_and_with_nothing_behind_it() {
    assert_snapshot!(fault("  for %t in 0:i64..9223372036854775807:i64 {\n  }\n"), @r"
    error[TW-E0356]: PE 0 took 10001 turns of loops without issuing a command
     --> k.tir:2:3
      |
    2 |   for %t in 0:i64..9223372036854775807:i64 {
      |   ^^^ in this loop
      |
      = next: check the loop's bounds or condition
      = more: tilewright explain TW-E0356
    ");
}
#[test]
fn loops_around_nothing_between_commands() {
    assert_snapshot!(fault("\
  for %t in 0..1000 {
    barrier cube
    for %u in 0..9000 {
    }
  }
"), @r"
    error[TW-E0355]: the run takes more than 100000 events and turns of loops
     --> k.tir:4:5
      |
    4 |     for %u in 0..9000 {
      |     ^^^ a PE is here then
      |
      = next: check the loop bounds, or raise the limit
      = more: tilewright explain TW-E0355
    ");
}

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

/// The element is in range of the view, and the tensor that it comes from has data.
#[test]
fn time_may_depend_on_elements_of_tensors_with_data() {
    let text = "kernel @k(%x: view<?x?xf16>, %i: view<?xi32>) {\n  %s = load %i[1] : i32\n  for %t in 0..%s {\n    %a = load %x[%t, 0] : tile<64xf16>\n    keep %a\n  }\n}\n";
    let m = module(text);
    let mut args = args(&m);
    if let Some(Arg::View(t)) = args.last_mut() {
        (t.dims, t.data) = (vec![2], Some(Data::I32(vec![7, 5])));
    }
    let t = time(&Machine::ahbm(), &[user(&m, &args, Grid::cubes(1))], SMALL).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(t.commands.get("load"), Some(&6));
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
