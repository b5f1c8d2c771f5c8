//! A GPU as a device: memory, kernels, launches.

use super::errors::{self, Launched};
use super::fault::{Fault, Kind};
use super::jit;
use super::raw::{self, Context, Function, Properties, Shape};
use super::stream::{Event, Graph, Stream};
use crate::cache::{Cache, Key};
use crate::compile::Compiled;
use crate::launch::{Address, Ctas, Device};
use crate::target::Target;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tilewright_core::diag::Diagnostics;

/// An NVIDIA GPU, with a stream of its own. Clones are the same GPU and the same stream.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(super) state: Arc<State>,
    stream: Stream,
}

/// What everything on a GPU shares.
#[derive(Debug)]
pub(super) struct State {
    pub context: Arc<Context>,
    target: Target,
    /// Machine code of earlier processes.
    cache: Cache,
    /// Launched since the GPU was last known to be well: one of them is to blame if it no longer is.
    recent: Mutex<Vec<Launched>>,
    lost: AtomicBool,
}

/// Launches kept for the blame.
const RECENT: usize = 4;

/// A kernel, loaded on a GPU.
#[derive(Clone, Debug)]
pub struct Loaded(Arc<InMemory>);

#[derive(Debug)]
struct InMemory {
    compiled: Arc<Compiled>,
    function: Function,
    origin: Origin,
}

/// Where the machine code of a kernel came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The driver assembled it.
    Assembled,
    /// The cache had it.
    Cache,
}

impl Loaded {
    pub fn compiled(&self) -> &Arc<Compiled> {
        &self.0.compiled
    }
    pub fn origin(&self) -> Origin {
        self.0.origin
    }
    /// Of a thread.
    pub fn registers(&self) -> u32 {
        self.0.function.registers
    }
    /// Bytes of a thread that did not fit its registers.
    pub fn spilled_bytes(&self) -> u32 {
        self.0.function.local_bytes
    }
    fn launched(&self, ctas: Ctas) -> Launched {
        let (kernel, Ctas { count: blocks, together }) = (&self.0.compiled.kernel, ctas);
        let shape = Shape { blocks, threads: kernel.threads, shared_bytes: kernel.shared_bytes, together };
        Launched { kernel: self.0.compiled.clone(), shape }
    }
}

impl Gpu {
    /// How many GPUs this process may use.
    ///
    /// # Errors
    /// No driver.
    pub fn count() -> Result<u32, Diagnostics> {
        raw::count().map_err(|fault| errors::missing(&fault).into())
    }
    /// The GPU of this number, from 0, with the user's cache of machine code.
    ///
    /// # Errors
    /// No driver, no such GPU, or one that is too old.
    pub fn open(ordinal: u32) -> Result<Gpu, Diagnostics> {
        Gpu::open_with(ordinal, Cache::user())
    }
    /// The same with another cache.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open_with(ordinal: u32, cache: Cache) -> Result<Gpu, Diagnostics> {
        let missing = |fault: Fault| Diagnostics::from(errors::missing(&fault));
        let driver = raw::driver_version().map_err(missing)?;
        match Gpu::count()? {
            0 => return Err(errors::no_device().into()),
            count if ordinal >= count => return Err(errors::ordinal(ordinal, count).into()),
            _ if driver < errors::MIN_DRIVER => return Err(errors::driver_too_old(driver).into()),
            _ => {}
        }
        let context = Context::open(ordinal).map_err(missing)?;
        let Properties { name, capability, .. } = &context.properties;
        let target = Target::of_device(capability.0, capability.1);
        let target = target.ok_or_else(|| errors::device_too_old(name, *capability))?;
        let (recent, lost) = (Mutex::default(), AtomicBool::new(false));
        let state = Arc::new(State { context, target, cache, recent, lost });
        Ok(Gpu { stream: Stream::new(&state)?, state })
    }
    pub fn properties(&self) -> &Properties {
        &self.state.context.properties
    }
    /// The CUDA version that the driver speaks.
    pub fn driver(&self) -> (u32, u32) {
        self.state.context.driver
    }
    /// Where launches go that name no stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }
    /// # Errors
    /// The driver failed.
    pub fn new_stream(&self) -> Result<Stream, Diagnostics> {
        Stream::new(&self.state)
    }
    /// # Errors
    /// The driver failed.
    pub fn event(&self) -> Result<Event, Diagnostics> {
        Event::new(&self.state)
    }
    /// Waits for everything on the GPU that this process began.
    ///
    /// # Errors
    /// Something that ran failed.
    pub fn synchronize(&self) -> Result<(), Diagnostics> {
        self.state.told(self.state.context.synchronize())?;
        self.state.well();
        Ok(())
    }
    /// Bytes free, and bytes there are.
    ///
    /// # Errors
    /// The driver failed.
    pub fn memory(&self) -> Result<(u64, u64), Diagnostics> {
        self.state.told(self.state.context.memory())
    }
    /// Thread blocks of the kernel that fit an SM at once.
    ///
    /// # Errors
    /// The driver failed.
    pub fn blocks_per_sm(&self, kernel: &Loaded) -> Result<u32, Diagnostics> {
        self.state.told(kernel.0.function.blocks_per_sm(kernel.launched(Ctas::apart(1)).shape))
    }
    /// Queues a launch; `params` is copied. Failures of the kernel show at the next wait.
    ///
    /// # Errors
    /// The launch is refused, or something failed earlier.
    pub fn launch_on(&self, stream: &Stream, kernel: &Loaded, ctas: Ctas, params: &[u8]) -> Result<(), Diagnostics> {
        let launched = kernel.launched(ctas);
        match kernel.0.function.launch(&stream.raw, launched.shape, params) {
            Ok(()) => {
                stream.recorded(kernel, &launched);
                self.state.launched(launched);
                Ok(())
            }
            Err(fault) if fault.kind() == Kind::Refused => Err(errors::refused(&launched, &fault).into()),
            Err(fault) => self.state.told(Err(fault)),
        }
    }
    /// Records what `work` queues on the stream, instead of running it.
    ///
    /// # Errors
    /// `work` failed, or queued something that cannot be recorded, such as a copy to the host.
    pub fn capture(
        &self,
        stream: &Stream,
        work: impl FnOnce(&Stream) -> Result<(), Diagnostics>,
    ) -> Result<Graph, Diagnostics> {
        stream.capture(work)
    }
}

impl State {
    fn function(&self, compiled: &Compiled, cubin: &[u8]) -> raw::Result<Function> {
        let kernel = &compiled.kernel;
        Function::load(&self.context, cubin, &kernel.name, kernel.param_bytes, kernel.shared_bytes)
    }
    /// Machine code of a kernel for this GPU.
    fn assemble(&self, compiled: &Compiled) -> Result<Vec<u8>, Diagnostics> {
        self.context.link(&compiled.printed.text).or_else(|(fault, log)| match fault.kind() {
            Kind::DriverTooOld => Err(errors::ptx_too_new(self.context.driver, compiled.kernel.ptx_version()).into()),
            Kind::Ptx => Err(jit::refused(compiled, &fault, &log).into()),
            _ => self.told(Err(fault)),
        })
    }
    /// Machine code depends on the text, the driver's compiler and the GPU.
    fn key(&self, compiled: &Compiled) -> Key {
        let Properties { name, capability: (major, minor), .. } = &self.context.properties;
        let gpu = [*major, *minor, self.context.driver.0, self.context.driver.1].map(u32::to_le_bytes);
        Key::of(&[compiled.printed.text.as_bytes(), gpu.as_flattened(), name.as_bytes()])
    }
    fn label(&self, compiled: &Compiled) -> String {
        let (driver, gpu) = (self.context.driver, &self.context.properties.name);
        format!("{}, {} on {gpu}, CUDA {}.{}", compiled.module.name, compiled.kernel.target, driver.0, driver.1)
    }
    pub fn launched(&self, launch: Launched) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == RECENT {
            recent.remove(0);
        }
        recent.push(launch);
    }
    /// All that was launched has ended well.
    pub fn well(&self) {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
    /// A failure of the driver in the user's terms; one that lost the GPU is told once.
    pub fn told<T>(&self, result: raw::Result<T>) -> Result<T, Diagnostics> {
        result.map_err(|fault| match fault.kind() {
            _ if self.lost.load(Ordering::Relaxed) => errors::lost().into(),
            Kind::Sticky => {
                self.lost.store(true, Ordering::Relaxed);
                errors::failed(&self.recent.lock().unwrap_or_else(PoisonError::into_inner), &fault).into()
            }
            _ => errors::other(&fault).into(),
        })
    }
}

impl Device for Gpu {
    type Loaded = Loaded;

    fn target(&self) -> Target {
        self.state.target
    }
    fn name(&self) -> String {
        self.properties().name.clone()
    }
    fn load(&mut self, compiled: Arc<Compiled>) -> Result<Loaded, Diagnostics> {
        let (state, key) = (&self.state, self.state.key(&compiled));
        // What the driver no longer takes is assembled anew and replaced.
        let kept = state.cache.get(key).and_then(|cubin| state.function(&compiled, &cubin).ok());
        let (function, origin) = match kept {
            Some(function) => (function, Origin::Cache),
            None => {
                let cubin = state.assemble(&compiled)?;
                let function = state.told(state.function(&compiled, &cubin))?;
                // A cache that cannot be written makes the next process slower, nothing else.
                let _ = state.cache.put(key, &state.label(&compiled), &cubin);
                (function, Origin::Assembled)
            }
        };
        Ok(Loaded(Arc::new(InMemory { compiled, function, origin })))
    }
    fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        match self.state.context.alloc(bytes as usize) {
            Ok(at) => Ok(Address(at)),
            Err(fault) if fault.kind() == Kind::OutOfMemory => {
                let (free, total) = self.memory()?;
                Err(errors::out_of_memory(bytes, free, total).into())
            }
            Err(fault) => self.state.told(Err(fault)),
        }
    }
    fn free(&mut self, at: Address) {
        // A failure here is one of what ran before, and told where its results are asked for.
        let _ = self.state.context.free(at.0);
    }
    fn write(&mut self, at: Address, bytes: &[u8]) -> Result<(), Diagnostics> {
        self.stream.write(at, bytes)
    }
    fn read(&mut self, at: Address, bytes: &mut [u8]) -> Result<(), Diagnostics> {
        self.stream.read(at, bytes)
    }
    fn at_once(&mut self, kernel: &Loaded) -> Result<u32, Diagnostics> {
        match kernel.0.compiled.kernel.cluster {
            None => Ok(self.blocks_per_sm(kernel)? * self.properties().sms),
            Some(ctas) => {
                let shape = kernel.launched(Ctas::apart(ctas)).shape;
                Ok(ctas * self.state.told(kernel.0.function.clusters_at_once(shape))?)
            }
        }
    }
    fn launch(&mut self, kernel: &Loaded, ctas: Ctas, params: &[u8]) -> Result<(), Diagnostics> {
        self.launch_on(&self.stream, kernel, ctas, params)
    }
    fn wait(&mut self) -> Result<(), Diagnostics> {
        self.stream.synchronize()?;
        self.state.well();
        Ok(())
    }
    fn is(&self, id: u64) -> bool {
        id == self.state.context.id
    }
}
