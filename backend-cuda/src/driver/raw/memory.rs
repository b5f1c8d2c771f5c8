//! Memory of a device, and copies. A copy to or from the host has ended when the call returns.

use super::{Context, Result, Stream, check};
use cudarc::driver::sys;
use std::ffi::c_void;

impl Context {
    /// `bytes` of device memory, 256-byte aligned; given back by [`Context::free`] alone.
    pub fn alloc(&self, bytes: usize) -> Result<u64> {
        self.enter()?;
        let mut at = 0;
        // The driver refuses 0 bytes.
        // SAFETY: writes one address.
        check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut at, bytes.max(1)) })?;
        Ok(at)
    }
    pub fn free(&self, at: u64) -> Result<()> {
        self.enter()?;
        // SAFETY: the driver checks that the address begins an allocation, and waits for work that uses it.
        check("cuMemFree", unsafe { sys::cuMemFree_v2(at) })
    }
    /// Bytes free, and bytes there are.
    pub fn memory(&self) -> Result<(u64, u64)> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok((free as u64, total as u64))
    }
}

impl Stream {
    pub fn write(&self, to: u64, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        self.context().enter()?;
        let host = from.as_ptr().cast::<c_void>();
        // SAFETY: `from` is read while it is borrowed: the wait below ends after the copy.
        check("cuMemcpyHtoDAsync", unsafe { sys::cuMemcpyHtoDAsync_v2(to, host, from.len(), self.raw()) })?;
        self.synchronize()
    }
    pub fn read(&self, from: u64, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        self.context().enter()?;
        let host = to.as_mut_ptr().cast::<c_void>();
        // SAFETY: `to` is written while it is borrowed: the wait below ends after the copy.
        check("cuMemcpyDtoHAsync", unsafe { sys::cuMemcpyDtoHAsync_v2(host, from, to.len(), self.raw()) })?;
        self.synchronize()
    }
    /// Inside the device; queued.
    pub fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.context().enter()?;
        // SAFETY: both places are on the device.
        check("cuMemcpyDtoDAsync", unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, self.raw()) })
    }
    /// Sets bytes on the device; queued.
    pub fn fill(&self, at: u64, byte: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().enter()?;
        // SAFETY: the place is on the device.
        check("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(at, byte, bytes, self.raw()) })
    }
}
