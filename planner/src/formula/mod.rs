//! What the model's formulas are written in. A formula is one generic Rust function over [`Num`]: with `f64` it computes,
//! at full speed; with [`Expr`] the same function leaves its expression in a [`Graph`], from which `--explain` prints it
//! with numbers in it (`print`), and the report page gets its JavaScript (`js`). So the three cannot differ.
//!
//! Kept true: both ways of running a formula give the same bits; every named value has a unit, which `Graph::check_units`
//! finds again from the units of the inputs.

mod graph;
mod js;
mod print;
mod units;

pub use graph::{Cond, Definition, Expr, Graph, Input};
pub use js::{Output, javascript};
pub use print::{Substituted, formula_template, formula_text, substituted};
pub use units::Dim;

use std::ops::{Add, Div, Mul, Sub};

/// A number that formulas compute with, of at least zero.
///
/// Whole numbers are exact up to 2^53, and so are their quotients rounded down.
pub trait Num:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + std::fmt::Debug
{
    /// A condition between numbers.
    type Bool: Copy + std::fmt::Debug;

    /// A number without a unit.
    fn lit(value: f64) -> Self;
    /// So many floating-point operations; a multiply-add counts two.
    fn flop(value: f64) -> Self;
    /// So many bytes.
    fn bytes(value: f64) -> Self;
    /// So many seconds.
    fn seconds(value: f64) -> Self;
    /// Rounded down.
    fn floor(self) -> Self;
    /// Rounded up.
    fn ceil(self) -> Self;
    fn sqrt(self) -> Self;
    /// `self` to the power of `exponent`.
    fn pow(self, exponent: Self) -> Self;
    /// Logarithm of base two.
    fn log2(self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn lt(self, other: Self) -> Self::Bool;
    fn le(self, other: Self) -> Self::Bool;
    fn always(value: bool) -> Self::Bool;
    fn and(a: Self::Bool, b: Self::Bool) -> Self::Bool;
    fn or(a: Self::Bool, b: Self::Bool) -> Self::Bool;
    fn not(a: Self::Bool) -> Self::Bool;
    /// One of two values; numbers run one arm, expressions keep both.
    fn pick(condition: Self::Bool, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self;
    /// Gives the value a name, a unit and a reason; numbers pass through.
    fn def(self, name: &'static str, unit: Dim, reason: &'static str) -> Self;
    /// As [`Num::def`], named `stem.part`.
    fn def_part(self, stem: &'static str, part: &'static str, unit: Dim) -> Self;

    fn gt(self, other: Self) -> Self::Bool {
        other.lt(self)
    }
    fn ge(self, other: Self) -> Self::Bool {
        other.le(self)
    }
    /// `self / other` rounded down, both whole.
    fn div_floor(self, other: Self) -> Self {
        (self / other).floor()
    }
    /// `self / other` rounded up, both whole.
    fn div_ceil(self, other: Self) -> Self {
        (self / other).ceil()
    }
}

impl Num for f64 {
    type Bool = bool;

    #[inline(always)]
    fn lit(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn flop(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn bytes(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn seconds(value: f64) -> f64 {
        value
    }
    /// Through an integer: without SSE 4.1, `f64::floor` is a call. Beyond 2^53 every number is whole.
    #[inline(always)]
    fn floor(self) -> f64 {
        if self < WHOLE { (self as i64) as f64 } else { self }
    }
    #[inline(always)]
    fn ceil(self) -> f64 {
        let floor = Num::floor(self);
        if floor < self { floor + 1.0 } else { floor }
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    fn pow(self, exponent: f64) -> f64 {
        f64::powf(self, exponent)
    }
    fn log2(self) -> f64 {
        f64::log2(self)
    }
    #[inline(always)]
    fn max(self, other: f64) -> f64 {
        if self < other { other } else { self }
    }
    #[inline(always)]
    fn min(self, other: f64) -> f64 {
        if other < self { other } else { self }
    }
    #[inline(always)]
    fn lt(self, other: f64) -> bool {
        self < other
    }
    #[inline(always)]
    fn le(self, other: f64) -> bool {
        self <= other
    }
    #[inline(always)]
    fn always(value: bool) -> bool {
        value
    }
    #[inline(always)]
    fn and(a: bool, b: bool) -> bool {
        a && b
    }
    #[inline(always)]
    fn or(a: bool, b: bool) -> bool {
        a || b
    }
    #[inline(always)]
    fn not(a: bool) -> bool {
        !a
    }
    #[inline(always)]
    fn pick(condition: bool, yes: impl FnOnce() -> f64, no: impl FnOnce() -> f64) -> f64 {
        if condition { yes() } else { no() }
    }
    #[inline(always)]
    fn def(self, _: &'static str, _: Dim, _: &'static str) -> f64 {
        self
    }
    #[inline(always)]
    fn def_part(self, _: &'static str, _: &'static str, _: Dim) -> f64 {
        self
    }
}

/// From here on, every f64 is a whole number.
const WHOLE: f64 = 9_007_199_254_740_992.0;
