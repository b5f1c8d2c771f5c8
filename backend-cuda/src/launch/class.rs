//! What a compiled variant of a kernel relies on: not the numbers of a launch, but what divides them. Launches of one class
//! share a variant.

use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::Literal;
use tilewright_core::launch::{Arg, Ready};
use tilewright_core::passes::facts::{Fact, Known, KnownArg, range};

/// Numbers are told apart by this power of two at most: 16 bytes of the smallest element.
const MAX_DIVISOR: u64 = 16;

/// What is known of the arguments of every launch in the class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Class(Vec<OfArg>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum OfArg {
    /// An integer: the largest power of two up to `MAX_DIVISOR` that divides it.
    Integer { elem: ElemType, divisor: u64 },
    /// A float or truth value.
    Other,
    /// The same of a tensor's lengths.
    View { divisors: Vec<u64> },
}

impl Class {
    pub fn of(launch: &Ready<'_>) -> Class {
        Class(launch.args.iter().map(OfArg::of).collect())
    }
    /// For the passes and the lowering.
    pub fn known(&self) -> Known {
        Known { grid: None, args: self.0.iter().map(OfArg::known).collect() }
    }
}

impl OfArg {
    fn of(arg: &Arg<'_>) -> OfArg {
        let view = |dims: &[usize]| OfArg::View { divisors: dims.iter().map(|n| divisor(*n as u64)).collect() };
        match arg {
            Arg::Scalar(lit) => OfArg::scalar(*lit),
            Arg::View(t) => view(&t.dims),
            Arg::ViewMut(t) => view(&t.dims),
        }
    }
    fn scalar(lit: Literal) -> OfArg {
        match lit.elem.kind() {
            Kind::Signed | Kind::Unsigned => OfArg::Integer { elem: lit.elem, divisor: divisor(lit.bits) },
            Kind::Bool | Kind::Float | Kind::Storage => OfArg::Other,
        }
    }
    fn known(&self) -> KnownArg {
        match self {
            OfArg::Integer { elem, divisor } => match range(*elem) {
                Some((lo, hi)) => KnownArg::ScalarFact(Fact { lo, hi, divisor: u128::from(*divisor) }),
                None => KnownArg::Nothing,
            },
            OfArg::Other => KnownArg::Nothing,
            OfArg::View { divisors } => {
                let fact = |d: &u64| Fact { lo: 0, hi: i128::from(i64::MAX), divisor: u128::from(*d) };
                KnownArg::LenFacts(divisors.iter().map(fact).collect())
            }
        }
    }
}

/// 0 is a multiple of everything.
fn divisor(n: u64) -> u64 {
    if n == 0 { MAX_DIVISOR } else { MAX_DIVISOR.min(1 << n.trailing_zeros()) }
}
