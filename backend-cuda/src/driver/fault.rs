//! What the driver says when a call fails.

/// A call of the driver that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The function.
    pub call: &'static str,
    /// The driver's number.
    pub code: u32,
    /// `CUDA_ERROR_OUT_OF_MEMORY`
    pub name: String,
    /// The driver's sentence; may be empty.
    pub text: String,
}

/// There is no library of the driver: none of the driver's own numbers.
pub const LIBRARY_MISSING: u32 = u32::MAX;

/// What is done about a fault depends on its kind alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    NoDriver,
    NoDevice,
    Ordinal,
    DriverTooOld,
    OutOfMemory,
    /// A launch asks for more than there is.
    Refused,
    /// The compiler refuses a text.
    Ptx,
    /// A kernel failed; nothing in this context works any more.
    Sticky,
    Other,
}

impl Fault {
    /// The numbers are those of `CUresult` (cuda.h), which never change their meaning.
    pub fn kind(&self) -> Kind {
        match self.code {
            LIBRARY_MISSING => Kind::NoDriver,
            2 => Kind::OutOfMemory,
            // NO_DEVICE, STUB_LIBRARY, NOT_INITIALIZED, SYSTEM_NOT_READY, SYSTEM_DRIVER_MISMATCH, COMPAT_NOT_SUPPORTED_ON_DEVICE
            100 | 34 | 3 | 802..=804 => Kind::NoDevice,
            // INVALID_DEVICE
            101 => Kind::Ordinal,
            // UNSUPPORTED_PTX_VERSION
            222 => Kind::DriverTooOld,
            // INVALID_IMAGE, NO_BINARY_FOR_GPU, INVALID_PTX, INVALID_SOURCE
            200 | 209 | 218 | 300 => Kind::Ptx,
            // INVALID_VALUE of a launch, LAUNCH_OUT_OF_RESOURCES, COOPERATIVE_LAUNCH_TOO_LARGE
            1 if self.call == "cuLaunchKernelEx" => Kind::Refused,
            701 | 720 => Kind::Refused,
            // ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE, ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, CONTEXT_IS_DESTROYED, ASSERT,
            // HARDWARE_STACK_ERROR, ILLEGAL_INSTRUCTION, MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED
            214 | 220 | 700 | 702 | 709 | 710 | 714..=719 => Kind::Sticky,
            _ => Kind::Other,
        }
    }
}
