//! `bench --target cuda`: shipped kernels on a GPU beside a copy by the device, timed as `replayed` says; and what a launch
//! costs. `case.rs`: one kernel. `overhead.rs`: launches.

mod case;
mod overhead;

use crate::gpu::Bench;
use crate::lines::Lines;
use case::{Options, Timed};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::{Cell, Common, Context, Failure, Outcome, Progress, output_args};
use tilewright_harness::registry::Instance;

/// Without names: what streams, at the sizes that the peers run.
const INSTANCES: [&str; 12] = [
    "vector_add:n=16777216,elem=f32",
    "vector_add:n=67108864,elem=f32",
    "vector_add:n=67108864,elem=f16",
    "vector_add:n=67108863,elem=f32",
    "row_softmax:rows=4096,columns=4096,elem=f32",
    "row_softmax:rows=16384,columns=4096,elem=f32",
    "row_softmax:rows=4096,columns=4096,elem=f16",
    "row_softmax:rows=16384,columns=4096,elem=f16",
    "layer_norm:rows=4096,columns=4096,elem=f32",
    "layer_norm:rows=16384,columns=4096,elem=f32",
    "layer_norm:rows=4096,columns=4096,elem=f16",
    "layer_norm:rows=16384,columns=4096,elem=f16",
];

/// The first six are those of other programs that measure the same.
const COLUMNS: [&str; 12] =
    ["peer", "op", "shape", "us", "tflops", "gbs", "of_copy", "threads", "programs", "registers", "ptx_ms", "note"];

/// What a kernel is timed with, for `--sweep`: threads of a program, and programs for each SM (0: one a piece of work).
const SWEEP: ([u32; 4], [usize; 7]) = ([128, 256, 512, 1024], [0, 1, 2, 3, 4, 6, 8]);

pub(super) fn args() -> Vec<Arg> {
    let kernel = Arg::new("kernel").value_name("KERNEL").num_args(0..);
    let target =
        Arg::new("target").long("target").value_name("TARGET").value_parser(PossibleValuesParser::new(["cuda"]));
    vec![
        target.help("Time kernels on this target"),
        kernel.help("Instances as `ir --list` prints them [default: what streams, at the peers' sizes]"),
        Arg::new("sweep")
            .long("sweep")
            .action(ArgAction::SetTrue)
            .help("Every number of threads and programs, and the best"),
        super::runs_arg("7").help("Times to replay each kernel; the median counts"),
        Arg::new("fast-math")
            .long("fast-math")
            .action(ArgAction::SetTrue)
            .help("Products and sums may round once, functions are the hardware's (docs/gpu-math.md)"),
    ]
    .into_iter()
    .chain(output_args())
    .collect()
}

pub(super) fn run(matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    let common = Common::of(matches);
    let words: Vec<&String> = matches.get_many("kernel").unwrap_or_default().collect();
    let instances: Vec<Instance> = match words[..] {
        [] => INSTANCES.iter().map(|word| cx.kernels.instance(word)).collect::<Result<_, _>>()?,
        _ => cx.kernels.chosen(&words)?,
    };
    let options = Options { runs: super::runs(matches), seed: 1, fast_math: matches.get_flag("fast-math") };
    // What is timed has to be there: the emulator has no time.
    let mut bench = Bench::open().map_err(|mut why| {
        why.0.iter_mut().for_each(|d| d.next = Some(NO_GPU.to_string()));
        why
    })?;
    let mut lines = Lines::begin(cx.out, common.format, &COLUMNS)?;
    let progress = Progress::new("bench", instances.len(), common.rows_only());
    let (mut wrong, mut facts) = (Diagnostics::default(), bench.facts());
    facts.extend(options.fast_math.then(|| ("fast math".to_string(), "yes".to_string())));
    for instance in &instances {
        let configs = if matches.get_flag("sweep") { sweep(&bench) } else { vec![None] };
        let result = case::timed(&mut bench, instance, &options, &configs, &mut |timed| {
            lines.row(&cells(instance, timed)).map_err(Failure::from)
        });
        match result {
            Ok(best) => facts.extend(best.filter(|_| configs.len() > 1).map(|best| told(instance, &best))),
            Err(Failure::Errors(why)) => {
                lines.row(&failed(instance, &why))?;
                wrong.0.extend(why.0);
            }
            Err(other) => return Err(other),
        }
        progress.step(&instance.to_string());
    }
    if words.is_empty() {
        overhead::rows(&mut bench, cx.kernels, &mut |op, us, note| {
            let (peer, op, note) = (Cell::from("tilewright"), op.into(), note.into());
            let cells = [peer, op, Cell::Empty, us.into()].into_iter().chain((0..7).map(|_| Cell::Empty));
            lines.row(&cells.chain([note]).collect::<Vec<_>>()).map_err(Failure::from)
        })?;
    }
    drop(progress);
    facts.extend(super::build());
    lines.end(&facts)?;
    wrong.finish()?;
    Ok(Outcome::Done)
}

/// Instead of what the driver proposes to a run.
const NO_GPU: &str =
    "a machine with an NVIDIA GPU; what the kernels compute is checked without one: verify --target ptx-emu";

fn sweep(bench: &Bench) -> Vec<Option<(u32, usize)>> {
    let (threads, per_sm) = SWEEP;
    threads.into_iter().flat_map(|t| per_sm.map(|n| Some((t, n * bench.sms())))).collect()
}

fn cells(instance: &Instance, timed: &Timed) -> Vec<Cell> {
    let round = |x: f64, by: f64| Cell::Real((x * by).round() / by);
    vec![
        timed.peer.into(),
        timed.op.as_str().into(),
        instance.settings.to_string().into(),
        round(timed.us, 100.0),
        Cell::Real(0.0),
        round(timed.gbs, 10.0),
        timed.of_copy.map_or(Cell::Empty, |share| round(share, 1e4)),
        timed.threads.map_or(Cell::Empty, |n| u64::from(n).into()),
        timed.programs.map_or(Cell::Empty, |n| u64::from(n).into()),
        timed.registers.map_or(Cell::Empty, |n| u64::from(n).into()),
        timed.ptx_ms.map_or(Cell::Empty, |ms| round(ms, 100.0)),
        Cell::Empty,
    ]
}
fn failed(instance: &Instance, why: &Diagnostics) -> Vec<Cell> {
    let reason = why.0.first().map(|d| format!("failed: {} {}", d.code, d.message)).unwrap_or_default();
    let known = ["tilewright".into(), instance.kernel.name().into(), instance.settings.to_string().into()];
    known.into_iter().chain((0..8).map(|_| Cell::Empty)).chain([reason.into()]).collect()
}
/// The best of a sweep.
fn told(instance: &Instance, best: &Timed) -> (String, String) {
    let Timed { us, threads, programs, .. } = best;
    let (threads, programs) = (threads.unwrap_or_default(), programs.unwrap_or_default());
    (instance.to_string(), format!("best {us:.2} us with {threads} threads, {programs} programs"))
}
