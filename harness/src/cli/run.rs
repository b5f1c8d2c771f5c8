//! `run KERNEL`: one launch on one backend, its values against the f64 reference, and what the backend measured.

use super::{Cell, Command, Common, Context, Facts, Failure, Format, Outcome, Sheet, args, pick};
use crate::inputs::Inputs;
use crate::registry::{Agreement, Kernels};
use crate::runtime::{Metric, Runtime};
use crate::target::Target;
use clap::ArgMatches;
use tilewright_core::launch::Grid;

pub(super) struct Run;

impl Command for Run {
    fn name(&self) -> &'static str {
        "run"
    }
    fn flags(&self, command: clap::Command, kernels: &Kernels) -> clap::Command {
        let target = args::target_arg().default_value(Target::Sim.name());
        let all = args::machine_args().into_iter().chain(args::output_args()).chain(args::launch_args());
        let all = all.chain([args::seed_arg(), target]).map(|arg| arg.global(true));
        pick::with_kernels(command.about("Run a kernel on random data and check its values").args(all), kernels)
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        let Some((name, sub)) = matches.subcommand() else { return Err(pick::no_kernel("run", cx.kernels)) };
        let instance = pick::instance(name, sub, cx.kernels)?;
        let options = Options::of(sub)?;
        let mut runtime = Runtime::on(options.target, &options.common.open_machine()?)?;
        if options.timing_only {
            runtime = runtime.timing_only()?;
        }

        let mut case = instance.case(options.inputs, &runtime.limits())?;
        let mut launch = case.launch()?;
        launch = options.grid.into_iter().fold(launch, |launch, grid| launch.grid(grid));
        launch = options.queue_depth.into_iter().fold(launch, |launch, depth| launch.queue_depth(depth));
        let report = launch.run(&mut runtime)?;
        let agreements = if options.timing_only { Vec::new() } else { case.check()? };

        let mut facts = vec![("kernel".to_string(), instance.to_string())];
        facts.extend(runtime.facts());
        facts.extend(options.facts());
        facts.extend(case.facts());
        let metrics = report.metrics().into_iter().chain(agreements.iter().flat_map(agreement)).collect();
        print(metrics, facts, options.common.format, cx)?;
        Ok(if agreements.iter().all(Agreement::agrees) { Outcome::Done } else { Outcome::KernelError })
    }
}

/// The flags of `run`, read.
struct Options {
    target: Target,
    grid: Option<Grid>,
    queue_depth: Option<u32>,
    timing_only: bool,
    inputs: Inputs,
    common: Common,
}

impl Options {
    fn of(matches: &ArgMatches) -> Result<Options, Failure> {
        let timing_only = matches.get_flag("timing-only");
        let seed = matches.get_one::<u64>("seed").copied().unwrap_or_default();
        Ok(Options {
            target: matches.get_one::<Target>("target").copied().unwrap_or(Target::Sim),
            grid: args::grid(matches)?,
            queue_depth: matches.get_one::<u32>("queue-depth").copied(),
            timing_only,
            inputs: if timing_only { Inputs::ShapesOnly } else { Inputs::Random { seed } },
            common: Common::of(matches),
        })
    }
    /// Inputs, and what was asked for instead of the kernel's own choice.
    fn facts(&self) -> Facts {
        let inputs = match self.inputs {
            Inputs::Random { seed } => format!("random, seed {seed}"),
            Inputs::ShapesOnly => "shapes only, values are not computed".to_string(),
        };
        let grid = self.grid.map(|grid| ("grid".to_string(), grid.to_string()));
        let depth = self.queue_depth.map(|depth| ("queue depth".to_string(), depth.to_string()));
        [("inputs".to_string(), inputs)].into_iter().chain(grid).chain(depth).collect()
    }
}

fn agreement(of: &Agreement) -> [Metric; 2] {
    let verdict = match &of.fault {
        None => format!("agrees with f64 (tolerance {})", of.tolerance),
        Some(fault) => format!("DISAGREES with f64: {fault}"),
    };
    [(of.output.clone(), verdict.into()), (format!("{} worst", of.output), of.worst.into())]
}

/// One row for a machine; for the eye, a line a metric.
fn print(metrics: Vec<Metric>, facts: Facts, format: Format, cx: &mut Context<'_>) -> Result<(), Failure> {
    match format {
        Format::Table => {
            let mut sheet = Sheet::begin(cx.out, format, &["metric", "value"], facts)?;
            metrics.into_iter().try_for_each(|(name, value)| sheet.row(&[name.into(), value]))?;
            sheet.end()?;
        }
        Format::Csv | Format::Json => {
            let (names, values): (Vec<String>, Vec<Cell>) = metrics.into_iter().unzip();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut sheet = Sheet::begin(cx.out, format, &names, facts)?;
            sheet.row(&values)?;
            sheet.end()?;
        }
    }
    Ok(())
}
