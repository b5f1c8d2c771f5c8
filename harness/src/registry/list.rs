//! All kernels of a program. An instance is a kernel with settings; it prints as one shell word,
//! `gqa_decode:mode=A1,elem=f16`, and reads back.

use super::{Case, Kernel, Limits, Settings};
use crate::errors;
use crate::inputs::Inputs;
use std::fmt;
use tilewright_core::diag::{CodePage, Diagnostic, Diagnostics};
use tilewright_core::launch::Arg;
use tilewright_core::tensor::AnyTensor;

/// All tensors of one run together. The f64 reference of f16 tensors takes four times as much again.
const MAX_BYTES: u128 = 4 << 30;

/// The kernels that a program offers, in the order they are listed, and the error codes of their crates.
#[derive(Clone, Default)]
pub struct Kernels {
    list: Vec<&'static dyn Kernel>,
    codes: Vec<&'static [CodePage]>,
}

/// A kernel with settings.
#[derive(Clone)]
pub struct Instance {
    pub kernel: &'static dyn Kernel,
    pub settings: Settings,
}

impl Kernels {
    pub fn new(list: Vec<&'static dyn Kernel>) -> Kernels {
        Kernels { list, codes: Vec::new() }
    }
    /// Adds the pages of a crate's error codes, for `explain`.
    pub fn with_codes(mut self, pages: &'static [CodePage]) -> Kernels {
        self.codes.push(pages);
        self
    }
    /// These, then those of `more`.
    pub fn and(mut self, more: Kernels) -> Kernels {
        self.list.extend(more.list);
        self.codes.extend(more.codes);
        self
    }
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Kernel> {
        self.list.iter().copied()
    }
    pub fn codes(&self) -> &[&'static [CodePage]] {
        &self.codes
    }
    /// The kernel of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, name: &str) -> Result<&'static dyn Kernel, Diagnostics> {
        self.iter().find(|k| k.name() == name).ok_or_else(|| errors::unknown_kernel(name, self).into())
    }
    /// Every listed instance of every kernel.
    pub fn instances(&self) -> Vec<Instance> {
        self.iter().flat_map(Instance::all_of).collect()
    }
    /// Reads `KERNEL` or `KERNEL:NAME=VALUE,…`.
    ///
    /// # Errors
    /// An unknown kernel or parameter, a value that is not allowed.
    pub fn instance(&self, word: &str) -> Result<Instance, Diagnostics> {
        let (name, settings) = word.split_once(':').unwrap_or((word, ""));
        let kernel = self.find(name)?;
        Ok(Instance { kernel, settings: Settings::parse(kernel.params(), settings)? })
    }
    /// The instances of these words; a kernel stands for its listed instances.
    ///
    /// # Errors
    /// Those of [`Kernels::instance`], of all words.
    pub fn chosen(&self, words: &[&String]) -> Result<Vec<Instance>, Diagnostics> {
        let (mut found, mut wrong) = (Vec::new(), Diagnostics::default());
        for word in words {
            match self.instance(word) {
                Ok(instance) if word.contains(':') => found.push(instance),
                Ok(instance) => found.extend(Instance::all_of(instance.kernel)),
                Err(e) => wrong.0.extend(e.0),
            }
        }
        wrong.finish().map(|()| found)
    }
    /// Whether the registry itself can be used.
    ///
    /// # Errors
    /// Two kernels of one name, a kernel or a parameter with a name that the commands use themselves (`words`, `flags`),
    /// a default or a listed instance that its own parameters do not allow.
    pub fn check(&self, words: &[&str], flags: &[String]) -> Result<(), Diagnostics> {
        let mut wrong = Diagnostics::default();
        for (i, kernel) in self.iter().enumerate() {
            if self.iter().take(i).any(|k| k.name() == kernel.name()) {
                wrong.push(errors::registered_twice(kernel.name()));
            }
            if words.contains(&kernel.name()) {
                wrong.push(errors::kernel_taken(kernel.name()));
            }
            check_params(kernel, flags, &mut wrong);
            for instance in Instance::all_of(kernel) {
                let found = instance.settings.check().err().unwrap_or_default();
                wrong.0.extend(found.0.into_iter().map(|d| d.note(format!("in the listed instance `{instance}`"))));
            }
        }
        wrong.finish()
    }
}

fn check_params(kernel: &dyn Kernel, flags: &[String], wrong: &mut Diagnostics) {
    let in_kernel = |d: Diagnostic| d.note(format!("in the parameters of kernel `{}`", kernel.name()));
    for (i, param) in kernel.params().iter().enumerate() {
        let taken = kernel.params()[..i].iter().any(|p| p.name == param.name);
        if taken || flags.iter().any(|r| r == param.name) {
            wrong.push(in_kernel(errors::parameter_taken(param.name)));
        }
        if !param.values.allow(param.default) {
            wrong.push(in_kernel(errors::value(param.name, param.default, &param.values)));
        }
    }
}

impl Instance {
    /// The listed instances of one kernel; the one with all defaults if it lists none.
    pub fn all_of(kernel: &'static dyn Kernel) -> Vec<Instance> {
        let mut listed = kernel.instances();
        if listed.is_empty() {
            listed.push(Settings::new(kernel.params()));
        }
        listed.into_iter().map(|settings| Instance { kernel, settings }).collect()
    }
    /// Tensors to run on.
    ///
    /// # Errors
    /// Settings that the parameters or the kernel's contract do not allow; tensors that are too large to be held.
    pub fn case(&self, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        self.settings.check()?;
        match inputs {
            Inputs::ShapesOnly => {}
            Inputs::Random { .. } => self.check_size(limits)?,
        }
        self.kernel.case(&self.settings, inputs, limits)
    }
    /// Memory that cannot be had ends a process without a word: shapes tell beforehand how much it will be.
    fn check_size(&self, limits: &Limits) -> Result<(), Diagnostics> {
        let mut shapes = self.kernel.case(&self.settings, Inputs::ShapesOnly, limits)?;
        let bytes: u128 = shapes.launch()?.ready()?.args.iter().map(bytes).sum();
        if bytes > MAX_BYTES { Err(errors::too_large(&self.to_string(), bytes, MAX_BYTES).into()) } else { Ok(()) }
    }
}

fn bytes(arg: &Arg<'_>) -> u128 {
    let size = |t: &AnyTensor| t.dims.iter().fold(u128::from(t.elem.bytes()), |n, len| n.saturating_mul(*len as u128));
    match arg {
        Arg::View(t) => size(t),
        Arg::ViewMut(t) => size(t),
        Arg::Scalar(_) => 0,
    }
}

/// The shell word.
impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.settings.to_string();
        let colon = if settings.is_empty() { "" } else { ":" };
        write!(f, "{}{colon}{settings}", self.kernel.name())
    }
}
