//! Loops without an end, and ranges that are none.

use super::fault;
use insta::assert_snapshot;

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
