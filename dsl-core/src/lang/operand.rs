//! `Operand`: what may stand beside a kernel value. Element types never mix; shapes meet by the rules here.

use super::elem::{Elem, Float, Int};
use super::errors::LangFault;
use super::handle::{Handle, Scalar, Val};
use super::shape::{ANY, Along, D0, DropAxis, Shape};
use super::tile::Tile;
use super::trace;
use crate::elem::ElemType;
use crate::ir::{Literal, Type, ops};

/// What may stand beside a tile of element `T` and shape `S` (a scalar has shape `D0`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fit beside a value of element `{T}` and shape `{S}`",
    label = "other element type or other shape",
    note = "same element type: convert with `.cast::<..>()`; same shape: a vector joins a matrix as `.col()` or `.row()`; a scalar or a plain number (`2.0` beside floats, `2` beside integers) fits every shape and stands on the right"
)]
pub trait Operand<T: Elem, S: Shape>: Copy {
    /// The value of type `like` that it stands for.
    #[doc(hidden)]
    #[track_caller]
    fn operand(self, like: Type) -> Val;
}

impl<T: Elem, S: Shape> Operand<T, S> for Tile<T, S> {
    #[track_caller]
    fn operand(self, _: Type) -> Val {
        self.val()
    }
}
impl<T: Elem, S: Shape> Operand<T, S> for Scalar<T> {
    #[track_caller]
    fn operand(self, like: Type) -> Val {
        splat(self.val(), like)
    }
}
impl<T: Elem, S: DropAxis<A, Rest = R>, R: Shape, const A: usize> Operand<T, S> for Along<T, R, A> {
    #[track_caller]
    fn operand(self, like: Type) -> Val {
        spread(self.0, A, like)
    }
}
macro_rules! integers {
    ($($t:ty)*) => {$(
        impl<T: Int, S: Shape> Operand<T, S> for $t {
            #[track_caller]
            fn operand(self, like: Type) -> Val {
                number(Literal::int(T::ELEM, self as i128), &self, T::ELEM, like)
            }
        }
    )*};
}
integers! { i32 u32 i64 u64 }
impl<T: Int, S: Shape> Operand<T, S> for usize {
    #[track_caller]
    fn operand(self, like: Type) -> Val {
        if self == ANY {
            trace::fail(LangFault::OpenNumber);
            return number(Some(Literal::zero(T::ELEM)), &self, T::ELEM, like);
        }
        number(Literal::int(T::ELEM, self as i128), &self, T::ELEM, like)
    }
}
impl<T: Float, S: Shape> Operand<T, S> for f64 {
    #[track_caller]
    fn operand(self, like: Type) -> Val {
        number(float(T::ELEM, self), &self, T::ELEM, like)
    }
}
impl<T: Float, S: Shape> Operand<T, S> for f32 {
    #[track_caller]
    fn operand(self, like: Type) -> Val {
        number(float(T::ELEM, f64::from(self)), &self, T::ELEM, like)
    }
}
impl<S: Shape> Operand<bool, S> for bool {
    #[track_caller]
    fn operand(self, like: Type) -> Val {
        number(Some(self.into()), &self, ElemType::I1, like)
    }
}

/// The number rounded to the element type; `None` if a finite number would become infinite.
fn float(elem: ElemType, v: f64) -> Option<Literal> {
    let lit = Literal::float(elem, v)?;
    let kept = !v.is_finite() || lit.as_float().is_some_and(f64::is_finite);
    kept.then_some(lit)
}
#[track_caller]
fn number(lit: Option<Literal>, number: &dyn std::fmt::Debug, elem: ElemType, like: Type) -> Val {
    if lit.is_none() {
        trace::fail(LangFault::NoFit { number: format!("{number:?}"), elem });
    }
    splat(trace::constant(lit.unwrap_or(Literal::zero(elem))), like)
}
/// A scalar as a value of type `like`.
#[track_caller]
pub(crate) fn splat(v: Val, like: Type) -> Val {
    if like.is_scalar() {
        return v;
    }
    let to = ops::ResultType(like);
    trace::emit(like, |t| ops::Splat { x: t.id(v), to }.into())
}
/// A tile repeated along a new axis, to the type `like`.
#[track_caller]
pub(crate) fn spread(v: Val, axis: usize, like: Type) -> Val {
    let (axis, to) = (ops::AxisNo(axis as u32), ops::ResultType(like));
    trace::emit(like, |t| ops::Broadcast { x: t.id(v), axis, to }.into())
}

/// A device number from a plain one: `scalar(3)`; the use decides the element type.
#[track_caller]
pub fn scalar<T: Elem>(v: impl Operand<T, D0>) -> Scalar<T> {
    Scalar::of(v.operand(Type::Scalar(T::ELEM)))
}
/// A tile whose elements all equal `v`.
#[track_caller]
pub fn full<T: Elem, S: Shape>(v: impl Operand<T, S>) -> Tile<T, S> {
    Tile::of(v.operand(super::shape::closed::<T, S>()))
}
/// A tile of zeros (of `false`, for `bool`).
#[track_caller]
pub fn zeros<T: Elem, S: Shape>() -> Tile<T, S> {
    let like = super::shape::closed::<T, S>();
    let zero = at_shape(like, Literal::zero(T::ELEM));
    Tile::of(zero)
}
/// The same of a shape with `ANY` lengths: those lengths in order, host values.
#[track_caller]
pub fn zeros_sized<T: Elem, S: Shape>(lengths: impl AsRef<[usize]>) -> Tile<T, S> {
    Tile::of(at_shape(super::view::sized::<T, S>(lengths.as_ref()), Literal::zero(T::ELEM)))
}
/// Zero of any element type (`false`, for `bool`), where a literal could not say which.
#[track_caller]
pub fn zero<T: Elem>() -> Scalar<T> {
    Scalar::of(at_shape(Type::Scalar(T::ELEM), Literal::zero(T::ELEM)))
}
#[track_caller]
fn at_shape(like: Type, lit: Literal) -> Val {
    splat(trace::constant(lit), like)
}

/// `a`, and what stands beside it as a value of `a`'s type.
#[track_caller]
pub(crate) fn beside<X: Handle>(a: X, b: impl Operand<X::T, X::S>) -> (Val, Val, Type) {
    let like = trace::ty(a.val());
    (a.val(), b.operand(like), like)
}
