//! Messages between programs: what the interpreter receives, in any order of blocks and of what lands, through queues of any
//! depth; a fault in the emitted protocol is caught; and who waits in vain, or sends to nobody, is told.

#[macro_use]
mod common;
#[path = "common/ptxas.rs"]
mod ptxas;

use common::{Ran, Value, bind, difference, parse, some, tensor, tensors};
use insta::assert_snapshot;
use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::interp::Interp;
use tilewright_core::launch::{Backend, Grid, LaunchConfig, Ready};
use tilewright_cuda::emulator::{Emulator, Loaded, Schedule};
use tilewright_cuda::launch::{Address, Ctas, Device, Variants, compile_for, execute};
use tilewright_cuda::{Compiled, Target};

/// How a launch runs.
#[derive(Clone, Copy, Debug)]
struct How {
    grid: Grid,
    threads: u32,
    depth: u32,
}
fn how(pes: usize, threads: u32, depth: u32) -> How {
    How { grid: Grid::cubes(2).pes(pes), threads, depth }
}
fn ready<'a>(tir: &str, how: How, values: &'a mut [Value]) -> Ready<'a> {
    let module = parse(tir);
    let config = LaunchConfig {
        grid: how.grid,
        queue_depth: Some(how.depth),
        threads: Some(how.threads),
        ..LaunchConfig::default()
    };
    Ready { module: module.clone(), args: bind(&module, values), config }
}
fn interpreted(tir: &str, how: How, args: &[Value]) -> Ran {
    let (mut values, mut interp) = (args.to_vec(), Interp::default());
    let errors = interp.execute(ready(tir, how, &mut values)).err();
    Ran { tensors: tensors(values), prints: interp.prints().to_vec(), errors }
}
fn on<D: Device>(device: &mut D, tir: &str, how: How, args: &[Value]) -> Ran {
    let mut values = args.to_vec();
    let (prints, errors) = match execute(device, &mut Variants::default(), ready(tir, how, &mut values)) {
        Ok(outcome) => (outcome.prints, outcome.errors.finish().err()),
        Err(e) => (Vec::new(), Some(e)),
    };
    Ran { tensors: tensors(values), prints, errors }
}
fn schedules() -> impl Iterator<Item = Schedule> {
    std::iter::once(Schedule::InOrder).chain((1..4).map(Schedule::Random))
}
fn emulator(target: Target, schedule: Schedule) -> Emulator {
    let mut device = Emulator::new(target);
    device.limits.schedule = schedule;
    device
}
/// With clusters, and through global memory.
const TARGETS: [Target; 2] = [Target::Sm90a, Target::Sm80];

/// The interpreter's values, on every target and in every order.
fn same(tir: &str, how: How, args: &[Value]) {
    let wanted = interpreted(tir, how, args);
    assert!(wanted.errors.is_none(), "{:?}", wanted.errors);
    for (target, schedule) in TARGETS.iter().flat_map(|target| schedules().map(move |s| (*target, s))) {
        let ran = on(&mut emulator(target, schedule), tir, how, args);
        assert!(ran.errors.is_none(), "{target}, {how:?}, {schedule:?}: {}\n{tir}", ran.errors.unwrap_or_default());
        for (a, b) in wanted.tensors.iter().zip(&ran.tensors) {
            assert_eq!(difference(a, b, 0), None, "{target}, {how:?}, {schedule:?}\n{tir}");
        }
    }
}

/// Every PE of a cube sends a tile to the next and adds what it gets from the one before, `%n` times.
fn ring(pes: usize) -> String {
    let one = |pe: usize| {
        let (next, before) = ((pe + 1) % pes, (pe + pes - 1) % pes);
        format!(
            "  %at{pe} = cmp eq %me, {pe}:i32 : i1
  if %at{pe} {{
    %sum{pe}, %last{pe} = for %i{pe} in 0..%n carry (%s{pe} = %mine, %l{pe} = %mine) {{
      send peer.{next}, %l{pe}
      %g{pe} = recv peer.{before} : tile<64xi32>
      %a{pe} = add %s{pe}, %g{pe} : tile<64xi32>
      yield %a{pe}, %g{pe}
    }}
    store %y[%from], %sum{pe}
  }}
"
        )
    };
    let all: String = (0..pes).map(one).collect();
    format!(
        "kernel @ring(%n: i32, %x: view<?xi32>, %y: view_mut<?xi32>) {{
  %me = pe_id : i32
  %id = program_id : i32
  %from = mul %id, 64 : i32
  %mine = load %x[%from] : tile<64xi32>
{all}}}
"
    )
}
fn of_ring(pes: usize, n: i32) -> [Value; 3] {
    let view = || Value::Tensor(some(ElemType::I32, &[64 * 2 * pes]));
    [Value::Scalar(n.into()), view(), view()]
}

#[test]
fn a_ring_of_peers_adds_the_same_with_any_number_of_slots() {
    for (pes, threads, depth) in [(2, 64, 1), (4, 32, 2), (8, 64, 3), (5, 128, 4), (8, 32, 5)] {
        same(&ring(pes), how(pes, threads, depth), &of_ring(pes, 7));
    }
}

#[test]
fn messages_of_every_element_arrive_as_they_were_sent() {
    for elem in ElemType::ALL.iter().copied() {
        for (dims, tile) in [(vec![37], "37x"), (vec![3, 40], "3x40x"), (vec![64, 32], "64x32x")] {
            let (t, at) = (format!("tile<{tile}{elem}>"), if dims.len() > 1 { "0, 0" } else { "0" });
            let rank = if dims.len() > 1 { "?x?x" } else { "?x" };
            let tir = format!(
                "kernel @pass(%x: view<{rank}{elem}>, %y: view_mut<{rank}{elem}>) {{
  %me = pe_id : i32
  %zero = cmp eq %me, 0:i32 : i1
  if %zero {{
    %a = load %x[{at}] : {t}
    %one = load %x[{at}] : {elem}
    send pe.east, %a
    send pe.east, %one
  }} else {{
    %b = recv pe.west : {t}
    %two = recv pe.west : {elem}
    %cube = cube_id : i32
    %first = cmp eq %cube, 0:i32 : i1
    if %first {{
      store %y[{at}], %b
      store %y[{at}], %two
    }}
  }}
}}
"
            );
            let view = || Value::Tensor(some(elem, &dims));
            let mut blank = some(elem, &dims);
            blank.data = Some(Data::zeros(elem, dims.iter().product()));
            same(&tir, how(2, 64, 4), &[view(), Value::Tensor(blank)]);
        }
    }
}

#[test]
fn programs_that_have_met_are_no_barrier_for_what_their_threads_did_since_they_came() {
    let tir = "kernel @k(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {
  %pe = pe_id : i32
  %0 = load %x[0, 0] : tile<64x64xf32>
  %1 = trans %0 : tile<64x64xf32>
  %2 = add %1, %1 : tile<64x64xf32>
  %at = mul %pe, 64 : i32
  %first = cmp eq %pe, 0:i32 : i1
  %all = if %first {
    send peer.1, %2
    %3 = trans %2 : tile<64x64xf32>
    yield %3
  } else {
    %4 = recv peer.0 : tile<64x64xf32>
    %5 = trans %4 : tile<64x64xf32>
    yield %5
  }
  store %y[%at, 0], %all
}
";
    let args = || [some(ElemType::F32, &[64, 64]), some(ElemType::F32, &[128, 64])].map(Value::Tensor);
    same(tir, How { grid: Grid::cubes(1).pes(2), threads: 128, depth: 1 }, &args());
}

#[test]
fn both_ends_hold_a_tile_in_layouts_of_their_own() {
    // The sender's follows a load of rows, the receiver's a transpose; the sum over rows makes another.
    let tir = "kernel @turned(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {
  %me = pe_id : i32
  %zero = cmp eq %me, 0:i32 : i1
  if %zero {
    %a = load %x[0, 0] : tile<16x64xf32>
    %s = reduce_sum %a axis 1 : tile<16xf32>
    send peer.1, %a
    send peer.1, %s
  } else {
    %b = recv peer.0 : tile<16x64xf32>
    %t = recv peer.0 : tile<16xf32>
    %tr = trans %b : tile<64x16xf32>
    %r = broadcast %t axis 0 : tile<64x16xf32>
    %sum = add %tr, %r : tile<64x16xf32>
    store %y[0, 0], %sum
  }
}
";
    let args = [Value::Tensor(some(ElemType::F32, &[16, 64])), Value::Tensor(some(ElemType::F32, &[64, 16]))];
    let grid = Grid::cubes(1).pes(2);
    same(tir, How { grid, threads: 128, depth: 2 }, &args);
}

/// How often data says, messages go East, in a loop around an `if`; the others come back.
const BY_DATA: &str = "kernel @by_data(%x: view<?xi32>, %y: view_mut<?xi32>) {
  %me = pe_id : i32
  %n = load %x[0] : i32
  %zero = cmp eq %me, 0:i32 : i1
  %sum = for %i in 0..%n carry (%s = 0:i32) {
    %at = add %i, 1 : i32
    %v = load %x[%at] : i32
    %east = cmp gt %v, 0:i32 : i1
    %got = if %zero {
      %back = if %east {
        send pe.east, %v
        yield %s
      } else {
        %r = recv pe.east : i32
        %m = mul %s, 3 : i32
        %a = add %m, %r : i32
        yield %a
      }
      yield %back
    } else {
      %there = if %east {
        %r2 = recv pe.west : i32
        %m2 = mul %s, 5 : i32
        %a2 = add %m2, %r2 : i32
        yield %a2
      } else {
        send pe.west, %i
        yield %s
      }
      yield %there
    }
    yield %got
  }
  store %y[%me], %sum
}
";
fn numbers(numbers: &[i32]) -> Value {
    let mut data = Data::zeros(ElemType::I32, numbers.len());
    numbers.iter().enumerate().for_each(|(i, n)| data.set(i, (*n).into()));
    Value::Tensor(tensor(ElemType::I32, &[numbers.len()], data))
}

#[test]
fn counts_are_right_whatever_way_data_takes_a_program() {
    let x = numbers(&[14, 3, -1, 4, 1, 5, -9, 2, -6, -5, -3, -5, 8, 9, 7]);
    for depth in [1, 2, 3] {
        let grid = Grid::cubes(1).pes(2);
        same(BY_DATA, How { grid, threads: 64, depth }, &[x.clone(), numbers(&[0, 0])]);
    }
}

/// The emulator, with a change to the text of each kernel.
struct Changed<'c> {
    emulator: Emulator,
    change: &'c dyn Fn(&str) -> String,
}
impl Device for Changed<'_> {
    as_the_emulator_does!();
    fn load(&mut self, compiled: Arc<Compiled>) -> Result<Loaded, Diagnostics> {
        let mut compiled = (*compiled).clone();
        let changed = (self.change)(&compiled.printed.text);
        assert_ne!(changed, compiled.printed.text, "nothing changes");
        compiled.printed.text = changed;
        self.emulator.load(Arc::new(compiled))
    }
    fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        self.emulator.alloc(bytes)
    }
}
/// The vote of a barrier, without the barrier.
fn without_barrier(line: &str) -> String {
    let to = line.trim().trim_start_matches("bar.red.or.pred ").split(',').next().unwrap_or_default();
    format!("    setp.ne.u32 {to}, 0, 0;")
}
/// Lines with a word, changed.
fn lines(text: &str, word: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| if line.contains(word) { change(line) } else { line.to_string() } + "\n").collect()
}

#[test]
fn planted_faults_in_the_protocol_of_a_cluster_are_caught_in_any_order() {
    type Change = (&'static str, fn(&str) -> String, &'static [&'static str]);
    let dropped: fn(&str) -> String = |_| String::new();
    let planted: [Change; 5] = [
        // Nobody says that a slot is free; nobody says how many bytes come.
        ("mbarrier.arrive.shared::cluster", dropped, &["TW-E0303", "TW-E0301"]),
        ("mbarrier.arrive.expect_tx", dropped, &["TW-E0301", "TW-E0302", "TW-E0660"]),
        // The parity of the other phase, to send and to receive.
        ("mbarrier.try_wait", |line| format!("{}0;", &line[..line.rfind('%').unwrap_or(0)]), &["TW-E0660", "TW-E030"]),
        // A slot is given back before it is read.
        ("bar.red.or.pred", without_barrier, &["TW-E0660"]),
        // The others may not have begun.
        ("barrier.cluster.wait", dropped, &["TW-E0660"]),
    ];
    for (word, change, codes) in planted {
        for schedule in schedules() {
            let change = |text: &str| lines(text, word, change);
            let mut device = Changed { emulator: emulator(Target::Sm90a, schedule), change: &change };
            let ran = on(&mut device, &ring(4), how(4, 128, 2), &of_ring(4, 9));
            let told = ran.errors.unwrap_or_else(|| panic!("{word} is not caught, {schedule:?}"));
            let caught = told.0.iter().any(|d| codes.iter().any(|code| d.code.starts_with(code)));
            assert!(caught, "{word}, {schedule:?}: {told}");
        }
    }
}

#[test]
fn planted_faults_in_the_protocol_through_global_memory_are_caught_in_any_order() {
    type Change = (&'static str, fn(&str) -> String, &'static [&'static str]);
    let planted: [Change; 5] = [
        // Nobody tells that a message is there, or that it is read.
        ("st.release.gpu", |_| String::new(), &["TW-E0301", "TW-E0302", "TW-E0303"]),
        // What was written is not published, or not learnt.
        ("st.release.gpu", |line| line.replace("st.release", "st.relaxed"), &["TW-E0660"]),
        ("ld.acquire.gpu", |line| line.replace("ld.acquire", "ld.relaxed"), &["TW-E0660"]),
        // The first thread tells before the others have written or read.
        ("bar.sync 0;", |_| String::new(), &["TW-E0660"]),
        // The others go on before it has waited.
        ("bar.red.or.pred", without_barrier, &["TW-E0660"]),
    ];
    for (word, change, codes) in planted {
        for schedule in schedules() {
            let change = |text: &str| lines(text, word, change);
            let mut device = Changed { emulator: emulator(Target::Sm80, schedule), change: &change };
            let ran = on(&mut device, &ring(4), how(4, 128, 2), &of_ring(4, 9));
            let told = ran.errors.unwrap_or_else(|| panic!("{word} is not caught, {schedule:?}"));
            assert!(told.0.iter().any(|d| codes.contains(&d.code)), "{word}, {schedule:?}: {told}");
        }
    }
}

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

#[test]
fn ptxas_takes_what_is_emitted_for_messages() {
    let (tiles, pes) = (some(ElemType::I32, &[64 * 16]), Grid::cubes(2).pes(8));
    let tile = || Value::Tensor(tiles.clone());
    let cases = [
        (ring(8), vec![Value::Scalar(3i32.into()), tile(), tile()]),
        (MIXED.to_string(), vec![tile(), tile()]),
        (UNEVEN.to_string(), vec![tile(), tile()]),
        (BY_DATA.to_string(), vec![tile(), tile()]),
        (ping_pong(64, "cube"), vec![Value::Scalar(3i32.into()), floats(), floats()]),
    ];
    for target in Target::ALL {
        let text = |(tir, args): &(String, Vec<Value>)| {
            let grid = if tir.contains("cube.east") { Grid::cubes(2) } else { pes };
            let how = How { grid, threads: 64, depth: 3 };
            let mut args = args.clone();
            let made = compile_for(&ready(tir, how, &mut args), target).unwrap_or_else(|e| panic!("{e}"));
            made.printed.text
        };
        match ptxas::assemble(target, &cases.iter().map(text).collect::<Vec<_>>()) {
            ptxas::Assembled::Right => {}
            ptxas::Assembled::Skipped(why) => common::skipped(&why),
            ptxas::Assembled::Wrong(said) => panic!("{said}"),
        }
    }
}
fn floats() -> Value {
    Value::Tensor(some(ElemType::F32, &[64]))
}

/// `%x[0]` messages are sent East, `%x[1]` of them received there.
const UNEVEN: &str = "kernel @uneven(%x: view<?xi32>, %y: view_mut<?xi32>) {
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
fn uneven(sent: i32, received: i32) -> String {
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

/// A tile and a number go East, as often as data says, in an order that data says.
const MIXED: &str = "kernel @mixed(%x: view<?xi32>, %y: view_mut<?xi32>) {
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
fn delayed_ring(pes: usize) -> String {
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
fn of_delayed_ring(pes: usize, n: i32, seed: u64, most: u64) -> [Value; 4] {
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
fn ping_pong(words: usize, port: &str) -> String {
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

/// On a GPU: the interpreter's values, launch after launch, each with other delays; the words of who waits in vain; and what
/// a hop takes, for the eye.
#[cfg(feature = "cuda")]
#[test]
fn on_a_gpu_messages_arrive_as_on_the_emulator() {
    use std::io::Write;
    use std::time::Instant;
    let Some(mut gpu) = common::gpu("messages between programs on a GPU") else { return };
    let tell = |line: String| drop(writeln!(std::io::stdout(), "\n{line}"));
    for (pes, threads, depth) in [(2, 64, 1), (4, 128, 2), (8, 256, 3), (5, 128, 4), (8, 32, 5)] {
        let (tir, how) = (ring(pes), How { grid: Grid::cubes(16).pes(pes), threads, depth });
        let view = || Value::Tensor(some(ElemType::I32, &[64 * 16 * pes]));
        let args = [Value::Scalar(50i32.into()), view(), view()];
        let (wanted, ran) = (interpreted(&tir, how, &args), on(&mut gpu, &tir, how, &args));
        assert!(ran.errors.is_none(), "{how:?}: {}", ran.errors.unwrap_or_default());
        assert_eq!(difference(&wanted.tensors[1], &ran.tensors[1], 0), None, "{how:?}");
    }
    let (tir, mut variants) = (delayed_ring(8), Variants::default());
    let module = parse(&tir);
    let how = How { grid: Grid::cubes(2).pes(8), threads: 64, depth: 2 };
    let wanted = interpreted(&tir, how, &of_delayed_ring(8, 12, 0, 1));
    for seed in 0..1000 {
        let mut values = of_delayed_ring(8, 12, seed, 2000).to_vec();
        let ready = Ready { module: module.clone(), ..ready(&tir, how, &mut values) };
        let ran = execute(&mut gpu, &mut variants, ready).and_then(|outcome| outcome.errors.finish());
        assert!(ran.is_ok(), "{seed}: {ran:?}");
        assert_eq!(difference(&wanted.tensors[2], &tensors(values)[2], 0), None, "{seed}");
    }
    tell("1000 launches of a ring with random delays gave the same bits".to_string());
    for (sent, received) in [(3, 4), (5, 2), (5, 4)] {
        let args = [numbers(&[sent, received]), Value::Tensor(some(ElemType::I32, &[64]))];
        let how = How { grid: Grid::cubes(1).pes(4), threads: 64, depth: 2 };
        let ran = on(&mut gpu, UNEVEN, how, &args).errors.unwrap_or_default().to_string();
        assert_eq!(ran, uneven(sent, received));
    }
    for (port, words, threads) in
        [("pe", 32, 32), ("pe", 256, 64), ("pe", 1024, 128), ("pe", 4096, 256), ("cube", 32, 32), ("cube", 1024, 128)]
    {
        let grid = if port == "pe" { Grid::cubes(1).pes(2) } else { Grid::cubes(2) };
        let (tir, how) = (ping_pong(words, port), How { grid, threads, depth: 2 });
        let (module, mut variants) = (parse(&tir), Variants::default());
        let mut took = |n: i32| {
            let view = || Value::Tensor(some(ElemType::F32, &[words]));
            let mut values = vec![Value::Scalar(n.into()), view(), view()];
            let ready = Ready { module: module.clone(), ..ready(&tir, how, &mut values) };
            let start = Instant::now();
            let ran = execute(&mut gpu, &mut variants, ready).and_then(|outcome| outcome.errors.finish());
            assert!(ran.is_ok(), "{ran:?}");
            start.elapsed()
        };
        took(100);
        let hops = 2 * 20_000;
        let best =
            |took: &mut dyn FnMut(i32) -> std::time::Duration, n| (0..5).map(|_| took(n)).min().unwrap_or_default();
        let (short, long) = (best(&mut took, 100), best(&mut took, 20_100));
        let each = long.saturating_sub(short).as_nanos() / hops;
        tell(format!("{port}: {each} ns a hop of {} bytes, {threads} threads", 4 * words));
    }
}
