//! What a launch costs besides the kernel: the host's time for a warm one, and the first of a process with and without
//! machine code in the cache; and what a message costs.

use super::hop::{self, Way};
use crate::gpu::Bench;
use std::time::{Duration, Instant};
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::Arg;
use tilewright_cuda::cache::{Cache, MAX_BYTES};
use tilewright_cuda::driver::Gpu;
use tilewright_cuda::launch::{Address, Device};
use tilewright_harness::cli::Failure;
use tilewright_harness::registry::{Inputs, Kernels, Limits, Target};

/// Small enough that only the launch counts.
const SMALL: &str = "vector_add:n=1024,elem=f32";
/// Launches between two waits, and how often.
const LAUNCHES: (usize, usize) = (200, 15);

/// Messages of so many f32, by programs of so many threads.
const HOPS: [(&str, Way, usize, u32, &str); 4] = [
    ("hop_pe", Way::Pe, 32, 32, "a message of 128 bytes between PEs of a cube, 32 threads"),
    ("hop_pe_4k", Way::Pe, 1024, 128, "a message of 4 KiB between PEs of a cube, 128 threads"),
    ("hop_cube", Way::Cube, 32, 32, "a message of 128 bytes between cubes, 32 threads"),
    ("hop_cube_4k", Way::Cube, 1024, 128, "a message of 4 KiB between cubes, 128 threads"),
];

/// Hands on name, microseconds and what they are of.
pub fn rows(
    bench: &mut Bench,
    kernels: &Kernels,
    row: &mut dyn FnMut(&str, f64, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let us = |time: Duration| (time.as_secs_f64() * 1e8).round() / 100.0;
    let (whole, queued) = warm(bench, kernels)?;
    row("launch_warm", us(whole), "host: the kernel's function, its variant, its parameters, the driver's queue")?;
    row("launch_queue", us(queued), "host: the driver's queue alone")?;
    let (jit, cached) = first(kernels)?;
    row("first_kernel_jit", us(jit), "context open: trace, compile, assemble, load, run, wait")?;
    row("first_kernel_cached", us(cached), "the same with machine code from the cache")?;
    for (name, way, elems, threads, note) in HOPS {
        row(name, us(hop::time(bench, way, elems, threads)?), note)?;
    }
    let process = process()?;
    row("process_start", us(process), "this program until it has printed its version")?;
    Ok(())
}

/// Host time of one launch, whole and of the driver's part: medians of some rounds.
fn warm(bench: &mut Bench, kernels: &Kernels) -> Result<(Duration, Duration), Diagnostics> {
    let limits = Limits::gpu(Target::Cuda, bench.gpu.target());
    let mut case = kernels.instance(SMALL)?.case(Inputs::Random { seed: 1 }, &limits)?;
    let launch = case.launch()?.ready()?;
    let views: Vec<Address> = (0..views(&launch.args)).map(|_| bench.alloc(1 << 16)).collect::<Result<_, _>>()?;
    let queued = bench.ready(&launch, &views)?;
    drop(launch);
    let (mut whole, mut queue) = (Vec::new(), Vec::new());
    for _ in 0..LAUNCHES.1 {
        bench.gpu.synchronize()?;
        let start = Instant::now();
        for _ in 0..LAUNCHES.0 {
            let launch = case.launch()?.ready()?;
            let queued = bench.ready(&launch, &views)?;
            bench.queue(bench.gpu.stream(), &queued)?;
        }
        whole.push(start.elapsed() / LAUNCHES.0 as u32);
        bench.gpu.synchronize()?;
        let start = Instant::now();
        for _ in 0..LAUNCHES.0 {
            bench.queue(bench.gpu.stream(), &queued)?;
        }
        queue.push(start.elapsed() / LAUNCHES.0 as u32);
    }
    bench.done(queued)?;
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    Ok((median(whole), median(queue)))
}
fn views(args: &[Arg<'_>]) -> usize {
    args.iter().filter(|arg| !matches!(arg, Arg::Scalar(_))).count()
}

/// A kernel that this process has not seen: without a cache, then with one that has it.
fn first(kernels: &Kernels) -> Result<(Duration, Duration), Diagnostics> {
    let jit = once(kernels, Cache::off(), "row_softmax:rows=64,columns=2048,elem=f32")?;
    let dir = std::env::temp_dir().join(format!("tilewright-bench-{}", std::process::id()));
    let cached = {
        let cache = || Cache::at(&dir, MAX_BYTES);
        once(kernels, cache(), "row_softmax:rows=64,columns=2080,elem=f32")?;
        once(kernels, cache(), "row_softmax:rows=64,columns=2080,elem=f32")
    };
    // Left behind, it would be a few files in a folder for temporary ones.
    let _ = std::fs::remove_dir_all(&dir);
    Ok((jit, cached?))
}
/// From the kernel's function to the end of its run.
fn once(kernels: &Kernels, cache: Cache, word: &str) -> Result<Duration, Diagnostics> {
    let mut bench = Bench::on(Gpu::open_with(0, cache)?);
    let limits = Limits::gpu(Target::Cuda, bench.gpu.target());
    let mut case = kernels.instance(word)?.case(Inputs::Random { seed: 1 }, &limits)?;
    let views: Vec<Address> = [(); 2].iter().map(|()| bench.alloc(1 << 20)).collect::<Result<_, _>>()?;
    views.iter().try_for_each(|at| bench.gpu.write(*at, &vec![0; 1 << 20]))?;
    let start = Instant::now();
    let launch = case.launch()?.ready()?;
    let queued = bench.ready(&launch, &views)?;
    bench.queue(bench.gpu.stream(), &queued)?;
    bench.gpu.synchronize()?;
    let took = start.elapsed();
    bench.done(queued)?;
    Ok(took)
}

/// The shortest of some.
fn process() -> Result<Duration, Failure> {
    let program = std::env::current_exe()?;
    let once = || -> std::io::Result<Duration> {
        let start = Instant::now();
        std::process::Command::new(&program).arg("--version").output()?;
        Ok(start.elapsed())
    };
    let mut best = once()?;
    for _ in 0..4 {
        best = best.min(once()?);
    }
    Ok(best)
}
