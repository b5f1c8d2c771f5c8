//! Messages that do not meet, and barriers that not all come to.

use super::fault;
use insta::assert_snapshot;

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
