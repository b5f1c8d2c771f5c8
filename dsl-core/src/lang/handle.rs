//! The handles: `Scalar` and `Tile` stand for one SSA value each. They are `Copy` ids into the trace that made them.

use super::elem::Elem;
use super::shape::{D0, Shape};
use super::value::Value;
use crate::ir::ValueId;
use std::fmt;
use std::marker::PhantomData;

/// An SSA value of one trace. A handle that outlives its trace is told apart by the trace's number.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Val {
    pub(crate) id: ValueId,
    pub(crate) trace: u32,
}
impl Val {
    /// Belongs to no trace.
    pub(crate) const FOREIGN: Val = Val { id: ValueId(u32::MAX), trace: 0 };
}

/// One device number of element `T`.
pub struct Scalar<T>(Val, PhantomData<T>);
/// An immutable device value of element `T` and shape `S`.
pub struct Tile<T, S>(Val, PhantomData<(T, S)>);

impl<T> Copy for Scalar<T> {}
impl<T> Clone for Scalar<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for Tile<T, S> {}
impl<T, S> Clone for Tile<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}
/// The element, not the value: that is known only on the device.
impl<T: Elem> fmt::Debug for Scalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scalar<{}>", T::ELEM)
    }
}
/// Element and shape, not the values: they are known only on the device.
impl<T: Elem, S: Shape> fmt::Debug for Tile<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tile<{}, {:?}>", T::ELEM, S::DIMS)
    }
}

impl<T> Scalar<T> {
    pub(crate) fn val(self) -> Val {
        self.0
    }
    pub(crate) fn of(v: Val) -> Self {
        Scalar(v, PhantomData)
    }
}
impl<T, S> Tile<T, S> {
    pub(crate) fn val(self) -> Val {
        self.0
    }
    pub(crate) fn of(v: Val) -> Self {
        Tile(v, PhantomData)
    }
}

/// One SSA value: a scalar or a tile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar or a tile",
    label = "make a kernel value of it: `scalar(..)` or `full(..)`"
)]
pub trait Handle: Value {
    /// Its element type.
    type T: Elem;
    /// Its shape; that of a scalar is `D0`.
    type S: Shape;
    #[doc(hidden)]
    fn wrap(v: Val) -> Self;
    #[doc(hidden)]
    fn val(self) -> Val;
}
impl<T: Elem> Handle for Scalar<T> {
    type T = T;
    type S = D0;
    fn wrap(v: Val) -> Self {
        Scalar::of(v)
    }
    fn val(self) -> Val {
        self.0
    }
}
impl<T: Elem, S: Shape> Handle for Tile<T, S> {
    type T = T;
    type S = S;
    fn wrap(v: Val) -> Self {
        Tile::of(v)
    }
    fn val(self) -> Val {
        self.0
    }
}
