//! Views and accesses. Every access is seen with four axes: missing outer axes have length 1. A tile lies along the
//! trailing axes of its view. Offsets are 64-bit; an element outside the view, or past a limit, is never touched.

use super::dispatch::with_number;
use super::number::{Lane, Number};
use super::race::Bounds;
use crate::data::{Data, Stored};
use crate::ir::{Dims, Literal, MAX_RANK};
use crate::with_elem;
use std::ops::Range;

/// The elements behind a view.
#[derive(Debug)]
pub(super) enum Elements<'a> {
    /// Only the shape is known.
    Missing,
    Read(&'a Data),
    Write(&'a mut Data),
}

/// A host tensor as a parameter.
#[derive(Debug)]
pub(super) struct View<'a> {
    rank: usize,
    lens: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
    elements: Elements<'a>,
}

impl<'a> View<'a> {
    /// A row-major view; `None` above the largest rank.
    pub(super) fn new(dims: &[usize], elements: Elements<'a>) -> Option<View<'a>> {
        let outer = MAX_RANK.checked_sub(dims.len())?;
        let mut lens = [1; MAX_RANK];
        lens[outer..].copy_from_slice(dims);
        let mut strides = [1usize; MAX_RANK];
        for i in (1..MAX_RANK).rev() {
            strides[i - 1] = strides[i].checked_mul(lens[i])?;
        }
        Some(View { rank: dims.len(), lens, strides, elements })
    }
    /// The length along an axis.
    pub(super) fn len(&self, axis: u32) -> Option<usize> {
        self.lens[MAX_RANK - self.rank..].get(axis as usize).copied()
    }
    pub(super) fn data(&self) -> Option<&Data> {
        match &self.elements {
            Elements::Missing => None,
            Elements::Read(data) => Some(data),
            Elements::Write(data) => Some(data),
        }
    }
    /// The box around a range of row-major positions, which is not empty.
    pub(super) fn bounds(&self, range: Range<usize>) -> Bounds {
        let at = |position: usize, k: usize| position / self.strides[k].max(1) % self.lens[k].max(1);
        let mut out = Vec::new();
        // Behind the first axis along which the ends differ, the range wraps around.
        let mut wraps = false;
        for k in MAX_RANK - self.rank..MAX_RANK {
            let (low, high) = (at(range.start, k), at(range.end - 1, k));
            out.push(if wraps { 0..self.lens[k] } else { low..high + 1 });
            wraps |= low != high;
        }
        Bounds(out)
    }
    /// Where a tile of shape `dims` lies when its first element is at `index`. `limits`: places that exist, by tile axis.
    pub(super) fn window(&self, dims: Dims, index: &[i64], limits: &[(u32, i64)]) -> Option<Window> {
        (index.len() == self.rank && dims.rank() <= self.rank).then_some(())?;
        let (view_outer, tile_outer) = (MAX_RANK - self.rank, MAX_RANK - dims.rank());
        let mut w = Window { rank: self.rank, tile: [1; 4], places: [1; 4], start: [0; 4], low: [0; 4], high: [0; 4] };
        w.start[view_outer..].copy_from_slice(index);
        for (to, len) in w.tile[tile_outer..].iter_mut().zip(dims.as_slice()) {
            *to = *len as usize;
        }
        w.places = w.tile;
        for (axis, limit) in limits {
            let places = w.places.get_mut(tile_outer + *axis as usize)?;
            *places = (*places).min(usize::try_from(Ord::max(*limit, 0)).unwrap_or(usize::MAX));
        }
        for k in 0..MAX_RANK {
            let clamp = |v: i128| v.clamp(0, w.places[k] as i128) as usize;
            w.low[k] = clamp(-i128::from(w.start[k]));
            w.high[k] = clamp(self.lens[k] as i128 - i128::from(w.start[k])).max(w.low[k]);
        }
        Some(w)
    }
    /// The tile in the window; `fill` where there is no element. `None` without data.
    pub(super) fn load(&self, w: &Window, fill: Literal) -> Option<Data> {
        let data = self.data()?;
        with_elem!(data.elem(), T => {
            let from = T::slice(data)?;
            if w.is_whole() {
                let mut out = Vec::with_capacity(w.len());
                w.runs(self, |_, at, n| out.extend_from_slice(&from[at..at + n]));
                return Some(T::wrap(out));
            }
            let mut out = vec![<T as crate::ir::Element>::from_bits(fill.bits); w.len()];
            w.runs(self, |to, at, n| out[to..to + n].copy_from_slice(&from[at..at + n]));
            Some(T::wrap(out))
        })
    }
    /// Writes what of the tile lies in the window. `None` without data, or if the view is read-only.
    pub(super) fn store(&mut self, w: &Window, tile: &Data) -> Option<()> {
        with_elem!(tile.elem(), T => {
            let from = T::slice(tile)?;
            self.write::<T>(w, |from_at, to| to.copy_from_slice(&from[from_at..from_at + to.len()]))
        })
    }
    /// Combines the tile with memory, element by element, each rounded to its type.
    pub(super) fn atomic(&mut self, f: Atomic, w: &Window, tile: &Data) -> Option<()> {
        with_number!(tile.elem(), T => {
            let from = T::slice(tile)?;
            self.write::<T>(w, |from_at, to| {
                let pairs = to.iter_mut().zip(&from[from_at..]);
                pairs.for_each(|(to, x)| *to = T::narrow(match f {
                    Atomic::Add => to.widen().add(x.widen()),
                    Atomic::Max => Number::max(to.widen(), x.widen()),
                }));
            })
        })
    }
    /// Calls `f` with the tile's position and the elements of the view, for each run of neighbours.
    fn write<T: Stored>(&mut self, w: &Window, mut f: impl FnMut(usize, &mut [T])) -> Option<()> {
        let mut elements = std::mem::replace(&mut self.elements, Elements::Missing);
        let done = match &mut elements {
            Elements::Write(data) => {
                T::slice_mut(data).map(|to| w.runs(self, |from, at, n| f(from, &mut to[at..at + n])))
            }
            Elements::Missing | Elements::Read(_) => None,
        };
        self.elements = elements;
        done
    }
}

/// How an atomic combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atomic {
    Add,
    Max,
}

/// The part of a tile that lies in its view: a box in tile coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    rank: usize,
    tile: [usize; MAX_RANK],
    /// Places of the tile that exist after its limits.
    places: [usize; MAX_RANK],
    /// Where the tile's first element lies in the view.
    start: [i64; MAX_RANK],
    low: [usize; MAX_RANK],
    high: [usize; MAX_RANK],
}

impl Window {
    fn len(&self) -> usize {
        self.tile.iter().product()
    }
    fn is_whole(&self) -> bool {
        self.low == [0; MAX_RANK] && self.high == self.tile
    }
    /// Places that exist but lie outside the view.
    pub(super) fn outside(&self) -> u64 {
        let places: usize = self.places.iter().product();
        let inside: usize = self.low.iter().zip(&self.high).map(|(l, h)| h - l).product();
        (places - inside) as u64
    }
    /// The view coordinate of the first place outside, in row-major order of the tile.
    pub(super) fn first_outside(&self) -> Vec<i64> {
        let mut at = [0; MAX_RANK];
        let starts_inside = self.low == [0; MAX_RANK] && self.high.iter().all(|h| *h > 0);
        if starts_inside && let Some(k) = (0..MAX_RANK).rev().find(|k| self.high[*k] < self.places[*k]) {
            at[k] = self.high[k];
        }
        let coordinate = self.start.iter().zip(at).map(|(s, at)| s.saturating_add(at as i64));
        coordinate.skip(MAX_RANK - self.rank).collect()
    }
    /// Calls `f(position in the tile, position in the view, length)` for runs of neighbours, in row-major order.
    pub(super) fn runs(&self, view: &View<'_>, mut f: impl FnMut(usize, usize, usize)) {
        let count: [usize; MAX_RANK] = std::array::from_fn(|k| self.high[k] - self.low[k]);
        if count.contains(&0) {
            return;
        }
        // All of the window is inside, so starts plus positions are in 0..len.
        let at = |k: usize, i: usize| (self.start[k] + (self.low[k] + i) as i64) as usize * view.strides[k];
        let whole_rows = count[3] == self.tile[3] && count[3] == view.lens[3];
        let (turns, run) = if whole_rows { (1, count[2] * count[3]) } else { (count[2], count[3]) };
        for i0 in 0..count[0] {
            for i1 in 0..count[1] {
                for i2 in 0..turns {
                    let row = ((self.low[0] + i0) * self.tile[1] + self.low[1] + i1) * self.tile[2] + self.low[2] + i2;
                    f(row * self.tile[3] + self.low[3], at(0, i0) + at(1, i1) + at(2, i2) + at(3, 0), run);
                }
            }
        }
    }
}
