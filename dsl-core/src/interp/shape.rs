//! Ops that move elements without computing on them. Tiles are row-major; a shape is seen as `outer x n x inner` around
//! one axis. Each returns `None` where operands are not what the op takes.

use super::dispatch::with_integer;
use super::number::Integer;
use crate::data::{Data, Stored};
use crate::elem::ElemType;
use crate::ir::Dims;
use crate::with_elem;

/// A row-major shape around one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Around {
    pub outer: usize,
    pub n: usize,
    pub inner: usize,
}

impl Around {
    pub(super) fn axis(dims: Dims, axis: u32) -> Option<Around> {
        let (axis, lens) = (axis as usize, dims.as_slice());
        let n = *lens.get(axis)? as usize;
        let product = |lens: &[u32]| lens.iter().map(|n| *n as usize).product();
        Some(Around { outer: product(&lens[..axis]), n, inner: product(&lens[axis + 1..]) })
    }
}

/// The row-major position `index` as a coordinate.
pub(super) fn coordinate(dims: Dims, mut index: usize) -> Vec<i64> {
    let mut out: Vec<i64> = vec![0; dims.rank()];
    for (at, len) in out.iter_mut().zip(dims.as_slice()).rev() {
        *at = (index % *len as usize) as i64;
        index /= *len as usize;
    }
    out
}

/// `x` repeated along a new axis of the result.
pub(super) fn broadcast(x: &Data, to: Dims, axis: u32) -> Option<Data> {
    let Around { outer, n, inner } = Around::axis(to, axis)?;
    (x.len() == outer * inner).then_some(())?;
    with_elem!(x.elem(), T => {
        let mut out = Vec::with_capacity(outer * n * inner);
        for slab in T::slice(x)?.chunks_exact(inner) {
            match slab {
                [one] => out.resize(out.len() + n, *one),
                _ => (0..n).for_each(|_| out.extend_from_slice(slab)),
            }
        }
        Some(T::wrap(out))
    })
}

/// The index along one axis; it wraps to the element type.
pub(super) fn iota(elem: ElemType, dims: Dims, axis: u32) -> Option<Data> {
    let Around { outer, n, inner } = Around::axis(dims, axis)?;
    with_integer!(elem, T => {
        let mut out = Vec::with_capacity(outer * n * inner);
        for _ in 0..outer {
            for i in 0..n {
                out.resize(out.len() + inner, T::from_index(i as u64));
            }
        }
        Some(T::wrap(out))
    })
}

/// Elements on a side of the squares that `trans` turns one by one, so that both sides stay in the cache.
const SQUARE: usize = 32;

/// `[rows, cols]` to `[cols, rows]`.
pub(super) fn trans(x: &Data, rows: usize, cols: usize) -> Option<Data> {
    (x.len() == rows * cols).then_some(())?;
    with_elem!(x.elem(), T => {
        let from = T::slice(x)?;
        let mut out = from.to_vec();
        for r0 in (0..rows).step_by(SQUARE) {
            for c0 in (0..cols).step_by(SQUARE) {
                for c in c0..(c0 + SQUARE).min(cols) {
                    let end = (r0 + SQUARE).min(rows);
                    let column = from[r0 * cols + c..].iter().step_by(cols);
                    out[c * rows + r0..c * rows + end].iter_mut().zip(column).for_each(|(to, x)| *to = *x);
                }
            }
        }
        Some(T::wrap(out))
    })
}

/// The elements from row `first` on that fill the result.
pub(super) fn rows(x: &Data, from: Dims, first: u32, to: Dims) -> Option<Data> {
    let row: usize = from.as_slice().get(1..)?.iter().map(|n| *n as usize).product();
    let start = first as usize * row;
    with_elem!(x.elem(), T => Some(T::wrap(T::slice(x)?.get(start..start + to.elems() as usize)?.to_vec())))
}
