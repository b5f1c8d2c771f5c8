//! What a compiled variant of a kernel relies on: not the numbers of a launch, but what divides them. Launches of one class
//! share a variant.

use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::Literal;
use tilewright_core::launch::{Arg, Ready};
use tilewright_core::passes::facts::{Fact, Known, KnownArg, range};
use tilewright_core::tensor::AnyTensor;

/// Numbers are told apart by this power of two at most: 16 bytes of the smallest element.
const MAX_DIVISOR: u64 = 16;
/// Lengths of rows that are known as they are: of heads, whose tiles are whole rows. All their places are constants then.
const ROWS: [u64; 3] = [64, 128, 256];

/// What is known of the arguments of every launch in the class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Class(Vec<OfArg>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum OfArg {
    /// An integer: the largest power of two up to `MAX_DIVISOR` that divides it.
    Integer { elem: ElemType, divisor: u64 },
    /// A float or truth value.
    Other,
    /// The same of a tensor's lengths, and of its address; and the length of its rows, if that is a usual one of heads.
    View { divisors: Vec<u64>, row: Option<u64>, aligned: u32 },
}

impl Class {
    pub fn of(launch: &Ready<'_>) -> Class {
        Class(launch.args.iter().map(OfArg::of).collect())
    }
    /// For the passes and the lowering.
    pub fn known(&self) -> Known {
        Known { grid: None, args: self.0.iter().map(OfArg::known).collect() }
    }
    /// By parameter: what divides the address of its view.
    pub fn aligned(&self) -> Vec<u32> {
        let aligned = |arg: &OfArg| match arg {
            OfArg::View { aligned, .. } => *aligned,
            OfArg::Integer { .. } | OfArg::Other => ALIGNED,
        };
        self.0.iter().map(aligned).collect()
    }
}

impl OfArg {
    fn of(arg: &Arg<'_>) -> OfArg {
        let view = |t: &AnyTensor| {
            let divisors = t.dims.iter().map(|n| divisor(*n as u64)).collect();
            let row = t.dims.last().map(|n| *n as u64).filter(|n| t.dims.len() > 1 && ROWS.contains(n));
            OfArg::View { divisors, row, aligned: alignment(t) }
        };
        match arg {
            Arg::Scalar(lit) => OfArg::scalar(*lit),
            Arg::View(t) => view(t),
            Arg::ViewMut(t) => view(t),
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
            OfArg::View { divisors, row, .. } => {
                let fact = |d: &u64| Fact { lo: 0, hi: i128::from(i64::MAX), divisor: u128::from(*d) };
                let mut lens: Vec<Fact> = divisors.iter().map(fact).collect();
                lens.last_mut().zip(*row).into_iter().for_each(|(len, n)| *len = Fact::exact(i128::from(n)));
                KnownArg::LenFacts(lens)
            }
        }
    }
}

/// What divides the address of a tensor's first element, in bytes. What a device allocates is aligned to more than any
/// access needs; memory that comes from elsewhere may not be.
pub(super) fn alignment(t: &AnyTensor) -> u32 {
    t.resident.as_ref().map_or(ALIGNED, |at| ALIGNED.min(1 << at.address().trailing_zeros().min(31)))
}
/// Bytes of the widest access.
pub(super) const ALIGNED: u32 = 16;

/// 0 is a multiple of everything.
fn divisor(n: u64) -> u64 {
    if n == 0 { MAX_DIVISOR } else { MAX_DIVISOR.min(1 << n.trailing_zeros()) }
}
