//! Points in parallel, rows in order: a row is handed on as soon as it and all before it are done.

use super::plan::Point;
use std::collections::BTreeMap;
use std::panic;
use std::sync::mpsc;
use tilewright_harness::cli::{Failure, Progress};

/// Computes every point on `threads` threads (0: one per core) and hands the results to `sink` in the order of the
/// points. If `sink` fails, points that have not started are not computed.
///
/// # Errors
/// What `sink` says.
pub fn in_order<R: Send>(
    points: &[Point],
    threads: usize,
    quiet: bool,
    compute: impl Fn(&Point) -> R + Sync,
    mut sink: impl FnMut(&Point, R) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(std::io::Error::other)?;
    let progress = Progress::new("sweep", points.len(), quiet);
    let (results, done) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| compute_all(&pool, points, &compute, &progress, results));
        let outcome = hand_on(points, done, &mut sink);
        // The panic of a point goes on here, with its own message.
        worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        outcome
    })
}

/// In the order of the points, so that the first rows are done first.
fn compute_all<R: Send>(
    pool: &rayon::ThreadPool,
    points: &[Point],
    compute: &(impl Fn(&Point) -> R + Sync),
    progress: &Progress,
    results: mpsc::Sender<(usize, R)>,
) {
    let stopped = std::sync::atomic::AtomicBool::new(false);
    pool.scope_fifo(|scope| {
        for (i, point) in points.iter().enumerate() {
            let (results, stopped) = (results.clone(), &stopped);
            scope.spawn_fifo(move |_| {
                use std::sync::atomic::Ordering::Relaxed;
                if stopped.load(Relaxed) {
                    return;
                }
                let result = compute(point);
                progress.step(&point.name());
                // Nobody listens any more once the sink has failed.
                stopped.fetch_or(results.send((i, result)).is_err(), Relaxed);
            });
        }
    });
}

fn hand_on<R>(
    points: &[Point],
    done: mpsc::Receiver<(usize, R)>,
    sink: &mut impl FnMut(&Point, R) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut early, mut next) = (BTreeMap::new(), 0);
    for (i, result) in done {
        early.insert(i, result);
        while let Some(result) = early.remove(&next) {
            sink(&points[next], result)?;
            next += 1;
        }
    }
    Ok(())
}
