//! `verify`: every kernel and instance on every backend present, on random data, against the f64 references; races are
//! errors.

use super::{Cell, Command, Common, Context, Failure, Format, Outcome, Progress, Sheet, args, note, print_errors};
use crate::inputs::Inputs;
use crate::registry::{Agreement, Instance, Kernels};
use crate::runtime::{Runtime, machine_facts};
use crate::target::{Arch, Target};
use clap::{Arg, ArgMatches};
use std::collections::BTreeMap;
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::Backend;
use tilewright_sim::machine::FieldSet;

pub(super) struct Verify;

impl Command for Verify {
    fn name(&self) -> &'static str {
        "verify"
    }
    fn flags(&self, command: clap::Command, _: &Kernels) -> clap::Command {
        let kernel = Arg::new("kernel").value_name("KERNEL").num_args(0..);
        command
            .about("Check kernels against their f64 references on random data")
            .arg(kernel.help("Kernels, or instances as `ir --list` prints them [default: all]"))
            .args(args::machine_args())
            .args(args::output_args())
            .args([
                args::seed_arg(),
                args::no_check_arg(),
                args::target_arg().help("One backend [default: all that are present]"),
                args::arch_arg().help("What the emulator emulates"),
                args::schedule_arg(),
                args::fast_math_arg(),
            ])
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        let common = Common::of(matches);
        let words: Vec<&String> = matches.get_many("kernel").unwrap_or_default().collect();
        let instances = if words.is_empty() { cx.kernels.instances() } else { cx.kernels.chosen(&words)? };
        let (mut backends, missing) =
            backends(matches.get_one::<Target>("target").copied(), args::arch(matches), &common)?;
        let schedule = args::schedule(matches);
        if let Some(seed) = schedule {
            backends = scheduled(backends, seed)?;
        }
        let seed = matches.get_one::<u64>("seed").copied().unwrap_or_default();
        let how = How { seed, fast_math: matches.get_flag("fast-math") };
        let first = !matches.get_flag("no-check");

        let mut sheet = Sheet::begin(cx.out, common.format, &COLUMNS)?;
        let progress = Progress::new("verify", instances.len() * backends.len(), common.rows_only());
        let (mut count, mut wrong) = (Count::default(), Diagnostics::default());
        for instance in &instances {
            for backend in &mut backends {
                let result = check(instance, backend, how, first);
                count.add(backend.target(), &result);
                rows(instance, backend, &result).iter().try_for_each(|row| sheet.row(row))?;
                wrong.0.extend(result.failure().into_iter().flat_map(|e| e.0));
                progress.step(&format!("{instance} on {}", backend.target()));
            }
        }
        drop(progress);
        let mut facts = vec![("inputs".to_string(), format!("random, seed {seed}"))];
        facts.extend(how.fast_math.then(|| ("fast math".to_string(), "yes, on GPUs".to_string())));
        facts.extend(schedule.map(|seed| ("schedule of the emulator".to_string(), format!("seed {seed}"))));
        if backends.iter().any(|backend| backend.target() == Target::Sim) {
            facts.extend(machine_facts(&common.open_machine()?, &FieldSet::default()));
        }
        sheet.end(&facts)?;
        count.skipped.extend(missing.into_iter().map(|missing| (missing, instances.len())));
        count.tell(common.format, cx)?;
        if count.disagree > 0 {
            print_errors(&wrong);
            return Ok(Outcome::KernelError);
        }
        wrong.finish()?;
        Ok(Outcome::Done)
    }
}

const COLUMNS: [&str; 7] = ["instance", "target", "device", "output", "tolerance", "worst", "result"];

/// The backends to verify on, and those that are not there, with the reason.
fn backends(wanted: Option<Target>, arch: Arch, common: &Common) -> Result<(Vec<Runtime>, Vec<Skipped>), Failure> {
    let machine = common.open_machine()?;
    if let Some(target) = wanted {
        return Ok((vec![Runtime::on(target, &machine, arch)?.check_races()], Vec::new()));
    }
    let (mut present, mut missing) = (Vec::new(), Vec::new());
    for target in Target::ALL {
        match Runtime::on(target, &machine, arch) {
            Ok(backend) => present.push(backend.check_races()),
            Err(why) => missing.push((target.name(), reason(&why))),
        }
    }
    Ok((present, missing))
}

/// The emulator mixes what it runs; where it alone was asked for, it has to be there.
fn scheduled(backends: Vec<Runtime>, seed: u64) -> Result<Vec<Runtime>, Diagnostics> {
    let alone = backends.len() == 1;
    let one = |backend: Runtime| match backend.target() {
        Target::PtxEmu => backend.scheduled(seed),
        Target::Sim | Target::Reference | Target::Cuda if alone => backend.scheduled(seed),
        Target::Sim | Target::Reference | Target::Cuda => Ok(backend),
    };
    backends.into_iter().map(one).collect()
}

/// What became of one instance on one backend.
enum Checked {
    Outputs(Vec<Agreement>),
    /// The backend does not have one of the kernel's ops yet.
    NotBuilt(Diagnostics),
    Failed(Diagnostics),
}

impl Checked {
    fn failure(self) -> Option<Diagnostics> {
        match self {
            Checked::Failed(why) => Some(why),
            Checked::Outputs(_) | Checked::NotBuilt(_) => None,
        }
    }
}

fn reason(why: &Diagnostics) -> String {
    why.0.first().map(|d| format!("{} {}", d.code, d.message)).unwrap_or_default()
}

/// What all instances run with.
#[derive(Clone, Copy)]
struct How {
    seed: u64,
    fast_math: bool,
}

/// One instance on one backend; `first`: messages and barriers are checked before the run.
fn check(instance: &Instance, backend: &mut Runtime, how: How, first: bool) -> Checked {
    match values(instance, backend, how, first) {
        Ok(outputs) => Checked::Outputs(outputs),
        Err(why) if why.0.iter().any(|d| d.code == tilewright_cuda::NOT_LOWERED) => Checked::NotBuilt(why),
        Err(why) => Checked::Failed(why),
    }
}
fn values(instance: &Instance, backend: &mut Runtime, how: How, first: bool) -> Result<Vec<Agreement>, Diagnostics> {
    let mut case = instance.case(Inputs::Random { seed: how.seed }, &backend.limits())?;
    let launch = case.launch()?.fast_math(how.fast_math).ready()?;
    if first {
        backend.check(&launch)?.iter().for_each(|remark| note(&format!("{instance}: {remark}")));
    }
    backend.execute(launch)?;
    case.check()
}

fn rows(instance: &Instance, on: &Runtime, result: &Checked) -> Vec<Vec<Cell>> {
    let first = || [instance.to_string().into(), on.target().name().into(), on.device().into()];
    let row = |rest: [Cell; 4]| first().into_iter().chain(rest).collect();
    match result {
        Checked::Outputs(outputs) => outputs
            .iter()
            .map(|o| {
                let verdict = o.fault.as_ref().map_or("agrees".to_string(), |fault| format!("DISAGREES: {fault}"));
                row([o.output.as_str().into(), o.tolerance.to_string().into(), o.worst.into(), verdict.into()])
            })
            .collect(),
        Checked::NotBuilt(why) => {
            vec![row([Cell::Empty, Cell::Empty, Cell::Empty, format!("skipped: {}", reason(why)).into()])]
        }
        Checked::Failed(why) => {
            vec![row([Cell::Empty, Cell::Empty, Cell::Empty, format!("failed: {}", reason(why)).into()])]
        }
    }
}

#[derive(Default)]
struct Count {
    agree: usize,
    disagree: usize,
    failed: usize,
    skipped: BTreeMap<Skipped, usize>,
}

/// A target, and why nothing ran there.
type Skipped = (&'static str, String);

impl Count {
    fn add(&mut self, target: Target, result: &Checked) {
        match result {
            Checked::Outputs(outputs) if outputs.iter().all(Agreement::agrees) => self.agree += 1,
            Checked::Outputs(_) => self.disagree += 1,
            Checked::NotBuilt(why) => *self.skipped.entry((target.name(), reason(why))).or_default() += 1,
            Checked::Failed(_) => self.failed += 1,
        }
    }
    /// Under a table; on standard error where standard output is for a machine.
    fn tell(&self, format: Format, cx: &mut Context<'_>) -> Result<(), Failure> {
        let skipped: usize = self.skipped.values().sum();
        let Count { agree, disagree, failed, .. } = self;
        let mut lines = vec![format!("{agree} agree, {disagree} disagree, {failed} failed, {skipped} skipped")];
        lines.extend(self.skipped.iter().map(|((target, why), n)| format!("skipped {n} on {target}: {why}")));
        match format {
            Format::Table => writeln!(cx.out, "{}", lines.join("\n"))?,
            Format::Csv | Format::Json => lines.iter().for_each(|line| note(line)),
        }
        Ok(())
    }
}
