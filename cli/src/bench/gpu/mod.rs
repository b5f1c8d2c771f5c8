//! `bench --target cuda`: shipped kernels on a GPU beside a copy by the device and beside other programs, timed as
//! `replayed` says; and what a launch costs. `list.rs`: what is timed. `work.rs`: what it does, in the peers' terms.
//! `hop.rs`: a message. `case.rs`: one kernel. `peers.rs`: rows of other programs. `row.rs`: a row of results. `overhead.rs`: launches.

mod case;
mod hop;
mod list;
mod overhead;
mod peers;
mod row;
mod work;

use crate::gpu::Bench;
use crate::lines::Lines;
use case::{Options, Timed};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use peers::Peers;
use std::path::PathBuf;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::{Common, Context, Facts, Failure, Outcome, Progress, Sheet, output_args};
use work::{Key, Work};

/// What a kernel is timed with, for `--sweep`: threads of a program, and programs for each SM (0: one a piece of work).
const SWEEP: ([u32; 4], [usize; 7]) = ([128, 256, 512, 1024], [0, 1, 2, 3, 4, 6, 8]);

const SEED: u64 = 1;

pub(super) fn args() -> Vec<Arg> {
    let kernel = Arg::new("kernel").value_name("KERNEL").num_args(0..);
    let target =
        Arg::new("target").long("target").value_name("TARGET").value_parser(PossibleValuesParser::new(["cuda"]));
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    vec![
        target.help("Time kernels on this target"),
        kernel.help(format!(
            "Instances as `ir --list` prints them, or groups at the peers' sizes: {} [default: all groups]",
            list::GROUPS.join(", ")
        )),
        Arg::new("shape")
            .long("shape")
            .value_name("NAME=VALUE,…")
            .action(ArgAction::Append)
            .help("Only rows whose shape has these values; given again, also those that have the others"),
        Arg::new("peers")
            .long("peers")
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .help("Rows of other programs, a JSON object a line: the fastest stands beside each row of ours"),
        switch("list").help("Print the rows that would be timed, and the peers beside them"),
        switch("sweep").help("Every number of threads and programs, and the best"),
        super::runs_arg("7").help("Times to replay each kernel; the median counts"),
        switch("fast-math").help("Products and sums may round once, functions are the hardware's (docs/gpu-math.md)"),
    ]
    .into_iter()
    .chain(output_args())
    .collect()
}

pub(super) fn run(matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    let common = Common::of(matches);
    let list::Chosen { works, launches } = list::chosen(matches, cx.kernels)?;
    let peers = match matches.get_one::<PathBuf>("peers") {
        Some(path) => Peers::open(path)?,
        None => Peers::default(),
    };
    if matches.get_flag("list") {
        return listed(&works, &peers, &common, cx);
    }
    let options = Options { runs: super::runs(matches), seed: SEED, fast_math: matches.get_flag("fast-math") };
    // What is timed has to be there: the emulator has no time.
    let mut bench = Bench::open().map_err(|mut why| {
        why.0.iter_mut().for_each(|d| d.next = Some(NO_GPU.to_string()));
        why
    })?;
    let mut lines = Lines::begin(cx.out, common.format, &row::COLUMNS)?;
    let progress = Progress::new("bench", works.len(), common.rows_only());
    let (mut wrong, mut facts) = (Diagnostics::default(), facts(&bench, &options));
    for work in &works {
        let configs = if matches.get_flag("sweep") { sweep(&bench, work) } else { vec![None] };
        let best = peers.best(&work.key());
        let result = case::timed(&mut bench, work, &options, &configs, &mut |timed| {
            lines.row(&row::cells(work, timed, best)).map_err(Failure::from)
        });
        match result {
            Ok(best) => facts.extend(best.filter(|_| configs.len() > 1).map(|best| told(work, &best))),
            Err(Failure::Errors(why)) => {
                lines.row(&row::failed(work, &why, best))?;
                wrong.0.extend(why.0);
            }
            Err(other) => return Err(other),
        }
        progress.step(&work.name());
    }
    if launches {
        overhead::rows(&mut bench, cx.kernels, &mut |op, us, note| {
            lines.row(&row::overhead(op, us, note)).map_err(Failure::from)
        })?;
    }
    drop(progress);
    facts.extend(unmatched(&peers, &works));
    facts.extend(super::build());
    lines.end(&facts)?;
    wrong.finish()?;
    Ok(Outcome::Done)
}

/// Instead of what the driver proposes to a run.
const NO_GPU: &str =
    "a machine with an NVIDIA GPU; what the kernels compute is checked without one: verify --target ptx-emu";

/// What the rows say of themselves.
fn facts(bench: &Bench, options: &Options) -> Facts {
    let fact = |name: &str, text: String| (name.to_string(), text);
    let mut facts = bench.facts();
    facts.push(fact("arch", bench.arch()));
    facts.push(fact("inputs", format!("random, seed {}", options.seed)));
    facts.push(fact("fidelity", format!("measured: median of {} graph replays over sets beyond the L2", options.runs)));
    facts.extend(options.fast_math.then(|| fact("fast math", "yes".to_string())));
    facts
}

/// Peers' rows that stand beside none of ours.
fn unmatched(peers: &Peers, works: &[Work]) -> Facts {
    let keys: Vec<Key> = works.iter().map(Work::key).collect();
    let rows = peers.without(&keys);
    if rows.is_empty() { Facts::new() } else { vec![("peers without a row of ours".to_string(), rows.join("; "))] }
}

/// Reads peers' rows, as `--peers` does.
///
/// # Errors
/// All lines that begin a row and are none.
pub fn read_peers(text: &str) -> Result<(), Diagnostics> {
    Peers::default().read("the text", text)
}

/// `--list`.
fn listed(works: &[Work], peers: &Peers, common: &Common, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    let mut sheet = Sheet::begin(cx.out, common.format, &row::LISTED)?;
    for work in works {
        sheet.row(&row::listed(work, peers.best(&work.key())))?;
    }
    sheet.end(&unmatched(peers, works))?;
    Ok(Outcome::Done)
}

/// Kernels over products have as many programs as their tensors ask for.
fn sweep(bench: &Bench, work: &Work) -> Vec<Option<(u32, usize)>> {
    let (threads, per_sm) = SWEEP;
    let per_sm = if work.flops > 0.0 { &per_sm[..1] } else { &per_sm[..] };
    threads
        .into_iter()
        .flat_map(|t| per_sm.iter().map(move |n| (t, *n)))
        .map(|(t, n)| Some((t, n * bench.sms())))
        .collect()
}

/// The best of a sweep.
fn told(work: &Work, best: &Timed) -> (String, String) {
    let Timed { us, threads, programs, .. } = best;
    let (threads, programs) = (threads.unwrap_or_default(), programs.unwrap_or_default());
    (work.instance.to_string(), format!("best {us:.2} us with {threads} threads, {programs} programs"))
}
