//! A GPU to measure on: memory that is given back, launches over it, times by the GPU's own events.

use std::time::Duration;
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::Ready;
use tilewright_cuda::driver::{Gpu, Loaded, Stream};
use tilewright_cuda::launch::{Address, Device, Resident, Variants, resident};
use tilewright_harness::cli::Facts;

/// A GPU with the kernels that it has loaded.
pub struct Bench {
    pub gpu: Gpu,
    variants: Variants<Loaded>,
    held: Vec<Address>,
}

/// A launch over memory of the GPU.
pub type Queued = Resident<Loaded>;

impl Bench {
    /// # Errors
    /// No driver, no GPU.
    pub fn open() -> Result<Bench, Diagnostics> {
        Gpu::open(0).map(Bench::on)
    }
    pub fn on(gpu: Gpu) -> Bench {
        Bench { gpu, variants: Variants::default(), held: Vec::new() }
    }
    pub fn facts(&self) -> Facts {
        let p = self.gpu.properties();
        let ((major, minor), gib) = (self.gpu.driver(), p.memory_bytes as f64 / (1u64 << 30) as f64);
        let device = format!("{}, {} SMs, {gib:.0} GiB", p.name, p.sms);
        vec![("device".to_string(), device), ("driver".to_string(), format!("CUDA {major}.{minor}"))]
    }
    /// What kernels are compiled for.
    pub fn arch(&self) -> String {
        self.gpu.target().to_string()
    }
    pub fn sms(&self) -> usize {
        self.gpu.properties().sms as usize
    }
    /// Memory that is held as long as this.
    ///
    /// # Errors
    /// Out of memory.
    pub fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        let at = self.gpu.alloc(bytes)?;
        self.held.push(at);
        Ok(at)
    }
    /// Gives back all that was taken since there were `kept` pieces.
    pub fn give_back(&mut self, kept: usize) {
        for at in self.held.drain(kept..) {
            self.gpu.free(at);
        }
    }
    /// Pieces of memory that are held.
    pub fn held(&self) -> usize {
        self.held.len()
    }
    /// Compiles and loads what is not loaded yet.
    ///
    /// # Errors
    /// The kernel does not compile, or the GPU refuses it.
    pub fn ready(&mut self, launch: &Ready<'_>, views: &[Address]) -> Result<Queued, Diagnostics> {
        resident(&mut self.gpu, &mut self.variants, launch, views)
    }
    /// # Errors
    /// The launch is refused.
    pub fn queue(&self, stream: &Stream, launch: &Queued) -> Result<(), Diagnostics> {
        self.gpu.launch_on(stream, &launch.loaded, launch.ctas, &launch.params)
    }
    /// A launch that is queued no more: what went wrong in any of its runs is told, and what it took beside its tensors is
    /// given back.
    ///
    /// # Errors
    /// A run failed, or its kernel noted a fault.
    pub fn done(&mut self, launch: Queued) -> Result<(), Diagnostics> {
        let outcome = launch.outcome(&mut self.gpu);
        launch.free(&mut self.gpu);
        outcome?.checked().map(|_| ())
    }
    /// The times of so many runs, one after the other, after one that does not count; shortest first.
    ///
    /// # Errors
    /// Something that ran failed.
    pub fn times(
        &self,
        runs: u32,
        work: impl Fn(&Stream) -> Result<(), Diagnostics>,
    ) -> Result<Vec<Duration>, Diagnostics> {
        let stream = self.gpu.stream();
        work(stream)?;
        stream.synchronize()?;
        let (start, end) = (self.gpu.event()?, self.gpu.event()?);
        let once = |_| {
            start.record(stream)?;
            work(stream)?;
            end.record(stream)?;
            end.synchronize()?;
            Ok(Duration::from_secs_f64(f64::from(start.elapsed_ms(&end)?) * 1e-3))
        };
        let mut times = (0..runs.max(1)).map(once).collect::<Result<Vec<_>, Diagnostics>>()?;
        times.sort_unstable();
        Ok(times)
    }
    /// The median time of one call, of calls that take turns over different memory and are replayed as a graph: what a
    /// launch costs the host does not count, and what an earlier call left in the caches is gone.
    ///
    /// # Errors
    /// Something that ran failed.
    pub fn replayed(
        &self,
        runs: u32,
        sets: usize,
        call: impl Fn(&Stream, usize) -> Result<(), Diagnostics>,
    ) -> Result<Duration, Diagnostics> {
        let stream = self.gpu.stream();
        (0..sets.min(2)).try_for_each(|set| call(stream, set))?;
        stream.synchronize()?;
        let rounds = (20 / sets).max(1);
        let graph = self
            .gpu
            .capture(stream, |stream| (0..rounds).try_for_each(|_| (0..sets).try_for_each(|set| call(stream, set))))?;
        let times = self.times(runs, |stream| stream.replay(&graph))?;
        Ok(times[times.len() / 2] / (rounds * sets) as u32)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.give_back(0);
    }
}

/// GB/s.
pub fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}
