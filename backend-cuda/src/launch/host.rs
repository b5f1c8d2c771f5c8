//! One launch over host tensors: their bytes go to the device, the kernel runs, what it wrote comes back.

use super::args::{Bound, bytes_of};
use super::device::{Address, Device};
use super::variants::Variants;
use crate::launch_errors as errors;
use crate::outcome::{Slot, records_of};
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::stall::Scene;
use tilewright_core::interp::{Printed, record_fault};
use tilewright_core::launch::{Arg, Ready};
use tilewright_core::tensor::AnyTensor;

/// What a run tells besides the values in its tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The lines that the kernel printed, program by program.
    pub prints: Vec<Printed>,
}

/// Runs a launch to its end; results are in its `ViewMut` tensors.
///
/// # Errors
/// It does not compile, does not fit the device, or went wrong there.
pub fn execute<D: Device>(
    device: &mut D,
    variants: &mut Variants<D::Loaded>,
    launch: Ready<'_>,
) -> Result<Outcome, Diagnostics> {
    let programs = errors::programs(launch.config.grid)?;
    let (compiled, loaded) = variants.get(device, &launch)?;
    let grid = launch.config.grid;
    let mut held = Held { device, buffers: Vec::new() };
    let mut bound = Vec::new();
    for arg in &launch.args {
        bound.push(match arg {
            Arg::Scalar(lit) => Bound::Scalar(*lit),
            Arg::View(t) => held.bind(t)?,
            Arg::ViewMut(t) => held.bind(t)?,
        });
    }
    check_shared(&launch.args)?;
    let records = held.zeros(compiled.slots.len() as u64 * Slot::BYTES)?;
    let prints = Address(0);
    let params = bytes_of(&compiled.abi, &bound, grid, records, prints).ok_or_else(errors::arguments)?;
    held.device.launch(&loaded, programs, &params)?;
    // What lies on the device alone need not be waited for: a failure shows when it is asked for.
    if !held.buffers.is_empty() {
        held.device.wait()?;
    }
    for (arg, bound) in launch.args.into_iter().zip(bound) {
        if let (Arg::ViewMut(t), Bound::View { at, .. }) = (arg, bound)
            && let Some(data) = &mut t.data
        {
            let mut bytes = vec![0; data.bytes().len()];
            held.device.read(at, &mut bytes)?;
            data.copy_from_bytes(&bytes);
            t.unwritten = Default::default();
        }
    }
    let mut noted = vec![0; compiled.slots.len() * Slot::BYTES as usize];
    if !noted.is_empty() {
        held.device.read(records, &mut noted)?;
    }
    let scene = Scene { module: &compiled.module, grid };
    let mut faults = Diagnostics::default();
    records_of(&compiled.slots, &noted).iter().for_each(|record| faults.push(record_fault(scene, record)));
    faults.finish()?;
    Ok(Outcome::default())
}

/// Tensors on a device can be one memory, which Rust's borrows do not see: what a kernel writes must be nothing else's.
fn check_shared(args: &[Arg<'_>]) -> Result<(), Diagnostics> {
    let range = |t: &AnyTensor| {
        let from = t.resident.as_ref()?.address();
        Some(from..from + t.len() as u64 * t.elem.bytes())
    };
    let of = |arg: &Arg<'_>| match arg {
        Arg::View(t) => range(t),
        Arg::ViewMut(t) => range(t),
        Arg::Scalar(_) => None,
    };
    for (i, written) in args.iter().enumerate().filter(|(_, arg)| matches!(arg, Arg::ViewMut(_))) {
        let Some(written) = of(written) else { continue };
        for (j, other) in args.iter().enumerate().filter(|(j, _)| *j != i) {
            if of(other).is_some_and(|other| other.start < written.end && written.start < other.end) {
                return Err(errors::shared(i, j));
            }
        }
    }
    Ok(())
}

/// Memory of a device that is given back in any case.
struct Held<'d, D: Device> {
    device: &'d mut D,
    buffers: Vec<Address>,
}
impl<D: Device> Held<'_, D> {
    /// Where the tensor lies on the device, or goes to.
    fn bind(&mut self, t: &AnyTensor) -> Result<Bound, Diagnostics> {
        match &t.resident {
            Some(at) if self.device.is(at.device()) => {
                Ok(Bound::View { at: Address(at.address()), dims: t.dims.clone() })
            }
            Some(_) => Err(errors::elsewhere()),
            None => self.upload(t),
        }
    }
    fn upload(&mut self, t: &AnyTensor) -> Result<Bound, Diagnostics> {
        let data = t.data.as_ref().ok_or_else(errors::shape_only)?;
        let at = self.hold(data.bytes())?;
        let bytes = t.elem.bytes();
        for range in t.unwritten.ranges() {
            let from = Address(at.0 + range.start as u64 * bytes);
            self.device.mark_unwritten(from, range.len() as u64 * bytes)?;
        }
        Ok(Bound::View { at, dims: t.dims.clone() })
    }
    fn zeros(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        if bytes == 0 { Ok(Address(0)) } else { self.hold(&vec![0; bytes as usize]) }
    }
    fn hold(&mut self, bytes: &[u8]) -> Result<Address, Diagnostics> {
        let at = self.device.alloc(bytes.len() as u64)?;
        self.buffers.push(at);
        self.device.write(at, bytes)?;
        Ok(at)
    }
}
impl<D: Device> Drop for Held<'_, D> {
    fn drop(&mut self) {
        for at in self.buffers.drain(..) {
            self.device.free(at);
        }
    }
}
