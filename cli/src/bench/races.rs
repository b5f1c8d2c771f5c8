//! `bench races`: what the check for races and unwritten reads costs the interpreter, kernel by kernel.

use super::{build, runs, runs_arg};
use clap::{Arg, ArgMatches};
use std::time::Duration;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::{Interp, Options};
use tilewright_core::launch::{self, Backend};
use tilewright_core::tensor::AnyTensor;
use tilewright_harness::cli::{Common, Context, Failure, Outcome, Progress, Sheet, machine_args, output_args};
use tilewright_harness::registry::{Case, Inputs, Instance, Limits};
use tilewright_harness::runtime::Runtime;

pub(super) const NAME: &str = "races";

const COLUMNS: [&str; 5] = ["instance", "runs", "plain_ms", "checked_ms", "ratio"];

pub(super) fn flags() -> clap::Command {
    let kernel = Arg::new("kernel").value_name("KERNEL").num_args(0..);
    clap::Command::new(NAME)
        .about("What the check for races costs the interpreter: time with it and without, one core, medians")
        .arg(kernel.help("Kernels, or instances as `ir --list` prints them [default: the first instance of each]"))
        .args(
            machine_args()
                .into_iter()
                .chain(output_args())
                .chain([runs_arg("15").help("Times to run each instance each way")]),
        )
}

pub(super) fn run(matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    let common = Common::of(matches);
    let limits = Runtime::sim_with(common.open_machine()?).limits();
    let words: Vec<&String> = matches.get_many("kernel").unwrap_or_default().collect();
    let instances = match words[..] {
        [] => cx.kernels.iter().filter_map(|k| Instance::all_of(k).into_iter().next()).collect(),
        _ => cx.kernels.chosen(&words)?,
    };
    let progress = Progress::new("bench", instances.len(), common.rows_only());
    let mut sheet = Sheet::begin(cx.out, common.format, &COLUMNS)?;
    for instance in &instances {
        let (plain, checked) = medians(instance, &limits, runs(matches))?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        sheet.row(&[
            instance.to_string().into(),
            u64::from(runs(matches)).into(),
            ms(plain).into(),
            ms(checked).into(),
            (ms(checked) / ms(plain)).into(),
        ])?;
        progress.step(&instance.to_string());
    }
    drop(progress);
    sheet.end(&build())?;
    Ok(Outcome::Done)
}

/// The median times without and with the check. Runs of the two kinds take turns, so that both meet the same machine.
fn medians(instance: &Instance, limits: &Limits, runs: u32) -> Result<(Duration, Duration), Diagnostics> {
    let mut case = instance.case(Inputs::Random { seed: 1 }, limits)?;
    let given: Vec<Option<AnyTensor>> = case.launch()?.ready()?.args.iter_mut().map(|a| output(a).cloned()).collect();
    let (mut plain, mut checked) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        plain.push(time(&mut *case, &given, false)?);
        checked.push(time(&mut *case, &given, true)?);
    }
    Ok((median(plain), median(checked)))
}
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
/// Of one run, on outputs as they were given: a run leaves written what was not.
fn time(case: &mut dyn Case, given: &[Option<AnyTensor>], check_races: bool) -> Result<Duration, Diagnostics> {
    let mut launch = case.launch()?.ready()?;
    for (arg, given) in launch.args.iter_mut().zip(given) {
        if let (Some(tensor), Some(given)) = (output(arg), given) {
            tensor.clone_from(given);
        }
    }
    let mut interp = Interp::new(Options { check_races, ..Options::default() });
    let start = clock::now();
    interp.execute(launch)?;
    Ok(clock::now().saturating_sub(start))
}
fn output<'a>(arg: &'a mut launch::Arg<'_>) -> Option<&'a mut AnyTensor> {
    match arg {
        launch::Arg::ViewMut(tensor) => Some(tensor),
        launch::Arg::View(_) | launch::Arg::Scalar(_) => None,
    }
}

/// The time that this thread has run: what else the machine does must not count.
#[cfg(unix)]
mod clock {
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    pub(super) fn now() -> Duration {
        let t = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
    }
}
/// The time that has passed: measure on an idle machine.
#[cfg(not(unix))]
mod clock {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn now() -> Duration {
        START.elapsed()
    }
}
