//! One launch over host tensors: their bytes go to the device, the kernel runs, what it wrote comes back.

use super::args::{Bound, bytes_of};
use super::device::{Address, Device};
use super::observed::Observed;
use super::variants::Variants;
use crate::launch_errors as errors;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::Printed;
use tilewright_core::launch::{Arg, Ready};
use tilewright_core::tensor::AnyTensor;

/// What a run tells besides the values in its tensors.
#[derive(Clone, Debug, Default)]
#[must_use = "what went wrong without stopping the run is in it"]
pub struct Outcome {
    /// The lines that the kernel printed, program by program.
    pub prints: Vec<Printed>,
    /// What went wrong without stopping the run.
    pub errors: Diagnostics,
}

impl Outcome {
    /// The lines that the kernel printed.
    ///
    /// # Errors
    /// Something went wrong.
    pub fn checked(self) -> Result<Vec<Printed>, Diagnostics> {
        self.errors.finish()?;
        Ok(self.prints)
    }
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
    let mut held = Held { device, buffers: Vec::new(), observed: None };
    let mut bound = Vec::new();
    for arg in &launch.args {
        bound.push(match arg {
            Arg::Scalar(lit) => Bound::Scalar(*lit),
            Arg::View(t) => held.bind(t)?,
            Arg::ViewMut(t) => held.bind(t)?,
        });
    }
    check_shared(&launch.args)?;
    let observed = Observed::new(held.device, &compiled)?;
    held.observed = Some(observed);
    let Observed { records, prints } = observed;
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
    observed.take(held.device, &compiled, grid)
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
    observed: Option<Observed>,
}
impl<D: Device> Held<'_, D> {
    /// Where the tensor lies on the device, or goes to.
    fn bind(&mut self, t: &AnyTensor) -> Result<Bound, Diagnostics> {
        match &t.resident {
            Some(at) if !at.address().is_multiple_of(t.elem.bytes()) => Err(errors::between(t.elem, at.address())),
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
        if let Some(observed) = self.observed.take() {
            observed.free(self.device);
        }
    }
}
