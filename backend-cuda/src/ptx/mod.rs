//! PTX as data: typed registers and instructions, kernels, and the one printer. Knows nothing of tiles.
//! `ty.rs`: types and registers. `inst.rs`: instructions. `body.rs`: building a kernel's instructions.
//! `cluster.rs`: those between CTAs. `print.rs`: the text, and which line of it came from which kernel line. `blocks.rs`: the flow of
//! control. `pressure.rs`: registers alive at once. Not here: what to emit (`lower`).

mod blocks;
mod body;
mod cluster;
mod inst;
mod pressure;
mod print;
mod ty;

pub use blocks::Blocks;
pub use body::{Aside, Body, Buffer, Line, Memory, Place, Ring, Touch};
pub use cluster::Cluster;
pub use inst::{
    Addr, Atomic, Base, Bin, CacheHint, Cmp, Guard, Inst, Label, Math, Mma, Op, Round, Shuffle, Space, Special, Src,
    Tern, Un,
};
pub use pressure::{pressure, pressure_by_warp};
pub use print::{Kernel, Printed};
pub use ty::{Class, Reg, Ty};
