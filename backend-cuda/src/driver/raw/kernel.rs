//! From PTX to machine code, from machine code to a function, and its launch.

use super::{Context, Result, Stream, check};
use crate::driver::fault::Fault;
use cudarc::driver::sys::{self, CUfunction_attribute as Attribute, CUjit_option as Jit};
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::Arc;

/// Bytes kept of the compiler's log.
const LOG_BYTES: usize = 16 << 10;

impl Context {
    /// Compiles PTX to machine code for the device of this context. The second half of an error: the compiler's words.
    pub fn link(&self, ptx: &str) -> std::result::Result<Vec<u8>, (Fault, String)> {
        let bare = |fault| (fault, String::new());
        self.enter().map_err(bare)?;
        let text = text(ptx).map_err(bare)?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut keys = [Jit::CU_JIT_ERROR_LOG_BUFFER, Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The number goes into the slot itself.
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_BYTES)];
        let mut state = ptr::null_mut();
        // SAFETY: as many keys as values, each value of its key's kind. Keys, values and log live until the link is destroyed.
        let created = unsafe { sys::cuLinkCreate_v2(2, keys.as_mut_ptr(), values.as_mut_ptr(), &mut state) };
        check("cuLinkCreate", created).map_err(bare)?;
        let made = compile(state, &text);
        // SAFETY: made above, used no more; what it made has been copied.
        let _ = check("cuLinkDestroy", unsafe { sys::cuLinkDestroy(state) });
        made.map_err(|fault| (fault, until_zero(&log)))
    }
}

/// The machine code, copied.
fn compile(state: sys::CUlinkState, text: &CStr) -> Result<Vec<u8>> {
    let bytes = text.to_bytes_with_nul();
    let (ptx, none) = (sys::CUjitInputType::CU_JIT_INPUT_PTX, ptr::null_mut());
    let data = bytes.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: the driver reads `bytes` during the call and does not write them.
    let added = unsafe {
        sys::cuLinkAddData_v2(state, ptx, data, bytes.len(), c"kernel".as_ptr(), 0, ptr::null_mut(), ptr::null_mut())
    };
    check("cuLinkAddData", added)?;
    let (mut cubin, mut len) = (none, 0);
    // SAFETY: writes an address and a length.
    check("cuLinkComplete", unsafe { sys::cuLinkComplete(state, &mut cubin, &mut len) })?;
    // SAFETY: `len` bytes that belong to the link, which lives until the caller destroys it.
    Ok(unsafe { std::slice::from_raw_parts(cubin.cast::<u8>(), len) }.to_vec())
}

fn text(text: &str) -> Result<CString> {
    let fault =
        |_| Fault { call: "cuLinkAddData", code: 1, name: "a zero byte in the text".into(), text: String::new() };
    CString::new(text).map_err(fault)
}
fn until_zero(log: &[u8]) -> String {
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Of a kernel's parameter block.
const MIN_PARAM_BYTES: usize = 8;

/// What a launch runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub blocks: u32,
    pub threads: u32,
    pub shared_bytes: u32,
    /// The blocks wait for each other: the driver refuses what does not run at the same time.
    pub together: bool,
}

impl Shape {
    /// `attributes`: so many, which live as long as the result is used.
    fn config(self, stream: sys::CUstream, attributes: *mut sys::CUlaunchAttribute, count: u32) -> sys::CUlaunchConfig {
        sys::CUlaunchConfig {
            gridDimX: self.blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: self.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: self.shared_bytes,
            hStream: stream,
            attrs: attributes,
            numAttrs: count,
        }
    }
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub struct Function {
    raw: sys::CUfunction,
    module: sys::CUmodule,
    context: Arc<Context>,
    param_bytes: usize,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread that lie in memory: spills, as this compiler emits no local arrays.
    pub local_bytes: u32,
}
// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Function {}
// SAFETY: as above; nothing of a loaded function changes.
unsafe impl Sync for Function {}

impl Function {
    /// Loads machine code and finds its kernel, whose one parameter has `param_bytes` bytes.
    pub fn load(
        context: &Arc<Context>,
        cubin: &[u8],
        name: &str,
        param_bytes: u32,
        shared_bytes: u32,
    ) -> Result<Function> {
        context.enter()?;
        let name = text(name)?;
        let mut module = ptr::null_mut();
        let image = cubin.as_ptr().cast();
        // SAFETY: an ELF image says its own length; a damaged one is refused by the caller's hash before it comes here.
        let loaded = unsafe { sys::cuModuleLoadDataEx(&mut module, image, 0, ptr::null_mut(), ptr::null_mut()) };
        check("cuModuleLoadDataEx", loaded)?;
        let (context, param_bytes) = (context.clone(), MIN_PARAM_BYTES.max(param_bytes as usize));
        let mut function =
            Function { raw: ptr::null_mut(), module, context, param_bytes, registers: 0, local_bytes: 0 };
        // SAFETY: the module lives as long as `function`.
        let found = unsafe { sys::cuModuleGetFunction(&mut function.raw, module, name.as_ptr()) };
        check("cuModuleGetFunction", found)?;
        function.registers = function.attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        function.local_bytes = function.attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
        // More than every kernel may have has to be asked for.
        if shared_bytes > 48 << 10 {
            let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function lives.
            check("cuFuncSetAttribute", unsafe {
                sys::cuFuncSetAttribute(function.raw, attribute, shared_bytes as i32)
            })?;
        }
        Ok(function)
    }
    fn attribute(&self, of: Attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the function lives; writes one number.
        check("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&mut value, of, self.raw) })?;
        Ok(value as u32)
    }
    /// Blocks that fit an SM at once.
    pub fn blocks_per_sm(&self, shape: Shape) -> Result<u32> {
        self.context.enter()?;
        let (mut blocks, threads, shared) = (0, shape.threads as i32, shape.shared_bytes as usize);
        // SAFETY: the function lives; writes one number.
        let asked = unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.raw, threads, shared) };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", asked).map(|()| blocks as u32)
    }
    /// Clusters of the size that the kernel says that fit the GPU at once.
    pub fn clusters_at_once(&self, shape: Shape) -> Result<u32> {
        self.context.enter()?;
        let mut clusters = 0;
        let config = shape.config(ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: the function lives; the driver reads `config` during the call and writes one number.
        let asked = unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, self.raw, &config) };
        check("cuOccupancyMaxActiveClusters", asked).map(|()| clusters as u32)
    }
    /// Queues a launch. The driver copies `params`, the kernel's parameter block.
    pub fn launch(&self, stream: &Stream, shape: Shape, params: &[u8]) -> Result<()> {
        // A kernel without parameters has a block of 8 bytes all the same: PTX has no empty one.
        let mut short = [0u8; MIN_PARAM_BYTES];
        let params = match short.get_mut(..params.len()) {
            Some(start) => {
                start.copy_from_slice(params);
                &short
            }
            None => params,
        };
        if params.len() < self.param_bytes {
            let name = "the parameter block is too short".into();
            return Err(Fault { call: "cuLaunchKernelEx", code: 1, name, text: String::new() });
        }
        self.context.enter()?;
        let mut together = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { cooperative: 1 },
        };
        let attributes = if shape.together { &raw mut together } else { ptr::null_mut() };
        let config = shape.config(stream.raw(), attributes, u32::from(shape.together));
        let mut block = [params.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: function, stream and the attribute live; the kernel has one parameter, of which the driver copies no more than was checked.
        let queued = unsafe { sys::cuLaunchKernelEx(&config, self.raw, block.as_mut_ptr(), ptr::null_mut()) };
        check("cuLaunchKernelEx", queued)
    }
}
impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: loaded once, by `load`; the driver lets launches that run end.
        let _ =
            self.context.enter().and_then(|()| check("cuModuleUnload", unsafe { sys::cuModuleUnload(self.module) }));
    }
}
