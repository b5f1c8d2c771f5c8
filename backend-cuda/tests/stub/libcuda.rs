//! A driver that has no GPU behind it: built as `libcuda.so` by `tests/no_gpu.rs`. What it says of the machine, and what
//! it answers when a kernel is assembled, is in the environment. Memory is the host's, kernels do
//! nothing, every other call succeeds.
#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// A number from the environment.
fn say(name: &str, default: c_int) -> c_int {
    std::env::var(format!("STUB_{name}")).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_int {
    say("INIT", 0)
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    unsafe { *version = say("VERSION", 12080) };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    unsafe { *count = say("COUNT", 1) };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    unsafe { *device = ordinal };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _: c_int) -> c_int {
    unsafe { *bytes = 80 << 30 };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, _: c_int, _: c_int) -> c_int {
    let text = c"Stub GPU";
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), name, text.count_bytes() + 1) };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, of: c_int, _: c_int) -> c_int {
    unsafe {
        *value = match of {
            75 => say("MAJOR", 9),
            76 => say("MINOR", 0),
            _ => 100,
        }
    };
    0
}
/// Something that is not null.
unsafe fn handle(out: *mut *mut c_void) -> c_int {
    unsafe { *out = 64 as *mut c_void };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(out: *mut *mut c_void, _: c_int) -> c_int {
    unsafe { handle(out) }
}
#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_: c_int) -> c_int {
    0
}
#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(_: *mut c_void) -> c_int {
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(out: *mut *mut c_void, _: c_uint) -> c_int {
    unsafe { handle(out) }
}
#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(_: *mut c_void) -> c_int {
    0
}
#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(_: *mut c_void) -> c_int {
    say("SYNCHRONIZE", 0)
}
/// Host memory, never given back.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(at: *mut u64, bytes: usize) -> c_int {
    let refused = say("ALLOC", 0);
    if refused == 0 {
        let words: &mut [u128] = vec![0; bytes.div_ceil(16)].leak();
        unsafe { *at = words.as_mut_ptr() as u64 };
    }
    refused
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, _: *mut c_void) -> c_int {
    unsafe { std::ptr::copy_nonoverlapping(from, to as *mut u8, bytes) };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, _: *mut c_void) -> c_int {
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to, bytes) };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8Async(at: u64, byte: u8, bytes: usize, _: *mut c_void) -> c_int {
    unsafe { std::ptr::write_bytes(at as *mut u8, byte, bytes) };
    0
}
#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(_: u64) -> c_int {
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    unsafe { (*free, *total) = (3 << 30, 80 << 30) };
    0
}
/// The error log is the value of the first option.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkCreate_v2(
    _: c_uint,
    _: *mut c_int,
    values: *mut *mut c_void,
    out: *mut *mut c_void,
) -> c_int {
    // The state is where the log is.
    unsafe { *out = *values };
    0
}
/// Refuses what the environment says, naming the line of the first load and the text's target.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkAddData_v2(
    state: *mut c_void,
    _: c_int,
    data: *mut c_void,
    _: usize,
    _: *const c_char,
    _: c_uint,
    _: *mut c_int,
    _: *mut *mut c_void,
) -> c_int {
    let text = unsafe { CStr::from_ptr(data.cast()) }.to_string_lossy();
    let line = text.lines().position(|line| line.contains("ld.global")).map_or(0, |at| at + 1);
    let target = text.lines().find(|line| line.starts_with(".target")).unwrap_or_default();
    let log = format!("ptxas application ptx input, line {line}; error   : refused {target}\0");
    let code = say("PTX", 0);
    if code != 0 {
        unsafe { std::ptr::copy_nonoverlapping(log.as_ptr(), state.cast::<u8>(), log.len()) };
    }
    code
}
#[unsafe(no_mangle)]
extern "C" fn cuLinkDestroy(_: *mut c_void) -> c_int {
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkComplete(_: *mut c_void, cubin: *mut *mut c_void, len: *mut usize) -> c_int {
    unsafe { (*cubin, *len) = (c"cubin".as_ptr().cast_mut().cast(), 5) };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    out: *mut *mut c_void,
    _: *const c_void,
    _: c_uint,
    _: *mut c_int,
    _: *mut *mut c_void,
) -> c_int {
    unsafe { handle(out) }
}
#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(_: *mut c_void) -> c_int {
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(out: *mut *mut c_void, _: *mut c_void, _: *const c_char) -> c_int {
    unsafe { handle(out) }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, _: c_int, _: *mut c_void) -> c_int {
    unsafe { *value = 32 };
    0
}
#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernelEx(_: *const c_void, _: *mut c_void, _: *mut *mut c_void, _: *mut *mut c_void) -> c_int {
    say("LAUNCH", 0)
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(_: c_int, name: *mut *const c_char) -> c_int {
    unsafe { *name = c"CUDA_ERROR_OF_THE_STUB".as_ptr() };
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(_: c_int, text: *mut *const c_char) -> c_int {
    unsafe { *text = c"as the test asked".as_ptr() };
    0
}
