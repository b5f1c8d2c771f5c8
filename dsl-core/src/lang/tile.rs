//! `Tile`: conversions, shapes, reductions, scans. All its methods are in this file, so that rustc names them by the type.
//! Not here: operators (`arith`), comparisons (`compare`), products (`product`).

use super::elem::{Elem, Int, Num};
use super::handle::{Handle, Scalar, Val, bitcast, cast};
use super::operand::spread;
use super::shape::{ANY, Along, Axis, AxisOf, D1, D2, DropAxis, Shape, WithRows, closed};
use super::trace::{self, Traced};
use super::view::sized;
use crate::ir::ops::{AxisNo, ResultType};
use crate::ir::{Dims, Op, RegionId, Type, ValueId, ops};
use std::fmt;
use std::marker::PhantomData;

/// An immutable device value of element `T` and shape `S`.
pub struct Tile<T, S>(Val, PhantomData<(T, S)>);

impl<T, S> Copy for Tile<T, S> {}
impl<T, S> Clone for Tile<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}
/// Element and shape, not the values: they are known only on the device.
impl<T: Elem, S: Shape> fmt::Debug for Tile<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tile<{}, {:?}>", T::ELEM, S::DIMS)
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

/// The index along one axis, as a tile of the whole shape.
#[track_caller]
pub fn iota<T: Int, S: Shape>(axis: impl AxisOf<S>) -> Tile<T, S> {
    let ty = closed::<T, S>();
    Tile::of(trace::emit(ty, |_| ops::Iota { axis: number(axis), to: ResultType(ty) }.into()))
}
/// The same for a shape with `ANY` lengths: those lengths in order, host values.
#[track_caller]
pub fn iota_sized<T: Int, S: Shape>(axis: impl AxisOf<S>, lengths: impl AsRef<[usize]>) -> Tile<T, S> {
    let ty = sized::<T, S>(lengths.as_ref());
    Tile::of(trace::emit(ty, |_| ops::Iota { axis: number(axis), to: ResultType(ty) }.into()))
}
fn number<S, X: AxisOf<S>>(_: X) -> AxisNo {
    AxisNo(X::NUMBER as u32)
}

impl<T: Elem, S: Shape> Tile<T, S> {
    /// Another element type, by value; nothing when it is the same type.
    #[track_caller]
    pub fn cast<U: Elem>(self) -> Tile<U, S> {
        Tile::of(cast(self.val(), U::ELEM))
    }
    /// The same bits as another element type of the same size.
    #[track_caller]
    pub fn bitcast<U: Elem>(self) -> Tile<U, S> {
        const { assert!(size_of::<T>() == size_of::<U>(), "a bitcast needs two element types of one size") }
        Tile::of(bitcast(self.val(), U::ELEM))
    }
    /// The same elements in row-major order under another shape of as many.
    #[track_caller]
    pub fn reshape<To: Shape>(self) -> Tile<T, To> {
        const { assert!(same_count(S::DIMS, To::DIMS), "a reshape keeps the number of elements") }
        let (x, ty) = (self.val(), closed::<T, To>());
        Tile::of(trace::emit(ty, |t| ops::Reshape { x: t.id(x), to: ResultType(ty) }.into()))
    }
    /// `K` rows (places along axis 0) from row `first` on.
    #[track_caller]
    pub fn rows<const K: usize>(self, first: usize) -> Tile<T, S::Rows>
    where
        S: WithRows<K>,
    {
        self.cut(first, K)
    }
    /// `count` rows, a host value, from row `first` on.
    #[track_caller]
    pub fn rows_sized(self, first: usize, count: usize) -> Tile<T, <S as WithRows<ANY>>::Rows>
    where
        S: WithRows<ANY>,
    {
        self.cut(first, count)
    }
    #[track_caller]
    fn cut<To: Shape>(self, first: usize, count: usize) -> Tile<T, To> {
        let (x, from) = (self.val(), trace::ty(self.val()));
        let ty = match from.dims().and_then(|d| d.with(0, u32::try_from(count).ok().filter(|k| *k > 0)?)) {
            Some(dims) => Type::of(T::ELEM, dims),
            None => trace::tile_type(T::ELEM, To::DIMS),
        };
        let first = ops::At(u32::try_from(first).unwrap_or(u32::MAX));
        Tile::of(trace::emit(ty, |t| ops::Rows { x: t.id(x), first, to: ResultType(ty) }.into()))
    }

    /// The largest along an axis, which the result lacks.
    #[track_caller]
    pub fn max<const A: usize>(self, _: Axis<A>) -> S::Of<T>
    where
        S: DropAxis<A>,
        T: Num,
    {
        self.reduce::<A>(|x, axis| ops::ReduceMax { x, axis }.into())
    }
    /// The smallest along an axis, which the result lacks.
    #[track_caller]
    pub fn min<const A: usize>(self, _: Axis<A>) -> S::Of<T>
    where
        S: DropAxis<A>,
        T: Num,
    {
        self.reduce::<A>(|x, axis| ops::ReduceMin { x, axis }.into())
    }
    /// The sum along an axis, which the result lacks.
    #[track_caller]
    pub fn sum<const A: usize>(self, _: Axis<A>) -> S::Of<T>
    where
        S: DropAxis<A>,
        T: Num,
    {
        self.reduce::<A>(|x, axis| ops::ReduceSum { x, axis }.into())
    }
    /// Any associative `combine` of two scalars along an axis.
    #[track_caller]
    pub fn reduce_with<const A: usize>(
        self,
        _: Axis<A>,
        combine: impl Fn(Scalar<T>, Scalar<T>) -> Scalar<T>,
    ) -> S::Of<T>
    where
        S: DropAxis<A>,
    {
        let combine = traced_combine(combine);
        self.reduce::<A>(|x, axis| ops::ReduceWith { x, axis, combine }.into())
    }
    /// Inclusive prefix sums along an axis.
    #[track_caller]
    pub fn cumsum<const A: usize>(self, axis: Axis<A>) -> Self
    where
        S: DropAxis<A>,
        T: Num,
    {
        let (x, ty) = (self.val(), trace::ty(self.val()));
        Tile::of(trace::emit(ty, |t| ops::ScanSum { x: t.id(x), axis: number::<S, _>(axis) }.into()))
    }
    /// Inclusive prefix values of any associative `combine` of two scalars along an axis.
    #[track_caller]
    pub fn scan_with<const A: usize>(self, axis: Axis<A>, combine: impl Fn(Scalar<T>, Scalar<T>) -> Scalar<T>) -> Self
    where
        S: DropAxis<A>,
    {
        let combine = traced_combine(combine);
        let (x, ty) = (self.val(), trace::ty(self.val()));
        Tile::of(trace::emit(ty, |t| ops::ScanWith { x: t.id(x), axis: number::<S, _>(axis), combine }.into()))
    }

    #[track_caller]
    fn reduce<const A: usize>(self, make: impl FnOnce(ValueId, AxisNo) -> Op) -> S::Of<T>
    where
        S: DropAxis<A>,
    {
        let (x, from) = (self.val(), trace::ty(self.val()));
        let rest = from.dims().and_then(|d| d.without(A)).unwrap_or(Dims::SCALAR);
        S::Of::wrap(trace::emit(Type::of(T::ELEM, rest), |t| make(t.id(x), AxisNo(A as u32))))
    }
}

#[track_caller]
fn traced_combine<T: Elem>(combine: impl Fn(Scalar<T>, Scalar<T>) -> Scalar<T>) -> RegionId {
    let one = Type::Scalar(T::ELEM);
    let of = |args: &[Val], i: usize| Scalar::of(args.get(i).copied().unwrap_or(Val::FOREIGN));
    let Traced { region, .. } =
        trace::region(&[one, one], &[], |args| combine(of(args, 0), of(args, 1)), |out: &Scalar<T>| vec![out.val()]);
    region
}

/// Whether two shapes have as many elements; an `ANY` length is for tracing to compare.
const fn same_count(a: &[usize], b: &[usize]) -> bool {
    let (Some(a), Some(b)) = (count(a), count(b)) else { return true };
    a == b
}
const fn count(dims: &[usize]) -> Option<usize> {
    let (mut n, mut i) = (1usize, 0);
    while i < dims.len() {
        if dims[i] == ANY {
            return None;
        }
        n = n.saturating_mul(dims[i]);
        i += 1;
    }
    Some(n)
}

impl<T: Elem, const M: usize, const N: usize> Tile<T, D2<M, N>> {
    /// The transposed matrix.
    #[track_caller]
    pub fn trans(self) -> Tile<T, D2<N, M>> {
        let (x, from) = (self.val(), trace::ty(self.val()));
        let dims = from.dims().and_then(|d| d.transposed()).unwrap_or(Dims::SCALAR);
        Tile::of(trace::emit(Type::of(T::ELEM, dims), |t| ops::Trans { x: t.id(x) }.into()))
    }
}

impl<T: Elem, S: Shape> Tile<T, S> {
    /// The tile along a new axis `A`: fits every tile whose shape without axis `A` is this one's.
    pub fn along<const A: usize>(self, _: Axis<A>) -> Along<T, S, A> {
        Along::of(self.val())
    }
    /// `reduced`, which lacks axis `A`, as a tile of this shape: for device functions generic over the shape.
    #[track_caller]
    pub fn spread<const A: usize>(self, _: Axis<A>, reduced: S::Of<T>) -> Self
    where
        S: DropAxis<A>,
    {
        let (v, like) = (reduced.val(), trace::ty(self.val()));
        if S::DIMS.len() == 1 {
            let to = ops::ResultType(like);
            return Tile::of(trace::emit(like, |t| ops::Splat { x: t.id(v), to }.into()));
        }
        Tile::of(spread(v, A, like))
    }
}
impl<T: Elem, const N: usize> Tile<T, D1<N>> {
    /// One value per row of a matrix.
    pub fn col(self) -> Along<T, D1<N>, 1> {
        self.along(Axis)
    }
    /// One value per column of a matrix.
    pub fn row(self) -> Along<T, D1<N>, 0> {
        self.along(Axis)
    }
}
