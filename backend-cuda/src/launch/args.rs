//! The parameter block of a launch, field by field as the kernel's `Abi` says.

use super::device::Address;
use crate::abi::{Abi, Item};
use tilewright_core::ir::Literal;
use tilewright_core::launch::Grid;

/// An argument of a launch on a device.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    Scalar(Literal),
    /// A row-major tensor.
    View {
        at: Address,
        dims: Vec<usize>,
    },
}

impl Bound {
    fn view(&self) -> Option<(Address, &[usize])> {
        match self {
            Bound::View { at, dims } => Some((*at, dims)),
            Bound::Scalar(_) => None,
        }
    }
    fn bits(&self) -> Option<u64> {
        match self {
            Bound::Scalar(lit) => Some(lit.bits),
            Bound::View { .. } => None,
        }
    }
}

/// Where a kernel leaves what it has to say besides values, where its programs meet, and where its queues lie; 0 where it has
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub records: Address,
    pub prints: Address,
    pub meeting: Address,
    pub mail: Address,
}

/// The block; `None` if an argument is not what its parameter asks for, which a traced launch rules out.
pub fn bytes_of(abi: &Abi, args: &[Bound], grid: Grid, places: Places) -> Option<Vec<u8>> {
    let mut out = vec![0; abi.bytes() as usize];
    for (offset, item) in &abi.fields {
        let view = |param: u32| args.get(param as usize).and_then(Bound::view);
        let bits = match *item {
            Item::Pointer { param } => view(param)?.0.0,
            Item::Len { param, axis } => *view(param)?.1.get(axis as usize)? as u64,
            Item::Stride { param, axis } => view(param)?.1.get(axis as usize + 1..)?.iter().product::<usize>() as u64,
            Item::Scalar { param, .. } => args.get(param as usize).and_then(Bound::bits)?,
            Item::NumPes => grid.pes as u64,
            Item::Records => places.records.0,
            Item::Prints => places.prints.0,
            Item::Meeting => places.meeting.0,
            Item::Mail => places.mail.0,
            Item::Never => u64::MAX,
        };
        let (at, bytes) = (*offset as usize, item.bytes() as usize);
        out.get_mut(at..at + bytes)?.copy_from_slice(&bits.to_le_bytes()[..bytes]);
    }
    Some(out)
}
