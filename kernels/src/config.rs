//! Comptime configurations: what a kernel is specialised to where it will run. A flag overrides; every result says which one it was.

use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Arch, Limits, Settings, Target};

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
    /// The configuration for where a kernel will run, with its name.
    pub fn on(&self, limits: &Limits) -> (&'static str, &C) {
        match limits.arch {
            None => ("ahbm", &self.ahbm),
            Some(Arch::Sm80) => ("sm_80", &self.sm_80),
            Some(Arch::Sm90a) => ("sm_90a", &self.sm_90a),
        }
    }
}

/// An integer parameter whose 0 leaves the choice to the configuration: `None`.
pub fn chosen(s: &Settings, name: &str) -> Result<Option<usize>, Diagnostics> {
    Ok(Some(s.integer(name)?).filter(|n| *n != 0))
}

/// A parameter whose `auto` leaves the choice to the configuration: `None`.
pub fn picked<T: Copy>(
    s: &Settings,
    name: &str,
    options: impl IntoIterator<Item = (&'static str, T)>,
) -> Result<Option<T>, Diagnostics> {
    let options = options.into_iter().map(|(name, value)| (name, Some(value)));
    s.pick(name, &[("auto", None)].into_iter().chain(options).collect::<Vec<_>>())
}

/// How the work of a kernel without messages is shared out on a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Bytes of a piece of work that each thread holds.
    pub bytes_per_thread: usize,
    /// Programs at most: above that each takes several pieces, one after the other.
    pub most: usize,
}

/// Programs that a launch can have.
pub const ANY_NUMBER: usize = 1 << 30;
/// SMs of the GPU that limits of programs are made for (H200); on others they still hold values and speed, less well.
pub const SMS: usize = 132;

impl Share {
    /// The launch of so many pieces of so many bytes: on a GPU as this says, elsewhere over the PEs of one cube.
    pub fn launch<'a>(&self, launch: Launch<'a>, target: Target, pieces: usize, bytes: usize) -> Launch<'a> {
        match target {
            Target::Sim | Target::Reference => launch.grid(Grid::cubes(1).pes(8)),
            Target::Cuda | Target::PtxEmu => {
                let threads = bytes.div_ceil(self.bytes_per_thread).next_power_of_two().clamp(32, 1024);
                launch.grid(Grid::cubes(pieces.clamp(1, self.most))).threads(threads as u32)
            }
        }
    }
}
