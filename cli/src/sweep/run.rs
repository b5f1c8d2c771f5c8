//! Points in parallel, rows in order: a row is handed on as soon as it and all before it are done.

use crate::errors;
use std::collections::BTreeMap;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use tilewright_harness::cli::{Failure, Progress};

/// Computes every point on `threads` threads (0: one per core) and hands the results to `sink` in the order of the
/// points. If `sink` fails, points that have not started are not computed.
///
/// # Errors
/// What `sink` says.
pub fn in_order<P: Sync, R: Send>(
    points: &[P],
    name: impl Fn(&P) -> String + Sync,
    threads: usize,
    quiet: bool,
    compute: impl Fn(&P) -> R + Sync,
    mut sink: impl FnMut(&P, R) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(errors::no_threads)?;
    let progress = Progress::new("sweep", points.len(), quiet);
    let (results, done) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| compute_all(&pool, points, &name, &compute, &progress, results));
        let outcome = hand_on(points, done, &mut sink);
        // The panic of a point goes on here, with its own message.
        worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        outcome
    })
}

/// In the order of the points, so that the first rows are done first.
fn compute_all<P: Sync, R: Send>(
    pool: &rayon::ThreadPool,
    points: &[P],
    name: &(impl Fn(&P) -> String + Sync),
    compute: &(impl Fn(&P) -> R + Sync),
    progress: &Progress,
    results: mpsc::Sender<(usize, R)>,
) {
    let stopped = AtomicBool::new(false);
    pool.scope_fifo(|scope| {
        for (i, point) in points.iter().enumerate() {
            let (results, stopped) = (results.clone(), &stopped);
            scope.spawn_fifo(move |_| {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let result = compute(point);
                progress.step(&name(point));
                // Nobody listens any more once the sink has failed.
                stopped.fetch_or(results.send((i, result)).is_err(), Ordering::Relaxed);
            });
        }
    });
}

fn hand_on<P, R>(
    points: &[P],
    done: mpsc::Receiver<(usize, R)>,
    sink: &mut impl FnMut(&P, R) -> Result<(), Failure>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicUsize;

    fn points(n: usize) -> Vec<usize> {
        (0..n).collect()
    }

    #[test]
    fn rows_come_in_order_although_the_first_is_done_last() {
        let (others, all_but_first) = (AtomicUsize::new(0), OnceLock::new());
        let first_is_last = |p: &usize| {
            if *p == 0 {
                all_but_first.wait();
            } else if others.fetch_add(1, Ordering::Relaxed) == 6 {
                all_but_first.get_or_init(|| ());
            }
            *p
        };
        let mut seen = Vec::new();
        let sink = |p: &usize, n| {
            seen.push((*p, n));
            Ok(())
        };
        in_order(&points(8), usize::to_string, 4, true, first_is_last, sink).unwrap();
        assert_eq!(seen, (0..8).map(|i| (i, i)).collect::<Vec<_>>());
    }

    /// A result that tells when nobody listens any more: it goes with the channel, or cannot be sent.
    struct Unread<'a>(&'a OnceLock<()>);
    impl Drop for Unread<'_> {
        fn drop(&mut self) {
            self.0.get_or_init(|| ());
        }
    }
    #[test]
    fn a_reader_that_goes_away_stops_the_work() {
        let (computed, gone) = (AtomicUsize::new(0), OnceLock::new());
        let compute = |p: &usize| {
            computed.fetch_add(1, Ordering::Relaxed);
            if *p > 1 {
                gone.wait();
            }
            Unread(&gone)
        };
        let refuse = |_: &usize, first: Unread<'_>| {
            std::mem::forget(first);
            Err(io::Error::from(io::ErrorKind::BrokenPipe).into())
        };
        assert!(in_order(&points(200), usize::to_string, 2, true, compute, refuse).is_err());
        // The two that do not wait, and what each thread had begun by then.
        assert!(computed.into_inner() <= 4);
    }
    #[test]
    #[should_panic = "point 3"]
    fn the_panic_of_a_point_keeps_its_message() {
        let compute = |p: &usize| assert!(*p != 3, "point {p}");
        let _ = in_order(&points(5), usize::to_string, 2, true, compute, |_, ()| Ok(()));
    }
}
