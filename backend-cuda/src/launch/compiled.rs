//! The variant of a kernel that a launch needs, without a device.

use super::class::Class;
use super::variants::DEFAULT_THREADS;
use crate::compile::{Compiled, Options, compile};
use crate::talk::Talk;
use crate::target::Target;
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::Ready;
use tilewright_core::passes::facts::Known;

/// What a device of this target would run for the launch.
///
/// # Errors
/// It does not compile.
pub fn compile_for(launch: &Ready<'_>, target: Target) -> Result<Compiled, Diagnostics> {
    let threads = launch.config.threads.unwrap_or(DEFAULT_THREADS);
    let class = Class::of(launch);
    let talk = Talk::of(launch)?;
    let options = |in_place| {
        let (known, aligned, fast_math) = (class.known(), class.aligned(), launch.config.fast_math);
        Options { target, threads, known, in_place, aligned, fast_math, talk }
    };
    let first = compile(&launch.module, &options(Vec::new()))?;
    match first.fail_at(&Known::of(launch)) {
        failed if failed.is_empty() => Ok(first),
        failed => compile(&launch.module, &options(failed)),
    }
}
