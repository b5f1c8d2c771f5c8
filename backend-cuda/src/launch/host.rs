//! One launch over host tensors: their bytes go to the device, the kernel runs, what it wrote comes back.

use super::args::{Bound, bytes_of};
use super::class::Class;
use super::device::{Address, Device};
use crate::compile::{Compiled, Options, compile};
use crate::launch_errors as errors;
use crate::outcome::{Slot, records_of};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::stall::Scene;
use tilewright_core::interp::{Printed, record_fault};
use tilewright_core::ir::{Module, OpId};
use tilewright_core::launch::{Arg, Ready};
use tilewright_core::passes::facts::Known;
use tilewright_core::tensor::AnyTensor;

/// Threads of a CTA where neither the launch nor the kernel says.
pub const DEFAULT_THREADS: u32 = 256;

/// What a run tells besides the values in its tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The lines that the kernel printed, program by program.
    pub prints: Vec<Printed>,
}

/// The variants of kernels that a device has loaded.
pub struct Variants<L> {
    of: FxHashMap<Key, (Arc<Compiled>, Arc<L>)>,
}
impl<L> Default for Variants<L> {
    fn default() -> Self {
        Variants { of: FxHashMap::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    /// The text of the module: equal texts mean the same.
    module: String,
    class: Class,
    threads: u32,
    in_place: Vec<OpId>,
}

impl<L> Variants<L> {
    /// The variant for a launch, compiled and loaded if it is new.
    ///
    /// # Errors
    /// It does not compile, or the device refuses it.
    pub fn get<D: Device<Loaded = L>>(
        &mut self,
        device: &mut D,
        launch: &Ready<'_>,
    ) -> Result<(Arc<Compiled>, Arc<L>), Diagnostics> {
        let module: &Module = &launch.module;
        let threads = launch.config.threads.unwrap_or(DEFAULT_THREADS);
        errors::check_threads(threads)?;
        let (class, target) = (Class::of(launch), device.target());
        let options = |in_place| Options { target, threads, known: class.known(), in_place };
        let text = tilewright_core::ir::text::print(module);
        let mut key = Key { module: text, class: class.clone(), threads, in_place: Vec::new() };
        // The checks at launch refer to the optimised module, which is the same in every variant of a class.
        let first = match self.of.get(&key) {
            Some((compiled, loaded)) => (compiled.clone(), loaded.clone()),
            None => {
                let compiled = Arc::new(compile(module, &options(Vec::new()))?);
                let loaded = Arc::new(device.load(compiled.clone())?);
                self.of.insert(key.clone(), (compiled.clone(), loaded.clone()));
                (compiled, loaded)
            }
        };
        key.in_place = first.0.checks.fail_at(&first.0.module, &Known::of(launch));
        if key.in_place.is_empty() {
            return Ok(first);
        }
        if let Some((compiled, loaded)) = self.of.get(&key) {
            return Ok((compiled.clone(), loaded.clone()));
        }
        let compiled = Arc::new(compile(module, &options(key.in_place.clone()))?);
        let loaded = Arc::new(device.load(compiled.clone())?);
        self.of.insert(key, (compiled.clone(), loaded.clone()));
        Ok((compiled, loaded))
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
    let mut held = Held { device, buffers: Vec::new() };
    let mut bound = Vec::new();
    for arg in &launch.args {
        bound.push(match arg {
            Arg::Scalar(lit) => Bound::Scalar(*lit),
            Arg::View(t) => held.upload(t)?,
            Arg::ViewMut(t) => held.upload(t)?,
        });
    }
    let records = held.zeros(compiled.slots.len() as u64 * Slot::BYTES)?;
    let prints = Address(0);
    let params = bytes_of(&compiled.abi, &bound, grid, records, prints).ok_or_else(errors::arguments)?;
    held.device.launch(&loaded, programs, &params)?;
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

/// Memory of a device that is given back in any case.
struct Held<'d, D: Device> {
    device: &'d mut D,
    buffers: Vec<Address>,
}
impl<D: Device> Held<'_, D> {
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
