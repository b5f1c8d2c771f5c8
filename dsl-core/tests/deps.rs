//! Effects and the dependency graph, by text: one line an op, with what it waits for and why.

use insta::assert_snapshot;
use tilewright_core::ir::text::read;
use tilewright_core::ir::{Deps, Effects, Module};

fn kernel(body: &str) -> Module {
    let params = "%x: view<?xf32>, %o: view_mut<?xf32>, %p: view_mut<?xf32>, %n: i32";
    read(&format!("kernel @k({params}) {{\n{body}\n}}\n"), "k.tir").unwrap_or_else(|e| panic!("{e}"))
}
fn deps(body: &str) -> String {
    let m = kernel(body);
    Deps::of(&m, m.body).text(&m)
}

#[test]
fn values_order_ops_also_from_inside() {
    assert_snapshot!(deps(
        "%a = add %n, 1 : i32
         %b = add %n, 2 : i32
         %c = if true { yield %a } else { %d = add %b, %b : i32 yield %d }
         keep %c"
    ), @r"
    0: %a = add %n, 1 : i32
    1: %b = add %n, 2 : i32
    2: %c = if true  <- 0 %a, 1 %b
    3: keep %c  <- 2 %c
    ");
}

#[test]
fn a_load_waits_for_the_last_store_of_its_view_only() {
    assert_snapshot!(deps(
        "%a = load %o[0] : f32
         %b = load %o[1] : f32
         store %p[0], 0.0:f32
         store %o[0], 1.0:f32
         store %o[1], 2.0:f32
         %c = load %o[0] : f32
         %d = load %p[0] : f32
         %e = load %x[0] : f32"
    ), @r"
    0: %a = load %o[0] : f32
    1: %b = load %o[1] : f32
    2: store %p[0], 0.0:f32
    3: store %o[0], 1.0:f32  <- 0 memory %o, 1 memory %o
    4: store %o[1], 2.0:f32  <- 3 memory %o
    5: %c = load %o[0] : f32  <- 4 memory %o
    6: %d = load %p[0] : f32  <- 2 memory %p
    7: %e = load %x[0] : f32
    ");
}

#[test]
fn atomics_on_a_view_keep_their_order() {
    assert_snapshot!(deps(
        "atomic_add %o[0], 1.0:f32
         atomic_add %o[0], 2.0:f32
         %a = load %o[0] : f32
         atomic_max %p[0], 3.0:f32"
    ), @r"
    0: atomic_add %o[0], 1.0:f32
    1: atomic_add %o[0], 2.0:f32  <- 0 memory %o
    2: %a = load %o[0] : f32  <- 1 memory %o
    3: atomic_max %p[0], 3.0:f32
    ");
}

#[test]
fn messages_of_one_port_keep_their_order() {
    assert_snapshot!(deps(
        "send pe.east, %n
         %a = recv pe.east : i32
         %b = recv pe.west : i32
         send pe.east, %n
         %c = recv pe.east : i32"
    ), @r"
    0: send pe.east, %n
    1: %a = recv pe.east : i32
    2: %b = recv pe.west : i32
    3: send pe.east, %n  <- 0 send pe.east
    4: %c = recv pe.east : i32  <- 1 recv pe.east
    ");
}

#[test]
fn a_barrier_stands_between_what_others_can_see() {
    assert_snapshot!(deps(
        "store %o[0], 1.0:f32
         %a = load %x[0] : f32
         send pe.east, %n
         barrier cube
         barrier launch
         %b = load %x[1] : f32
         %c = load %o[0] : f32
         %d = add %n, 1 : i32
         keep %d
         barrier cube"
    ), @r"
    0: store %o[0], 1.0:f32
    1: %a = load %x[0] : f32
    2: send pe.east, %n
    3: barrier cube  <- 0 sync, 2 sync
    4: barrier launch  <- 3 sync
    5: %b = load %x[1] : f32
    6: %c = load %o[0] : f32  <- 0 memory %o, 4 sync
    7: %d = add %n, 1 : i32
    8: keep %d  <- 4 sync, 7 %d
    9: barrier cube  <- 6 sync, 8 sync
    ");
}

#[test]
fn what_is_seen_from_outside_keeps_its_order() {
    assert_snapshot!(deps("print \"a\"\nkeep %n\nassert true, \"b\""), @r#"
    0: print "a"
    1: keep %n  <- 0 observe
    2: assert true, "b"  <- 1 observe
    "#);
}

#[test]
fn an_op_with_regions_does_what_is_inside() {
    assert_snapshot!(deps(
        "for %i in 0..%n {
           %a = load %o[%i] : f32
           store %o[%i], %a
           if true { send pe.east, %a } else { barrier cube }
         }
         %b = load %o[0] : f32
         send pe.east, %b"
    ), @r"
    0: for %i in 0..%n
    1: %b = load %o[0] : f32  <- 0 memory %o, 0 sync
    2: send pe.east, %b  <- 0 send pe.east, 0 sync, 1 %b
    ");
}

#[test]
fn effects_name_parameters_queues_and_the_widest_barrier() {
    let m = kernel(
        "for %i in 0..%n {
           %a = load %x[%i] : f32
           atomic_add %p[%i], %a
           barrier launch
           barrier cube
           %b = recv peer.3 : f32
         }",
    );
    let effects = Effects::of_region(&m, m.body);
    assert_eq!(effects, Effects::of(&m, m.region(m.body).ops[0]));
    assert_snapshot!(format!("{effects:?}"), @"Effects { reads: {0}, writes: {}, atomics: {2}, sends: {}, recvs: {Peer(3)}, sync: Some(Launch), observes: false }");
    let pure = kernel("%a = add %n, 1 : i32");
    assert!(Effects::of_region(&pure, pure.body).is_empty());
}
