//! One instance of a kernel on a GPU: its values against f64 first, then its time over several sets of tensors that
//! together do not fit the L2 cache, and, of what streams, the time in which the device copies as many bytes.

use super::work::Work;
use crate::gpu::{Bench, Queued, rate};
use std::time::{Duration, Instant};
use tilewright_core::diag::{Diagnostic, Diagnostics};
use tilewright_core::lang::Launch;
use tilewright_core::launch::{Arg, Grid, Ready};
use tilewright_core::tensor::AnyTensor;
use tilewright_cuda::launch::{Address, Device};
use tilewright_harness::cli::Failure;
use tilewright_harness::registry::{Agreement, Case, Inputs, Limits, Target};

pub struct Options {
    pub runs: u32,
    pub seed: u64,
    pub fast_math: bool,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timed {
    pub who: Who,
    pub us: f64,
    pub tflops: f64,
    pub gbs: f64,
    /// Its rate as a share of the copy's.
    pub of_copy: Option<f64>,
    pub threads: Option<u32>,
    pub programs: Option<u32>,
    pub registers: Option<u32>,
    /// From the kernel's function to PTX.
    pub ptx_ms: Option<f64>,
    /// What the kernel was specialised to.
    pub config: String,
    pub note: String,
}

/// Whose time it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Who {
    #[default]
    Kernel,
    /// The device's own copy of as many bytes.
    Copy,
}

/// Threads and programs instead of the kernel's own choice; 0 programs: as many as the kernel takes.
pub type Config = Option<(u32, usize)>;

/// The sets of tensors together take at least so many times the L2 cache.
const CACHES: u64 = 2;
/// Rows of an output that are compared where the reference of all takes more than so many operations, which the CPU does in
/// some seconds.
const SOME: (usize, f64) = (64, 1e9);

/// Times the work with each configuration; hands on a row for the copy, then one for each. Gives the best.
pub fn timed(
    bench: &mut Bench,
    work: &Work,
    options: &Options,
    configs: &[Config],
    row: &mut dyn FnMut(&Timed) -> Result<(), Failure>,
) -> Result<Option<Timed>, Failure> {
    let kept = bench.held();
    let result = on_sets(bench, work, options, configs, row);
    bench.give_back(kept);
    result
}

fn on_sets(
    bench: &mut Bench,
    work: &Work,
    options: &Options,
    configs: &[Config],
    row: &mut dyn FnMut(&Timed) -> Result<(), Failure>,
) -> Result<Option<Timed>, Failure> {
    let limits = Limits::gpu(Target::Cuda, bench.gpu.target());
    let mut case = work.instance.case(Inputs::Random { seed: options.seed }, &limits)?;
    let start = Instant::now();
    let own = case.launch()?.fast_math(options.fast_math).ready()?;
    let ptx_ms = to_ptx(bench, &own, start)?;
    let bytes: u64 = own.args.iter().filter_map(tensor).map(|t| t.len() as u64 * t.elem.bytes()).sum();
    let l2 = bench.gpu.properties().l2_bytes;
    let count = (CACHES * l2).div_ceil(bytes.max(1)).clamp(2, 64) as usize;
    let sets: Vec<Vec<Address>> = (0..count).map(|_| upload(bench, &own)).collect::<Result<_, _>>()?;
    drop(own);
    let rates = |time: Duration| (time.as_secs_f64() * 1e6, rate(bytes, time));
    let copy = if work.streams {
        let time = copied(bench, bytes, count, options.runs)?;
        let (us, gbs) = rates(time);
        row(&Timed { who: Who::Copy, us, gbs, ..Timed::default() })?;
        Some(time)
    } else {
        None
    };

    let mut best: Option<Timed> = None;
    for config in configs {
        let launches = ready(bench, case.launch()?.fast_math(options.fast_math), *config, &sets)?;
        let note = check(bench, &mut *case, &launches[0], (&sets[0], work.flops))?;
        let time = bench.replayed(options.runs, count, |stream, set| bench.queue(stream, &launches[set]))?;
        let (us, gbs) = rates(time);
        let first = &launches[0];
        let timed = Timed {
            who: Who::Kernel,
            us,
            tflops: work.flops / time.as_secs_f64() / 1e12,
            gbs,
            of_copy: copy.map(|copy| copy.as_secs_f64() / time.as_secs_f64()),
            threads: Some(first.compiled.kernel.threads),
            programs: Some(first.ctas.count),
            registers: Some(first.loaded.registers()),
            ptx_ms: Some(ptx_ms),
            config: case.facts().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("; "),
            note,
        };
        row(&timed)?;
        if best.as_ref().is_none_or(|best| timed.us < best.us) {
            best = Some(timed);
        }
        launches.into_iter().try_for_each(|launch| bench.done(launch))?;
    }
    Ok(best)
}

fn tensor<'a>(arg: &'a Arg<'_>) -> Option<&'a AnyTensor> {
    match arg {
        Arg::View(t) => Some(t),
        Arg::ViewMut(t) => Some(t),
        Arg::Scalar(_) => None,
    }
}

/// Milliseconds since `start`, when the kernel's function began to be traced, until there is PTX.
fn to_ptx(bench: &Bench, launch: &Ready<'_>, start: Instant) -> Result<f64, Diagnostics> {
    tilewright_cuda::launch::compile_for(launch, bench.gpu.target())?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// The tensors of a launch in the GPU's memory.
fn upload(bench: &mut Bench, launch: &Ready<'_>) -> Result<Vec<Address>, Diagnostics> {
    let mut set = Vec::new();
    for t in launch.args.iter().filter_map(tensor) {
        let at = bench.alloc(t.len() as u64 * t.elem.bytes())?;
        if let Some(data) = &t.data {
            bench.gpu.write(at, data.bytes())?;
        }
        set.push(at);
    }
    Ok(set)
}

fn ready(
    bench: &mut Bench,
    launch: Launch<'_>,
    config: Config,
    sets: &[Vec<Address>],
) -> Result<Vec<Queued>, Diagnostics> {
    let mut launch = launch.ready()?;
    if let Some((threads, programs)) = config {
        launch.config.threads = Some(threads);
        if programs > 0 {
            launch.config.grid = Grid::cubes(programs);
        }
    }
    sets.iter().map(|set| bench.ready(&launch, set)).collect()
}

/// Runs once; the values have to agree with f64. Says so if only some were compared.
fn check(
    bench: &mut Bench,
    case: &mut dyn Case,
    launch: &Queued,
    (set, flops): (&[Address], f64),
) -> Result<String, Diagnostics> {
    bench.queue(bench.gpu.stream(), launch)?;
    launch.outcome(&mut bench.gpu)?.checked()?;
    bench.gpu.synchronize()?;
    let mut host = case.launch()?.ready()?;
    let mut places = set.iter();
    for arg in &mut host.args {
        match arg {
            Arg::Scalar(_) => {}
            Arg::View(_) => {
                places.next();
            }
            Arg::ViewMut(t) => {
                if let (Some(at), Some(data)) = (places.next(), &mut t.data) {
                    let mut bytes = vec![0; data.bytes().len()];
                    bench.gpu.read(*at, &mut bytes)?;
                    data.copy_from_bytes(&bytes);
                    t.unwritten = Default::default();
                }
            }
        }
    }
    drop(host);
    let (some, most) = SOME;
    let outputs = if flops > most { case.check_some(some)? } else { case.check()? };
    match outputs.iter().find(|output| !output.agrees()) {
        None => Ok(outputs.first().map(compared).unwrap_or_default()),
        Some(output) => {
            let fault = output.fault.clone().unwrap_or_default();
            Err(Diagnostic::new(crate::errors::NOT_TIMED, format!("`{}` disagrees with f64: {fault}", output.output))
                .next("tilewright verify --target cuda")
                .into())
        }
    }
}

fn compared(output: &Agreement) -> String {
    match output.rows {
        [some, all] if some < all => format!("{some} of {all} rows compared with f64"),
        _ => String::new(),
    }
}

/// Half of the bytes read and half written, by the device.
fn copied(bench: &mut Bench, bytes: u64, sets: usize, runs: u32) -> Result<Duration, Diagnostics> {
    let half = (bytes / 2).max(1);
    let kept = bench.held();
    let pairs: Vec<[Address; 2]> =
        (0..sets).map(|_| Ok([bench.alloc(half)?, bench.alloc(half)?])).collect::<Result<_, Diagnostics>>()?;
    for pair in &pairs {
        bench.gpu.stream().fill(pair[0], 0x3C, half)?;
    }
    let time = bench.replayed(runs, sets, |stream, set| stream.copy(pairs[set][0], pairs[set][1], half));
    bench.give_back(kept);
    time
}
