//! The long version: `cargo run --release -p tilewright-fuzz -- --target tir --count 1000000 --seed 1`. Exit code 0: no
//! finds; 2: finds, each printed with its number; 3: an input that never ended.

use clap::Parser;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tilewright_fuzz::{MAX_MEMORY_KIB, Target, peak_memory_kib, run};

/// Feeds readers of text with damaged ones.
#[derive(Parser)]
struct Args {
    /// What is fed; all targets if none is named.
    #[arg(long)]
    target: Option<Target>,
    /// Inputs for each target.
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// Where the inputs come from: the same seed, the same inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first input: what a find prints.
    #[arg(long, default_value_t = 0)]
    skip: u64,
}

/// Inputs between two looks at the clock and the memory.
const STEP: u64 = 1000;
/// A step that takes longer holds an input that does not end.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let args = Args::parse();
    let targets = args.target.map_or(Target::ALL.to_vec(), |t| vec![t]);
    // A failed assertion in one thread must not look like an end.
    let clean: Vec<bool> = targets.into_iter().map(|target| fed(target, &args)).collect();
    if clean.iter().all(|clean| *clean) { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

/// Feeds one target and prints what it did; whether it did well.
fn fed(target: Target, args: &Args) -> bool {
    static DONE: AtomicU64 = AtomicU64::new(0);
    std::thread::spawn(move || watch(target, &DONE));
    let (mut inputs, mut accepted, mut finds) = (0, 0, 0);
    let (mut slowest, mut elapsed) = (Duration::ZERO, Duration::ZERO);
    let end = args.skip.saturating_add(args.count);
    let mut at = args.skip;
    while at < end && finds < 20 {
        let tally = run(target, args.seed, at, STEP.min(end - at));
        for find in &tally.finds {
            println!("--seed {} --skip {}: {}\n{}\n", args.seed, find.number, find.fault, find.input);
        }
        (inputs, accepted, finds) = (inputs + tally.inputs, accepted + tally.accepted, finds + tally.finds.len());
        (slowest, elapsed) = (slowest.max(tally.slowest), elapsed + tally.elapsed);
        at += STEP;
        DONE.fetch_add(1, Ordering::Relaxed);
    }
    let memory = peak_memory_kib();
    println!(
        "{target:?}: {inputs} inputs, {accepted} accepted, {finds} finds, {:.0} a second, slowest {slowest:.1?}, peak \
         memory {} MiB",
        inputs as f64 / elapsed.as_secs_f64(),
        memory.map_or("?".to_string(), |kib| (kib / 1024).to_string()),
    );
    finds == 0 && memory.is_none_or(|kib| kib <= MAX_MEMORY_KIB)
}

/// Ends the process when no step ends: an input in it hangs.
fn watch(target: Target, done: &AtomicU64) {
    let mut before = done.load(Ordering::Relaxed);
    loop {
        std::thread::sleep(PATIENCE);
        let now = done.load(Ordering::Relaxed);
        if now == before {
            println!("{target:?}: an input of step {now} does not end");
            std::process::exit(3);
        }
        before = now;
    }
}
