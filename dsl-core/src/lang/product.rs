//! Products of two matrices.

use super::elem::{DotInto, Num};
use super::errors::LangFault;
use super::handle::Val;
use super::shape::D2;
use super::tile::Tile;
use super::trace;
use crate::elem::ElemType;
use crate::ir::ops::{Precision, ResultType};
use crate::ir::{Dims, Type, ops};

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
