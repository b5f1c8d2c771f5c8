//! Messages between programs: what the interpreter receives, in any order of blocks and of what lands, through queues of any
//! depth. `queues/traffic.rs`: programs that send in other ways. `queues/scattered.rs`: rows to their owners. `queues/planted.rs`: a fault in the emitted protocol is
//! caught. `queues/told.rs`: who waits in vain, or sends to nobody, is told. `queues/on_gpu.rs`: the same on a GPU.

#[macro_use]
mod common;
#[cfg(feature = "cuda")]
#[path = "queues/on_gpu.rs"]
mod on_gpu;
#[path = "queues/planted.rs"]
mod planted;
#[path = "common/ptxas.rs"]
mod ptxas;
#[path = "queues/scattered.rs"]
mod scattered;
#[path = "queues/told.rs"]
mod told;
#[path = "queues/traffic.rs"]
mod traffic;

use common::{Ran, Value, bind, difference, parse, some, tensor, tensors};
use scattered::scattered;
use tilewright_core::data::Data;
use tilewright_core::elem::ElemType;
use tilewright_core::interp::Interp;
use tilewright_core::launch::{Backend, Grid, LaunchConfig, Ready};
use tilewright_cuda::Target;
use tilewright_cuda::emulator::{Emulator, Schedule};
use tilewright_cuda::launch::{Device, Variants, compile_for, execute};
use told::UNEVEN;
use traffic::{MIXED, ping_pong};

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

#[test]
fn ptxas_takes_what_is_emitted_for_messages() {
    let (tiles, pes) = (some(ElemType::I32, &[64 * 16]), Grid::cubes(2).pes(8));
    let tile = || Value::Tensor(tiles.clone());
    let cases = [
        (ring(8), vec![Value::Scalar(3i32.into()), tile(), tile()]),
        (MIXED.to_string(), vec![tile(), tile()]),
        (UNEVEN.to_string(), vec![tile(), tile()]),
        (BY_DATA.to_string(), vec![tile(), tile()]),
        (
            scattered(8, 64, ElemType::I32),
            [vec![64 * 16, 8], vec![16, 64], vec![16]].map(|dims| Value::Tensor(some(ElemType::I32, &dims))).to_vec(),
        ),
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
