//! `std::ops` on handles, and elementwise functions. One blanket `impl` over `Operand` serves tiles and scalars of all
//! ranks, so that the output type is fixed before a literal's type is known, and every operator has one error text.

use super::elem::{Bits, BitsBeside, Elem, Float, Int, IntBeside, Num, NumBeside};
use super::handle::{Handle, Scalar, Val};
use super::operand::{Operand, beside, scalar, zero};
use super::program::keep;
use super::shape::{D0, Shape};
use super::tile::Tile;
use super::trace;
use crate::ir::{Op, Type, ValueId, ops};

#[track_caller]
fn unary<X: Handle>(x: X, make: fn(ValueId) -> Op) -> X {
    let ty = trace::ty(x.val());
    X::wrap(trace::emit(ty, |t| make(t.id(x.val()))))
}
#[track_caller]
fn binary<X: Handle>(a: X, b: impl Operand<X::T, X::S>, make: fn(ValueId, ValueId) -> Op) -> X {
    let (a, b, ty) = beside(a, b);
    X::wrap(trace::emit(ty, |t| make(t.id(a), t.id(b))))
}

macro_rules! operators {
    ($($class:ident $Op:ident $f:ident $Assign:ident $g:ident |$a:ident, $b:ident| $make:expr;)*) => {$(
        impl<T: Elem, S: Shape, R: Operand<T, S> + $class<T>> std::ops::$Op<R> for Tile<T, S> {
            type Output = Self;
            #[track_caller]
            fn $f(self, r: R) -> Self { binary(self, r, |$a, $b| $make.into()) }
        }
        impl<T: Elem, R: Operand<T, D0> + $class<T>> std::ops::$Op<R> for Scalar<T> {
            type Output = Self;
            #[track_caller]
            fn $f(self, r: R) -> Self { binary(self, r, |$a, $b| $make.into()) }
        }
        impl<T: Elem, S: Shape, R: Operand<T, S> + $class<T>> std::ops::$Assign<R> for Tile<T, S> {
            #[track_caller]
            fn $g(&mut self, r: R) { *self = std::ops::$Op::$f(*self, r) }
        }
        impl<T: Elem, R: Operand<T, D0> + $class<T>> std::ops::$Assign<R> for Scalar<T> {
            #[track_caller]
            fn $g(&mut self, r: R) { *self = std::ops::$Op::$f(*self, r) }
        }
    )*};
}
operators! {
    NumBeside Add add AddAssign add_assign |a, b| ops::Add { a, b };
    NumBeside Sub sub SubAssign sub_assign |a, b| ops::Sub { a, b };
    NumBeside Mul mul MulAssign mul_assign |a, b| ops::Mul { a, b };
    NumBeside Div div DivAssign div_assign |a, b| ops::Div { a, b };
    IntBeside Rem rem RemAssign rem_assign |a, b| ops::Rem { a, b };
    BitsBeside BitAnd bitand BitAndAssign bitand_assign |a, b| ops::And { a, b };
    BitsBeside BitOr bitor BitOrAssign bitor_assign |a, b| ops::Or { a, b };
    BitsBeside BitXor bitxor BitXorAssign bitxor_assign |a, b| ops::Xor { a, b };
    IntBeside Shl shl ShlAssign shl_assign |a, n| ops::Shl { a, n };
    IntBeside Shr shr ShrAssign shr_assign |a, n| ops::Shr { a, n };
}

// A plain number on the left: one integer and one float type, so that a literal needs no suffix.
macro_rules! left {
    ($($host:ident $class:ident: $($Op:ident $f:ident)*;)*) => {$($(
        impl<T: $class> std::ops::$Op<Scalar<T>> for $host {
            type Output = Scalar<T>;
            #[track_caller]
            fn $f(self, r: Scalar<T>) -> Scalar<T> { std::ops::$Op::$f(scalar::<T>(self), r) }
        }
        impl<T: $class, S: Shape> std::ops::$Op<Tile<T, S>> for $host {
            type Output = Tile<T, S>;
            #[track_caller]
            fn $f(self, r: Tile<T, S>) -> Tile<T, S> { std::ops::$Op::$f(like::<T, S>(self, r), r) }
        }
    )*)*};
}
left! { usize Int: Add add Sub sub Mul mul Div div Rem rem; f64 Float: Add add Sub sub Mul mul Div div; }

/// A plain number as a tile of the same lengths as `r`.
#[track_caller]
fn like<T: Elem, S: Shape>(number: impl Operand<T, S>, r: Tile<T, S>) -> Tile<T, S> {
    let like: Type = trace::ty(r.val());
    Tile::of(number.operand(like))
}

macro_rules! prefix {
    ($($class:ident $Op:ident $f:ident $Row:ident;)*) => {$(
        impl<T: $class, S: Shape> std::ops::$Op for Tile<T, S> {
            type Output = Self;
            #[track_caller]
            fn $f(self) -> Self { unary(self, |x| ops::$Row { x }.into()) }
        }
        impl<T: $class> std::ops::$Op for Scalar<T> {
            type Output = Self;
            #[track_caller]
            fn $f(self) -> Self { unary(self, |x| ops::$Row { x }.into()) }
        }
    )*};
}
prefix! { Num Neg neg Neg; Bits Not not Not; }

// The functions of one operand: those rows of the op table whose rule is `function`.
macro_rules! functions {
    ($($family:ident { $(
        $Name:ident = $f:ident $fields:tt -> $rule:ident $classes:tt, $effect:ident, $doc:literal;
    )* })*) => {
        $($( function! { $rule $classes $Name $f $doc } )*)*
        /// Uses every function of one operand once, for tests that walk all ops.
        #[doc(hidden)]
        pub fn each_function() { $($( use_once! { $rule $classes $f } )*)* }
    };
}
macro_rules! function {
    (function (Class::$class:ident) $Name:ident $f:ident $doc:literal) => {
        #[doc = $doc]
        #[track_caller]
        pub fn $f<X: Handle<T: $class>>(x: X) -> X {
            unary(x, |x| ops::$Name { x }.into())
        }
    };
    ($rule:ident $classes:tt $Name:ident $f:ident $doc:literal) => {};
}
macro_rules! use_once {
    (function (Class::$class:ident) $f:ident) => {
        keep($f(zero::<sample!($class)>()));
    };
    ($rule:ident $classes:tt $f:ident) => {};
}
/// An element type of a class.
macro_rules! sample {
    (Float) => {
        f32
    };
    (Num) => {
        f32
    };
    (Int) => {
        i32
    };
    (Bits) => {
        i32
    };
}
ops::table!(functions);

macro_rules! functions2 {
    ($($(#[$doc:meta])* $class:ident $f:ident $Row:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $f<X: Handle<T: $class>>(a: X, b: impl Operand<X::T, X::S>) -> X {
            binary(a, b, |a, b| ops::$Row { a, b }.into())
        }
    )*};
}
functions2! {
    /// The larger, per element; a NaN loses against a number.
    Num maximum Maximum;
    /// The smaller, per element; a NaN loses against a number.
    Num minimum Minimum;
    /// The larger, per element; NaN if either is NaN.
    Float max_nan MaxNan;
    /// The smaller, per element; NaN if either is NaN.
    Float min_nan MinNan;
    /// The upper half of the double-width product.
    Int mul_hi MulHi;
}

/// `a * b + c`, rounded once.
#[track_caller]
pub fn fma<X: Handle<T: Float>>(a: X, b: impl Operand<X::T, X::S>, c: impl Operand<X::T, X::S>) -> X {
    let (a, b, ty) = beside(a, b);
    let c = c.operand(ty);
    X::wrap(trace::emit(ty, |t| ops::Fma { a: t.id(a), b: t.id(b), c: t.id(c) }.into()))
}

/// A mask that chooses between values of element `T` and shape `S`: a `Scalar<bool>` or a tile of them. What is chosen is
/// a parameter, not an associated type: rustc tells of a wrong mask once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a mask",
    label = "a mask is a `Scalar<bool>` or a `Tile<bool, ..>`",
    note = "a host `bool` chooses with a plain `if`"
)]
pub trait Mask<T, S, Chosen>: Copy {
    #[doc(hidden)]
    fn mask(self) -> Val;
    #[doc(hidden)]
    fn chosen(v: Val) -> Chosen;
}
#[diagnostic::do_not_recommend]
impl<T: Elem> Mask<T, D0, Scalar<T>> for Scalar<bool> {
    fn mask(self) -> Val {
        self.val()
    }
    fn chosen(v: Val) -> Scalar<T> {
        Scalar::of(v)
    }
}
#[diagnostic::do_not_recommend]
impl<T: Elem, S: Shape> Mask<T, S, Tile<T, S>> for Tile<bool, S> {
    fn mask(self) -> Val {
        self.val()
    }
    fn chosen(v: Val) -> Tile<T, S> {
        Tile::of(v)
    }
}
/// `a` where the mask holds, else `b`. At least one arm must fix the element type.
#[track_caller]
pub fn select<M: Mask<T, S, X>, T: Elem, S: Shape, X>(mask: M, a: impl Operand<T, S>, b: impl Operand<T, S>) -> X {
    let mask = mask.mask();
    let ty = trace::ty(mask).with_elem(T::ELEM);
    let (a, b) = (a.operand(ty), b.operand(ty));
    M::chosen(trace::emit(ty, |t| ops::Select { mask: t.id(mask), a: t.id(a), b: t.id(b) }.into()))
}
