//! The library, devices, contexts.

use super::{Result, check};
use crate::driver::fault::{Fault, LIBRARY_MISSING};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::ffi::CStr;
use std::ptr;
use std::sync::{Arc, OnceLock};

/// Loads the driver's library and starts it; once a process.
fn start() -> Result<()> {
    static STARTED: OnceLock<Result<()>> = OnceLock::new();
    let start = || {
        // SAFETY: loading libcuda runs its initialisers, which are made to be loaded so. Every other call comes after.
        if !unsafe { sys::is_culib_present() } {
            return Err(Fault { call: "dlopen", code: LIBRARY_MISSING, name: "libcuda".into(), text: String::new() });
        }
        // SAFETY: the library is there; 0 is the only allowed flag.
        check("cuInit", unsafe { sys::cuInit(0) })
    };
    STARTED.get_or_init(start).clone()
}

/// The CUDA version that the driver speaks: `(12, 8)`.
pub fn driver_version() -> Result<(u32, u32)> {
    start()?;
    let mut version = 0;
    // SAFETY: writes one number.
    check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) })?;
    Ok((version as u32 / 1000, version as u32 % 1000 / 10))
}

/// Devices of this machine that this process may see.
pub fn count() -> Result<u32> {
    start()?;
    let mut count = 0;
    // SAFETY: writes one number.
    check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&mut count) })?;
    Ok(count as u32)
}

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    pub sms: u32,
    pub l2_bytes: u64,
    pub memory_bytes: u64,
    /// Shared memory that a thread block may ask for.
    pub shared_bytes: u32,
}

/// The primary context of a device: what everything else on it belongs to.
#[derive(Debug)]
pub struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    /// Tells devices of this process apart.
    pub id: u64,
    pub properties: Properties,
    pub driver: (u32, u32),
}
// SAFETY: the driver's handles may be used from any thread; every call makes the context current on its thread first.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks what it changes.
unsafe impl Sync for Context {}

impl Context {
    pub fn open(ordinal: u32) -> Result<Arc<Context>> {
        let driver = driver_version()?;
        let mut device = 0;
        // SAFETY: writes one number.
        check("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, ordinal as i32) })?;
        let properties = properties(device)?;
        let mut raw = ptr::null_mut();
        // SAFETY: `device` came from the driver; the context is given back once, by `Drop`.
        check("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&mut raw, device) })?;
        Ok(Arc::new(Context { device, raw, id: u64::from(ordinal), properties, driver }))
    }
    /// Makes the context current on this thread, as most calls ask for.
    pub(super) fn enter(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.raw) })
    }
    /// Waits for everything that runs in this context.
    pub fn synchronize(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: a context is current.
        check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
    }
}
impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once, by `open`; objects in the context hold an `Arc` of it, so none is left.
        let _ = check("cuDevicePrimaryCtxRelease", unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) });
    }
}

fn properties(device: sys::CUdevice) -> Result<Properties> {
    let attribute = |of| {
        let mut value = 0;
        // SAFETY: writes one number.
        check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, of, device) })
            .map(|()| value as u32)
    };
    let mut memory_bytes = 0;
    // SAFETY: writes one number.
    check("cuDeviceTotalMem", unsafe { sys::cuDeviceTotalMem_v2(&mut memory_bytes, device) })?;
    Ok(Properties {
        name: name(device)?,
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        sms: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        memory_bytes: memory_bytes as u64,
        shared_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
    })
}
fn name(device: sys::CUdevice) -> Result<String> {
    let mut text = [0u8; 256];
    // SAFETY: writes at most 255 characters and a zero.
    check("cuDeviceGetName", unsafe { sys::cuDeviceGetName(text.as_mut_ptr().cast(), 255, device) })?;
    Ok(CStr::from_bytes_until_nul(&text).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
}
