//! Handles stand for one SSA value each: `Scalar` here, `Tile` in `tile`. They are `Copy` ids into the trace that made them.

use super::elem::Elem;
use super::shape::{D0, Shape};
use super::trace;
use super::value::Value;
use crate::elem::ElemType;
use crate::ir::ops::ResultType;
use crate::ir::{ValueId, ops};
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
impl<T> Copy for Scalar<T> {}
impl<T> Clone for Scalar<T> {
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
impl<T> Scalar<T> {
    pub(crate) fn val(self) -> Val {
        self.0
    }
    pub(crate) fn of(v: Val) -> Self {
        Scalar(v, PhantomData)
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

impl<T: Elem> Scalar<T> {
    /// Another element type, by value; nothing when it is the same type.
    #[track_caller]
    pub fn cast<U: Elem>(self) -> Scalar<U> {
        Scalar::of(cast(self.val(), U::ELEM))
    }
    /// The same bits as another element type of the same size.
    #[track_caller]
    pub fn bitcast<U: Elem>(self) -> Scalar<U> {
        const { assert!(size_of::<T>() == size_of::<U>(), "a bitcast needs two element types of one size") }
        Scalar::of(bitcast(self.val(), U::ELEM))
    }
}
/// By value; nothing when it is the same type.
#[track_caller]
pub(super) fn cast(x: Val, to: ElemType) -> Val {
    let ty = trace::ty(x);
    if ty.elem() == to {
        trace::hands_back(&[x], Vec::new());
        return x;
    }
    let ty = ty.with_elem(to);
    trace::emit(ty, |t| ops::Cast { x: t.id(x), to: ResultType(ty) }.into())
}
/// The same bits.
#[track_caller]
pub(super) fn bitcast(x: Val, to: ElemType) -> Val {
    let ty = trace::ty(x);
    if ty.elem() == to {
        trace::hands_back(&[x], Vec::new());
        return x;
    }
    let ty = ty.with_elem(to);
    trace::emit(ty, |t| ops::Bitcast { x: t.id(x), to: ResultType(ty) }.into())
}
