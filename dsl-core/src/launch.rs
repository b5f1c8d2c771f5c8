//! A traced kernel with its arguments, ready for a backend; and what every backend is asked to do.

use crate::diag::Diagnostics;
use crate::ir::{Literal, Module};
use crate::tensor::AnyTensor;
use std::sync::Arc;

/// How many programs run: `sips x cubes x pes`. `cubes` is per SIP, `pes` per cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    pub sips: usize,
    pub cubes: usize,
    pub pes: usize,
}

impl Grid {
    /// So many cubes of one PE each.
    pub const fn cubes(cubes: usize) -> Grid {
        Grid { sips: 1, cubes, pes: 1 }
    }
    /// PEs per cube.
    pub const fn pes(self, pes: usize) -> Grid {
        Grid { pes, ..self }
    }
    /// SIPs, each with the same cubes.
    pub const fn sips(self, sips: usize) -> Grid {
        Grid { sips, ..self }
    }
    /// Cubes of the whole launch; `None` on overflow.
    pub fn num_cubes(&self) -> Option<usize> {
        self.sips.checked_mul(self.cubes)
    }
    /// Programs of the whole launch; `None` on overflow.
    pub fn num_programs(&self) -> Option<usize> {
        self.num_cubes()?.checked_mul(self.pes)
    }
}
impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.sips != 1 {
            write!(f, "{} SIPs x ", self.sips)?;
        }
        write!(f, "{} cubes x {} PEs", self.cubes, self.pes)
    }
}

/// Messages a queue holds before a send waits, where neither the launch nor a machine file says.
pub const DEFAULT_QUEUE_DEPTH: u32 = 4;

/// How a launch runs, apart from its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    pub grid: Grid,
    /// Messages per queue; `None`: the backend's choice, for AHBM the machine's `queue.depth`.
    pub queue_depth: Option<u32>,
    /// Threads per program on a GPU; `None`: the backend's choice.
    pub threads: Option<u32>,
    /// On a GPU: `a * b + c` may round once, and f32 functions are those of the hardware (`docs/gpu-math.md`).
    pub fast_math: bool,
}

impl Default for LaunchConfig {
    fn default() -> LaunchConfig {
        LaunchConfig { grid: Grid::cubes(1), queue_depth: None, threads: None, fast_math: false }
    }
}

/// One argument of a launch, in the order of the kernel's runtime parameters.
#[derive(Debug)]
pub enum Arg<'a> {
    View(&'a AnyTensor),
    ViewMut(&'a mut AnyTensor),
    Scalar(Literal),
}

/// A traced, verified kernel and everything a backend needs to run it.
#[derive(Debug)]
pub struct Ready<'a> {
    pub module: Arc<Module>,
    /// One per parameter of the module.
    pub args: Vec<Arg<'a>>,
    pub config: LaunchConfig,
}

/// Runs launches: the interpreter, the simulator, a GPU.
pub trait Backend {
    /// What a run tells besides the values in its tensors.
    type Report;
    /// Runs the launch to its end; results are in its `ViewMut` tensors.
    ///
    /// # Errors
    /// Everything that is wrong with the launch or went wrong in it, with the user's lines.
    fn execute(&mut self, launch: Ready<'_>) -> Result<Self::Report, Diagnostics>;
}
