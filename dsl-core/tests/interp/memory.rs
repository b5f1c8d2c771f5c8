//! Loads, stores, limits and atomics at and past every edge.

use crate::support::Launch;
use tilewright_core::data::Stored;
use tilewright_core::half::{bf16, f16};
use tilewright_core::interp::{Order, convert};
use tilewright_core::launch::Grid;

const N: i64 = 60;
const TILE: i64 = 64;
/// Starts of a 64 x 64 tile over 60 x 60 elements.
const STARTS: [(i64, i64); 8] =
    [(0, 0), (-3, -3), (40, 40), (59, 59), (60, 0), (-64, 0), (1 << 20, 0), (i64::MAX, i64::MIN)];
const LIMITS: [(i64, i64); 5] = [(64, 1000), (0, 64), (1, 64), (7, 41), (64, -1)];

fn value<T: Stored>(v: i64) -> T {
    convert::literal(v.into(), T::ELEM).get()
}
/// Element (r, c) of the source; different in every place that small types can tell apart.
fn source<T: Stored>(r: i64, c: i64) -> T {
    value((r * 7 + c) % 50)
}
fn kernel(e: &str, load: &str, store: &str) -> String {
    format!(
        "kernel @edge(%x: view<?x?x{e}>, %y: view_mut<?x?x{e}>, %i: i64, %j: i64, %n: i64, %m: i64, %f: {e}) {{
  %t = load %x[{load} : tile<64x64x{e}>
  store {store}, %t
}}\n"
    )
}
/// A launch of an edge kernel on the source and a destination full of `poison`.
fn launch<T: Stored>(text: &str, to: i64, poison: T, at: (i64, i64), limits: (i64, i64), fill: T) -> Launch {
    let x = (0..N * N).map(|i| source::<T>(i / N, i % N)).collect();
    let fill = tilewright_core::ir::Literal { elem: T::ELEM, bits: fill.to_bits() };
    let launch =
        Launch::new(text).input(&[N as usize; 2], x).output(&[to as usize; 2], vec![poison; (to * to) as usize]);
    launch.scalar(at.0).scalar(at.1).scalar(limits.0).scalar(limits.1).scalar(fill)
}
fn inside(at: i64, i: i64, limit: i64) -> bool {
    i < limit.max(0) && (0..N).contains(&(at.saturating_add(i)))
}

fn fills<T: Stored>(fill: T) {
    let text = kernel(T::ELEM.name(), "%i, %j] limit 0: %n limit 1: %m else %f", "%y[0, 0]");
    for (at, limits) in STARTS.iter().flat_map(|s| LIMITS.iter().map(move |l| (*s, *l))) {
        let got = launch::<T>(&text, TILE, value(99), at, limits, fill).run().get::<T>(1);
        for (k, got) in (0..).zip(&got) {
            let (r, c) = (k / TILE, k % TILE);
            let there = inside(at.0, r, limits.0) && inside(at.1, c, limits.1);
            let want = if there { source(at.0 + r, at.1 + c) } else { fill };
            assert_eq!(got.to_bits(), want.to_bits(), "({r}, {c}) of {} from {at:?}, limits {limits:?}", T::ELEM);
        }
    }
}

#[test]
fn load_or_fills_what_lies_outside_or_past_a_limit() {
    fills::<f32>(f32::from_bits(0x7FC0_1234));
    fills::<f16>(f16::NEG_INFINITY);
    fills::<i8>(-99);
    fills::<tilewright_core::elem::F8E4M3>(tilewright_core::elem::F8E4M3(0x7F));
}

#[test]
fn store_inside_keeps_what_lies_around() {
    // The destination is 60 x 60 in a ring that must keep its bits: a store starts one row and column into it.
    let (ring, poison) = (N + 6, -77i16);
    let text = kernel("i16", "0, 0] else %f", "inside %y[%i, %j] limit 0: %n limit 1: %m");
    for (at, limits) in STARTS.iter().flat_map(|s| LIMITS.iter().map(move |l| (*s, *l))) {
        let got = launch::<i16>(&text, ring, poison, at, limits, 33).run().get::<i16>(1);
        for (k, got) in (0..).zip(&got) {
            let (r, c) = (i128::from(k / ring) - i128::from(at.0), i128::from(k % ring) - i128::from(at.1));
            let in_tile = |v: i128, limit: i64| (0..i128::from(limit.clamp(0, TILE))).contains(&v);
            let want = match in_tile(r, limits.0) && in_tile(c, limits.1) {
                true if r < N.into() && c < N.into() => source(r as i64, c as i64),
                true => 33,
                false => poison,
            };
            assert_eq!(*got, want, "{k} from {at:?}, limits {limits:?}");
        }
    }
}

#[test]
fn plain_accesses_outside_are_suppressed_counted_and_located() {
    let load = kernel("i16", "%i, %j] limit 0: %n limit 1: %m", "%y[0, 0]");
    let ran = launch::<i16>(&load, TILE, 5, (40, 40), (64, 64), 0).run();
    insta::assert_snapshot!(ran.errors(), @r#"
    error[TW-E0310]: 3696 elements loaded outside the view
    --> t.tir:2:3
     = note: first by PE 0 at [40, 60]
     = note: in `%t = load %x[%i, %j] limit 0: %n limit 1: %m : tile<64x64xi16>`; they were read as 0
     = next: use `load_or`, or `.limit(axis, n)`
     = more: tilewright explain TW-E0310
    "#);
    let got = ran.after_error::<i16>(1);
    assert_eq!(
        (got[0], got[19], got[20], got[19 * 64 + 19], got[20 * 64]),
        (source(40, 40), source(40, 59), 0, source(59, 59), 0)
    );
    // A limit says which places exist, so nothing is outside.
    assert_eq!(launch::<i16>(&load, TILE, 5, (40, 40), (20, 20), 0).run().codes(), [""; 0]);
    let store = kernel("i16", "0, 0] else %f", "%y[%i, %j] limit 0: %n limit 1: %m");
    let ran = launch::<i16>(&store, N + 6, -77, (-3, 10), (64, 64), 1).run();
    insta::assert_snapshot!(ran.errors(), @r#"
    error[TW-E0311]: 680 elements stored outside the view
    --> t.tir:3:3
     = note: first by PE 0 at [-3, 10]
     = note: in `store %y[%i, %j] limit 0: %n limit 1: %m, %t`; they were dropped
     = next: use `store_inside`, or `.limit(axis, n)`
     = more: tilewright explain TW-E0311
    "#);
}

#[test]
fn records_of_many_programs_are_one_error_with_the_first_place() {
    let text = "kernel @r(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %p = program_id : i32
  %i = mul %p, 2 : i32
  %t = load %x[%i] : tile<4xi32>
  %z = sub %t, %t : tile<4xi32>
  %q = div %t, %z : tile<4xi32>
  %c = cmp lt %p, 2:i32 : i1
  assert %c, \"few programs\"
  store inside %y[%i], %q
}\n";
    for order in [Order::Ascending, Order::Descending, Order::From(3)] {
        let launch =
            Launch::new(text).input(&[8], vec![7i32; 8]).output(&[8], vec![5i32; 8]).grid(Grid::cubes(3).pes(2));
        let ran = launch.order(order).run();
        insta::allow_duplicates! {
            insta::assert_snapshot!(ran.errors(), @r#"
            error[TW-E0310]: 10 elements loaded outside the view
            --> t.tir:4:3
             = note: first by cube 1, PE 1 at [8]
             = note: in `%t = load %x[%i] : tile<4xi32>`; they were read as 0
             = next: use `load_or`, or `.limit(axis, n)`
             = more: tilewright explain TW-E0310
            error[TW-E0313]: division by zero, 24 times
            --> t.tir:6:3
             = note: first by cube 0, PE 0 at [0]
             = note: in `%q = div %t, %z : tile<4xi32>`; the result is 0
             = next: guard the line, or divide by `select(b == 0, 1, b)`
             = more: tilewright explain TW-E0313
            error[TW-E0314]: assertion failed, 4 times: few programs
            --> t.tir:8:3
             = note: first by cube 1, PE 0
             = more: tilewright explain TW-E0314
            "#);
        }
        assert_eq!(ran.after_error::<i32>(1), [0; 8], "the quotients were stored");
    }
}

fn counted<T: Stored>(programs: usize, neighbour: T) -> Vec<T> {
    let e = T::ELEM;
    let text = format!("kernel @a(%y: view_mut<?x{e}>) {{\n%one = cast 1:i32 : {e}\natomic_add %y[3], %one\n}}\n");
    let mut y = vec![neighbour; 5];
    y[3] = T::from_bits(0);
    Launch::new(&text).output(&[5], y).grid(Grid::cubes(programs)).run().get(0)
}

/// Each add rounds to its type, so 1 is lost from where the spacing is 2 (M05).
#[test]
fn atomic_adds_round_each_time_and_keep_the_neighbours() {
    let nan = f16::from_bits(0x7E37);
    let y = counted::<f16>(3000, nan);
    assert_eq!((y[3], y[2].to_bits(), y[4].to_bits()), (f16::from_f32(2048.0), 0x7E37, 0x7E37));
    let y = counted::<bf16>(300, bf16::from_bits(0x7FC7));
    assert_eq!((y[3], y[2].to_bits(), y[4].to_bits()), (bf16::from_f32(256.0), 0x7FC7, 0x7FC7));
    assert_eq!(counted::<f32>(300, 9.0), [9.0, 9.0, 9.0, 300.0, 9.0]);
    assert_eq!(counted::<i32>(3000, -1), [-1, -1, -1, 3000, -1]);
    assert_eq!(counted::<u8>(300, 8), [8, 8, 8, 44, 8]);
}

#[test]
fn atomic_max_orders_negatives_and_zeros_and_stops_at_the_edge() {
    let text = "kernel @m(%x: view<?xf32>, %y: view_mut<?xf32>) {
  %t = load %x[0] : tile<4xf32>
  atomic_max inside %y[2], %t
}\n";
    let ran =
        Launch::new(text).input(&[4], vec![-5.0f32, 0.0, 7.0, 8.0]).output(&[4], vec![-9.0f32, -9.0, -9.0, -0.0]).run();
    let bits: Vec<u32> = ran.get::<f32>(1).iter().map(|v| v.to_bits()).collect();
    assert_eq!(bits, [-9.0f32, -9.0, -5.0, 0.0].map(f32::to_bits));
}

/// f32 sums whose value depends on the order are taken in the order of program ids, however the programs run.
#[test]
fn float_atomics_are_applied_in_the_order_of_programs() {
    let text = "kernel @s(%x: view<?xf32>, %y: view_mut<?xf32>, %z: view_mut<?xf32>) {
  %p = program_id : i32
  %v = load %x[%p] : f32
  atomic_add %y[0], %v
  barrier launch
  %s = load %y[0] : f32
  store %z[%p], %s
  barrier launch
  atomic_add %y[0], %v
}\n";
    let x: Vec<f32> = (0..16).map(|i| if i % 3 == 0 { 1e8 } else { -0.7 * i as f32 }).collect();
    let once = x.iter().fold(0f32, |s, v| s + v);
    let twice = x.iter().fold(once, |s, v| s + v);
    for order in [Order::Ascending, Order::Descending, Order::From(5), Order::From(11)] {
        let launch = Launch::new(text).input(&[16], x.clone()).output(&[1], vec![0f32]).output(&[16], vec![0f32; 16]);
        let ran = launch.grid(Grid::cubes(2).pes(8)).order(order).run();
        assert_eq!(ran.get::<f32>(2), [once; 16]);
        assert_eq!(ran.get::<f32>(1), [twice]);
    }
}

/// A sum and a maximum do not commute, in one program or between two.
#[test]
fn sums_and_maxima_of_one_view_keep_their_order() {
    let text = |e: &str, one: &str, five: &str| {
        format!(
            "kernel @both(%own: view_mut<?x{e}>, %all: view_mut<?x{e}>) {{
  %p = program_id : i32
  atomic_add %own[%p], {one}:{e}
  atomic_max %own[%p], {five}:{e}
  atomic_max %all[0], {five}:{e}
  atomic_add %all[0], {one}:{e}
  barrier launch
}}\n"
        )
    };
    for order in [Order::Ascending, Order::Descending, Order::From(2), Order::Shuffled(7), Order::LateStores] {
        let launch = Launch::new(&text("f32", "-1.0", "5.0")).output(&[4], vec![5f32; 4]).output(&[1], vec![0f32]);
        let ran = launch.grid(Grid::cubes(2).pes(2)).order(order).run();
        assert_eq!((ran.get::<f32>(0), ran.get::<f32>(1)), (vec![5.0; 4], vec![4.0]), "{order:?}");
        let launch = Launch::new(&text("i32", "-1", "5")).output(&[4], vec![5; 4]).output(&[1], vec![0]);
        let ran = launch.grid(Grid::cubes(2).pes(2)).order(order).run();
        assert_eq!((ran.get::<i32>(0), ran.get::<i32>(1)), (vec![5; 4], vec![4]), "{order:?}");
    }
}

#[test]
fn a_program_sees_its_own_atomics() {
    let text = "kernel @s(%y: view_mut<?xf32>) {
  %p = program_id : i32
  atomic_add %y[%p], 1.5:f32
  %s = load %y[%p] : f32
  store %y[%p], 0.25:f32
  atomic_add %y[%p], %s
}\n";
    let launch = Launch::new(text).output(&[3], vec![1f32; 3]).grid(Grid::cubes(3)).order(Order::Descending);
    assert_eq!(launch.run().get::<f32>(0), [2.75; 3]);
}

/// A view with more axes than the tile, an index in i64, rows that are not contiguous in the tile's view.
#[test]
fn a_tile_lies_along_the_trailing_axes() {
    let text = "kernel @v(%x: view<?x?x?x?xi32>, %y: view_mut<?x?xi32>) {
  %t = load %x[1, 2:i64, 1, 1] : tile<2x3xi32>
  store %y[0, 0], %t
}\n";
    let x: Vec<i32> = (0..2 * 3 * 4 * 5).collect();
    let got = Launch::new(text).input(&[2, 3, 4, 5], x).output(&[2, 3], vec![0i32; 6]).run().get::<i32>(1);
    let first = ((3 + 2) * 4 + 1) * 5 + 1;
    assert_eq!(got, [first, first + 1, first + 2, first + 5, first + 6, first + 7]);
}

#[test]
fn empty_tensors_are_read_as_fill_and_written_nowhere() {
    let text = "kernel @e(%x: view<?x?xi32>, %y: view_mut<?x?xi32>, %z: view_mut<?x?xi32>) {
  %t = load %x[0, 0] else 4 : tile<2x2xi32>
  store inside %y[0, 0], %t
  store %z[0, 0], %t
}\n";
    let none = Vec::<i32>::new();
    let ran = Launch::new(text).input(&[0, 5], none.clone()).output(&[3, 0], none).output(&[2, 2], vec![0i32; 4]).run();
    assert_eq!(ran.get::<i32>(2), [4; 4]);
}
