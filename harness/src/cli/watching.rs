//! How far one long timing run has come, on standard error: a line that moves on a terminal, a line every few seconds
//! elsewhere. A short run shows nothing.

use super::progress::note;
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tilewright_sim::timing::Watch;

/// Shows a run until it is dropped.
pub(super) struct Watching {
    /// Dropped first, which ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    pub fn start(watch: Arc<Watch>) -> Watching {
        let (end, ended) = channel();
        let terminal = std::io::stderr().is_terminal();
        let every = if terminal { Duration::from_millis(500) } else { Duration::from_secs(5) };
        let show = move || {
            let (start, mut bar) = (Instant::now(), None);
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let text = line(&watch, start.elapsed());
                match terminal {
                    true => bar.get_or_insert_with(ProgressBar::new_spinner).set_message(text),
                    false => note(&text),
                }
            }
            bar.iter().for_each(ProgressBar::finish_and_clear);
        };
        // Without a thread the run is as good, and silent.
        Watching { end: Some(end), thread: thread::Builder::new().spawn(show).ok() }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it has nothing to tell
        }
    }
}

fn line(watch: &Watch, elapsed: Duration) -> String {
    let ((events, ended), elapsed) = (watch.look(), elapsed.as_secs_f64());
    // No time passes before the values are there.
    if events == 0 {
        return format!("run: computing values ({elapsed:.1} s)");
    }
    format!("run: {:.1} million events, {ended} programs have ended ({elapsed:.1} s)", events as f64 / 1e6)
}
