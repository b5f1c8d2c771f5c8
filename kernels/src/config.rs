//! Comptime configurations: what a kernel is specialised to where it will run. A flag overrides; every result says which one it was.

use tilewright::registry::Target;

/// One configuration per kind of machine.
#[derive(Clone, Copy, Debug)]
pub struct Configs<C> {
    /// The memory-centric accelerator; also what the reference interpreter runs.
    pub ahbm: C,
    /// NVIDIA GPUs from compute capability 8.0 on, without Hopper's instructions.
    pub sm_80: C,
    /// NVIDIA Hopper.
    pub sm_90a: C,
}

impl<C> Configs<C> {
    /// The configuration for a target, with its name.
    pub fn on(&self, target: Target) -> (&'static str, &C) {
        match target {
            Target::Sim | Target::Reference => ("ahbm", &self.ahbm),
            Target::PtxEmu => ("sm_80", &self.sm_80),
            Target::Cuda => ("sm_90a", &self.sm_90a),
        }
    }
}
