//! Types of IR values: scalar, tile, view. All `Copy`. No layout in a tile type: layouts are side tables of a backend.

use crate::elem::{Class, ElemType};
use std::fmt;

// Limits for untrusted text (ARCHITECTURE 3).

/// The largest number of elements a tile may have.
pub const MAX_TILE_ELEMS: u64 = 1 << 22;
/// The largest number of ops in a module.
pub const MAX_OPS: usize = 1_000_000;
/// How deep regions may nest; the kernel's body is the first.
pub const MAX_NESTING: usize = 64;
/// The largest rank of a tile or a view.
pub const MAX_RANK: usize = 4;

/// Lengths of a tile or a view, outermost axis first. Rank 0 is a scalar's shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dims {
    rank: u8,
    len: [u32; MAX_RANK],
}

impl Dims {
    pub const SCALAR: Dims = Dims { rank: 0, len: [0; MAX_RANK] };

    /// `None` if the rank is above `MAX_RANK`, a length does not fit `u32` or is zero, or the tile is too large.
    pub fn new(lens: &[usize]) -> Option<Dims> {
        if lens.len() > MAX_RANK {
            return None;
        }
        let mut len = [0; MAX_RANK];
        let mut elems: u64 = 1;
        for (to, &from) in len.iter_mut().zip(lens) {
            *to = u32::try_from(from).ok().filter(|n| *n > 0)?;
            elems = elems.checked_mul(from as u64).filter(|n| *n <= MAX_TILE_ELEMS)?;
        }
        Some(Dims { rank: lens.len() as u8, len })
    }
    pub fn rank(&self) -> usize {
        self.rank as usize
    }
    pub fn as_slice(&self) -> &[u32] {
        &self.len[..self.rank as usize]
    }
    /// Number of elements; 1 for a scalar's shape.
    pub fn elems(&self) -> u64 {
        self.as_slice().iter().map(|n| u64::from(*n)).product()
    }
    /// Number of elements; `None` if it does not fit `u64`.
    pub fn elems_checked(&self) -> Option<u64> {
        self.as_slice().iter().try_fold(1u64, |n, len| n.checked_mul(u64::from(*len)))
    }
    /// The length along `axis`, if there is such an axis.
    pub fn get(&self, axis: usize) -> Option<u32> {
        self.as_slice().get(axis).copied()
    }
    /// The shape without `axis`.
    pub fn without(&self, axis: usize) -> Option<Dims> {
        if axis >= self.rank() {
            return None;
        }
        let mut out = Dims { rank: self.rank - 1, len: [0; MAX_RANK] };
        let kept = self.as_slice().iter().enumerate().filter(|(i, _)| *i != axis);
        for (to, (_, from)) in out.len.iter_mut().zip(kept) {
            *to = *from;
        }
        Some(out)
    }
    /// The shape with the length of `axis` replaced.
    pub fn with(&self, axis: usize, len: u32) -> Option<Dims> {
        let mut out = *self;
        *out.len[..self.rank()].get_mut(axis)? = len;
        Some(out)
    }
    /// The shape with its two axes exchanged; `None` unless the rank is 2.
    pub fn transposed(&self) -> Option<Dims> {
        (self.rank == 2).then(|| Dims { rank: 2, len: [self.len[1], self.len[0], 0, 0] })
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, n) in self.as_slice().iter().enumerate() {
            write!(f, "{}{n}", if i == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}
impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

/// Where the elements of a view lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory, which every PE can address.
    Global,
}

/// A host tensor as a kernel sees it: an element type, a rank, and which lengths the type fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ViewType {
    pub elem: ElemType,
    pub rank: u8,
    /// `None`: known only at launch.
    pub dims: [Option<u32>; MAX_RANK],
    /// Element strides that the type fixes; `None`: known only at launch.
    pub strides: [Option<u32>; MAX_RANK],
    pub writable: bool,
    pub space: Space,
}

impl ViewType {
    /// A view of which only element type and rank are known.
    pub fn dynamic(elem: ElemType, rank: usize, writable: bool) -> ViewType {
        let rank = rank.min(MAX_RANK) as u8;
        ViewType { elem, rank, dims: [None; MAX_RANK], strides: [None; MAX_RANK], writable, space: Space::Global }
    }
}

/// The type of an SSA value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    Scalar(ElemType),
    Tile(ElemType, Dims),
    View(ViewType),
}

impl Type {
    pub const BOOL: Type = Type::Scalar(ElemType::I1);
    pub const I32: Type = Type::Scalar(ElemType::I32);

    /// A tile, or a scalar when the shape is that of a scalar.
    pub fn of(elem: ElemType, dims: Dims) -> Type {
        if dims.rank() == 0 { Type::Scalar(elem) } else { Type::Tile(elem, dims) }
    }
    /// The element type of a scalar, a tile, or what a view's elements are.
    pub fn elem(self) -> ElemType {
        match self {
            Type::Scalar(e) | Type::Tile(e, _) => e,
            Type::View(v) => v.elem,
        }
    }
    /// The shape of a tile, the empty shape of a scalar; `None` for a view.
    pub fn dims(self) -> Option<Dims> {
        match self {
            Type::Scalar(_) => Some(Dims::SCALAR),
            Type::Tile(_, d) => Some(d),
            Type::View(_) => None,
        }
    }
    pub fn is_tile(self) -> bool {
        matches!(self, Type::Tile(..))
    }
    pub fn is_scalar(self) -> bool {
        matches!(self, Type::Scalar(_))
    }
    /// The same shape with another element type; a view stays as it is.
    pub fn with_elem(self, elem: ElemType) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(elem),
            Type::Tile(_, d) => Type::Tile(elem, d),
            Type::View(_) => self,
        }
    }
    /// Number of elements of a tile or scalar; 0 for a view.
    pub fn elems(self) -> u64 {
        self.dims().map_or(0, |d| d.elems())
    }
    /// Bytes of a tile or scalar; 0 for a view.
    pub fn bytes(self) -> u64 {
        self.elems() * self.elem().bytes()
    }
    pub fn is(self, class: Class) -> bool {
        !matches!(self, Type::View(_)) && self.elem().is(class)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(e) => write!(f, "{e}"),
            Type::Tile(e, d) => write!(f, "tile<{d}x{e}>"),
            Type::View(v) => {
                f.write_str(if v.writable { "view_mut<" } else { "view<" })?;
                for n in v.dims.iter().take(v.rank as usize) {
                    match n {
                        Some(n) => write!(f, "{n}x")?,
                        None => f.write_str("?x")?,
                    }
                }
                write!(f, "{}", v.elem)?;
                if v.strides.iter().any(Option::is_some) {
                    f.write_str(", strides [")?;
                    for (i, s) in v.strides.iter().take(v.rank as usize).enumerate() {
                        let comma = if i == 0 { "" } else { ", " };
                        match s {
                            Some(s) => write!(f, "{comma}{s}")?,
                            None => write!(f, "{comma}?")?,
                        }
                    }
                    f.write_str("]")?;
                }
                match v.space {
                    Space::Global => f.write_str(">"),
                }
            }
        }
    }
}
impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
