//! Queues, barriers, and who waits for whom.

use crate::support::Launch;
use tilewright_core::interp::Order;
use tilewright_core::launch::Grid;

const ORDERS: [Order; 4] = [Order::Ascending, Order::Descending, Order::From(1), Order::From(5)];

fn pair(text: &str) -> Launch {
    Launch::new(text).grid(Grid::cubes(1).pes(2))
}

/// PEs 0 and 1 each send m messages to the other, then receive m.
fn exchange(m: i32, depth: u32) -> Launch {
    let turn = |dir: &str| {
        format!(
            "  for %i{dir} in 0..%m {{
    %v{dir} = splat %i{dir} : tile<4xi32>
    send pe.{dir}, %v{dir}
  }}
  %s{dir} = for %j{dir} in 0..%m carry (%a{dir} = 0:i32) {{
    %g{dir} = recv pe.{dir} : tile<4xi32>
    %r{dir} = reduce_sum %g{dir} axis 0 : i32
    %w{dir} = mul %r{dir}, %j{dir} : i32
    %b{dir} = add %a{dir}, %w{dir} : i32
    yield %b{dir}
  }}
  store %y[%id], %s{dir}
"
        )
    };
    let text = format!(
        "kernel @exchange(%y: view_mut<?xi32>, %m: i32) {{
%id = pe_id : i32\n%first = cmp eq %id, 0:i32 : i1\nif %first {{\n{}}} else {{\n{}}}\n}}\n",
        turn("east"),
        turn("west")
    );
    pair(&text).output(&[2], vec![-1i32; 2]).scalar(m).depth(depth)
}

#[test]
fn an_exchange_completes_iff_the_queue_holds_it() {
    for (m, depth, order) in (0..=6).flat_map(|m| (1..=5).flat_map(move |d| ORDERS.map(|o| (m, d, o)))) {
        let ran = exchange(m, depth).order(order).run();
        if m <= depth as i32 {
            assert_eq!(ran.get::<i32>(0), [(0..m).map(|i| 4 * i * i).sum(); 2], "{m} messages, depth {depth}");
        } else {
            assert_eq!(ran.codes(), ["TW-E0301"], "{m} messages, depth {depth}");
        }
    }
    insta::assert_snapshot!(exchange(3, 2).run().errors(), @r#"
    error[TW-E0301]: deadlock: 2 programs wait for each other
    --> t.tir:7:5
     = note: PE 0 waits here for space in the queue to PE 1 (pe.east, depth 2)
     = note: t.tir:20:5: PE 1 waits here for space in the queue to PE 0 (pe.west, depth 2)
     = note: the cycle, each waits for the next: PE 0 -> PE 1 -> PE 0
     = next: receive before sending more, or launch with a larger queue depth
     = more: tilewright explain TW-E0301
    "#);
}

/// Receive-first in a ring of 8 PEs: East, South, West, North around the 2 x 4 cube.
fn ring(receive_first: bool) -> Launch {
    let (to, from) = (
        ["east", "east", "east", "south", "north", "west", "west", "west"],
        ["south", "west", "west", "west", "east", "east", "east", "north"],
    );
    let mut text = String::from("kernel @ring(%y: view_mut<?xi32>) {\n%id = pe_id : i32\n");
    for pe in 0..8 {
        let (send, recv) = (format!("send pe.{}, %id", to[pe]), format!("%g{pe} = recv pe.{} : i32", from[pe]));
        let (a, b) = if receive_first { (&recv, &send) } else { (&send, &recv) };
        text.push_str(&format!(
            "%c{pe} = cmp eq %id, {pe}:i32 : i1\nif %c{pe} {{\n{a}\n{b}\nstore %y[{pe}], %g{pe}\n}}\n"
        ));
    }
    Launch::new(&(text + "}\n")).output(&[8], vec![-1i32; 8]).grid(Grid::cubes(1).pes(8))
}

#[test]
fn a_ring_passes_values_when_it_sends_first_and_deadlocks_when_it_receives_first() {
    for order in ORDERS {
        assert_eq!(ring(false).order(order).run().get::<i32>(0), [4, 0, 1, 2, 5, 6, 7, 3]);
    }
    let ran = ring(true).run();
    assert_eq!(ran.codes(), ["TW-E0301"]);
    let errors = ran.errors();
    assert!(errors.contains("deadlock: 8 programs wait for each other"), "{errors}");
    assert!(errors.contains("PE 0 -> PE 4 -> PE 5 -> PE 6 -> PE 7 -> PE 3 -> PE 2 -> PE 1 -> PE 0"), "{errors}");
}

/// PE 0 sends `n` messages, PE 1 receives `n + d` (Q01).
fn unequal(n: i32, d: i32) -> Launch {
    let text = "kernel @flow(%y: view_mut<?xf32>, %n: i32, %d: i32) {
  %id = pe_id : i32
  %zero = cmp eq %id, 0:i32 : i1
  %one = cmp eq %id, 1:i32 : i1
  %x = splat 1.0 : tile<8xf32>
  if %zero {
    for %i in 0..%n {
      send pe.east, %x
    }
  }
  if %one {
    %m = add %n, %d : i32
    %s = for %j in 0..%m carry (%a = %x) {
      %g = recv pe.west : tile<8xf32>
      %b = add %a, %g : tile<8xf32>
      yield %b
    }
    store %y[0], %s
  }
}\n";
    Launch::new(text).output(&[8], vec![0f32; 8]).scalar(n).scalar(d)
}

#[test]
fn a_missing_message_is_told_with_both_lines() {
    for n in [0, 1, 5] {
        let grid = Grid::cubes(1).pes(2);
        assert_eq!(unequal(n, 0).grid(grid).run().get::<f32>(0), [1.0 + n as f32; 8]);
        assert_eq!(unequal(n, 1).grid(grid).run().codes(), ["TW-E0302"]);
    }
    insta::assert_snapshot!(unequal(5, 1).grid(Grid::cubes(1).pes(2)).run().errors(), @r#"
    error[TW-E0302]: recv waits for a message that is never sent
    --> t.tir:14:7
     = note: PE 1 waits here for message 6 from PE 0
     = note: t.tir:8:7: PE 0 ended after 5 messages, the last sent here
     = next: make both ends agree on the number of messages
     = more: tilewright explain TW-E0302
    "#);
    insta::assert_snapshot!(unequal(0, 1).grid(Grid::cubes(8).pes(2)).run().errors(), @r#"
    error[TW-E0302]: recv waits for a message that is never sent
    --> t.tir:14:7
     = note: PE 1 in 8 cubes wait here for message 1 from PE 0
     = note: PE 0 each has ended and sent nothing to this port
     = next: make both ends agree on the number of messages
     = more: tilewright explain TW-E0302
    "#);
}

#[test]
fn a_message_that_nobody_receives_is_told() {
    insta::assert_snapshot!(unequal(5, -1).grid(Grid::cubes(8).pes(2)).run().errors(), @r#"
    error[TW-E0304]: 8 messages are never received
    --> t.tir:8:7
     = note: PE 0 in 8 cubes sent here, to PE 1
     = note: t.tir:14:7: PE 1 received its last message here
     = next: receive as many messages as are sent
     = more: tilewright explain TW-E0304
    "#);
    // More than the queue holds: the sender waits for a reader that has ended.
    insta::assert_snapshot!(unequal(9, -9).grid(Grid::cubes(1).pes(2)).run().errors(), @r#"
    error[TW-E0303]: send waits for space in a queue that nobody reads any more
    --> t.tir:8:7
     = note: PE 0 waits here, 4 messages are unread
     = note: PE 1 has ended and received nothing from this port
     = next: receive as many messages as are sent
     = more: tilewright explain TW-E0303
    "#);
}

#[test]
fn who_waits_behind_a_missing_message_is_counted() {
    // PE 2 never sends; PE 1 waits for it and PE 0 for PE 1.
    let text = "kernel @chain() {
  %id = pe_id : i32
  %c = cmp lt %id, 2:i32 : i1
  if %c {
    %g = recv pe.east : i32
    %d = cmp eq %id, 1:i32 : i1
    if %d {
      send pe.west, %g
    }
  }
}\n";
    let errors = Launch::new(text).grid(Grid::cubes(1).pes(3)).run().errors();
    assert!(errors.contains("PE 1 waits here for message 1 from PE 2"), "{errors}");
    assert!(errors.contains("PE 0 waits here, behind these"), "{errors}");
}

#[test]
fn a_message_of_another_type_is_one_error_for_all_cubes() {
    let text = "kernel @shape() {
  %id = pe_id : i32
  %zero = cmp eq %id, 0:i32 : i1
  if %zero {
    %x = splat 1.0 : tile<8xf32>
    send pe.east, %x
  } else {
    %g = recv pe.west : tile<4xf32>
    keep %g
  }
}\n";
    insta::assert_snapshot!(Launch::new(text).grid(Grid::cubes(8).pes(2)).run().errors(), @r#"
    error[TW-E0312]: recv expects tile<4xf32>, the matching send carries tile<8xf32>
    --> t.tir:8:5
     = note: tile<4xf32> expected here, by PE 1 in 8 cubes
     = note: t.tir:6:5: cube 0, PE 0 sends tile<8xf32> here
     = next: give both ends one type, and receive in the order of the sends
     = more: tilewright explain TW-E0312
    "#);
}

#[test]
fn ports_off_the_mesh_and_to_itself_are_errors_when_executed() {
    let send = |port: &str| format!("kernel @p() {{\n  %id = pe_id : i32\n  send {port}, %id\n}}\n");
    let codes = |port: &str, grid: Grid| Launch::new(&send(port)).grid(grid).run().codes();
    let cube = Grid::cubes(1).pes(8);
    for port in ["pe.north", "pe.south", "pe.east", "pe.west", "cube.north", "cube.east", "peer.8"] {
        assert_eq!(codes(port, cube).first(), Some(&"TW-E0306"), "{port}");
    }
    assert_eq!(codes("sip.east", cube), ["TW-E0307"]);
    assert_eq!(codes("peer.0", cube).first(), Some(&"TW-E0307"));
    assert_eq!(codes("pe.east", Grid::cubes(2)), ["TW-E0306"]);
    insta::assert_snapshot!(Launch::new(&send("pe.east")).grid(cube).run().errors(), @r#"
    error[TW-E0306]: `send pe.east, %id` leads off the mesh
    --> t.tir:3:3
     = note: no neighbour there for PEs 3, 7
     = note: the launch is 1 cubes x 8 PEs
     = next: guard the line with a condition on `pe_id()` or `cube_id()`
     = more: tilewright explain TW-E0306
    "#);
    // Not reached, not an error.
    let guarded = "kernel @p() {\n  %c = cmp lt 1:i32, 0:i32 : i1\n  if %c {\n    send pe.north, 1:i32\n  }\n}\n";
    assert_eq!(Launch::new(guarded).grid(cube).run().codes(), [""; 0]);
}

#[test]
fn every_kind_of_port_leads_to_its_neighbour() {
    // Each program that has a neighbour East sends its id there; peers send to the PE of the mirrored id.
    let text = "kernel @n(%y: view_mut<?xi32>) {
  %p = program_id : i32
  %cube = cube_id : i32
  %in = rem %cube, 6 : i32
  %col = rem %in, 4 : i32
  %five = cmp eq %in, 5:i32 : i1
  %three = cmp eq %col, 3:i32 : i1
  %edge = or %five, %three : i1
  %inner = not %edge : i1
  if %inner {
    send cube.east, %p
  }
  %left = cmp gt %col, 0:i32 : i1
  if %left {
    %g = recv cube.west : i32
    store %y[%p], %g
  }
  send sip.west, %p
  %h = recv sip.east : i32
  %q = add %p, 24 : i32
  store %y[%q], %h
  %id = pe_id : i32
  %zero = cmp eq %id, 0:i32 : i1
  if %zero {
    send peer.1, %p
  } else {
    %k = recv peer.0 : i32
    %r = add %p, 48 : i32
    store %y[%r], %k
  }
}\n";
    // Two SIPs of six cubes (rows of four, the last one short) of two PEs.
    let grid = Grid::cubes(6).pes(2).sips(2);
    for order in ORDERS {
        let y = Launch::new(text).output(&[72], vec![-1i32; 72]).grid(grid).order(order).run().get::<i32>(0);
        for p in 0..24 {
            let (cube, sip) = (p / 2 % 6, p / 12);
            let west = if cube % 4 > 0 { p - 2 } else { -1 };
            assert_eq!(y[p as usize], west, "west of {p}");
            assert_eq!(y[p as usize + 24], (p + 12) % 24, "the other SIP of {p}, in SIP {sip}");
            assert_eq!(y[p as usize + 48], if p % 2 == 1 { p - 1 } else { -1 });
        }
    }
}

fn barriers(lines: &str, grid: Grid) -> Launch {
    Launch::new(&format!("kernel @b() {{\n  %id = pe_id : i32\n  %cube = cube_id : i32\n{lines}}}\n")).grid(grid)
}

#[test]
fn barriers_match_by_count_and_a_missing_one_is_told() {
    let cube = Grid::cubes(2).pes(8);
    let both = "  %c = cmp lt %id, 3:i32 : i1\n  if %c {\n    barrier cube\n  } else {\n    barrier cube\n  }\n";
    for order in ORDERS {
        assert_eq!(barriers(both, cube).order(order).run().codes(), [""; 0], "two lines, one barrier");
    }
    let some = "  %c = cmp lt %id, 3:i32 : i1\n  if %c {\n    barrier cube\n  }\n";
    insta::assert_snapshot!(barriers(some, cube).run().errors(), @r#"
    error[TW-E0305]: a barrier that not all programs reach
    --> t.tir:6:5
     = note: PEs 0 to 2 in 2 cubes wait here
     = note: PEs 3 to 7 in 2 cubes ended without reaching it
     = next: let all programs of the scope pass the same number of barriers
     = more: tilewright explain TW-E0305
    "#);
    let counted = "  %n = add %id, 1 : i32\n  for %i in 0..%n {\n    barrier cube\n  }\n";
    assert_eq!(barriers(counted, cube).run().codes(), ["TW-E0305"]);
    let one_cube = "  %c = cmp eq %cube, 0:i32 : i1\n  if %c {\n    barrier launch\n  }\n";
    assert_eq!(barriers(one_cube, cube).run().codes(), ["TW-E0305"]);
    let crossed = "  %c = cmp eq %id, 0:i32 : i1\n  if %c {\n    barrier cube\n    barrier launch\n  } else {\n    barrier launch\n    barrier cube\n  }\n";
    assert_eq!(barriers(crossed, cube).run().codes(), ["TW-E0301"]);
}

#[test]
fn memory_written_before_a_barrier_is_read_after_it() {
    let text = "kernel @b(%x: view_mut<?xi32>, %y: view_mut<?xi32>) {
  %p = program_id : i32
  %n = num_programs : i32
  store %x[%p], %p
  barrier launch
  %q = add %p, 5 : i32
  %from = rem %q, %n : i32
  %v = load %x[%from] : i32
  store %y[%p], %v
}\n";
    for order in ORDERS {
        let launch = Launch::new(text).output(&[12], vec![-1i32; 12]).output(&[12], vec![-1i32; 12]);
        let y = launch.grid(Grid::cubes(3).pes(4)).order(order).run().get::<i32>(1);
        assert_eq!(y, (0..12).map(|p| (p + 5) % 12).collect::<Vec<_>>());
    }
}

#[test]
fn of_a_message_and_a_barrier_who_waits_for_the_message_comes_first() {
    let text = include_str!("../../../tests/tir/check/message_behind_barrier.tir");
    insta::assert_snapshot!(Launch::new(text).grid(Grid::cubes(1).pes(2)).run().errors(), @r#"
    error[TW-E0301]: deadlock: 2 programs wait for each other
    --> t.tir:10:5
     = note: PE 1 waits here for a message from PE 0 (pe.west)
     = note: t.tir:7:5: PE 0 waits here at a barrier of the launch
     = note: the cycle, each waits for the next: PE 1 -> PE 0 -> PE 1
     = next: send before the barrier what others receive before it
     = more: tilewright explain TW-E0301
    "#);
    let crossed = include_str!("../../../tests/tir/check/barriers_crossed.tir");
    let told = Launch::new(crossed).grid(Grid::cubes(1).pes(2)).run().errors();
    assert!(told.contains("next: let all programs pass the same barriers in the same order"), "{told}");
}
