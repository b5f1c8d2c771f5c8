//! Programs that send each other messages in several ways: through cubes, of several types, as much as fits and more, late, and
//! there and back.

use super::common::{Value, some};
use super::{How, TARGETS, emulator, how, interpreted, numbers, of_ring, on, ready, ring, same, schedules};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_cuda::Target;
use tilewright_cuda::launch::compile_for;

/// Along a row of cubes and down a column, by each PE with its own; inside the cubes too.
#[test]
fn cubes_pass_on_what_they_add_up_each_pe_to_its_own() {
    let tir = "kernel @cubes(%n: i32, %x: view<?xf16>, %y: view_mut<?xf16>) {
  %cube = cube_id : i32
  %id = program_id : i32
  %me = pe_id : i32
  %mine = mul %id, 48 : i32
  %t = load %x[%mine] : tile<48xf16>
  %col = rem %cube, 4 : i32
  %row = div %cube, 4 : i32
  %first = cmp gt %col, 0:i32 : i1
  %last = cmp lt %col, 3:i32 : i1
  %inner = cmp eq %me, 0:i32 : i1
  %sum = for %i in 0..%n carry (%s = %t) {
    %got = if %first {
      %g = recv cube.west : tile<48xf16>
      %a = add %g, %s : tile<48xf16>
      yield %a
    } else {
      yield %s
    }
    if %last {
      send cube.east, %got
    }
    yield %got
  }
  %low = cmp eq %row, 1:i32 : i1
  if %low {
    send cube.north, %sum
  } else {
    %up = recv cube.south : tile<48xf16>
    %all = add %sum, %up : tile<48xf16>
    if %inner {
      send pe.east, %all
      store %y[%mine], %all
    } else {
      %side = recv pe.west : tile<48xf16>
      %both = add %all, %side : tile<48xf16>
      store %y[%mine], %both
    }
  }
}
";
    let view = || Value::Tensor(some(ElemType::F16, &[48 * 16]));
    for depth in [1, 3, 4] {
        let how = How { grid: Grid::cubes(8).pes(2), threads: 64, depth };
        same(tir, how, &[Value::Scalar(5i32.into()), view(), view()]);
    }
}

/// A tile and a number go East, as often as data says, in an order that data says.
pub const MIXED: &str = "kernel @mixed(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %me = pe_id : i32
  %n = load %x[0] : i32
  %zero = cmp eq %me, 0:i32 : i1
  %at = add %me, 1 : i32
  %start = load %x[%at] : i32
  %t = splat %start : tile<40xi32>
  %sum = for %i in 0..%n carry (%s = %t) {
    %1 = add %i, %start : i32
    %2 = rem %1, 2 : i32
    %odd = cmp eq %2, 1:i32 : i1
    %next = if %zero {
      if %odd {
        send pe.east, %s
      } else {
        send pe.east, %1
      }
      yield %s
    } else {
      %got = if %odd {
        %g = recv pe.west : tile<40xi32>
        %a = add %s, %g : tile<40xi32>
        yield %a
      } else {
        %h = recv pe.west : i32
        %ht = splat %h : tile<40xi32>
        %b = add %s, %ht : tile<40xi32>
        yield %b
      }
      yield %got
    }
    yield %next
  }
  store %y[0], %sum
}
";

#[test]
fn messages_of_several_types_arrive_in_turn_and_one_of_another_type_than_expected_is_told() {
    let tir = MIXED.replace("  store %y[0], %sum\n", "  %row = mul %me, 40 : i32\n  store %y[%row], %sum\n");
    let view = || Value::Tensor(some(ElemType::I32, &[80]));
    for depth in [1, 2, 3] {
        let how = How { grid: Grid::cubes(1).pes(2), threads: 64, depth };
        same(&tir, how, &[numbers(&[7, 4, 4]), view()]);
        let args = [numbers(&[7, 4, 5]), view()];
        let wanted = interpreted(&tir, how, &args).errors.unwrap_or_default().to_string();
        assert!(wanted.starts_with("error[TW-E0312]: recv expects"), "{wanted}");
        for (target, schedule) in TARGETS.iter().flat_map(|target| schedules().map(move |s| (*target, s))) {
            let ran = on(&mut emulator(target, schedule), &tir, how, &args);
            assert_eq!(ran.errors.unwrap_or_default().to_string(), wanted, "{target}, {schedule:?}");
        }
    }
}

#[test]
fn programs_of_a_cluster_that_meet_read_what_the_others_wrote() {
    let tir = "kernel @meet(%x: view_mut<?xi32>, %y: view_mut<?xi32>) {
  %me = pe_id : i32
  %id = program_id : i32
  %pes = num_pes : i32
  %cube = cube_id : i32
  %mine = mul %id, 64 : i32
  %t = splat %id : tile<64xi32>
  %zero = cmp eq %me, 0:i32 : i1
  %next = rem %me, %pes : i32
  store %x[%mine], %t
  barrier cube
  %first = mul %cube, %pes : i32
  %1 = add %me, 1 : i32
  %2 = rem %1, %pes : i32
  %3 = add %first, %2 : i32
  %theirs = mul %3, 64 : i32
  %4 = load %x[%theirs] : tile<64xi32>
  %5 = if %zero {
    send peer.1, %4
    yield %4
  } else {
    %one = cmp eq %me, 1:i32 : i1
    %6 = if %one {
      %7 = recv peer.0 : tile<64xi32>
      %8 = add %7, %4 : tile<64xi32>
      yield %8
    } else {
      yield %4
    }
    yield %6
  }
  barrier cube
  store %x[%mine], %5
  barrier cube
  %9 = load %x[%theirs] : tile<64xi32>
  store %y[%mine], %9
}
";
    for pes in [2, 3, 8] {
        let view = || Value::Tensor(some(ElemType::I32, &[64 * 2 * pes]));
        same(tir, how(pes, 64, 4), &[view(), view()]);
    }
}

/// Two PEs exchange messages of 64 KiB, so many at a time: a queue has to hold those.
fn large(at_once: usize) -> String {
    let side = |port: &str, of: &str| {
        let mut lines = format!("      send pe.{port}, %a\n").repeat(at_once);
        for i in 0..at_once {
            let before = if i == 0 { "%b".to_string() } else { format!("%{of}{}", i - 1) };
            lines += &format!(
                "      %g{of}{i} = recv pe.{port} : tile<128x128xf32>
      %{of}{i} = add {before}, %g{of}{i} : tile<128x128xf32>
"
            );
        }
        format!("{lines}      yield %{of}{}\n", at_once - 1)
    };
    format!(
        "kernel @large(%x: view<?x?xf32>, %y: view_mut<?x?xf32>, %n: i32) {{
  %me = pe_id : i32
  %zero = cmp eq %me, 0:i32 : i1
  %row = mul %me, 128 : i32
  %a = load %x[%row, 0] : tile<128x128xf32>
  %s = for %i in 0..%n carry (%b = %a) {{
    %r = if %zero {{
{}    }} else {{
{}    }}
    yield %r
  }}
  store %y[%row, 0], %s
}}
",
        side("east", "c"),
        side("west", "d")
    )
}

#[test]
fn where_memory_is_short_a_queue_has_as_many_slots_as_suffice_or_lies_in_global_memory() {
    // Both directions have slots with each PE: eight do not fit, two do, six do not.
    for at_once in [1, 3] {
        let view = || Value::Tensor(some(ElemType::F32, &[256, 128]));
        let how = How { grid: Grid::cubes(1).pes(2), threads: 512, depth: 4 };
        let mut args = [view(), view(), Value::Scalar(2i32.into())];
        same(&large(at_once), how, &args);
        let made =
            compile_for(&ready(&large(at_once), how, &mut args), Target::Sm90a).unwrap_or_else(|e| panic!("{e}"));
        let said: Vec<String> = made.remarks.iter().filter(|r| r.pass == "queues").map(|r| r.text.clone()).collect();
        let wanted = if at_once == 1 { "has 1 slots for 4 messages" } else { "goes through global memory" };
        assert!(said.len() == 1 && said[0].starts_with(wanted), "{said:?}");
    }
}

/// As a ring of peers, each PE after turns that do nothing but add, as many as `%w` says for its turn.
pub fn delayed_ring(pes: usize) -> String {
    let wait = |pe: usize| {
        format!(
            "      %k{pe} = mul %i{pe}, {pes} : i32
      %d{pe} = add %k{pe}, {pe} : i32
      %w{pe} = load %w[%d{pe}] : i32
      %z{pe} = for %j{pe} in 0..%w{pe} carry (%c{pe} = %w{pe}) {{
        %e{pe} = mul %c{pe}, 5 : i32
        %f{pe} = add %e{pe}, %j{pe} : i32
        yield %f{pe}
      }}
      keep %z{pe}
      send peer."
        )
    };
    let mut tir = ring(pes).replace("%n: i32, ", "%n: i32, %w: view<?xi32>, ");
    for pe in 0..pes {
        let send = format!("      send peer.{}, %l{pe}\n", (pe + 1) % pes);
        tir = tir.replace(&send, &format!("{}{}, %l{pe}\n", wait(pe), (pe + 1) % pes));
    }
    tir
}
pub fn of_delayed_ring(pes: usize, n: i32, seed: u64, most: u64) -> [Value; 4] {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % most
    };
    let waits: Vec<i32> = (0..n as usize * pes).map(|_| next() as i32).collect();
    let [n, x, y] = of_ring(pes, n);
    [n, numbers(&waits), x, y]
}

#[test]
fn delays_change_nothing() {
    for (seed, depth) in [(1, 1), (2, 2), (3, 4)] {
        same(&delayed_ring(4), how(4, 64, depth), &of_delayed_ring(4, 5, seed, 40));
    }
}

/// There and back between two PEs, `%n` times, in a tile of so many words.
pub fn ping_pong(words: usize, port: &str) -> String {
    format!(
        "kernel @ping_pong(%n: i32, %x: view<?xf32>, %y: view_mut<?xf32>) {{
  %me = {id} : i32
  %zero = cmp eq %me, 0:i32 : i1
  %t = load %x[0] : tile<{words}xf32>
  if %zero {{
    %s = for %i in 0..%n carry (%a = %t) {{
      send {port}.east, %a
      %b = recv {port}.east : tile<{words}xf32>
      yield %b
    }}
    store %y[0], %s
  }} else {{
    for %j in 0..%n {{
      %c = recv {port}.west : tile<{words}xf32>
      send {port}.west, %c
    }}
  }}
}}
",
        id = if port == "pe" { "pe_id" } else { "cube_id" }
    )
}

#[test]
fn what_goes_there_and_back_is_what_was_sent() {
    for port in ["pe", "cube"] {
        let grid = if port == "pe" { Grid::cubes(1).pes(2) } else { Grid::cubes(2) };
        let view = || Value::Tensor(some(ElemType::F32, &[256]));
        same(&ping_pong(256, port), How { grid, threads: 64, depth: 2 }, &[Value::Scalar(3i32.into()), view(), view()]);
    }
}
