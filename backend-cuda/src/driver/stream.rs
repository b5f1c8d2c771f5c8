//! Streams, events and graphs, with failures in the user's terms.

use super::errors::Launched;
use super::gpu::{Loaded, State};
use super::raw;
use crate::launch::Address;
use std::sync::{Arc, Mutex, PoisonError};
use tilewright_core::diag::Diagnostics;

/// A queue of work on a GPU: what is queued runs in that order, beside that of other streams.
#[derive(Clone, Debug)]
pub struct Stream {
    pub(super) raw: Arc<raw::Stream>,
    state: Arc<State>,
    /// The launches of the recording that is under way.
    recording: Arc<Mutex<Option<Vec<Recorded>>>>,
}

/// A launch in a graph, which keeps its kernel loaded.
type Recorded = (Loaded, Launched);

impl Stream {
    pub(super) fn new(state: &Arc<State>) -> Result<Stream, Diagnostics> {
        let raw = Arc::new(state.told(raw::Stream::new(&state.context))?);
        Ok(Stream { raw, state: state.clone(), recording: Arc::default() })
    }
    /// Waits for all that was queued so far.
    ///
    /// # Errors
    /// Something that ran failed.
    pub fn synchronize(&self) -> Result<(), Diagnostics> {
        self.state.told(self.raw.synchronize())
    }
    /// What is queued from here on waits for the event.
    ///
    /// # Errors
    /// The driver failed.
    pub fn wait(&self, event: &Event) -> Result<(), Diagnostics> {
        self.state.told(self.raw.wait(&event.raw))
    }
    /// Copies to the GPU, behind what is queued; waits for the end.
    ///
    /// # Errors
    /// The place is not allocated, or something that ran earlier failed.
    pub fn write(&self, to: Address, from: &[u8]) -> Result<(), Diagnostics> {
        self.state.told(self.raw.write(to.0, from))
    }
    /// Copies from the GPU, behind what is queued; waits for the end.
    ///
    /// # Errors
    /// The place is not allocated, or something that ran earlier failed.
    pub fn read(&self, from: Address, to: &mut [u8]) -> Result<(), Diagnostics> {
        self.state.told(self.raw.read(from.0, to))
    }
    /// Queues a copy inside the GPU's memory.
    ///
    /// # Errors
    /// The places are not allocated.
    pub fn copy(&self, from: Address, to: Address, bytes: u64) -> Result<(), Diagnostics> {
        self.state.told(self.raw.copy(from.0, to.0, bytes as usize))
    }
    /// Queues the setting of bytes in the GPU's memory.
    ///
    /// # Errors
    /// The place is not allocated.
    pub fn fill(&self, at: Address, byte: u8, bytes: u64) -> Result<(), Diagnostics> {
        self.state.told(self.raw.fill(at.0, byte, bytes as usize))
    }
    /// Queues a recorded graph.
    ///
    /// # Errors
    /// The driver failed, or something that ran earlier.
    pub fn replay(&self, graph: &Graph) -> Result<(), Diagnostics> {
        self.state.told(self.raw.replay(&graph.raw))?;
        if let Some((_, last)) = graph.launches.last() {
            self.state.launched(last.clone());
        }
        Ok(())
    }
    pub(super) fn recorded(&self, kernel: &Loaded, launched: &Launched) {
        if let Some(launches) = &mut *self.recording.lock().unwrap_or_else(PoisonError::into_inner) {
            launches.push((kernel.clone(), launched.clone()));
        }
    }
    pub(super) fn capture(&self, work: impl FnOnce(&Stream) -> Result<(), Diagnostics>) -> Result<Graph, Diagnostics> {
        self.state.told(self.raw.begin_capture())?;
        self.record(Some(Vec::new()));
        let done = work(self);
        // Ended in any case: a stream that records runs nothing.
        let graph = self.state.told(self.raw.end_capture());
        let launches = self.record(None).unwrap_or_default();
        done?;
        Ok(Graph { raw: graph?, launches })
    }
    fn record(&self, launches: Option<Vec<Recorded>>) -> Option<Vec<Recorded>> {
        std::mem::replace(&mut self.recording.lock().unwrap_or_else(PoisonError::into_inner), launches)
    }
}

/// A point in a stream, with the time when the GPU got there.
#[derive(Debug)]
pub struct Event {
    raw: raw::Event,
    state: Arc<State>,
}

impl Event {
    pub(super) fn new(state: &Arc<State>) -> Result<Event, Diagnostics> {
        Ok(Event { raw: state.told(raw::Event::new(&state.context))?, state: state.clone() })
    }
    /// Queues the event.
    ///
    /// # Errors
    /// The driver failed.
    pub fn record(&self, stream: &Stream) -> Result<(), Diagnostics> {
        self.state.told(self.raw.record(&stream.raw))
    }
    /// Waits until the GPU got there.
    ///
    /// # Errors
    /// Something that ran failed.
    pub fn synchronize(&self) -> Result<(), Diagnostics> {
        self.state.told(self.raw.synchronize())
    }
    /// From this event to a later one; both must have been reached.
    ///
    /// # Errors
    /// One has not been reached.
    pub fn elapsed_ms(&self, later: &Event) -> Result<f32, Diagnostics> {
        self.state.told(self.raw.elapsed_ms(&later.raw))
    }
}

/// Recorded work, ready to be queued again and again: [`super::Gpu::capture`].
#[derive(Debug)]
pub struct Graph {
    raw: raw::Graph,
    launches: Vec<Recorded>,
}
