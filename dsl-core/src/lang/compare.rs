//! Comparisons, and `&&` and `||`: of host values as in Rust, of device values as operations. What macros put in their place.

use super::elem::{Elem, Float, Int, Num};
use super::handle::{Handle, Scalar, Val};
use super::operand::{Operand, beside, scalar};
use super::shape::{D0, Shape};
use super::tile::Tile;
use super::trace::{self, Traced};
use crate::elem::ElemType;
use crate::ir::ops::{self, Pred};
use crate::ir::{Literal, Op, Type};

macro_rules! compare {
    ($Trait:ident, $Host:ident, $class:ident: $($f:ident $Pred:ident)*) => {
        /// Comparison, of host values as in Rust, of kernel values per element. The result is a parameter, not an
        /// associated type: of a wrong comparison rustc would report the missing trait and the missing type.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` cannot be compared with `{R}`",
            label = "other element type or shape",
            note = "convert with `.cast::<..>()`; a vector joins a matrix as `.col()` or `.row()`; the kernel value stands on the left; only numbers have an order"
        )]
        pub trait $Trait<R, Out> {
            $(#[track_caller] fn $f(&self, r: &R) -> Out;)*
        }
        impl<L: $Host> $Trait<L, bool> for L {
            $(fn $f(&self, r: &L) -> bool { $Host::$f(self, r) })*
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class, R: Operand<T, D0>> $Trait<R, Scalar<bool>> for Scalar<T> {
            $(#[track_caller] fn $f(&self, r: &R) -> Scalar<bool> { Scalar::of(cmp(Pred::$Pred, *self, *r)) })*
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class, S: Shape, R: Operand<T, S>> $Trait<R, Tile<bool, S>> for Tile<T, S> {
            $(#[track_caller] fn $f(&self, r: &R) -> Tile<bool, S> { Tile::of(cmp(Pred::$Pred, *self, *r)) })*
        }
        #[diagnostic::do_not_recommend]
        impl<T: Int> $Trait<Scalar<T>, Scalar<bool>> for usize {
            $(#[track_caller] fn $f(&self, r: &Scalar<T>) -> Scalar<bool> {
                Scalar::of(cmp(Pred::$Pred, scalar::<T>(*self), *r))
            })*
        }
        #[diagnostic::do_not_recommend]
        impl<T: Float> $Trait<Scalar<T>, Scalar<bool>> for f64 {
            $(#[track_caller] fn $f(&self, r: &Scalar<T>) -> Scalar<bool> {
                Scalar::of(cmp(Pred::$Pred, scalar::<T>(*self), *r))
            })*
        }
    };
}
compare! { OrderedWith, PartialOrd, Num: lt Lt le Le gt Gt ge Ge }
compare! { EqualTo, PartialEq, Elem: eq Eq ne Ne }

// Host texts, which Rust compares across types.
macro_rules! texts {
    ($($a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl EqualTo<$b, bool> for $a {
            fn eq(&self, r: &$b) -> bool { *self == *r }
            fn ne(&self, r: &$b) -> bool { *self != *r }
        }
    )*};
}
texts! { String, &str; &str, String; }

#[track_caller]
fn cmp<X: Handle>(pred: Pred, a: X, b: impl Operand<X::T, X::S>) -> Val {
    let (a, b, ty) = beside(a, b);
    trace::emit(ty.with_elem(ElemType::I1), |t| ops::Cmp { pred, a: t.id(a), b: t.id(b) }.into())
}

/// `&&` and `||` with Rust's meaning: the right side runs only if it is needed.
#[diagnostic::on_unimplemented(
    message = "`&&` and `||` join `bool`s or `Scalar<bool>`s, not `{Self}` and `{R}`",
    label = "not a condition",
    note = "element by element: `&` and `|`"
)]
pub trait Logic<R, Out>: Sized {
    #[track_caller]
    fn and(self, right: impl Fn() -> R) -> Out;
    #[track_caller]
    fn or(self, right: impl Fn() -> R) -> Out;
}
#[diagnostic::do_not_recommend]
impl Logic<bool, bool> for bool {
    fn and(self, right: impl Fn() -> bool) -> bool {
        self && right()
    }
    fn or(self, right: impl Fn() -> bool) -> bool {
        self || right()
    }
}
#[diagnostic::do_not_recommend]
impl Logic<Scalar<bool>, Scalar<bool>> for bool {
    #[track_caller]
    fn and(self, right: impl Fn() -> Scalar<bool>) -> Scalar<bool> {
        if self { right() } else { scalar(false) }
    }
    #[track_caller]
    fn or(self, right: impl Fn() -> Scalar<bool>) -> Scalar<bool> {
        if self { scalar(true) } else { right() }
    }
}
#[diagnostic::do_not_recommend]
impl Logic<bool, Scalar<bool>> for Scalar<bool> {
    #[track_caller]
    fn and(self, right: impl Fn() -> bool) -> Scalar<bool> {
        if right() { self } else { scalar(false) }
    }
    #[track_caller]
    fn or(self, right: impl Fn() -> bool) -> Scalar<bool> {
        if right() { scalar(true) } else { self }
    }
}
#[diagnostic::do_not_recommend]
impl Logic<Scalar<bool>, Scalar<bool>> for Scalar<bool> {
    #[track_caller]
    fn and(self, right: impl Fn() -> Scalar<bool>) -> Scalar<bool> {
        guarded(self, right, Short::And)
    }
    #[track_caller]
    fn or(self, right: impl Fn() -> Scalar<bool>) -> Scalar<bool> {
        guarded(self, right, Short::Or)
    }
}

#[derive(Clone, Copy)]
enum Short {
    And,
    Or,
}
/// Without effects the right side is traced in place and joined by one op; else it goes into an arm of its own.
#[track_caller]
fn guarded(left: Scalar<bool>, right: impl Fn() -> Scalar<bool>, short: Short) -> Scalar<bool> {
    let Traced { region, out } = trace::region(&[], &[], |_| right(), |r: &Scalar<bool>| vec![r.val()]);
    let (a, b) = (left.val(), out.val());
    if !trace::has_effects(region) {
        trace::splice(region);
        let op = |t: &mut trace::Tracer| -> Op {
            let (a, b) = (t.id(a), t.id(b));
            match short {
                Short::And => ops::And { a, b }.into(),
                Short::Or => ops::Or { a, b }.into(),
            }
        };
        return Scalar::of(trace::emit(Type::BOOL, op));
    }
    let skipped = trace::constant(Literal::from(matches!(short, Short::Or)));
    let rest = trace::region(&[], &[], |_| (), |()| vec![skipped]).region;
    let (then, other) = match short {
        Short::And => (region, rest),
        Short::Or => (rest, region),
    };
    Scalar::of(trace::emit(Type::BOOL, |t| ops::If { cond: t.id(a), then, other }.into()))
}
