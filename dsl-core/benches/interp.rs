//! Speed of the reference interpreter: `cargo bench -p tilewright-core`. The decode kernel here leaves out the reduction
//! over the PEs of a cube, which moves some kilobytes.

use divan::Bencher;
use divan::counter::BytesCount;
use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::half::f16;
use tilewright_core::interp::{self, Options};
use tilewright_core::ir::Module;
use tilewright_core::ir::text::parse;
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;

fn main() {
    divan::main();
}

fn kernel(text: &str) -> Arc<Module> {
    Arc::new(parse(text, "bench.tir").unwrap_or_else(|e| panic!("{e}")))
}
/// Numbers between -1 and 1 without a pattern that the kernel could profit from.
fn noise(dims: &[usize], elem: tilewright_core::elem::ElemType) -> AnyTensor {
    let mut state = 0x9E37_79B9u32;
    let values = (0..dims.iter().product()).map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        f16::from_f32(state as i32 as f32 / i32::MAX as f32)
    });
    AnyTensor::new(elem, dims.to_vec(), Some(Data::F16(values.collect())), Placement::default())
}

/// With or without the check for races.
fn options(check_races: bool) -> Options {
    Options { check_races, ..Options::default() }
}

/// 64 query heads over 8 KV heads, 64 PEs: K and V of 64 Ki tokens are 128 MiB.
#[divan::bench(args = [8192, 65536], consts = [false, true], sample_count = 5)]
fn gqa_decode<const RACES: bool>(bencher: Bencher, tokens: usize) {
    let elem = tilewright_core::elem::ElemType::F16;
    let (heads, pes, d) = (8, 8, 64);
    let module = kernel(include_str!("decode.tir"));
    let (q, k, v) = (noise(&[heads, 8, d], elem), noise(&[heads, tokens, d], elem), noise(&[heads, tokens, d], elem));
    let mut o = noise(&[heads, 8, d], elem);
    let tiles = (tokens / pes / 1024) as i32;
    let config = LaunchConfig { grid: Grid::cubes(heads).pes(pes), ..LaunchConfig::default() };
    bencher.counter(BytesCount::new(2 * 2 * heads * tokens * d)).bench_local(|| {
        let args = vec![Arg::View(&q), Arg::View(&k), Arg::View(&v), Arg::ViewMut(&mut o), Arg::Scalar(tiles.into())];
        let ready = Ready { module: module.clone(), args, config };
        interp::run(ready, &options(RACES)).unwrap_or_else(|e| panic!("{e}"))
    });
}

/// The check at its dearest: nothing but loads and stores of a writable matrix, in tiles as narrow as given. What one
/// phase writes, the next reads transposed over the PEs.
#[divan::bench(args = [8, 64], consts = [false, true], sample_count = 5)]
fn stores<const RACES: bool>(bencher: Bencher, width: usize) {
    let (pes, n) = (8, 2048);
    let tile = format!("tile<{width}x{width}xf16>");
    let text = format!(
        "kernel @stores(%x: view_mut<?x?xf16>) {{
  %id = program_id : i32
  %v = splat 1.0 : {tile}
  for %i in 0..{rows} step {width} {{
    %k = mul %id, {rows} : i32
    %row = add %k, %i : i32
    for %j in 0..{n} step {width} {{
      store %x[%row, %j], %v
    }}
  }}
  barrier launch
  for %a in 0..{n} step {width} {{
    for %b in 0..{rows} step {width} {{
      %c = mul %id, {rows} : i32
      %col = add %c, %b : i32
      %t = load %x[%a, %col] : {tile}
      %u = add %t, %v : {tile}
      store %x[%a, %col], %u
    }}
  }}
}}
",
        rows = n / pes
    );
    let (module, mut x) = (kernel(&text), noise(&[n, n], tilewright_core::elem::ElemType::F16));
    let config = LaunchConfig { grid: Grid::cubes(1).pes(pes), ..LaunchConfig::default() };
    bencher.counter(BytesCount::new(3 * 2 * n * n)).bench_local(|| {
        let ready = Ready { module: module.clone(), args: vec![Arg::ViewMut(&mut x)], config };
        interp::run(ready, &options(RACES)).unwrap_or_else(|e| panic!("{e}"))
    });
}

/// Scalar ops a second: what a loop over addresses and conditions costs.
#[divan::bench(args = [1_000_000])]
fn scalar_loop(bencher: Bencher, turns: i32) {
    let module = kernel(
        "kernel @count(%n: i32) {
  %s = for %i in 0..%n carry (%a = 0:i32) {
    %x = mul %i, 3 : i32
    %y = xor %x, %a : i32
    yield %y
  }
  keep %s
}
",
    );
    bencher.bench_local(|| {
        let args = vec![Arg::Scalar(turns.into())];
        let ready = Ready { module: module.clone(), args, config: LaunchConfig::default() };
        interp::run(ready, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
    });
}
