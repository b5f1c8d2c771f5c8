//! The variants of kernels that a device has loaded. A launch that is like an earlier one finds its variant by its numbers
//! alone: nothing of the module is looked at, and nothing is allocated.

use super::class::{Class, alignment};
use super::device::{Ctas, Device};
use super::observed::Observed;
use crate::compile::{Compiled, Options, compile};
use crate::launch_errors as errors;
use crate::talk::Talk;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::check_args;
use tilewright_core::ir::{Literal, Module, OpId};
use tilewright_core::launch::{Arg, LaunchConfig, Ready};
use tilewright_core::passes::facts::Known;

/// Threads of a CTA where neither the launch nor the kernel says.
pub const DEFAULT_THREADS: u32 = 256;

/// Variants kept, and launches known; a process with more starts over, so that memory stays bounded.
const MAX_KEPT: usize = 4096;

/// The variants of kernels that a device has loaded.
pub struct Variants<L> {
    of: FxHashMap<Key, Variant<L>>,
    /// By a hash of their numbers.
    launches: FxHashMap<u64, Seen<L>>,
    /// By the place of a compiled kernel, which `of` keeps alive.
    observed: FxHashMap<usize, Observed>,
}
impl<L> Default for Variants<L> {
    fn default() -> Self {
        Variants { of: FxHashMap::default(), launches: FxHashMap::default(), observed: FxHashMap::default() }
    }
}

/// Modules are told apart by their place in memory, so a variant keeps its module alive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    module: usize,
    class: Class,
    threads: u32,
    fast_math: bool,
    talk: Option<Talk>,
    in_place: Vec<OpId>,
}

#[derive(Debug)]
struct Variant<L> {
    module: Arc<Module>,
    compiled: Arc<Compiled>,
    loaded: Arc<L>,
}
impl<L> Clone for Variant<L> {
    fn clone(&self) -> Self {
        let (module, compiled, loaded) = (self.module.clone(), self.compiled.clone(), self.loaded.clone());
        Variant { module, compiled, loaded }
    }
}

/// A launch that was made before: its numbers, and the variant that is right for them.
struct Seen<L> {
    config: LaunchConfig,
    args: Vec<Numbers>,
    variant: Variant<L>,
}

/// What of an argument a variant can depend on.
#[derive(Clone, Debug, PartialEq)]
enum Numbers {
    Scalar(Literal),
    /// Lengths, and what divides the address.
    View(Vec<usize>, u32),
}

impl Numbers {
    fn of(arg: &Arg<'_>) -> Numbers {
        match arg {
            Arg::Scalar(lit) => Numbers::Scalar(*lit),
            Arg::View(t) => Numbers::View(t.dims.clone(), alignment(t)),
            Arg::ViewMut(t) => Numbers::View(t.dims.clone(), alignment(t)),
        }
    }
    fn are(&self, arg: &Arg<'_>) -> bool {
        match (self, arg) {
            (Numbers::Scalar(a), Arg::Scalar(b)) => a == b,
            (Numbers::View(a, by), Arg::View(t)) => *a == t.dims && *by == alignment(t),
            (Numbers::View(a, by), Arg::ViewMut(t)) => *a == t.dims && *by == alignment(t),
            (Numbers::Scalar(_), Arg::View(_) | Arg::ViewMut(_)) | (Numbers::View(..), Arg::Scalar(_)) => false,
        }
    }
}

impl<L> Seen<L> {
    fn is(&self, launch: &Ready<'_>) -> bool {
        Arc::ptr_eq(&self.variant.module, &launch.module)
            && self.config == launch.config
            && self.args.len() == launch.args.len()
            && self.args.iter().zip(&launch.args).all(|(numbers, arg)| numbers.are(arg))
    }
}

/// Of everything that `Seen::is` compares.
fn hash(launch: &Ready<'_>) -> u64 {
    let mut hash = FxHasher::default();
    Arc::as_ptr(&launch.module).hash(&mut hash);
    let LaunchConfig { grid, queue_depth, threads, fast_math } = launch.config;
    (grid, queue_depth, threads, fast_math).hash(&mut hash);
    for arg in &launch.args {
        match arg {
            Arg::Scalar(lit) => lit.bits.hash(&mut hash),
            Arg::View(t) => t.dims.hash(&mut hash),
            Arg::ViewMut(t) => t.dims.hash(&mut hash),
        }
    }
    hash.finish()
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
        let hash = hash(launch);
        if let Some(seen) = self.launches.get(&hash).filter(|seen| seen.is(launch)) {
            return Ok((seen.variant.compiled.clone(), seen.variant.loaded.clone()));
        }
        let variant = self.find(device, launch)?;
        let seen = Seen {
            config: launch.config,
            args: launch.args.iter().map(Numbers::of).collect(),
            variant: variant.clone(),
        };
        if self.launches.len() >= MAX_KEPT {
            self.launches.clear();
        }
        self.launches.insert(hash, seen);
        Ok((variant.compiled, variant.loaded))
    }
    /// What launches of a kernel write besides values: made for the first, kept for later ones.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn observed<D: Device<Loaded = L>>(
        &mut self,
        device: &mut D,
        compiled: &Arc<Compiled>,
        ctas: Ctas,
    ) -> Result<Observed, Diagnostics> {
        match self.observed.get(&(Arc::as_ptr(compiled) as usize)) {
            Some(observed) if observed.fits(compiled, ctas) => return Ok(*observed),
            Some(_) | None => self.forget(device, compiled),
        }
        let observed = Observed::new(device, compiled, ctas)?;
        self.observed.insert(Arc::as_ptr(compiled) as usize, observed);
        Ok(observed)
    }
    /// Nothing is known of what is in the memory that `observed` gave.
    pub(super) fn forget<D: Device<Loaded = L>>(&mut self, device: &mut D, compiled: &Arc<Compiled>) {
        let known = self.observed.remove(&(Arc::as_ptr(compiled) as usize));
        known.into_iter().for_each(|observed| observed.free(device));
    }
    /// By what divides the launch's numbers, and by the checks that fail for them.
    fn find<D: Device<Loaded = L>>(&mut self, device: &mut D, launch: &Ready<'_>) -> Result<Variant<L>, Diagnostics> {
        let threads = launch.config.threads.unwrap_or(DEFAULT_THREADS);
        errors::check_threads(threads)?;
        check_args(&launch.module, &launch.args)?;
        let module = Arc::as_ptr(&launch.module) as usize;
        let (fast_math, talk) = (launch.config.fast_math, Talk::of(launch)?);
        let mut key = Key { module, class: Class::of(launch), threads, fast_math, talk, in_place: Vec::new() };
        // The checks at launch refer to the optimised module, which is the same in every variant of a class.
        let first = self.variant(device, &launch.module, &key)?;
        key.in_place = first.compiled.fail_at(&Known::of(launch));
        if key.in_place.is_empty() { Ok(first) } else { self.variant(device, &launch.module, &key) }
    }
    fn variant<D: Device<Loaded = L>>(
        &mut self,
        device: &mut D,
        module: &Arc<Module>,
        key: &Key,
    ) -> Result<Variant<L>, Diagnostics> {
        if let Some(variant) = self.of.get(key) {
            return Ok(variant.clone());
        }
        let (known, aligned, in_place) = (key.class.known(), key.class.aligned(), key.in_place.clone());
        let (target, threads, fast_math, talk) = (device.target(), key.threads, key.fast_math, key.talk);
        let options = Options { target, threads, known, in_place, aligned, fast_math, talk };
        let compiled = Arc::new(compile(module, &options)?);
        let loaded = Arc::new(device.load(compiled.clone())?);
        let variant = Variant { module: module.clone(), compiled, loaded };
        if self.of.len() >= MAX_KEPT {
            self.of.clear();
            self.launches.clear();
            self.observed.drain().for_each(|(_, observed)| observed.free(device));
        }
        self.of.insert(key.clone(), variant.clone());
        Ok(variant)
    }
}
