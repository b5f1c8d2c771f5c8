//! Shapes are types, so one `impl` serves all ranks. `ANY` stands for a length that the host fixes while tracing.

use super::elem::Elem;
use super::handle::{Handle, Scalar, Val};
use super::operand::spread;
use super::tile::Tile;
use super::trace;
use crate::ir::Type;
use std::marker::PhantomData;

/// A length that the host chooses when the kernel is traced (see `load_sized`). Equal lengths are then checked while
/// tracing, with the place; the IR holds numbers only.
pub const ANY: usize = usize::MAX;

/// The shape of a tile: `D1<N>`, `D2<M, N>`, `D3<..>`, `D4<..>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    note = "shapes are `D1<N>`, `D2<M, N>`, `D3<..>`, `D4<..>`"
)]
pub trait Shape: Copy + std::fmt::Debug + 'static {
    /// Lengths, outermost first; `ANY` where the type does not fix one.
    const DIMS: &'static [usize];
}

/// The shape of a scalar.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct D0;
/// A vector's shape.
#[derive(Clone, Copy, Debug)]
pub struct D1<const A: usize>;
/// A matrix's shape: rows, columns.
#[derive(Clone, Copy, Debug)]
pub struct D2<const A: usize, const B: usize>;
/// Three axes, outermost first.
#[derive(Clone, Copy, Debug)]
pub struct D3<const A: usize, const B: usize, const C: usize>;
/// Four axes, outermost first.
#[derive(Clone, Copy, Debug)]
pub struct D4<const A: usize, const B: usize, const C: usize, const D: usize>;

impl Shape for D0 {
    const DIMS: &'static [usize] = &[];
}
impl<const A: usize> Shape for D1<A> {
    const DIMS: &'static [usize] = &[A];
}
impl<const A: usize, const B: usize> Shape for D2<A, B> {
    const DIMS: &'static [usize] = &[A, B];
}
impl<const A: usize, const B: usize, const C: usize> Shape for D3<A, B, C> {
    const DIMS: &'static [usize] = &[A, B, C];
}
impl<const A: usize, const B: usize, const C: usize, const D: usize> Shape for D4<A, B, C, D> {
    const DIMS: &'static [usize] = &[A, B, C, D];
}

/// An axis, counted from 0, outermost first, as a value that carries its number in its type: `x.sum(Axis::<1>)`.
#[derive(Clone, Copy, Debug)]
pub struct Axis<const A: usize>;

/// An axis that shape `S` has.
#[diagnostic::on_unimplemented(message = "`{S}` has no such axis", label = "axes count from 0")]
pub trait AxisOf<S> {
    /// Its number.
    const NUMBER: usize;
}
impl<S: DropAxis<A>, const A: usize> AxisOf<S> for Axis<A> {
    const NUMBER: usize = A;
}

/// What is left of a shape without axis `A`: a tile of one rank less, or a scalar.
#[diagnostic::on_unimplemented(message = "`{Self}` has no axis {A}", label = "axes count from 0")]
pub trait DropAxis<const A: usize>: Shape {
    /// The shape without the axis.
    type Rest: Shape;
    /// The handle of that shape.
    type Of<T: Elem>: Handle<T = T>;
}
#[diagnostic::do_not_recommend]
impl<const A: usize> DropAxis<0> for D1<A> {
    type Rest = D0;
    type Of<T: Elem> = Scalar<T>;
}
macro_rules! drops {
    ($($axis:literal: $from:ty => $rest:ty, [$($len:ident)*];)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$(const $len: usize),*> DropAxis<$axis> for $from {
            type Rest = $rest;
            type Of<T: Elem> = Tile<T, $rest>;
        }
    )*};
}
drops! {
    0: D2<A, B> => D1<B>, [A B]; 1: D2<A, B> => D1<A>, [A B];
    0: D3<A, B, C> => D2<B, C>, [A B C]; 1: D3<A, B, C> => D2<A, C>, [A B C]; 2: D3<A, B, C> => D2<A, B>, [A B C];
    0: D4<A, B, C, D> => D3<B, C, D>, [A B C D]; 1: D4<A, B, C, D> => D3<A, C, D>, [A B C D];
    2: D4<A, B, C, D> => D3<A, B, D>, [A B C D]; 3: D4<A, B, C, D> => D3<A, B, C>, [A B C D];
}

/// A shape with the length of axis 0 replaced by `K`.
#[diagnostic::on_unimplemented(message = "`{Self}` has no rows", label = "needs a tile")]
pub trait WithRows<const K: usize>: Shape {
    /// `K` rows of the same shape.
    type Rows: Shape;
}
impl<const A: usize, const K: usize> WithRows<K> for D1<A> {
    type Rows = D1<K>;
}
impl<const A: usize, const B: usize, const K: usize> WithRows<K> for D2<A, B> {
    type Rows = D2<K, B>;
}
impl<const A: usize, const B: usize, const C: usize, const K: usize> WithRows<K> for D3<A, B, C> {
    type Rows = D3<K, B, C>;
}
impl<const A: usize, const B: usize, const C: usize, const D: usize, const K: usize> WithRows<K> for D4<A, B, C, D> {
    type Rows = D4<K, B, C, D>;
}

/// A tile used along one more axis: the typed, explicit broadcast. `v.col()` fits `[M, N]` for `v: [M]`, `v.row()` for
/// `v: [N]`.
#[derive(Clone, Copy, Debug)]
pub struct Along<T, S, const A: usize>(pub(crate) Val, PhantomData<(T, S)>);

impl<T, S, const A: usize> Along<T, S, A> {
    pub(crate) fn of(v: Val) -> Self {
        Along(v, PhantomData)
    }
}
impl<T: Elem, S: Shape, const A: usize> Along<T, S, A> {
    /// The broadcast as a tile of its own.
    #[track_caller]
    pub fn broadcast<To: DropAxis<A, Rest = S>>(self) -> Tile<T, To> {
        Tile::of(spread(self.0, A, closed::<T, To>()))
    }
}

/// The type of a tile whose every length is known; `ANY`, no element and too many elements are errors here.
#[track_caller]
pub(crate) fn closed<T: Elem, S: Shape>() -> Type {
    trace::tile_type(T::ELEM, S::DIMS)
}
