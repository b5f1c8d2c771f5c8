//! Who waits in vain, leaves messages behind or sends to nobody is told, in the words of the interpreter; what cannot work on a
//! GPU is refused.

use super::common::{Value, some};
use super::{How, TARGETS, emulator, how, interpreted, numbers, on, schedules};
use insta::assert_snapshot;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_cuda::Target;
use tilewright_cuda::emulator::Schedule;

#[test]
fn more_programs_than_run_at_once_are_refused_where_messages_go_through_global_memory() {
    let tir = "kernel @pass(%y: view_mut<?xi32>) {
  %me = pe_id : i32
  %zero = cmp eq %me, 0:i32 : i1
  if %zero {
    send pe.east, %me
  } else {
    %g = recv pe.west : i32
    store inside %y[0], %g
  }
}
";
    let args = [Value::Tensor(some(ElemType::I32, &[1]))];
    let how = How { grid: Grid::cubes(300).pes(2), threads: 1024, depth: 4 };
    let told = on(&mut emulator(Target::Sm80, Schedule::InOrder), tir, how, &args).errors.unwrap_or_default();
    assert_snapshot!(told.to_string(), @r"
    error[TW-E0629]: 300 cubes x 2 PEs wait for each other, and the GPU runs 216 of these programs at once
    --> test.tir:5:5
     = note: they wait here
     = note: a program has 1024 threads
     = next: 216 programs or fewer, each with a larger share
     = more: tilewright explain TW-E0629
    ");
    // Clusters need not all be there.
    let ran = on(&mut emulator(Target::Sm90a, Schedule::InOrder), tir, how, &args);
    assert!(ran.errors.unwrap_or_default().0.iter().all(|d| d.code == "TW-E0660"), "two programs store to one place");
}

#[test]
fn a_message_to_another_sip_is_refused() {
    let tir = "kernel @far(%y: view_mut<?xi32>) {
  %me = cube_id : i32
  send sip.east, %me
  %g = recv sip.west : i32
  store inside %y[0], %g
}
";
    let args = [Value::Tensor(some(ElemType::I32, &[1]))];
    let how = How { grid: Grid::cubes(1).sips(2), threads: 32, depth: 4 };
    let told = on(&mut emulator(Target::Sm90a, Schedule::InOrder), tir, how, &args).errors.unwrap_or_default();
    assert_snapshot!(told.to_string(), @r"
    error[TW-E0610]: `sip.east` leads to another SIP, and a GPU has no link there
    --> test.tir:3:3
     = next: run the kernel with `--target sim` or `--target reference`
     = more: tilewright explain TW-E0610
    ");
}

/// `%x[0]` messages are sent East, `%x[1]` of them received there.
pub const UNEVEN: &str = "kernel @uneven(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %me = pe_id : i32
  %zero = cmp eq %me, 0:i32 : i1
  %one = cmp eq %me, 1:i32 : i1
  %t = splat %me : tile<64xi32>
  if %zero {
    %n = load %x[0] : i32
    for %i in 0..%n {
      send pe.east, %t
    }
  }
  if %one {
    %m = load %x[1] : i32
    %s = for %j in 0..%m carry (%a = %t) {
      %g = recv pe.west : tile<64xi32>
      %b = add %a, %g : tile<64xi32>
      yield %b
    }
    store %y[0], %s
  }
}
";
pub fn uneven(sent: i32, received: i32) -> String {
    let mut told = Vec::new();
    for (target, schedule) in TARGETS.iter().flat_map(|target| schedules().map(move |s| (*target, s))) {
        let args = [numbers(&[sent, received]), Value::Tensor(some(ElemType::I32, &[64]))];
        let grid = Grid::cubes(1).pes(4);
        let ran = on(&mut emulator(target, schedule), UNEVEN, How { grid, threads: 64, depth: 2 }, &args);
        told.push(ran.errors.unwrap_or_default().to_string());
    }
    assert!(told.iter().all(|text| *text == told[0]), "{told:#?}");
    told[0].clone()
}

#[test]
fn who_waits_in_vain_for_a_message_or_for_space_is_told_with_line_and_port() {
    assert_eq!(uneven(5, 5), "");
    assert_snapshot!(uneven(3, 4), @r"
    error[TW-E0302]: recv waits for a message that is never sent
    --> test.tir:15:7
     = note: PE 1 waits here for message 4 from PE 0
     = note: test.tir:9:7: PE 0 ended after 3 messages, the last sent here
     = note: on a GPU a program waits 2^34 cycles, about 9 s, before it gives up
     = next: make both ends agree on the number of messages
     = more: tilewright explain TW-E0302
    ");
    assert_snapshot!(uneven(5, 2), @r"
    error[TW-E0303]: send waits for space in a queue that nobody reads any more
    --> test.tir:9:7
     = note: PE 0 waits here, 2 messages are unread
     = note: test.tir:15:7: PE 1 ended after 2 messages, the last received here
     = note: on a GPU a program waits 2^34 cycles, about 9 s, before it gives up
     = next: receive as many messages as are sent
     = more: tilewright explain TW-E0303
    ");
}

#[test]
fn messages_that_data_leaves_in_a_queue_are_told_as_the_interpreter_does() {
    let args = [numbers(&[5, 4]), Value::Tensor(some(ElemType::I32, &[64]))];
    let how = How { grid: Grid::cubes(1).pes(4), threads: 64, depth: 2 };
    let wanted = interpreted(UNEVEN, how, &args).errors.unwrap_or_default().to_string();
    assert!(wanted.starts_with("error[TW-E0304]: 1 message is never received"), "{wanted}");
    assert_eq!(uneven(5, 4), wanted);
}

#[test]
fn a_port_off_the_mesh_that_data_leads_to_ends_its_program_with_the_interpreters_words() {
    let tir = "kernel @off(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %me = pe_id : i32
  %n = load %x[0] : i32
  %edge = cmp ge %me, %n : i1
  if %edge {
    send pe.east, %me
    %g = recv pe.east : i32
    keep %g
  }
  store %y[%me], %me
}
";
    let args = [numbers(&[3]), Value::Tensor(some(ElemType::I32, &[4]))];
    let how = How { grid: Grid::cubes(1).pes(4), threads: 64, depth: 2 };
    let wanted = interpreted(tir, how, &args).errors.unwrap_or_default().to_string();
    for (target, schedule) in TARGETS.iter().flat_map(|target| schedules().map(move |s| (*target, s))) {
        let ran = on(&mut emulator(target, schedule), tir, how, &args);
        assert_eq!(ran.errors.unwrap_or_default().to_string(), wanted);
    }
}

#[test]
fn messages_that_cannot_match_are_refused_before_the_launch() {
    let tir = "kernel @wrong(%y: view_mut<?xi32>) {
  %me = pe_id : i32
  %zero = cmp eq %me, 0:i32 : i1
  if %zero {
    send pe.east, %me
  } else {
    %g = recv pe.west : f32
    keep %g
  }
}
";
    let args = [Value::Tensor(some(ElemType::I32, &[2]))];
    let ran = on(&mut emulator(Target::Sm90a, Schedule::InOrder), tir, how(2, 64, 4), &args);
    assert!(ran.errors.unwrap_or_default().0.iter().all(|d| d.code == "TW-E0312"));
}
