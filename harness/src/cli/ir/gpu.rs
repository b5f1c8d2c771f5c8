//! `ir --stage layout` and `ir --stage ptx`: a kernel as a GPU would run it, compiled for its own launch.

use super::super::{Context, Failure, Outcome, args};
use super::{PTX, stage, stats};
use crate::inputs::Inputs;
use crate::registry::{Instance, Limits};
use crate::target::Target;
use clap::ArgMatches;
use serde_json::json;
use std::time::{Duration, Instant};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::Module;
use tilewright_core::launch::Grid;
use tilewright_cuda::launch::{DEFAULT_THREADS, compile_for};
use tilewright_cuda::{Compiled, Options, compile, layout};

/// A compiled kernel, and what is not in it.
pub(super) struct Made {
    pub compiled: Compiled,
    /// Of the launch; a file has none.
    pub grid: Option<Grid>,
    /// From the start of the kernel function to its module.
    pub tracing: Option<Duration>,
}

/// For the launch that the instance makes.
///
/// # Errors
/// Its contract, or what does not compile.
pub(super) fn of_kernel(instance: &Instance, matches: &ArgMatches) -> Result<Made, Diagnostics> {
    let arch = args::arch(matches);
    let mut case = instance.case(Inputs::ShapesOnly, &Limits::gpu(Target::Cuda, arch))?;
    let start = Instant::now();
    let launch = threads(matches).into_iter().fold(case.launch()?, |launch, threads| launch.threads(threads));
    let ready = launch.fast_math(matches.get_flag("fast-math")).ready()?;
    let tracing = Some(start.elapsed());
    Ok(Made { compiled: compile_for(&ready, arch)?, grid: Some(ready.config.grid), tracing })
}

/// For any launch.
///
/// # Errors
/// What does not compile.
pub(super) fn of_file(module: &Module, matches: &ArgMatches) -> Result<Made, Diagnostics> {
    let threads = threads(matches).unwrap_or(DEFAULT_THREADS);
    let fast_math = matches.get_flag("fast-math");
    let options = Options { fast_math, ..Options::new(args::arch(matches), threads) };
    Ok(Made { compiled: compile(module, &options)?, grid: None, tracing: None })
}

fn threads(matches: &ArgMatches) -> Option<u32> {
    matches.get_one("threads").copied()
}

pub(super) fn print(name: &str, made: Made, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    let stage = stage(matches);
    let text = if stage == PTX { made.compiled.printed.text.clone() } else { layout::describe(&made.compiled) };
    let stats = (stage == PTX && matches.get_flag("stats")).then(|| stats::of(&made));
    if matches.get_flag("json") {
        let mut row =
            json!({"instance": name, "stage": stage, "arch": made.compiled.kernel.target.name(), "text": text});
        if let Some(stats) = stats {
            row["stats"] = stats.into();
        }
        if matches.get_flag("remarks") {
            row["remarks"] = made.compiled.remarks.iter().map(|remark| json!(remark.to_string())).collect();
        }
        writeln!(cx.out, "{row}")?;
        return Ok(Outcome::Done);
    }
    write!(cx.out, "{text}")?;
    // As comments, so that the output is still a text that an assembler reads.
    let remarks = made.compiled.remarks.iter().filter(|_| matches.get_flag("remarks"));
    remarks.into_iter().try_for_each(|remark| writeln!(cx.out, "// {remark}"))?;
    stats.iter().flat_map(stats::lines).try_for_each(|line| writeln!(cx.out, "// {line}"))?;
    Ok(Outcome::Done)
}
