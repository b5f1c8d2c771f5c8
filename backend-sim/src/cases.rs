//! The case on which the simulator's own speed is measured: published short-context decode with one KV head a cube (mode
//! A1) on 64 PEs, as text. Not here: the kernel that users run (`kernels`).

use crate::machine::Machine;
use crate::timing::{Limits, Operand, Timing, User, time};
use crate::units::Ps;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::text::parse;
use tilewright_core::ir::{Literal, Module};
use tilewright_core::launch::{Grid, LaunchConfig};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;

const TEXT: &str = include_str!("../benches/decode.tir");
const FILE: &str = "backend-sim/benches/decode.tir";
/// KV heads, one a cube; PEs of a cube, which share a head's tokens; tokens of a tile.
const HEADS: usize = 8;
const PES: usize = 8;
const TILE: usize = 1024;

/// Decode of so many tokens.
#[derive(Debug)]
pub struct Decode {
    module: Module,
    tensors: [AnyTensor; 4],
    tiles: i32,
}

impl Decode {
    /// Whole tiles on each PE: `tokens` is cut down to a multiple of 8192, of which it holds at least one.
    ///
    /// # Errors
    /// The text of the case does not parse.
    pub fn new(tokens: usize) -> Result<Decode, Diagnostics> {
        let module = parse(TEXT, FILE).map_err(|fault| Diagnostics::from(fault.diagnostic(TEXT, FILE)))?;
        let tiles = (tokens / PES / TILE).max(1);
        let heads = Placement::over_cubes(0, HEADS);
        let shared = heads.clone().over_pes(&[(1, PES)]);
        let tensor = |len: usize, placement: &Placement| {
            AnyTensor::new(ElemType::F16, vec![HEADS, len, 64], None, placement.clone())
        };
        let tokens = tiles * PES * TILE;
        let tensors = [tensor(8, &heads), tensor(tokens, &shared), tensor(tokens, &shared), tensor(8, &heads)];
        Ok(Decode { module, tensors, tiles: tiles as i32 })
    }
    /// Compiles and times it.
    ///
    /// # Errors
    /// The machine is too small for it.
    pub fn time(&self, machine: &Machine) -> Result<Timing, Diagnostics> {
        let views = self.tensors.iter().map(Operand::View);
        let user = User {
            module: &self.module,
            args: views.chain([Operand::Scalar(Literal::from(self.tiles))]).collect(),
            config: LaunchConfig { grid: Grid::cubes(HEADS).pes(PES), ..LaunchConfig::default() },
            first_cube: 0,
            start: Ps::ZERO,
            trace: None,
        };
        time(machine, &[user], Limits::default())
    }
    /// Bytes of K and V that the kernel reads.
    pub fn kv_bytes(&self) -> u64 {
        self.tensors[1..3].iter().map(|t| t.len() as u64 * t.elem.bytes()).sum()
    }
}

/// What a run of the bench case did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchRun {
    pub events: u64,
    /// Bytes of K and V that the kernel reads.
    pub kv_bytes: u64,
    /// The event hash.
    pub hash: u64,
}

/// The case that `tilewright bench sim` times: 65536 tokens.
///
/// # Errors
/// As `Decode`.
pub fn bench_case(machine: &Machine) -> Result<BenchRun, Diagnostics> {
    let decode = Decode::new(65536)?;
    let timing = decode.time(machine)?;
    Ok(BenchRun { events: timing.events, kv_bytes: decode.kv_bytes(), hash: timing.event_hash })
}
