//! Tile IR to PTX for NVIDIA GPUs, in Rust alone.
//!
//! `layout`: which thread holds which element. `lower`: ops to instructions. `ptx`: instructions as data, and their
//! text. `shared`: where buffers lie in shared memory, and the barriers between accesses. `abi.rs`: what a kernel gets at
//! launch. `outcome`: what it leaves besides values. `target.rs`: GPUs. `launch`: a launch on a device. `driver`: NVIDIA's.
//! `talk.rs`: what code with messages is made for. `emulator.rs`: the CPU as one. `cache`: machine code on disk. Knows the core, and no other backend.

pub mod abi;
pub mod cache;
pub mod driver;
pub mod emulator;
pub mod launch;
pub mod layout;
pub mod lower;
pub mod outcome;
pub mod ptx;
pub mod ptxas;
pub mod shared;
pub mod target;

mod compile;
mod launch_errors;
mod talk;

pub use compile::{Compiled, Options, compile};
pub use lower::NOT_LOWERED;
pub use talk::Talk;
pub use target::Target;

use tilewright_core::diag::CodePage;

/// The pages of this crate's error codes, a table per module.
pub const CODES: &[&[CodePage]] =
    &[lower::CODES, launch_errors::CODES, emulator::CODES, driver::codes::CODES, cache::CODES];
