//! Streams, events, graphs. A failure while one of them is dropped has been or will be told by another call: it is a
//! failure of what ran.

use super::{Context, Result, check};
use cudarc::driver::sys;
use std::ptr;
use std::sync::Arc;

/// A queue of work on a device: what is queued runs in that order.
#[derive(Debug)]
pub struct Stream {
    raw: sys::CUstream,
    context: Arc<Context>,
}
// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver locks what it changes.
unsafe impl Sync for Stream {}

impl Stream {
    pub fn new(context: &Arc<Context>) -> Result<Stream> {
        context.enter()?;
        let mut raw = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes one handle, which `Drop` gives back.
        check("cuStreamCreate", unsafe { sys::cuStreamCreate(&mut raw, flags) })?;
        Ok(Stream { raw, context: context.clone() })
    }
    pub(super) fn raw(&self) -> sys::CUstream {
        self.raw
    }
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }
    /// Waits for all that was queued so far.
    pub fn synchronize(&self) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the handle lives as long as `self`.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }
    /// What is queued from here on waits for the event.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.context.enter()?;
        // SAFETY: both handles live; 0 is the only flag.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.raw, event.raw, 0) })
    }
    /// Work queued by this thread from here on is recorded instead of run.
    pub fn begin_capture(&self) -> Result<()> {
        self.context.enter()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the handle lives.
        check("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(self.raw, mode) })
    }
    pub fn end_capture(&self) -> Result<Graph> {
        self.context.enter()?;
        let mut graph = ptr::null_mut();
        // SAFETY: writes one handle, which is given back below.
        check("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(self.raw, &mut graph) })?;
        let mut raw = ptr::null_mut();
        // SAFETY: writes one handle, which `Graph` gives back; the graph is copied.
        let made = check("cuGraphInstantiate", unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, graph, 0) });
        // SAFETY: made above, used no more.
        let _ = check("cuGraphDestroy", unsafe { sys::cuGraphDestroy(graph) });
        made.map(|()| Graph { raw, context: self.context.clone() })
    }
    /// Queues a recorded graph.
    pub fn replay(&self, graph: &Graph) -> Result<()> {
        self.context.enter()?;
        // SAFETY: both handles live.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(graph.raw, self.raw) })
    }
}
impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: made once, by `new`; the driver lets queued work end.
        let _ =
            self.context.enter().and_then(|()| check("cuStreamDestroy", unsafe { sys::cuStreamDestroy_v2(self.raw) }));
    }
}

/// A point in a stream, with the time when the device got there.
#[derive(Debug)]
pub struct Event {
    raw: sys::CUevent,
    context: Arc<Context>,
}
// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the driver locks what it changes.
unsafe impl Sync for Event {}

impl Event {
    pub fn new(context: &Arc<Context>) -> Result<Event> {
        context.enter()?;
        let mut raw = ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT as u32;
        // SAFETY: writes one handle, which `Drop` gives back.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&mut raw, flags) })?;
        Ok(Event { raw, context: context.clone() })
    }
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.context.enter()?;
        // SAFETY: both handles live.
        check("cuEventRecord", unsafe { sys::cuEventRecord(self.raw, stream.raw) })
    }
    pub fn synchronize(&self) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the handle lives.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.raw) })
    }
    /// From this event to a later one, both reached.
    pub fn elapsed_ms(&self, later: &Event) -> Result<f32> {
        self.context.enter()?;
        let mut ms = 0.0;
        // SAFETY: both handles live; writes one number.
        check("cuEventElapsedTime", unsafe { sys::cuEventElapsedTime(&mut ms, self.raw, later.raw) })?;
        Ok(ms)
    }
}
impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made once, by `new`.
        let _ =
            self.context.enter().and_then(|()| check("cuEventDestroy", unsafe { sys::cuEventDestroy_v2(self.raw) }));
    }
}

/// Recorded work, ready to be queued again and again.
#[derive(Debug)]
pub struct Graph {
    raw: sys::CUgraphExec,
    context: Arc<Context>,
}
// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Graph {}
// SAFETY: a graph is queued through `Stream::replay` alone; the driver orders replays of one graph.
unsafe impl Sync for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made once, by `end_capture`; the driver lets queued replays end.
        let _ = self
            .context
            .enter()
            .and_then(|()| check("cuGraphExecDestroy", unsafe { sys::cuGraphExecDestroy(self.raw) }));
    }
}
