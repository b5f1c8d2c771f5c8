//! What a device has to do for a launch. Implemented by the driver and by the emulator, so that both run the same text
//! with the same parameter block.

use crate::compile::Compiled;
use crate::outcome::{self, Stop};
use crate::target::Target;
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::Grid;

/// A place in a device's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub u64);

/// The CTAs of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctas {
    pub count: u32,
    /// They wait for each other, so that all of them have to run at the same time.
    pub together: bool,
}

impl Ctas {
    /// Of a kernel whose programs wait for nobody.
    pub fn apart(count: u32) -> Ctas {
        Ctas { count, together: false }
    }
    /// Of a kernel in a grid of this many programs.
    pub fn of(compiled: &Compiled, grid: Grid, count: u32) -> Ctas {
        let meets = |stop: &Stop| outcome::meets(&compiled.module, stop, grid.pes);
        let waits = compiled.mail_bytes > 0 || compiled.stops.iter().any(meets);
        Ctas { count, together: count > 1 && waits }
    }
}

/// Runs compiled kernels on its own memory.
pub trait Device {
    /// A kernel that is ready to run there.
    type Loaded;

    fn target(&self) -> Target;
    /// As it calls itself.
    fn name(&self) -> String;
    /// # Errors
    /// The device refuses the text.
    fn load(&mut self, kernel: Arc<Compiled>) -> Result<Self::Loaded, Diagnostics>;
    /// At least 256-byte aligned; 0 bytes are allowed.
    ///
    /// # Errors
    /// Out of memory.
    fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics>;
    fn free(&mut self, at: Address);
    /// # Errors
    /// The device failed.
    fn write(&mut self, at: Address, bytes: &[u8]) -> Result<(), Diagnostics>;
    /// Nobody has written these bytes; a device that can tell refuses kernels that read them.
    ///
    /// # Errors
    /// Outside the device's memory.
    fn mark_unwritten(&mut self, at: Address, bytes: u64) -> Result<(), Diagnostics> {
        let _ = (at, bytes);
        Ok(())
    }
    /// # Errors
    /// The device failed, perhaps in an earlier launch.
    fn read(&mut self, at: Address, bytes: &mut [u8]) -> Result<(), Diagnostics>;
    /// CTAs of the kernel that can run at the same time.
    ///
    /// # Errors
    /// The device failed.
    fn at_once(&mut self, kernel: &Self::Loaded) -> Result<u32, Diagnostics>;
    /// Runs the CTAs, or begins to: what is read afterwards is what they wrote.
    ///
    /// # Errors
    /// The launch is refused or fails.
    fn launch(&mut self, kernel: &Self::Loaded, ctas: Ctas, params: &[u8]) -> Result<(), Diagnostics>;
    /// Waits for launches that may still run.
    ///
    /// # Errors
    /// One of them failed.
    fn wait(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }
    /// Whether memory that says it lies on this device ([`Resident::device`]) does.
    ///
    /// [`Resident::device`]: tilewright_core::tensor::Resident::device
    fn is(&self, id: u64) -> bool {
        let _ = id;
        false
    }
}
