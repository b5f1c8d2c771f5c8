//! Functions of one float: an op, and what it is in f32 and in f64. f16 and bf16 go through f32 (`number`).
//! From the libm crate, so that values are equal on every host.

use super::elementwise::Apply1;
use super::number::{Real, quiet};
use crate::ir::Op;
use crate::ir::ops::family;

/// A float type that knows the functions.
pub(super) trait Functions: Real {
    fn real1<A: Apply1<Self>>(f: Real1, to: A) -> A::Out;
}

macro_rules! functions {
    ($($Name:ident = $of_f32:expr, $of_f64:expr;)*) => {
        /// A function of one float.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Real1 { $($Name),* }

        impl Real1 {
            pub(super) fn of(op: &Op) -> Option<Real1> {
                match op {
                    $(Op::$Name(_) => Some(Real1::$Name),)*
                    family::arithmetic!() | family::bits!() | family::choice!() | family::conversion!() => None,
                    family::shape!() | family::reduction!() | family::product!() | family::memory!() => None,
                    family::place!() | family::messages!() | family::observation!() | family::control!() => None,
                }
            }
        }
        impl Functions for f32 {
            fn real1<A: Apply1<f32>>(f: Real1, to: A) -> A::Out {
                match f { $(Real1::$Name => { let f: fn(f32) -> f32 = $of_f32; to.apply(|x| quiet(f(x))) })* }
            }
        }
        impl Functions for f64 {
            fn real1<A: Apply1<f64>>(f: Real1, to: A) -> A::Out {
                match f { $(Real1::$Name => { let f: fn(f64) -> f64 = $of_f64; to.apply(|x| quiet(f(x))) })* }
            }
        }
    };
}
functions! {
    Exp = libm::expf, libm::exp;
    Exp2 = libm::exp2f, libm::exp2;
    Log = libm::logf, libm::log;
    Log2 = libm::log2f, libm::log2;
    // IEEE defines square roots to the bit, so the host's own is the same everywhere.
    Sqrt = f32::sqrt, f64::sqrt;
    Rsqrt = |x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt();
    Tanh = libm::tanhf, libm::tanh;
    Erf = libm::erff, libm::erf;
    Sin = libm::sinf, libm::sin;
    Cos = libm::cosf, libm::cos;
    Floor = libm::floorf, libm::floor;
    Trunc = libm::truncf, libm::trunc;
    RoundEven = libm::rintf, libm::rint;
}
