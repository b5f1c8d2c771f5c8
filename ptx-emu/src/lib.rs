//! An interpreter of the PTX subset that tilewright emits: threads in warps, shared and global memory, shuffles, barriers,
//! atomics. It knows nothing of the compiler: it reads text, and an instruction that it does not know is an error.
//!
//! `text.rs`: statements of the text. `decode.rs`: statements to instructions. `inst.rs`: instructions. `alu.rs`: what they
//! compute. `memory.rs`: global memory. `cta.rs`: one thread block. `launch.rs`: all of them. `fault.rs`: what can go wrong.

mod alu;
mod cta;
mod decode;
mod fault;
mod inst;
mod launch;
mod memory;
mod text;

pub use decode::{Entry, Module};
pub use fault::{Fault, Kind};
pub use launch::{Launch, Limits, run};
pub use memory::Memory;
