//! Kernels written once, as annotated Rust functions over tiles: traced to a tile IR, run on a cycle model of a
//! memory-centric accelerator, compiled to PTX and run on NVIDIA GPUs (feature `cuda`). `use tilewright::prelude::*;` is what a kernel file needs.
//! This crate only gathers: the language, the IR and diagnostics are in `tilewright_core`, targets and the command line
//! (feature `sim`, on by default) in `tilewright_harness`.

pub use tilewright_core as core_api;
pub use tilewright_core::{diag, ir};
#[cfg(feature = "sim")]
pub use tilewright_harness::{
    cli_main, kernels, registry,
    runtime::{Report, Runtime},
    sim,
};

/// GPUs, tensors in their memory, streams, events and graphs.
#[cfg(feature = "cuda")]
pub use tilewright_cuda::driver as cuda;

/// What a kernel file imports.
pub mod prelude {
    pub use tilewright_core::lang::prelude::*;
}

pub use tilewright_core::lang::rules;

/// What generated code calls besides. No interface for people.
#[doc(hidden)]
pub use tilewright_core::lang::rt as __rt;

/// The book's snippets, compiled and run as tests.
#[cfg(all(doctest, feature = "sim"))]
#[doc = include_str!("../docs/writing-kernels.md")]
struct Book;
