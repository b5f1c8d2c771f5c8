//! What only tiles can do: shapes, reductions, scans, products; and conversions of tiles and scalars.

use super::elem::{DotInto, Elem, Int, Num};
use super::handle::{Handle, Scalar, Tile, Val};
use super::shape::{ANY, AxisOf, D2, DropAxis, Shape, WithRows, closed};
use super::trace::{self, Traced};
use super::{Axis, errors::LangFault};
use crate::elem::ElemType;
use crate::ir::ops::{AxisNo, Precision, ResultType};
use crate::ir::{Dims, Op, RegionId, Type, ValueId, ops};

/// The index along one axis, as a tile of the whole shape.
#[track_caller]
pub fn iota<T: Int, S: Shape>(axis: impl AxisOf<S>) -> Tile<T, S> {
    let ty = closed::<T, S>();
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
        let (x, from) = (self.val(), trace::ty(self.val()));
        let ty = match from.dims().and_then(|d| d.with(0, u32::try_from(K).ok().filter(|k| *k > 0)?)) {
            Some(dims) => Type::of(T::ELEM, dims),
            None => trace::tile_type(T::ELEM, <S::Rows as Shape>::DIMS),
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
#[track_caller]
fn cast(x: Val, to: ElemType) -> Val {
    let ty = trace::ty(x);
    if ty.elem() == to {
        trace::hands_back(&[x], Vec::new());
        return x;
    }
    let ty = ty.with_elem(to);
    trace::emit(ty, |t| ops::Cast { x: t.id(x), to: ResultType(ty) }.into())
}
#[track_caller]
fn bitcast(x: Val, to: ElemType) -> Val {
    let ty = trace::ty(x);
    if ty.elem() == to {
        trace::hands_back(&[x], Vec::new());
        return x;
    }
    let ty = ty.with_elem(to);
    trace::emit(ty, |t| ops::Bitcast { x: t.id(x), to: ResultType(ty) }.into())
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

/// `a . b`, accumulated and returned in `A`, which the use decides (`let s: Tile<f32, _> = dot(q, k)` where nothing else
/// does).
#[track_caller]
pub fn dot<T: DotInto<A>, A: Num, const M: usize, const K: usize, const N: usize>(
    a: Tile<T, D2<M, K>>,
    b: Tile<T, D2<K, N>>,
) -> Tile<A, D2<M, N>> {
    Tile::of(product(a.val(), b.val(), None, Precision::Full, A::ELEM))
}
/// `c + a . b` in one operation.
#[track_caller]
pub fn dot_acc<T: DotInto<A>, A: Num, const M: usize, const K: usize, const N: usize>(
    a: Tile<T, D2<M, K>>,
    b: Tile<T, D2<K, N>>,
    c: Tile<A, D2<M, N>>,
) -> Tile<A, D2<M, N>> {
    Tile::of(product(a.val(), b.val(), Some(c.val()), Precision::Full, A::ELEM))
}
/// `a . b` of f32, the products taken of operands rounded to 10 mantissa bits (tf32).
#[track_caller]
pub fn dot_tf32<const M: usize, const K: usize, const N: usize>(
    a: Tile<f32, D2<M, K>>,
    b: Tile<f32, D2<K, N>>,
) -> Tile<f32, D2<M, N>> {
    Tile::of(product(a.val(), b.val(), None, Precision::Tf32, ElemType::F32))
}
/// `c + a . b` of f32, the products taken of operands rounded to 10 mantissa bits (tf32).
#[track_caller]
pub fn dot_acc_tf32<const M: usize, const K: usize, const N: usize>(
    a: Tile<f32, D2<M, K>>,
    b: Tile<f32, D2<K, N>>,
    c: Tile<f32, D2<M, N>>,
) -> Tile<f32, D2<M, N>> {
    Tile::of(product(a.val(), b.val(), Some(c.val()), Precision::Tf32, ElemType::F32))
}
#[track_caller]
fn product(a: Val, b: Val, c: Option<Val>, precision: Precision, elem: ElemType) -> Val {
    let (rows, cols) = (length(a, 0), length(b, 1));
    let ty = match Dims::new(&[rows, cols]) {
        Some(dims) => Type::Tile(elem, dims),
        None => {
            trace::fail(LangFault::TileSize { dims: vec![rows, cols] });
            trace::ty(a).with_elem(elem)
        }
    };
    trace::emit(ty, |t| {
        let (a, b, c) = (t.id(a), t.id(b), c.map(|c| t.id(c)));
        ops::Dot { a, b, c, precision, to: ResultType(ty) }.into()
    })
}
fn length(v: Val, axis: usize) -> usize {
    trace::silent_type(v).dims().and_then(|d| d.get(axis)).map_or(1, |n| n as usize)
}
