//! What one message takes from program to program: there and back many times in one launch, less a launch with few.

use crate::gpu::Bench;
use std::sync::Arc;
use std::time::Duration;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::text;
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_cuda::launch::Address;

/// Between whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Two PEs of a cube.
    Pe,
    /// Two cubes.
    Cube,
}

/// As errors of the kernel call it.
const FILE: &str = "hop.tir";
/// Turns of the launches that are compared.
const TURNS: (i32, i32) = (100, 20_100);
const RUNS: u32 = 5;

/// Two programs hand a tile of so many f32 to each other, `%n` times.
fn kernel(way: Way, elems: usize) -> String {
    let (port, id) = match way {
        Way::Pe => ("pe", "pe_id"),
        Way::Cube => ("cube", "cube_id"),
    };
    format!(
        "kernel @hop(%n: i32, %x: view<?xf32>, %y: view_mut<?xf32>) {{
  %me = {id} : i32
  %zero = cmp eq %me, 0:i32 : i1
  %t = load %x[0] : tile<{elems}xf32>
  if %zero {{
    %s = for %i in 0..%n carry (%a = %t) {{
      send {port}.east, %a
      %b = recv {port}.east : tile<{elems}xf32>
      yield %b
    }}
    store %y[0], %s
  }} else {{
    for %j in 0..%n {{
      %c = recv {port}.west : tile<{elems}xf32>
      send {port}.west, %c
    }}
  }}
}}
"
    )
}

/// One hop of a tile of `elems` f32, by programs of `threads`.
///
/// # Errors
/// A launch failed.
pub fn time(bench: &mut Bench, way: Way, elems: usize, threads: u32) -> Result<Duration, Diagnostics> {
    let tir = kernel(way, elems);
    let module = Arc::new(text::parse(&tir, FILE).map_err(|fault| fault.diagnostic(&tir, FILE))?);
    let grid = match way {
        Way::Pe => Grid::cubes(1).pes(2),
        Way::Cube => Grid::cubes(2),
    };
    let kept = bench.held();
    let mut best = |turns: i32| -> Result<Duration, Diagnostics> {
        let tensor = || AnyTensor::new(ElemType::F32, vec![elems], None, Placement::default());
        let (x, mut y) = (tensor(), tensor());
        let args = vec![Arg::Scalar(turns.into()), Arg::View(&x), Arg::ViewMut(&mut y)];
        let config = LaunchConfig { grid, threads: Some(threads), ..LaunchConfig::default() };
        let bytes = 4 * elems as u64;
        let views: Vec<Address> = (0..2).map(|_| bench.alloc(bytes)).collect::<Result<_, _>>()?;
        let queued = bench.ready(&Ready { module: module.clone(), args, config }, &views)?;
        let times = bench.times(RUNS, |stream| bench.queue(stream, &queued));
        bench.done(queued)?;
        Ok(times?[0])
    };
    let (few, many) = (best(TURNS.0)?, best(TURNS.1)?);
    bench.give_back(kept);
    Ok(many.saturating_sub(few) / (2 * (TURNS.1 - TURNS.0) as u32))
}
