//! Where a kernel can run.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::fmt;

/// What a GPU's code is compiled for.
pub use tilewright_cuda::Target as Arch;

/// A backend by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The cycle model of the AHBM machine.
    Sim,
    /// The interpreter that defines every op: values, no time.
    Reference,
    /// An NVIDIA GPU.
    Cuda,
    /// A CPU interpreter for the PTX that the CUDA backend emits.
    PtxEmu,
}

impl Target {
    pub const ALL: [Target; 4] = [Target::Sim, Target::Reference, Target::Cuda, Target::PtxEmu];

    pub fn name(self) -> &'static str {
        match self {
            Target::Sim => "sim",
            Target::Reference => "reference",
            Target::Cuda => "cuda",
            Target::PtxEmu => "ptx-emu",
        }
    }
    fn about(self) -> &'static str {
        match self {
            Target::Sim => "the cycle model of the AHBM machine",
            Target::Reference => "the interpreter that defines every op",
            Target::Cuda => "an NVIDIA GPU, the first one that the driver shows",
            Target::PtxEmu => "the PTX that a GPU would run, on the CPU",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ValueEnum for Target {
    fn value_variants<'a>() -> &'a [Target] {
        &Target::ALL
    }
    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.about()))
    }
}
