//! The case on which the simulator's own speed is measured: published short-context decode on 64 PEs, as text.

use crate::engine::Wheel;
use crate::machine::Machine;
use crate::timing::{Limits, Operand, User, time_with};
use crate::units::Ps;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::text::parse;
use tilewright_core::ir::{Literal, Module};
use tilewright_core::launch::{Grid, LaunchConfig};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;

/// Decode of one KV head a cube (mode A1), as `tilewright ir` prints it.
const TEXT: &str = include_str!("../benches/decode.tir");
const FILE: &str = "backend-sim/benches/decode.tir";
/// KV heads, one a cube; and tokens, 8 tiles of 1024 for each PE.
const HEADS: usize = 8;
const TOKENS: usize = 65536;

/// The case, ready to run.
#[derive(Debug)]
pub struct BenchCase {
    module: Module,
    tensors: [AnyTensor; 4],
}

/// What a run of the case did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchRun {
    pub events: u64,
    /// Bytes of K and V that the kernel reads.
    pub kv_bytes: u64,
    pub event_hash: u64,
}

impl BenchCase {
    /// # Errors
    /// The text of the case does not parse.
    pub fn new() -> Result<BenchCase, Diagnostics> {
        let module = parse(TEXT, FILE).map_err(|fault| Diagnostics::from(fault.diagnostic(TEXT, FILE)))?;
        let heads = Placement::over_cubes(0, HEADS);
        let tokens = heads.clone().over_pes(&[(1, 8)]);
        let tensor = |len: usize, placement: &Placement| AnyTensor {
            elem: ElemType::F16,
            dims: vec![HEADS, len, 64],
            data: None,
            placement: placement.clone(),
        };
        let tensors = [tensor(8, &heads), tensor(TOKENS, &tokens), tensor(TOKENS, &tokens), tensor(8, &heads)];
        Ok(BenchCase { module, tensors })
    }
    /// Compiles and times the case.
    ///
    /// # Errors
    /// The machine is too small for it.
    pub fn run(&self, machine: &Machine) -> Result<BenchRun, Diagnostics> {
        let views = self.tensors.iter().map(Operand::View);
        let user = User {
            module: &self.module,
            args: views.chain([Operand::Scalar(Literal::from((TOKENS / 8 / 1024) as i32))]).collect(),
            config: LaunchConfig { grid: Grid::cubes(HEADS).pes(8), ..LaunchConfig::default() },
            first_cube: 0,
            start: Ps::ZERO,
            trace: None,
        };
        let timing = time_with::<Wheel>(machine, &[user], Limits::default())?;
        let kv_bytes = self.tensors[1..3].iter().map(|t| t.len() as u64 * t.elem.bytes()).sum();
        Ok(BenchRun { events: timing.events, kv_bytes, event_hash: timing.event_hash })
    }
}
