//! Prices of memory accesses: which slices hold the elements of an access, and how far they are from the PE.
//! Keeps true: the requests of an access are disjoint and add up to its bytes. Not here: how long a request takes
//! (the engine), values (they never depend on placement).

mod errors;
mod resolve;

pub use errors::CODES;
pub use resolve::{CubeSpan, Placed, Request};

use crate::machine::{FieldId, Machine, field};
use crate::units::Ps;

/// How far a slice is from the PE that reads or writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// Steps over the PE grid; none for the PE's own slice.
    SameCube {
        hops: u64,
    },
    OtherCube,
}

impl Distance {
    /// Between a PE and a slice, each a cube and a PE of it; cubes in one numbering.
    pub fn between(machine: &Machine, pe: (usize, usize), home: (usize, usize)) -> Distance {
        if pe.0 == home.0 { Distance::SameCube { hops: machine.pe_hops(pe.1, home.1) } } else { Distance::OtherCube }
    }
    /// What the distance adds to a read, and the field it comes from.
    pub fn read_latency(self, machine: &Machine) -> (Ps, Option<FieldId>) {
        self.latency(machine, field::hbm::hop_read, field::hbm::cube_read)
    }
    /// What the distance adds to a write, and the field it comes from.
    pub fn write_latency(self, machine: &Machine) -> (Ps, Option<FieldId>) {
        self.latency(machine, field::hbm::hop_write, field::hbm::cube_write)
    }
    fn latency(self, machine: &Machine, hop: FieldId, cube: FieldId) -> (Ps, Option<FieldId>) {
        match self {
            Distance::SameCube { hops: 0 } => (Ps::ZERO, None),
            Distance::SameCube { hops } => (Ps(machine.value(hop).saturating_mul(hops)), Some(hop)),
            Distance::OtherCube => (Ps(machine.value(cube)), Some(cube)),
        }
    }
}
