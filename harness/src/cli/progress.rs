//! How far long work has come, on standard error: a bar with the time left on a terminal, a line a step elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Progress of a known number of steps. Threads may report at once.
pub struct Progress {
    shown: Shown,
    what: &'static str,
    total: usize,
    done: AtomicUsize,
    start: Instant,
}

enum Shown {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl Progress {
    /// Work of `total` steps; `quiet`: say nothing.
    pub fn new(what: &'static str, total: usize, quiet: bool) -> Progress {
        let shown = match () {
            () if quiet => Shown::Nothing,
            () if std::io::stderr().is_terminal() => Shown::Bar(bar(what, total)),
            () => Shown::Lines,
        };
        Progress { shown, what, total, done: AtomicUsize::new(0), start: Instant::now() }
    }
    /// One more step is done.
    pub fn step(&self, name: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match &self.shown {
            Shown::Nothing => {}
            Shown::Lines => {
                let seconds = self.start.elapsed().as_secs_f64();
                note(&format!("{} {done}/{}: {name} ({seconds:.1} s)", self.what, self.total));
            }
            Shown::Bar(bar) => {
                bar.set_message(name.to_string());
                bar.inc(1);
            }
        }
    }
}

/// A line on standard error.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}"); // nobody is left to be told if standard error is gone
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &'static str, total: usize) -> ProgressBar {
    let bar = ProgressBar::new(total as u64).with_prefix(what);
    match ProgressStyle::with_template("{prefix} {bar:24} {pos}/{len}  {eta} left  {wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar, // a template that does not read: the bar's own style
    }
}
