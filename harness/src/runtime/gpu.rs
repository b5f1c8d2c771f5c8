//! Backends that run PTX: a device, the variants of kernels it has loaded, and what a run there tells.

use super::{Metric, fact};
use crate::cli::Facts;
use crate::target::{Arch, Target};
use std::fmt;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::Printed;
use tilewright_core::launch::Ready;
use tilewright_cuda::launch::{Device, Variants, execute};

/// A device with the kernels that were compiled for it.
pub struct Gpu<D: Device> {
    pub device: D,
    variants: Variants<D::Loaded>,
    /// Of the last launch.
    pub(super) prints: Vec<Printed>,
}

/// What a run on a device tells.
#[derive(Clone, Debug)]
pub struct GpuReport {
    pub target: Target,
    /// As the device calls itself.
    pub device: String,
    /// What the kernel was compiled for.
    pub arch: Arch,
    /// The lines that the kernel printed, program by program.
    pub prints: Vec<Printed>,
}

impl<D: Device> Gpu<D> {
    pub fn new(device: D) -> Gpu<D> {
        Gpu { device, variants: Variants::default(), prints: Vec::new() }
    }
    /// `NVIDIA H200, sm_90a`.
    pub(super) fn device_name(&self) -> String {
        format!("{}, {}", self.device.name(), self.device.target())
    }
    pub(super) fn execute(&mut self, target: Target, launch: Ready<'_>) -> Result<GpuReport, Diagnostics> {
        self.prints.clear();
        let outcome = execute(&mut self.device, &mut self.variants, launch)?;
        self.prints.clone_from(&outcome.prints);
        let prints = outcome.checked()?;
        let (device, arch) = (self.device.name(), self.device.target());
        Ok(GpuReport { target, device, arch, prints })
    }
}

impl GpuReport {
    pub(super) fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }
    pub(super) fn facts(&self) -> Facts {
        device_facts(self.target, &self.device, self.arch)
    }
}

/// What a result says of the device behind it.
pub(super) fn device_facts(target: Target, device: &str, arch: Arch) -> Facts {
    vec![fact("backend", target.name()), fact("device", device), fact("arch", arch.name())]
}

/// For the eye.
impl fmt::Display for GpuReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.target, self.device, self.arch)
    }
}

impl<D: Device> fmt::Debug for Gpu<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({})", self.device.name())
    }
}
