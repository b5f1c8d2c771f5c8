//! Views of host tensors. `x.at(row, col)` is a place; a tile loaded there lies along the trailing axes of the view.

use super::elem::{Elem, Num};
use super::errors::LangFault;
use super::handle::{Handle, Scalar, Val};
use super::operand::{Operand, scalar};
use super::shape::{ANY, Axis, D0, Shape, closed};
use super::tile::Tile;
use super::trace;
use crate::ir::ops::{Access, AxisNo, Bounds, Cache, Fill, ResultType};
use crate::ir::{MAX_RANK, Type, ops};
use std::fmt;
use std::marker::PhantomData;

/// A host tensor of element `T` and rank `R` that the kernel reads.
pub struct View<T, const R: usize>(Val, PhantomData<T>);
/// A host tensor of element `T` and rank `R` that the kernel reads and writes.
pub struct ViewMut<T, const R: usize>(Val, PhantomData<T>);

macro_rules! views {
    ($($View:ident)*) => {$(
        impl<T, const R: usize> Copy for $View<T, R> {}
        impl<T, const R: usize> Clone for $View<T, R> {
            fn clone(&self) -> Self { *self }
        }
        impl<T: Elem, const R: usize> fmt::Debug for $View<T, R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}, {R}>", stringify!($View), T::ELEM)
            }
        }
        impl<T, const R: usize> $View<T, R> {
            pub(crate) fn of(v: Val) -> Self { $View(v, PhantomData) }
        }
        impl<T: Elem, const R: usize> $View<T, R> {
            /// The length along an axis. Launching with a longer one than an i32 holds is an error.
            #[track_caller]
            pub fn len<const A: usize>(self, _: Axis<A>) -> Scalar<i32> {
                const { assert!(A < R, "the view has no such axis") }
                length(self.0, A)
            }
        }
    )*};
}
views! { View ViewMut }

#[track_caller]
fn length(view: Val, axis: usize) -> Scalar<i32> {
    Scalar::of(trace::emit(Type::I32, |t| ops::Len { view: t.id(view), axis: AxisNo(axis as u32) }.into()))
}

/// An index along one axis of a view.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index",
    label = "an index is a `Scalar<i32>`, a `Scalar<i64>` or a plain integer"
)]
pub trait Index: Copy {
    #[doc(hidden)]
    #[track_caller]
    fn index(self) -> Val;
}
#[diagnostic::do_not_recommend]
impl Index for Scalar<i32> {
    fn index(self) -> Val {
        self.val()
    }
}
#[diagnostic::do_not_recommend]
impl Index for Scalar<i64> {
    fn index(self) -> Val {
        self.val()
    }
}
#[diagnostic::do_not_recommend]
impl Index for i32 {
    #[track_caller]
    fn index(self) -> Val {
        scalar::<i32>(self).val()
    }
}
#[diagnostic::do_not_recommend]
impl Index for usize {
    /// An i32 constant, or an i64 one where it needs to be.
    #[track_caller]
    fn index(self) -> Val {
        if i32::try_from(self).is_ok() || self == ANY { scalar::<i32>(self).val() } else { scalar::<i64>(self).val() }
    }
}

/// Marks a place in a `View`.
#[derive(Clone, Copy, Debug)]
pub struct InView;
/// Marks a place in a `ViewMut`.
#[derive(Clone, Copy, Debug)]
pub struct InViewMut;
/// A place that can be written: one in a `ViewMut`.
#[diagnostic::on_unimplemented(message = "this view is read-only", label = "take the parameter as `ViewMut<..>`")]
pub trait Writable {}
#[diagnostic::do_not_recommend]
impl Writable for InViewMut {}

/// A position in a view, with what is known about the access there.
#[derive(Clone, Copy)]
#[must_use = "a place is only where something is: load from it or store to it"]
pub struct Place<T, const R: usize, M> {
    view: Val,
    at: [Val; R],
    limits: [Option<Val>; MAX_RANK],
    vec: Option<u32>,
    cache: Option<Cache>,
    _elem: PhantomData<(T, M)>,
}

macro_rules! places {
    ($($rank:literal: $($i:ident)*;)*) => {$(
        places!{ @ $rank View InView: $($i)* }
        places!{ @ $rank ViewMut InViewMut: $($i)* }
    )*};
    (@ $rank:literal $View:ident $Mode:ident: $($i:ident)*) => {
        impl<T: Elem> $View<T, $rank> {
            /// The place at these indices, one per axis.
            #[track_caller]
            pub fn at(self, $($i: impl Index),*) -> Place<T, $rank, $Mode> { Place::new(self.0, [$($i.index()),*]) }
        }
    };
}
places! { 1: i; 2: i j; 3: i j k; 4: i j k l; }

impl<T: Elem, const R: usize, M> Place<T, R, M> {
    fn new(view: Val, at: [Val; R]) -> Self {
        trace::hands_back(&[], Vec::new()); // a place is no value: its name is not that of an index
        Place { view, at, limits: [None; MAX_RANK], vec: None, cache: None, _elem: PhantomData }
    }
    /// Along tile axis `A` only the first `n` places exist; the rest is outside, as past the end of the view.
    #[track_caller]
    pub fn limit<const A: usize>(mut self, _: Axis<A>, n: impl Index) -> Self {
        const { assert!(A < R, "a tile has no such axis here") }
        self.limits[A] = Some(n.index());
        trace::hands_back(&[], Vec::new());
        self
    }
    /// A hint: so many elements per memory access (1, 2, 4, 8 or 16).
    pub fn vec_width(self, n: usize) -> Self {
        Place { vec: Some(u32::try_from(n).unwrap_or(u32::MAX)), ..self }
    }
    /// A hint: whether the data will be read again.
    pub fn cache(self, c: Cache) -> Self {
        Place { cache: Some(c), ..self }
    }

    fn access(&self, t: &mut trace::Tracer) -> Access {
        let limits = self.limits.iter().enumerate().filter_map(|(a, n)| n.map(|n| (a as u32, n)));
        let limits: Vec<(u32, Val)> = limits.collect();
        Access {
            view: t.id(self.view),
            index: t.ids(&self.at),
            limits: limits.into_iter().map(|(a, n)| (a, t.id(n))).collect(),
            vec: self.vec,
            cache: self.cache,
        }
    }
    #[track_caller]
    fn read(self, ty: Type, fill: Option<Val>) -> Val {
        trace::emit(ty, |t| {
            let (at, fill) = (self.access(t), Fill(fill.map(|f| t.id(f))));
            ops::Load { at, fill, to: ResultType(ty) }.into()
        })
    }
    /// The tile here; all of it lies inside the view (checked where it is not proved).
    #[track_caller]
    pub fn load<S: Shape>(self) -> Tile<T, S> {
        Tile::of(self.read(closed::<T, S>(), None))
    }
    /// The tile here; elements outside the view read as `fill`.
    #[track_caller]
    pub fn load_or<S: Shape>(self, fill: impl Operand<T, D0>) -> Tile<T, S> {
        let fill = scalar::<T>(fill).val();
        Tile::of(self.read(closed::<T, S>(), Some(fill)))
    }
    /// The tile here, of a shape with `ANY` lengths: those lengths in order, host values.
    #[track_caller]
    pub fn load_sized<S: Shape>(self, lengths: impl AsRef<[usize]>) -> Tile<T, S> {
        Tile::of(self.read(sized::<T, S>(lengths.as_ref()), None))
    }
    /// The same; elements outside the view read as `fill`.
    #[track_caller]
    pub fn load_sized_or<S: Shape>(self, lengths: impl AsRef<[usize]>, fill: impl Operand<T, D0>) -> Tile<T, S> {
        let fill = scalar::<T>(fill).val();
        Tile::of(self.read(sized::<T, S>(lengths.as_ref()), Some(fill)))
    }
    /// The element here.
    #[track_caller]
    pub fn get(self) -> Scalar<T> {
        Scalar::of(self.read(Type::Scalar(T::ELEM), None))
    }

    #[track_caller]
    fn write(self, bounds: Bounds, value: Val) {
        trace::effect(|t| ops::Store { bounds, at: self.access(t), value: t.id(value) }.into());
    }
    /// Writes a tile; all of it lies inside the view (checked where it is not proved).
    #[track_caller]
    pub fn store<S: Shape>(self, tile: Tile<T, S>)
    where
        M: Writable,
    {
        self.write(Bounds::All, tile.val());
    }
    /// Writes a tile; elements outside the view are dropped.
    #[track_caller]
    pub fn store_inside<S: Shape>(self, tile: Tile<T, S>)
    where
        M: Writable,
    {
        self.write(Bounds::Inside, tile.val());
    }
    /// Writes one element.
    #[track_caller]
    pub fn set(self, value: impl Operand<T, D0>)
    where
        M: Writable,
    {
        self.write(Bounds::All, scalar::<T>(value).val());
    }
    /// Adds to memory, each element indivisible. No result: it would depend on timing.
    #[track_caller]
    pub fn atomic_add<V: Handle<T = T>>(self, value: V)
    where
        M: Writable,
        T: Num,
    {
        let value = value.val();
        trace::effect(|t| {
            let (bounds, at) = (Bounds::All, self.access(t));
            ops::AtomicAdd { bounds, at, value: t.id(value) }.into()
        });
    }
    /// Takes the maximum with memory, each element indivisible. No result: it would depend on timing.
    #[track_caller]
    pub fn atomic_max<V: Handle<T = T>>(self, value: V)
    where
        M: Writable,
        T: Num,
    {
        let value = value.val();
        trace::effect(|t| {
            let (bounds, at) = (Bounds::All, self.access(t));
            ops::AtomicMax { bounds, at, value: t.id(value) }.into()
        });
    }
}

/// The type of a tile whose `ANY` lengths are these.
#[track_caller]
pub(super) fn sized<T: Elem, S: Shape>(lengths: &[usize]) -> Type {
    let open = S::DIMS.iter().filter(|d| **d == ANY).count();
    if open != lengths.len() {
        trace::fail(LangFault::SizedCount { open, given: lengths.len() });
    }
    let mut lengths = lengths.iter();
    let fixed = |d: &usize| if *d == ANY { lengths.next().copied().unwrap_or(1) } else { *d };
    let dims: Vec<usize> = S::DIMS.iter().map(fixed).collect();
    trace::tile_type(T::ELEM, &dims)
}
