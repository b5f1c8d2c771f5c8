//! Reductions and scans along one axis whose combine is built in. Floats below f64 accumulate in f32 and round once.
//! Here sums go over eight partial sums or row by row: the order is unspecified, but the same on every host.
//! Not here: `reduce_with` and `scan_with`, whose combine is a region (`pure`).

use super::dispatch::with_number;
use super::number::{Lane, Number};
use super::shape::Around;
use crate::data::{Data, Stored};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Max,
    Min,
    Sum,
}

/// The tile without the axis; one element for a vector.
pub(super) fn reduce(f: Fold, x: &Data, shape: Around) -> Option<Data> {
    with_number!(x.elem(), T => {
        let wide = T::widen_all(T::slice(x)?);
        (wide.len() == shape.outer * shape.n * shape.inner).then_some(())?;
        Some(T::wrap(T::narrow_all(match f {
            Fold::Max => fold(&wide, shape, None, Number::max),
            Fold::Min => fold(&wide, shape, None, Number::min),
            Fold::Sum => fold(&wide, shape, Some(Number::START), Number::add),
        })))
    })
}

/// Partial results that a row is folded into side by side.
const LANES: usize = 8;

/// `start`: the neutral element; without one, the first element may be combined twice.
fn fold<W: Number>(x: &[W], shape: Around, start: Option<W>, f: impl Fn(W, W) -> W) -> Vec<W> {
    if shape.inner == 1 {
        return x.chunks_exact(shape.n).map(|row| fold_row(row, start.unwrap_or(row[0]), &f)).collect();
    }
    let mut out = Vec::with_capacity(shape.outer * shape.inner);
    for slab in x.chunks_exact(shape.n * shape.inner) {
        let (first, rest) = slab.split_at(shape.inner);
        // A first element that is NaN must come out quiet, as any other.
        let mut acc: Vec<W> = first.iter().map(|x| f(start.unwrap_or(*x), *x)).collect();
        for row in rest.chunks_exact(shape.inner) {
            acc.iter_mut().zip(row).for_each(|(a, x)| *a = f(*a, *x));
        }
        out.extend(acc);
    }
    out
}
fn fold_row<W: Number>(row: &[W], start: W, f: &impl Fn(W, W) -> W) -> W {
    let mut lanes = [start; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(a, x)| *a = f(*a, *x));
    }
    lanes.iter_mut().zip(rest).for_each(|(a, x)| *a = f(*a, *x));
    lanes.into_iter().fold(start, f)
}

/// Inclusive prefix sums along the axis; each is rounded once.
pub(super) fn scan_sum(x: &Data, shape: Around) -> Option<Data> {
    with_number!(x.elem(), T => {
        let mut wide = T::widen_all(T::slice(x)?);
        (wide.len() == shape.outer * shape.n * shape.inner).then_some(())?;
        for slab in wide.chunks_exact_mut(shape.n * shape.inner) {
            for i in shape.inner..slab.len() {
                slab[i] = slab[i - shape.inner].add(slab[i]);
            }
            // The first sums are single elements, made quiet like the others.
            slab[..shape.inner].iter_mut().for_each(|x| *x = <T as Lane>::Wide::START.add(*x));
        }
        Some(T::wrap(T::narrow_all(wide)))
    })
}
