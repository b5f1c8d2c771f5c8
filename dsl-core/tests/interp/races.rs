//! Races between programs, unwritten reads, and orders that show them.

use crate::support::Launch;
use tilewright_core::interp::{EveryOrder, Order};
use tilewright_core::launch::Grid;

const WRITE: &str = "store %x[0], %id";
const READ: &str = "%r = load %x[0] : i32\nkeep %r";
const ATOMIC: &str = "atomic_add %x[0], %id";

const ONE_CUBE: Grid = Grid::cubes(1).pes(2);
const TWO_CUBES: Grid = Grid::cubes(2);

/// Program 0 does `first`, all do `between`, program 1 does `second`.
fn two(first: &str, between: &str, second: &str) -> Launch {
    let text = format!(
        "kernel @two(%x: view_mut<?xi32>) {{
%id = program_id : i32
%zero = cmp eq %id, 0:i32 : i1
%one = cmp eq %id, 1:i32 : i1
if %zero {{
{first}
}}
{between}
if %one {{
{second}
}}
}}
"
    );
    Launch::new(&text).output(&[4], vec![0i32; 4]).check_races()
}

#[test]
fn only_a_barrier_that_both_pass_orders_two_accesses() {
    let pairs = [
        (WRITE, READ, &["TW-E0320"][..]),
        (READ, WRITE, &["TW-E0320"]),
        (WRITE, WRITE, &["TW-E0321"]),
        (ATOMIC, READ, &["TW-E0322"]),
        (READ, ATOMIC, &["TW-E0322"]),
        (ATOMIC, WRITE, &["TW-E0322"]),
        (WRITE, ATOMIC, &["TW-E0322"]),
        (ATOMIC, ATOMIC, &[]),
        (READ, READ, &[]),
    ];
    for (first, second, codes) in pairs {
        let second = &second.replace("%r", "%s");
        for order in Order::adversarial(3) {
            let found = |first: &str, between: &str, second: &str, grid: Grid| {
                two(first, between, second).grid(grid).order(order).run().codes()
            };
            let case = format!("{first:?}, {second:?}, {order:?}");
            for grid in [ONE_CUBE, TWO_CUBES] {
                assert_eq!(found(first, "", second, grid), codes, "no barrier: {case}");
                assert_eq!(found(first, "barrier launch", second, grid), [""; 0], "{case}");
                // A message from the first to the second, after the one access and before the other.
                let port = if grid == ONE_CUBE { "pe" } else { "cube" };
                let (send, recv) =
                    (format!("{first}\nsend {port}.east, %id"), format!("%g = recv {port}.west : i32\n{second}"));
                assert_eq!(found(&send, "", &recv, grid), codes, "a message: {case}");
            }
            assert_eq!(found(first, "barrier cube", second, ONE_CUBE), [""; 0], "{case}");
            assert_eq!(found(first, "barrier cube", second, TWO_CUBES), codes, "the wrong scope: {case}");
        }
    }
}

#[test]
fn a_message_in_place_of_a_barrier_is_named() {
    let (send, recv) = (format!("{WRITE}\nsend pe.east, %id"), format!("%g = recv pe.west : i32\n{READ}"));
    insta::assert_snapshot!(two(&send, "", &recv).grid(ONE_CUBE).run().errors(), @r"
    error[TW-E0320]: race on `x`: one PE reads what another writes
    --> t.tir:6:1
     = note: PE 0 writes `x`[0] here
     = note: t.tir:12:1: PE 1 reads it here
     = note: t.tir:7:1: a message of PE 0 goes out here
     = note: t.tir:11:1: and arrives here
     = note: the message from PE 0 orders only itself, not memory; a barrier is missing
     = next: put `barrier(Scope::Cube)` between the two, where every PE passes it
     = more: tilewright explain TW-E0320
    ");
}

#[test]
fn a_barrier_of_the_wrong_scope_is_named() {
    insta::assert_snapshot!(two(WRITE, "barrier cube", READ).grid(TWO_CUBES).run().errors(), @r"
    error[TW-E0320]: race on `x`: one PE reads what another writes
    --> t.tir:6:1
     = note: cube 0, PE 0 writes `x`[0] here
     = note: t.tir:10:1: cube 1, PE 0 reads it here
     = note: t.tir:8:1: this barrier orders the PEs of one cube; the two are in different cubes
     = next: put `barrier(Scope::Launch)` between the two, where every PE passes it
     = more: tilewright explain TW-E0320
    ");
}

#[test]
fn programs_at_one_pair_of_lines_are_one_error() {
    // Each writes a tile that overlaps the next one's in one column.
    let text = "kernel @columns(%x: view_mut<?x?xi32>) {
%id = program_id : i32
%v = splat %id : tile<3x4xi32>
%at = mul %id, 3 : i32
store %x[1, %at], %v
}
";
    let launch = |text: &str| {
        Launch::new(text).output(&[8, 40], vec![0i32; 320]).grid(Grid::cubes(2).pes(4)).check_races().run()
    };
    insta::assert_snapshot!(launch(text).errors(), @r"
    error[TW-E0321]: race on `x`: two PEs write the same elements
    --> t.tir:5:1
     = note: cube 0, PE 0 writes `x`[1..4, 3] here, and so does cube 0, PE 1
     = note: no barrier that both pass stands between them
     = note: 8 PEs take part in races of these lines
     = next: give each PE elements of its own, or let one do it: `if program_id() == 0 { .. }`
     = more: tilewright explain TW-E0321
    ");
    // Side by side they share nothing.
    assert_eq!(launch(&text.replace("mul %id, 3", "mul %id, 4")).codes(), [""; 0]);
}

#[test]
fn a_loop_needs_a_barrier_on_both_sides() {
    // Each turn: write the own element, read the neighbour's.
    let turns = |last: &str| {
        let text = format!(
            "kernel @turns(%x: view_mut<?xi32>) {{
%id = program_id : i32
%other = sub 3:i32, %id : i32
for %i in 0..5 {{
store %x[%id], %i
barrier cube
%r = load %x[%other] : i32
keep %r
{last}
}}
}}
"
        );
        Launch::new(&text).output(&[4], vec![0i32; 4]).grid(Grid::cubes(1).pes(4)).check_races()
    };
    for order in Order::adversarial(3) {
        assert_eq!(turns("barrier cube").order(order).run().codes(), [""; 0]);
        assert_eq!(turns("").order(order).run().codes(), ["TW-E0320"], "{order:?}");
    }
}

#[test]
fn what_nothing_has_written_is_not_read() {
    let text = "kernel @read(%x: view_mut<?xi32>) {
%id = program_id : i32
%v = splat %id : tile<2xi32>
store %x[1], %v
%t = load %x[0] : tile<4xi32>
%s = reduce_sum %t axis 0 : i32
store %x[3], %s
%u = load %x[3] : i32
keep %u
}
";
    insta::assert_snapshot!(Launch::new(text).uninit::<i32>(&[4]).check_races().run().errors(), @r"
    error[TW-E0323]: 2 elements of `x` read before anything has written them
    --> t.tir:5:1
     = note: first by PE 0: `x`[0..4]
     = note: t.tir:7:1: PE 0 writes some of them only later, here
     = note: `x` was made without values (`Tensor::uninit`)
     = next: let the write come first, with a barrier between the two if they are of different PEs
     = more: tilewright explain TW-E0323
    ");
    // The host has written it, or nobody looks.
    assert_eq!(Launch::new(text).output(&[4], vec![0i32; 4]).check_races().run().codes(), [""; 0]);
    assert_eq!(Launch::new(text).uninit::<i32>(&[4]).run().codes(), [""; 0]);
    // An atomic reads too.
    let add = "kernel @add(%x: view_mut<?xi32>) {\natomic_add %x[1], 1:i32\n}\n";
    assert_eq!(Launch::new(add).uninit::<i32>(&[2]).check_races().run().codes(), ["TW-E0323"]);
}

#[test]
fn a_write_that_comes_too_late_is_named() {
    let text = "kernel @late(%x: view_mut<?xi32>) {
%id = program_id : i32
%other = sub 1:i32, %id : i32
%r = load %x[%other] : i32
keep %r
barrier cube
store %x[%id], %id
}
";
    let launch = Launch::new(text).uninit::<i32>(&[2]).grid(ONE_CUBE).check_races();
    for order in Order::adversarial(2) {
        insta::allow_duplicates! {
            insta::assert_snapshot!(launch.clone().order(order).run().errors(), @r"
            error[TW-E0323]: 2 elements of `x` read before anything has written them
            --> t.tir:4:1
             = note: first by PE 0: `x`[1]
             = note: t.tir:7:1: PE 0 writes some of them only later, here
             = note: `x` was made without values (`Tensor::uninit`)
             = next: let the write come first, with a barrier between the two if they are of different PEs
             = more: tilewright explain TW-E0323
            ");
        }
    }
}

#[test]
fn a_read_that_races_with_the_only_write_is_a_race() {
    for order in Order::adversarial(2) {
        let text = "kernel @early(%x: view_mut<?xi32>) {
%id = program_id : i32
%c = cmp eq %id, 1:i32 : i1
if %c {
store %x[0], %id
} else {
%r = load %x[0] : i32
keep %r
}
}
";
        let ran = Launch::new(text).uninit::<i32>(&[1]).grid(ONE_CUBE).order(order).check_races().run();
        assert_eq!(ran.codes(), ["TW-E0320"], "{order:?}");
    }
}

#[test]
fn an_order_that_changes_a_value_is_found() {
    let unchecked = |launch: Launch| {
        let mut all = EveryOrder::default();
        all.options.check_races = false;
        launch.run_on(&mut all)
    };
    let own = "%own = add %id, 1:i32 : i32\nstore %x[%own], %id";
    let read = |other: &str| format!("%r = load %x[{other}] : i32\nstore %x[3], %r");
    for grid in [ONE_CUBE, TWO_CUBES] {
        let racy = two(&own.replace("%id, 1", "%id, 0"), "", &read("0")).grid(grid);
        // Program 0 writes 0 over 0: nothing to see. An atomic shows.
        assert_eq!(unchecked(racy).codes(), [""; 0]);
        let racy = |between: &str| two("atomic_add %x[0], 5:i32", between, &read("0")).grid(grid);
        assert_eq!(unchecked(racy("")).codes(), ["TW-E0324"]);
        assert_eq!(racy("barrier launch").run_on(&mut EveryOrder::default()).codes(), [""; 0]);
        assert_eq!(racy("").run_on(&mut EveryOrder::default()).codes(), ["TW-E0322"]);
    }
}

#[test]
fn float_atomics_have_one_value_in_every_order() {
    let text = "kernel @sum(%x: view_mut<?xf32>) {
%id = program_id : i32
%f = cast %id : f32
%v = div 1.0, %f : f32
atomic_add %x[0], %v
barrier launch
%r = load %x[0] : f32
%at = add %id, 1:i32 : i32
store %x[%at], %r
}
";
    let ran =
        Launch::new(text).output(&[9], vec![0.1f32; 9]).grid(Grid::cubes(2).pes(4)).run_on(&mut EveryOrder::default());
    assert_eq!(ran.codes(), [""; 0]);
}
