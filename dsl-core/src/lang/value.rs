//! `Value`: whatever device control flow can carry, an `if` can yield, a queue can send.

use super::elem::Elem;
use super::handle::{Scalar, Val};
use super::shape::Shape;
use super::tile::Tile;
use super::trace;
use crate::elem::ElemType;
use crate::ir::Type;

/// The SSA values that a `Value` is rebuilt from, in order.
#[doc(hidden)]
pub struct Vals<'a>(pub(crate) std::slice::Iter<'a, Val>);
impl Vals<'_> {
    /// The next one. A `Value` that asks for more than it lists gets one that every use reports.
    fn next(&mut self) -> Val {
        self.0.next().copied().unwrap_or(Val::FOREIGN)
    }
}

/// Element and lengths (possibly `ANY`) of one part of a `Value`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct PartType {
    pub elem: ElemType,
    pub dims: &'static [usize],
}

/// Scalars, tiles, tuples and arrays of them, and structs with `#[derive(Value)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a host value, fixed while the kernel is traced; it cannot change or be chosen on the device",
    label = "a kernel value is needed here, e.g. `scalar(0)`",
    note = "kernel values: `Scalar`, `Tile`, tuples and arrays of them, structs with `#[derive(Value)]`"
)]
pub trait Value: Copy {
    #[doc(hidden)]
    fn vals(&self, out: &mut Vec<Val>);
    #[doc(hidden)]
    fn from_vals(vals: &mut Vals<'_>) -> Self;
    #[doc(hidden)]
    fn types(out: &mut Vec<PartType>);
    #[doc(hidden)]
    fn names(prefix: &str, out: &mut Vec<String>);
}

impl<T: Elem> Value for Scalar<T> {
    fn vals(&self, out: &mut Vec<Val>) {
        out.push(self.val());
    }
    fn from_vals(vals: &mut Vals<'_>) -> Self {
        Scalar::of(vals.next())
    }
    fn types(out: &mut Vec<PartType>) {
        out.push(PartType { elem: T::ELEM, dims: &[] });
    }
    fn names(prefix: &str, out: &mut Vec<String>) {
        out.push(prefix.into());
    }
}
impl<T: Elem, S: Shape> Value for Tile<T, S> {
    fn vals(&self, out: &mut Vec<Val>) {
        out.push(self.val());
    }
    fn from_vals(vals: &mut Vals<'_>) -> Self {
        Tile::of(vals.next())
    }
    fn types(out: &mut Vec<PartType>) {
        out.push(PartType { elem: T::ELEM, dims: S::DIMS });
    }
    fn names(prefix: &str, out: &mut Vec<String>) {
        out.push(prefix.into());
    }
}
#[diagnostic::do_not_recommend]
impl<V: Value, const N: usize> Value for [V; N] {
    fn vals(&self, out: &mut Vec<Val>) {
        self.iter().for_each(|v| v.vals(out));
    }
    fn from_vals(vals: &mut Vals<'_>) -> Self {
        std::array::from_fn(|_| V::from_vals(vals))
    }
    fn types(out: &mut Vec<PartType>) {
        (0..N).for_each(|_| V::types(out));
    }
    fn names(prefix: &str, out: &mut Vec<String>) {
        (0..N).for_each(|i| V::names(&dotted(prefix, &i.to_string()), out));
    }
}
macro_rules! tuples {
    ($($($n:ident $i:tt)*;)*) => {$(
        #[allow(clippy::unused_unit)]
        #[diagnostic::do_not_recommend]
        impl<$($n: Value),*> Value for ($($n,)*) {
            fn vals(&self, _out: &mut Vec<Val>) { $(self.$i.vals(_out);)* }
            fn from_vals(_vals: &mut Vals<'_>) -> Self { ($($n::from_vals(_vals),)*) }
            fn types(_out: &mut Vec<PartType>) { $($n::types(_out);)* }
            fn names(_prefix: &str, _out: &mut Vec<String>) { $($n::names(&dotted(_prefix, stringify!($i)), _out);)* }
        }
    )*};
}
tuples! {
    ; A 0; A 0 B 1; A 0 B 1 C 2; A 0 B 1 C 2 D 3; A 0 B 1 C 2 D 3 E 4; A 0 B 1 C 2 D 3 E 4 F 5;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6; A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
}

/// The name of a part: `m` in a struct named `part` is `part.m`.
#[doc(hidden)]
pub fn dotted(prefix: &str, part: &str) -> String {
    if prefix.is_empty() { part.into() } else { format!("{prefix}.{part}") }
}

pub(crate) fn vals_of<V: Value>(v: &V) -> Vec<Val> {
    let mut out = Vec::new();
    v.vals(&mut out);
    out
}
pub(crate) fn part_names<V: Value>(prefix: &str) -> Vec<String> {
    let mut out = Vec::new();
    V::names(prefix, &mut out);
    out
}
pub(crate) fn part_types<V: Value>() -> Vec<PartType> {
    let mut out = Vec::new();
    V::types(&mut out);
    out
}
pub(crate) fn rebuilt<V: Value>(vals: &[Val]) -> V {
    V::from_vals(&mut Vals(vals.iter()))
}

/// The result of a `#[device]` function, which the statement around its call may name. Method resolution takes the first
/// of the two traits that fits, so a host value has no name.
#[doc(hidden)]
pub struct Returned<'a, T>(pub &'a T);
#[doc(hidden)]
pub trait ReturnsValue {
    fn __returned(&self);
}
impl<T: Value> ReturnsValue for Returned<'_, T> {
    fn __returned(&self) {
        trace::hands_back(&vals_of(self.0), part_names::<T>(""));
    }
}
#[doc(hidden)]
pub trait ReturnsHost {
    fn __returned(&self);
}
impl<T> ReturnsHost for &Returned<'_, T> {
    fn __returned(&self) {
        trace::hands_back(&[], Vec::new());
    }
}

pub(crate) fn types_of(vals: &[Val]) -> Vec<Type> {
    vals.iter().map(|v| trace::silent_type(*v)).collect()
}
