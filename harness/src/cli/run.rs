//! `run KERNEL`: one launch on one backend, its values against the f64 reference, and what the backend measured.

use super::sheet::write_facts;
use super::watching::Watching;
use super::{Cell, Command, Common, Context, Facts, Failure, Format, Outcome, Sheet, args, note, pick};
use crate::inputs::Inputs;
use crate::registry::{Agreement, Kernels};
use crate::runtime::{Report, Runtime};
use crate::target::{Arch, Target};
use clap::ArgMatches;
use tilewright_core::launch::{Backend, Grid};
use tilewright_sim::fidelity::Choice;

pub(super) struct Run;

impl Command for Run {
    fn name(&self) -> &'static str {
        "run"
    }
    fn flags(&self, command: clap::Command, kernels: &Kernels) -> clap::Command {
        let target = args::target_arg().default_value(Target::Sim.name());
        let all = args::machine_args().into_iter().chain(args::output_args()).chain(args::launch_args());
        let arch = args::arch_arg().help("What the emulator emulates");
        let all = all
            .chain([args::seed_arg(), args::no_check_arg(), target, arch, args::schedule_arg()])
            .map(|arg| arg.global(true));
        pick::with_kernels(command.about("Run a kernel on random data and check its values").args(all), kernels)
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        let Some((name, sub)) = matches.subcommand() else { return Err(pick::no_kernel("run", cx.kernels)) };
        let instance = pick::instance(name, sub, cx.kernels)?;
        let options = Options::of(sub)?;
        let mut runtime = Runtime::on(options.target, &options.common.open_machine()?, options.arch)?;
        if options.timing_only {
            runtime = runtime.timing_only()?;
        }
        if options.check_races {
            runtime = runtime.check_races();
        }
        if let Some(choice) = options.fidelity {
            runtime = runtime.fidelity(choice)?;
        }
        if let Some(seed) = options.schedule {
            runtime = runtime.scheduled(seed)?;
        }

        let mut case = instance.case(options.inputs, &runtime.limits())?;
        let mut launch = case.launch()?;
        launch = options.grid.into_iter().fold(launch, |launch, grid| launch.grid(grid));
        launch = options.queue_depth.into_iter().fold(launch, |launch, depth| launch.queue_depth(depth));
        launch = options.threads.into_iter().fold(launch, |launch, threads| launch.threads(threads));
        let launch = launch.fast_math(options.fast_math).ready()?;
        if options.check {
            runtime.check(&launch)?.iter().for_each(|remark| note(&remark.to_string()));
        }
        let shown = options.common.format == Format::Table && !options.common.quiet;
        let watching = runtime.watch().filter(|_| shown).map(Watching::start);
        let report = runtime.execute(launch);
        drop(watching);
        let report = report.inspect_err(|_| runtime.prints().iter().for_each(|line| note(&line.to_string())));
        let report = report?.seeded(options.inputs.seed());
        let agreements = if options.timing_only { Vec::new() } else { case.check()? };

        let mut facts = vec![("kernel".to_string(), instance.to_string())];
        facts.extend(options.facts());
        facts.extend(case.facts());
        match options.common.format {
            Format::Table => show(&report, &agreements, &facts, cx)?,
            Format::Csv | Format::Json => print(&report, &agreements, facts, options.common.format, cx)?,
        }
        Ok(if agreements.iter().all(Agreement::agrees) { Outcome::Done } else { Outcome::KernelError })
    }
}

/// The flags of `run`, read.
struct Options {
    target: Target,
    /// What the emulator emulates.
    arch: Arch,
    grid: Option<Grid>,
    queue_depth: Option<u32>,
    threads: Option<u32>,
    fast_math: bool,
    timing_only: bool,
    check_races: bool,
    check: bool,
    fidelity: Option<Choice>,
    schedule: Option<u64>,
    inputs: Inputs,
    common: Common,
}

impl Options {
    fn of(matches: &ArgMatches) -> Result<Options, Failure> {
        let timing_only = matches.get_flag("timing-only");
        let seed = matches.get_one::<u64>("seed").copied().unwrap_or_default();
        Ok(Options {
            target: matches.get_one::<Target>("target").copied().unwrap_or(Target::Sim),
            arch: args::arch(matches),
            grid: args::grid(matches)?,
            queue_depth: matches.get_one::<u32>("queue-depth").copied(),
            threads: matches.get_one::<u32>("threads").copied(),
            fast_math: matches.get_flag("fast-math"),
            timing_only,
            check_races: matches.get_flag("check-races"),
            check: !matches.get_flag("no-check"),
            fidelity: args::fidelity(matches),
            schedule: args::schedule(matches),
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
        let threads = self.threads.map(|threads| ("threads".to_string(), threads.to_string()));
        let schedule = self.schedule.map(|seed| ("schedule".to_string(), format!("seed {seed}")));
        let fast_math = self.fast_math.then(|| ("fast math".to_string(), "yes".to_string()));
        let all = [("inputs".to_string(), inputs)].into_iter().chain(grid).chain(depth).chain(threads);
        all.chain(fast_math).chain(schedule).collect()
    }
}

/// For the eye: values, the backend's own summary, facts.
fn show(report: &Report, agreements: &[Agreement], facts: &Facts, cx: &mut Context<'_>) -> Result<(), Failure> {
    report.prints().iter().try_for_each(|line| writeln!(cx.out, "{line}"))?;
    for of in agreements {
        writeln!(cx.out, "{} {}", of.output, verdict(of))?;
    }
    writeln!(cx.out, "{report}")?;
    write_facts(cx.out, facts)?;
    Ok(())
}

/// For a machine: one row of everything.
fn print(
    report: &Report,
    agreements: &[Agreement],
    facts: Facts,
    format: Format,
    cx: &mut Context<'_>,
) -> Result<(), Failure> {
    report.prints().iter().for_each(|line| note(&line.to_string()));
    let values = agreements
        .iter()
        .flat_map(|of| [(of.output.clone(), verdict(of).into()), (format!("{}_worst", of.output), of.worst.into())]);
    let (names, cells): (Vec<String>, Vec<Cell>) = report.metrics().into_iter().chain(values).unzip();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut sheet = Sheet::begin(cx.out, format, &names)?;
    sheet.row(&cells)?;
    sheet.end(&report.facts().into_iter().chain(facts).collect())?;
    Ok(())
}

fn verdict(of: &Agreement) -> String {
    match &of.fault {
        None => format!("agrees with f64 (tolerance {}, worst {})", of.tolerance, Cell::Real(of.worst).short()),
        Some(fault) => format!("DISAGREES with f64 (tolerance {}): {fault}", of.tolerance),
    }
}
