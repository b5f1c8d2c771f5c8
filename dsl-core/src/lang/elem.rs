//! Element types as trait bounds. What each may do is `ElemType::is`; the traits say the same to rustc.

use crate::data::Stored;
use crate::elem::{F8E4M3, F8E5M2};
use half::{bf16, f16};

/// A Rust type that is an element of scalars, tiles and views.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type",
    note = "element types: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64, fp8 as storage; an index or size is a `Scalar<i32>`, not a `usize`"
)]
pub trait Elem: Stored {}

/// Elements with arithmetic: integers and floats, not `bool`, not fp8.
#[diagnostic::on_unimplemented(message = "`{Self}` has no arithmetic here", label = "needs a number element type")]
pub trait Num: Elem {}

/// Elements with bit operations: integers and `bool`.
#[diagnostic::on_unimplemented(
    message = "bit operations need an integer or bool element type, found `{Self}`",
    note = "reinterpret a float with `.bitcast::<u32>()`"
)]
pub trait Bits: Elem {}

/// Signed and unsigned integers.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an integer element type", label = "needs `i8` to `u64`")]
pub trait Int: Num + Bits {}

/// `f16`, `bf16`, `f32`, `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating point element type",
    label = "needs `f16`, `bf16`, `f32` or `f64`",
    note = "convert with `.cast::<f32>()`"
)]
pub trait Float: Num {
    /// The lowest finite number: what a masked score is, since `-inf - -inf` is NaN.
    const LOWEST: f64;
}

// The class of the elements is asked for beside the operand, not of `T`: while the operand is open, an operator then has
// its `impl`, and rustc tells what the class lacks instead of "no implementation for `Scalar<f32> & Scalar<f32>`".
macro_rules! beside_classes {
    ($($(#[$meta:meta])* $Beside:ident $class:ident)*) => {$(
        $(#[$meta])*
        pub trait $Beside<T> {}
        impl<T: $class, R> $Beside<T> for R {}
    )*};
}
beside_classes! {
    /// Stands beside `+`, `-`, `*`, `/`: the element type `T` of the value on the left has arithmetic.
    #[diagnostic::on_unimplemented(message = "`{T}` has no arithmetic here", label = "needs a number element type")]
    NumBeside Num
    /// Stands beside `%`, `<<`, `>>`: the element type `T` of the value on the left is an integer.
    #[diagnostic::on_unimplemented(message = "`{T}` is not an integer element type", label = "needs `i8` to `u64`")]
    IntBeside Int
    /// Stands beside `&`, `|`, `^`: the element type `T` of the value on the left is an integer or `bool`.
    #[diagnostic::on_unimplemented(
        message = "bit operations need an integer or bool element type, found `{T}`",
        note = "reinterpret a float with `.bitcast::<u32>()`"
    )]
    BitsBeside Bits
}

/// A product of `Self` elements can be accumulated in `A` (the table of `ElemType::dot_into`).
#[diagnostic::on_unimplemented(
    message = "a product of `{Self}` cannot be accumulated in `{A}`",
    note = "f16 -> f16 or f32; bf16 -> f32; f32 -> f32; f64 -> f64; i8, u8 -> i32; fp8 -> f32"
)]
pub trait DotInto<A>: Elem {}

macro_rules! classes {
    ($($t:ty: $($class:ident)*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Elem for $t {}
        $(#[diagnostic::do_not_recommend] impl $class for $t {})*
    )*};
}
classes! {
    bool: Bits;
    i8: Num Int Bits; i16: Num Int Bits; i32: Num Int Bits; i64: Num Int Bits;
    u8: Num Int Bits; u16: Num Int Bits; u32: Num Int Bits; u64: Num Int Bits;
    f16: Num; bf16: Num; f32: Num; f64: Num;
    F8E4M3:; F8E5M2:;
}

macro_rules! floats {
    ($($t:ty: $lowest:expr;)*) => {$( #[diagnostic::do_not_recommend] impl Float for $t { const LOWEST: f64 = $lowest; } )*};
}
floats! { f16: -65504.0; bf16: -3.3895313892515355e38; f32: f32::MIN as f64; f64: f64::MIN; }

macro_rules! products {
    ($($t:ty => $($acc:ty)*;)*) => {$($( #[diagnostic::do_not_recommend] impl DotInto<$acc> for $t {} )*)*};
}
products! { f16 => f16 f32; bf16 => f32; f32 => f32; f64 => f64; i8 => i32; u8 => i32; F8E4M3 => f32; F8E5M2 => f32; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_number_is_the_types_own_minimum() {
        assert_eq!(<f16 as Float>::LOWEST, f16::MIN.to_f64());
        assert_eq!(<bf16 as Float>::LOWEST, bf16::MIN.to_f64());
    }
}
