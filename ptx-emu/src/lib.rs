//! An interpreter of the PTX subset that tilewright emits: threads in warps, shared and global memory, shuffles, barriers,
//! atomics, asynchronous copies. It knows nothing of the compiler: it reads text, and an instruction that it does not know
//! is an error. What a GPU leaves undefined is a [`Fault`] with the line of the text and both parties.
//!
//! ```
//! use tilewright_ptx_emu::{Launch, Limits, Memory, Module, run};
//! let text = ".version 7.4
//! .target sm_80
//! .address_size 64
//! .visible .entry double(.param .u64 x) .reqntid 32, 1, 1 {
//!     .reg .b32 %r<3>; .reg .b64 %d<3>;
//!     ld.param.u64 %d0, [x];
//!     mov.u32 %r0, %tid.x;
//!     mad.wide.u32 %d1, %r0, 4, %d0;
//!     ld.global.u32 %r1, [%d1];
//!     shl.b32 %r2, %r1, 1;
//!     st.global.u32 [%d1], %r2;
//!     ret;
//! }";
//! let module = Module::parse(text)?;
//! let mut memory = Memory::new(1 << 20);
//! let x = memory.alloc(128).unwrap();
//! memory.write(x, &[3u8, 0, 0, 0].repeat(32)).unwrap();
//! let launch = Launch { blocks: 1, threads: None, shared_bytes: 0, params: &x.to_le_bytes() };
//! run(module.entry("double")?, &launch, &mut memory, Limits::default())?;
//! let mut out = [0; 128];
//! memory.read(x, &mut out).unwrap();
//! assert_eq!(out[..8], [6, 0, 0, 0, 6, 0, 0, 0]);
//! # Ok::<(), tilewright_ptx_emu::Fault>(())
//! ```
//!
//! `text.rs`: statements of the text. `module.rs`: kernels and variables. `decode`: statements to instructions (`inst.rs`;
//! between blocks of a cluster, `between.rs`).
//! `alu`: what they compute. `memory.rs`: memory. `exec`: blocks and warps while they run. `shadow`: who touched what, and in
//! which order. `launch.rs`: all blocks. `fault.rs`: what can go wrong.

mod alu;
mod between;
mod decode;
mod exec;
mod fault;
mod inst;
mod launch;
mod memory;
mod module;
mod shadow;
mod text;

pub use exec::Banks;
pub use fault::{Fault, Kind, Party};
pub use launch::{Launch, Limits, Ran, Schedule, run};
pub use memory::Memory;
pub use module::{Entry, Module};
