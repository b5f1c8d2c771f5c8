//! NVIDIA GPUs through their driver, which is loaded when it is first asked for: nothing of CUDA is needed to build, and
//! only the driver to run.
//!
//! `gpu.rs`: a GPU as a [`crate::launch::Device`]. `stream.rs`: streams, events, graphs. `tensor.rs`, `borrow.rs`: tensors
//! in a GPU's memory, its own and others'. `codes.rs`, `errors.rs`: what can go wrong, shown by `texts.rs`. `jit.rs`: the
//! driver's compiler speaks of lines of PTX, the user of lines of the kernel. `raw`: the driver's own functions, and all
//! `unsafe` but the promise of `borrow.rs`. Without the feature `cuda` there is `absent.rs` alone.

pub(crate) mod codes;

#[cfg(not(feature = "cuda"))]
mod absent;
#[cfg(feature = "cuda")]
mod borrow;
#[cfg(feature = "cuda")]
mod errors;
#[cfg(feature = "cuda")]
mod fault;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod jit;
#[cfg(feature = "cuda")]
mod raw;
#[cfg(feature = "cuda")]
mod stream;
#[cfg(feature = "cuda")]
mod tensor;
#[cfg(all(test, feature = "cuda"))]
mod texts;

#[cfg(not(feature = "cuda"))]
pub use absent::{Gpu, Loaded};
#[cfg(feature = "cuda")]
pub use gpu::{Gpu, Loaded, Origin};
#[cfg(feature = "cuda")]
pub use raw::Properties;
#[cfg(feature = "cuda")]
pub use stream::{Event, Graph, Stream};
#[cfg(feature = "cuda")]
pub use tensor::GpuTensor;
