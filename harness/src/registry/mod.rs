//! The kernels that a program offers: what the command line needs to know of each to run, print and verify it.
//! `param.rs`: parameters. `settings.rs`: their values. `list.rs`: the kernels together, instances by name.
//! Not here: what the commands do with them (`cli`).

mod list;
mod param;
mod settings;

pub use crate::agree::{Agreement, Rule, spread};
pub use crate::inputs::Inputs;
pub use list::{Instance, Kernels};
pub use param::{Param, Values};
pub use settings::Settings;

pub use crate::target::{Arch, Target};
use tilewright_core::diag::Diagnostics;
use tilewright_core::lang::Launch;

/// A kernel with its reference, its inputs and its parameters.
pub trait Kernel: Sync {
    /// As it is written on the command line.
    fn name(&self) -> &'static str;
    /// One line for lists and `--help`.
    fn about(&self) -> &'static str;
    fn params(&self) -> &'static [Param];
    /// The instantiations that are listed, snapshot-tested and verified.
    fn instances(&self) -> Vec<Settings>;
    /// Tensors for these settings: random ones, or shapes alone. Checks the kernel's launch contract.
    ///
    /// # Errors
    /// What the contract does not allow, with the code of its clause.
    fn case(&self, settings: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics>;
}

/// What a launch contract needs to know of the place where the kernel will run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub target: Target,
    /// Of a GPU: what is compiled for. A kernel may keep a configuration for each.
    pub arch: Option<Arch>,
    /// Private memory of one PE.
    pub scratch_bytes: u64,
}

impl Limits {
    /// Of a GPU. Tiles lie in registers, and the compiler says itself which does not fit.
    pub const fn gpu(target: Target, arch: Arch) -> Limits {
        Limits { target, arch: Some(arch), scratch_bytes: u64::MAX }
    }
}

/// One instance of a kernel with tensors to run on.
pub trait Case {
    /// The launch, over the case's own tensors.
    ///
    /// # Errors
    /// What the launch contract does not allow.
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics>;
    /// After a run: each output against the f64 reference of the same rounded inputs.
    ///
    /// # Errors
    /// The reference cannot be computed for these settings.
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics>;
    /// The same of about so many rows of each output, spread over it, for tensors whose reference would take minutes. A
    /// case without a way of its own compares everything.
    ///
    /// # Errors
    /// As [`Case::check`].
    fn check_some(&self, rows: usize) -> Result<Vec<Agreement>, Diagnostics> {
        let _ = rows;
        self.check()
    }
    /// What else a result should say of this case: the configuration that was picked, sizes that were derived.
    fn facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// A kernel as a table of plain functions, for a crate that registers one in a few lines.
pub struct KernelDef {
    pub name: &'static str,
    pub about: &'static str,
    pub params: &'static [Param],
    /// Listed instances, each as assignments: `&["n=1024,elem=f16"]`; `&[""]` is the one with all defaults.
    pub instances: &'static [&'static str],
    pub case: MakeCase,
}

/// [`Kernel::case`] as a plain function.
pub type MakeCase = fn(&Settings, Inputs, &Limits) -> Result<Box<dyn Case>, Diagnostics>;

impl Kernel for KernelDef {
    fn name(&self) -> &'static str {
        self.name
    }
    fn about(&self) -> &'static str {
        self.about
    }
    fn params(&self) -> &'static [Param] {
        self.params
    }
    fn instances(&self) -> Vec<Settings> {
        let read = |text: &&str| {
            // A word without `=` stays as it is: `check` names it when the list is used.
            let pairs = text.split(',').filter(|_| !text.is_empty()).map(|p| p.split_once('=').unwrap_or((p, "")));
            pairs.fold(Settings::new(self.params), |s, (name, value)| s.with(name, value))
        };
        self.instances.iter().map(read).collect()
    }
    fn case(&self, settings: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        (self.case)(settings, inputs, limits)
    }
}

/// The kernels of a program, in the order they are listed: `cli_main(kernels![SCALE, SOFTMAX])`.
#[macro_export]
macro_rules! kernels {
    ($($kernel:expr),* $(,)?) => {
        $crate::registry::Kernels::new(vec![$(&$kernel as &'static dyn $crate::registry::Kernel),*])
    };
}
