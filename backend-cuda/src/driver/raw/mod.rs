//! The driver's functions, as few as are used, with owners for what they make. All `unsafe` of the crate is here, a file
//! per concern; whoever uses this module cannot break memory safety of the host: handles live as long as the objects
//! that hold them, and host memory handed to the driver is borrowed until the driver is done with it. Addresses on the
//! device are plain numbers: a wrong one is an error of the driver or a fault on the GPU, never of this process.
//!
//! `device.rs`: the library, devices, contexts. `memory.rs`: memory of a device and copies. `kernel.rs`: from PTX to a
//! function, and its launch. `stream.rs`: streams, events, graphs.
#![allow(unsafe_code)] // what a driver in C asks for; the rest of the crate is denied it

mod device;
mod kernel;
mod memory;
mod stream;

pub use device::{Context, Properties, count, driver_version};
pub use kernel::{Function, Shape};
pub use stream::{Event, Graph, Stream};

use super::fault::Fault;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::CStr;
use std::ptr;

/// What a call of the driver said.
pub type Result<T> = std::result::Result<T, Fault>;

/// `call`: the function's name, for the message.
fn check(call: &'static str, result: CUresult) -> Result<()> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let text = |of: unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult| {
        let mut text = ptr::null();
        // SAFETY: the driver sets the pointer to a constant of its own, or leaves it null for a number it does not know.
        unsafe {
            let known = of(result, &mut text) == CUresult::CUDA_SUCCESS && !text.is_null();
            known.then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    let name = text(sys::cuGetErrorName).unwrap_or_else(|| format!("error {}", result as u32));
    Err(Fault { call, code: result as u32, name, text: text(sys::cuGetErrorString).unwrap_or_default() })
}
