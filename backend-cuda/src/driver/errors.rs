//! The texts of the driver's errors. Pure: from facts to diagnostics.

use super::codes::{
    CONTEXT_LOST, DEVICE_TOO_OLD, DRIVER_TOO_OLD, KERNEL_FAILED, LAUNCH_REFUSED, NO_DEVICE, NO_DRIVER, ORDINAL, OTHER,
    OUT_OF_MEMORY,
};
use super::fault::{Fault, Kind};
use super::raw::Shape;
use crate::compile::Compiled;
use std::fmt;
use std::sync::Arc;
use tilewright_core::diag::Diagnostic;
use tilewright_core::ir::LocId;

/// A launch, as errors speak of it.
#[derive(Clone, Debug)]
pub struct Launched {
    pub kernel: Arc<Compiled>,
    pub shape: Shape,
}
impl fmt::Display for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { blocks, threads, shared_bytes, .. } = self.shape;
        let plural = if blocks == 1 { "" } else { "s" };
        write!(f, "`{}`: {blocks} block{plural} x {threads} threads", self.kernel.module.name)?;
        if shared_bytes > 0 { write!(f, ", {shared_bytes} bytes of shared memory a block") } else { Ok(()) }
    }
}

/// CUDA that the calls of `raw` need, whatever the kernel.
pub const MIN_DRIVER: (u32, u32) = (12, 0);

/// The first CUDA that reads a version of PTX (PTX.md 0; the release notes of the PTX ISA).
const fn reads_ptx(version: (u32, u32)) -> (u32, u32) {
    match version {
        (..=7, minor) => (11, minor),
        (8, minor @ ..=5) => (12, minor),
        (8, minor) => (12, minor + 1),
        (major, minor) => (major + 4, minor),
    }
}

pub fn missing(fault: &Fault) -> Diagnostic {
    match fault.kind() {
        Kind::NoDriver => Diagnostic::new(NO_DRIVER, "there is no NVIDIA driver on this machine")
            .note("its library (libcuda.so.1, nvcuda.dll) was not found; nothing else of CUDA is needed")
            .next("install the NVIDIA driver, or run the same PTX on the CPU: --target ptx-emu"),
        Kind::NoDevice => no_device().note(said(fault)),
        _ => other(fault),
    }
}
pub fn no_device() -> Diagnostic {
    Diagnostic::new(NO_DEVICE, "the NVIDIA driver finds no GPU")
        .next("nvidia-smi should list one; CUDA_VISIBLE_DEVICES may hide it")
}
pub fn ordinal(asked: u32, count: u32) -> Diagnostic {
    let there = match count {
        1 => "this machine has one, number 0".to_string(),
        n => format!("this machine has {n}, numbers 0 to {}", n - 1),
    };
    Diagnostic::new(ORDINAL, format!("there is no GPU {asked}")).note(there).next("GPU 0")
}
pub fn driver_too_old(found: (u32, u32)) -> Diagnostic {
    too_old(found, MIN_DRIVER, "running kernels".to_string())
}
/// A kernel's text is of a version that the driver does not read.
pub fn ptx_too_new(found: (u32, u32), ptx: (u32, u32)) -> Diagnostic {
    too_old(found, reads_ptx(ptx), format!("this kernel's PTX {}.{}", ptx.0, ptx.1))
}
fn too_old(found: (u32, u32), needed: (u32, u32), what: String) -> Diagnostic {
    Diagnostic::new(DRIVER_TOO_OLD, format!("the NVIDIA driver is of CUDA {}.{}, which is too old", found.0, found.1))
        .note(format!("{what} needs a driver of CUDA {}.{} or later", needed.0, needed.1))
        .next("install a newer NVIDIA driver")
}
pub fn device_too_old(name: &str, (major, minor): (u32, u32)) -> Diagnostic {
    Diagnostic::new(DEVICE_TOO_OLD, format!("{name} has compute capability {major}.{minor}, which is too old"))
        .note("kernels need 8.0 (A100) or later")
        .next("--target ptx-emu runs the same PTX on the CPU")
}
/// Bytes.
pub fn out_of_memory(asked: u64, free: u64, total: u64) -> Diagnostic {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Diagnostic::new(OUT_OF_MEMORY, format!("the GPU has no memory left for {} MiB", mib(asked)))
        .note(format!("{} MiB of {} MiB are free", mib(free), mib(total)))
        .next("choose smaller tensors, or free memory: nvidia-smi lists who holds it")
}
pub fn refused(launched: &Launched, fault: &Fault) -> Diagnostic {
    in_kernel(Diagnostic::new(LAUNCH_REFUSED, format!("the driver refuses the launch of {launched}")), launched)
        .note(said(fault))
        .next("fewer threads, or smaller tiles")
}
/// `recent`: launched since the GPU was last known to be well, the last one last.
pub fn failed(recent: &[Launched], fault: &Fault) -> Diagnostic {
    let Some((last, earlier)) = recent.split_last() else {
        return Diagnostic::new(KERNEL_FAILED, "the GPU failed").note(said(fault));
    };
    let (message, next) = if earlier.is_empty() {
        (format!("the GPU failed in {last}"), "--target ptx-emu says which access it was")
    } else {
        (
            format!("the GPU failed in {last}, or in an earlier launch"),
            "CUDA_LAUNCH_BLOCKING=1 tells which launch it was",
        )
    };
    let d = in_kernel(Diagnostic::new(KERNEL_FAILED, message), last).note(said(fault));
    let d = earlier.iter().rev().fold(d, |d, launch| d.note(format!("before it: {launch}")));
    d.note("everything that this process has on the GPU is lost").next(next)
}
pub fn lost() -> Diagnostic {
    Diagnostic::new(CONTEXT_LOST, "the GPU was lost to this process earlier").next("start the process again")
}
pub fn other(fault: &Fault) -> Diagnostic {
    Diagnostic::new(OTHER, format!("the NVIDIA driver failed in {}", fault.call)).note(said(fault))
}

/// The kernel's first line that is known.
fn in_kernel(d: Diagnostic, launched: &Launched) -> Diagnostic {
    let m = &launched.kernel.module;
    let known = |op: &tilewright_core::ir::OpId| m.op(*op).loc != LocId::UNKNOWN;
    match m.region(m.body).ops.iter().find(|op| known(op)) {
        Some(op) => d.at(m, m.op(*op).loc, "in this kernel"),
        None => d,
    }
}
/// What the driver says.
pub fn said(fault: &Fault) -> String {
    match fault.text.as_str() {
        "" => format!("{} said {} ({})", fault.call, fault.name, fault.code),
        text => format!("{} said {} ({}): {text}", fault.call, fault.name, fault.code),
    }
}
