//! Where a program runs, messages between PEs, barriers, composite commands, `keep`, print and assert.

use super::elem::Elem;
use super::errors::LangFault;
use super::handle::{Scalar, Val};
use super::shape::Shape;
use super::tile::Tile;
use super::trace::{self, Traced};
use super::value::{Value, part_names, part_types, rebuilt, types_of, vals_of};
use super::view::sized;
use crate::ir::ops::{Port, ResultType, Scope, Text};
use crate::ir::{Dims, Type, ops};

macro_rules! places {
    ($($(#[$doc:meta])* $f:ident $Row:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $f() -> Scalar<i32> { Scalar::of(trace::emit(Type::I32, |_| ops::$Row {}.into())) }
    )*};
}
places! {
    /// The PE inside its cube, `0..num_pes()`.
    pe_id PeId;
    /// The cube in the launch, `0..num_cubes()`.
    cube_id CubeId;
    /// PEs per cube in this launch.
    num_pes NumPes;
    /// Cubes in this launch.
    num_cubes NumCubes;
    /// `cube_id() * num_pes() + pe_id()`.
    program_id ProgramId;
    /// Programs in this launch.
    num_programs NumPrograms;
}

/// One message per tile of `value`, in order; waits while the queue is full. What is sent East arrives from West.
#[track_caller]
pub fn send<V: Value>(port: Port, value: V) {
    for v in vals_of(&value) {
        trace::effect(|t| ops::Send { port, value: t.id(v) }.into());
    }
}
/// One message per tile of `V`, in order; waits while the queue is empty. The use decides what `V` is.
#[track_caller]
pub fn recv<V: Value>(port: Port) -> V {
    // Loops, not closures: a closure has a place of its own, the caller's would be lost.
    let mut types = Vec::new();
    for part in part_types::<V>() {
        types.push(trace::tile_type(part.elem, part.dims));
    }
    let open = part_types::<V>().iter().any(|part| Dims::new(part.dims).is_none());
    received(port, types, open)
}
/// A message of the types that `like` has: what `recv` is for tiles whose lengths are `ANY`.
#[track_caller]
pub fn recv_like<V: Value>(port: Port, like: V) -> V {
    let mut types = Vec::new();
    for v in vals_of(&like) {
        types.push(trace::ty(v));
    }
    received(port, types, false)
}
/// A tile of a shape with `ANY` lengths: those lengths in order, host values. What `load_sized` is for messages.
#[track_caller]
pub fn recv_sized<T: Elem, S: Shape>(port: Port, lengths: impl AsRef<[usize]>) -> Tile<T, S> {
    let ty = sized::<T, S>(lengths.as_ref());
    received(port, vec![ty], false)
}
#[track_caller]
fn received<V: Value>(port: Port, types: Vec<Type>, spoilt: bool) -> V {
    let parts = part_names::<V>("");
    let mut vals = Vec::with_capacity(parts.len());
    for (ty, name) in types.into_iter().zip(&parts) {
        if spoilt {
            trace::spoil();
        }
        let v = trace::emit(ty, |_| ops::Recv { port, to: ResultType(ty) }.into());
        // Fields have names of their own; the parts of a tuple wait for the variable's.
        if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            trace::name(v, name);
        }
        vals.push(v);
    }
    trace::hands_back(&vals, parts);
    rebuilt(&vals)
}

/// Waits for all PEs of the cube or the launch, and orders memory between them.
#[track_caller]
pub fn barrier(scope: Scope) {
    trace::effect(|_| ops::Barrier { scope }.into());
}
/// The value is computed and observed; nothing is written.
#[track_caller]
pub fn keep<V: Value>(value: V) {
    for v in vals_of(&value) {
        trace::effect(|t| ops::Keep { x: t.id(v) }.into());
    }
}

/// One command: a straight line of tile operations around exactly one `dot`. A load inside is streamed and never lies in
/// scratch as a whole; each result is a future of its own.
#[track_caller]
pub fn composite<V: Value>(body: impl Fn() -> V) -> V {
    let Traced { region, out } = trace::region(&[], &[], |_| body(), vals_of);
    let types = types_of(&vals_of(&out));
    let vals = trace::emit_all(&types, part_names::<V>(""), &[], |_| ops::Composite { body: region }.into());
    rebuilt(&vals)
}

/// A value that `print_k!` writes.
#[doc(hidden)]
#[track_caller]
pub fn print(format: &str, values: &[Vec<Val>]) {
    let values = values.concat();
    trace::effect(|t| ops::Print { format: Text(format.to_string()), values: t.ids(&values) }.into());
}
#[doc(hidden)]
pub fn printed<V: Value>(value: &V) -> Vec<Val> {
    vals_of(value)
}

/// What `assert_k!` checks: now for a `bool`, on the device for a `Scalar<bool>`.
#[diagnostic::on_unimplemented(
    message = "`assert_k!` takes a `bool` or a `Scalar<bool>`, found `{Self}`",
    label = "not a condition",
    note = "for a tile of bools, reduce it first"
)]
pub trait AssertCondition {
    #[doc(hidden)]
    #[track_caller]
    fn check(self, text: &str);
}
#[diagnostic::do_not_recommend]
impl AssertCondition for bool {
    #[track_caller]
    fn check(self, text: &str) {
        if !self {
            trace::fail(LangFault::Assertion { text: text.to_string() });
        }
    }
}
#[diagnostic::do_not_recommend]
impl AssertCondition for Scalar<bool> {
    #[track_caller]
    fn check(self, text: &str) {
        let cond = self.val();
        trace::effect(|t| ops::Assert { cond: t.id(cond), text: Text(text.to_string()) }.into());
    }
}

/// Writes a line while the kernel runs: each `{}` stands for a value. It is shown with the PE and the line of the kernel,
/// also if the run ends in an error.
#[macro_export]
macro_rules! print_k {
    ($format:literal $(, $value:expr)* $(,)?) => { $crate::lang::rt::print($format, &[$($crate::lang::rt::printed(&$value)),*]) };
}
/// An error record where the condition is false: `assert_k!(i < n, "index")`.
#[macro_export]
macro_rules! assert_k {
    ($cond:expr, $text:literal $(,)?) => {
        $crate::lang::rules::AssertCondition::check($cond, $text)
    };
}
/// Host code that the kernel macro leaves alone.
#[macro_export]
macro_rules! comptime {
    ($($code:tt)*) => {{ $($code)* }};
}
