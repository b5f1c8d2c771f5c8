//! A launch over memory that is on the device already, made ready once and queued any number of times.

use super::args::{Bound, bytes_of};
use super::class::ALIGNED;
use super::device::{Address, Ctas, Device};
use super::host::{Outcome, ctas};
use super::observed::Observed;
use super::variants::Variants;
use crate::compile::Compiled;
use crate::launch_errors as errors;
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::{Arg, Grid, Ready};

/// All that a device needs to run one launch. Launches of it run one after the other: on one stream, or with a wait between.
#[derive(Debug)]
pub struct Resident<L> {
    pub compiled: Arc<Compiled>,
    pub loaded: Arc<L>,
    pub ctas: Ctas,
    /// The parameter block.
    pub params: Vec<u8>,
    grid: Grid,
    observed: Observed,
}

impl<L> Resident<L> {
    /// What went wrong in launches since the last call, and what they printed.
    ///
    /// # Errors
    /// The device failed, perhaps in a launch.
    pub fn outcome<D: Device<Loaded = L>>(&self, device: &mut D) -> Result<Outcome, Diagnostics> {
        self.observed.take(device, &self.compiled, self.grid)
    }
    /// Frees what a kernel's records, lines and barriers take on the device.
    pub fn free<D: Device<Loaded = L>>(self, device: &mut D) {
        self.observed.free(device);
    }
}

/// The launch with its tensors at these places, one a view in the order of the parameters. Of the launch's own tensors
/// only the shapes count.
///
/// # Errors
/// It does not compile, or the device refuses it.
pub fn resident<D: Device>(
    device: &mut D,
    variants: &mut Variants<D::Loaded>,
    launch: &Ready<'_>,
    views: &[Address],
) -> Result<Resident<D::Loaded>, Diagnostics> {
    if let Some(at) = views.iter().find(|at| !at.0.is_multiple_of(u64::from(ALIGNED))) {
        return Err(errors::misaligned(at.0, ALIGNED));
    }
    let (grid, mut views) = (launch.config.grid, views.iter());
    let programs = errors::programs(grid)?;
    let (compiled, loaded) = variants.get(device, launch)?;
    let mut view = |dims: &[usize]| views.next().map(|at| Bound::View { at: *at, dims: dims.to_vec() });
    let bound: Option<Vec<Bound>> = launch
        .args
        .iter()
        .map(|arg| match arg {
            Arg::Scalar(lit) => Some(Bound::Scalar(*lit)),
            Arg::View(t) => view(&t.dims),
            Arg::ViewMut(t) => view(&t.dims),
        })
        .collect();
    let bound = bound.ok_or_else(errors::arguments)?;
    let ctas = ctas(device, &compiled, &loaded, (grid, programs))?;
    let observed = Observed::new(device, &compiled, ctas)?;
    match bytes_of(&compiled.abi, &bound, grid, observed.places) {
        Some(params) => Ok(Resident { params, compiled, loaded, ctas, grid, observed }),
        None => {
            observed.free(device);
            Err(errors::arguments())
        }
    }
}
