//! One launch over host tensors: their bytes go to the device, the kernel runs, what it wrote comes back.

use super::args::{Bound, bytes_of};
use super::device::{Address, Ctas, Device};
use super::observed::Observed;
use super::variants::Variants;
use crate::compile::Compiled;
use crate::launch_errors as errors;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::Printed;
use tilewright_core::launch::{Arg, Grid, Ready};
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
    let grid = launch.config.grid;
    let programs = errors::programs(grid)?;
    let (compiled, loaded) = variants.get(device, &launch)?;
    let ctas = ctas(device, &compiled, &loaded, (grid, programs))?;
    let observed = variants.observed(device, &compiled, ctas)?;
    let done = on_device(device, (&compiled, &loaded), launch, ctas, observed);
    let outcome = done.and_then(|()| observed.take(device, &compiled, grid));
    if outcome.is_err() {
        variants.forget(device, &compiled);
    }
    outcome
}

/// The launch's CTAs, if they can run.
///
/// # Errors
/// They wait for each other, and are more than run at the same time.
pub(super) fn ctas<D: Device>(
    device: &mut D,
    compiled: &Compiled,
    loaded: &D::Loaded,
    (grid, programs): (Grid, u32),
) -> Result<Ctas, Diagnostics> {
    let ctas = Ctas::of(compiled, grid, programs);
    if ctas.together {
        let most = device.at_once(loaded)?;
        if programs > most {
            return Err(errors::not_at_once(compiled, grid, most));
        }
    }
    Ok(ctas)
}

/// Runs a launch to its end, or to its queue where nothing comes back to the host.
fn on_device<D: Device>(
    device: &mut D,
    (compiled, loaded): (&Compiled, &D::Loaded),
    launch: Ready<'_>,
    ctas: Ctas,
    observed: Observed,
) -> Result<(), Diagnostics> {
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
    let params = bytes_of(&compiled.abi, &bound, grid, observed.places).ok_or_else(errors::arguments)?;
    held.device.launch(loaded, ctas, &params)?;
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
    Ok(())
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
    }
}
