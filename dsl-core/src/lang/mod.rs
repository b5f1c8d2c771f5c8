//! The kernel language: the handles a kernel body computes with, and the tracer that turns what they do into IR.
//! `handle`, `tile`, `value`, `shape`, `elem`: the types. `operand`, `arith`, `product`, `view`, `program`: the operations.
//! `compare`, `flow`: what the macros put in place of what Rust cannot overload; `rules`: its traits, which error texts name.
//! `trace`: the builder behind the handles. `launch`: the host side.
//! Not here: the macros (`tilewright-macros`), and what an op means (`interp`).

mod arith;
mod compare;
mod elem;
pub mod errors;
mod flow;
mod handle;
mod launch;
mod operand;
mod product;
mod program;
mod shape;
mod tile;
mod trace;
mod unwind;
mod value;
mod view;

pub use arith::*;
pub use elem::{Bits, DotInto, Elem, Float, Int, Num};
pub use flow::{map_reduce, unroll};
pub use handle::{Handle, Scalar};
pub use launch::{Comptime, Launch};
pub use operand::{Operand, full, scalar, zero, zeros, zeros_sized};
pub use product::{dot, dot_acc, dot_acc_tf32, dot_tf32};
pub use program::{
    barrier, composite, cube_id, keep, num_cubes, num_pes, num_programs, pe_id, program_id, recv, recv_like,
    recv_sized, send,
};
pub use shape::{ANY, Along, Axis, AxisOf, D0, D1, D2, D3, D4, DropAxis, Shape, WithRows};
pub use tile::{Tile, iota, iota_sized};
pub use value::Value;
pub use view::{Index, Place, View, ViewMut};

/// The rules of the language as traits: what may be a condition, the ends of a loop, a parameter, the left side of `<`.
/// A kernel never names them; rustc does, when it says what was not found, and here is what each asks for.
pub mod rules {
    pub use super::compare::{EqualTo, Logic, OrderedWith};
    pub use super::elem::{BitsBeside, IntBeside, NumBeside};
    pub use super::flow::{Carried, Condition, DeviceCondition, DeviceLoop, HostCondition, HostEnd, LoopEnds, Tried};
    pub use super::launch::Parameter;
    pub use super::program::AssertCondition;
    pub use super::view::{InView, InViewMut, Writable};
}

/// What generated code calls besides. No interface for people.
#[doc(hidden)]
pub mod rt {
    pub use super::arith::each_function;
    pub use super::flow::hole;
    pub use super::handle::Val;
    pub use super::launch::{Comptime, Launch, Slot};
    pub use super::program::{print, printed};
    pub use super::trace::{Frame, Mark, mark, name_last, named};
    pub use super::value::{PartType, Returned, ReturnsHost, ReturnsValue, Vals, Value, dotted};
    pub use crate::tensor::Tensor;
}

/// What a kernel file imports.
pub mod prelude {
    pub use super::arith::*;
    pub use super::{
        ANY, Along, Axis, AxisOf, Bits, Comptime, D0, D1, D2, D3, D4, DotInto, DropAxis, Elem, Float, Handle, Index,
        Int, Launch, Num, Operand, Place, Scalar, Shape, Tile, Value, View, ViewMut, WithRows, barrier, composite,
        cube_id, dot, dot_acc, dot_acc_tf32, dot_tf32, full, iota, iota_sized, keep, map_reduce, num_cubes, num_pes,
        num_programs, pe_id, program_id, recv, recv_like, recv_sized, scalar, send, unroll, zero, zeros, zeros_sized,
    };
    pub use crate::elem::{ElemType, F8E4M3, F8E5M2};
    pub use crate::ir::ops::{Cache, Dir, Port, Scope};
    pub use crate::launch::Grid;
    pub use crate::placement::Placement;
    pub use crate::tensor::Tensor;
    pub use crate::{assert_k, comptime, print_k};
    pub use half::{bf16, f16};
    pub use tilewright_macros::{Value, device, kernel}; // the derive and the trait `Value` share a name
}
