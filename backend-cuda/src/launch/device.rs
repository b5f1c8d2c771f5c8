//! What a device has to do for a launch. Implemented by the driver and by the emulator, so that both run the same text
//! with the same parameter block.

use crate::compile::Compiled;
use crate::target::Target;
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;

/// A place in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub u64);

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
    /// Runs `programs` CTAs, or begins to: what is read afterwards is what they wrote.
    ///
    /// # Errors
    /// The launch is refused or fails.
    fn launch(&mut self, kernel: &Self::Loaded, programs: u32, params: &[u8]) -> Result<(), Diagnostics>;
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
