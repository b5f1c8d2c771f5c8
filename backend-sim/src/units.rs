//! Quantities of the simulator. Time is integer picoseconds; a rate gives times, rounded up, without drift.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A time or a duration in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ps(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A throughput in units per second: bytes, elements or flops, as the field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A number of clock cycles; `Rate::time_for` of a clock gives their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycles(pub u64);

const PS_PER_S: u128 = 1_000_000_000_000;

impl Ps {
    pub const ZERO: Ps = Ps(0);
    pub const MAX: Ps = Ps(u64::MAX);
    pub const fn from_ns(ns: u64) -> Ps {
        Ps(ns * 1000)
    }
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The next multiple of `quantum` (a zero quantum leaves the time as it is).
    pub fn ceil_to(self, quantum: Ps) -> Ps {
        if quantum.0 == 0 { self } else { Ps(self.0.div_ceil(quantum.0) * quantum.0) }
    }
    pub fn saturating_sub(self, o: Ps) -> Ps {
        Ps(self.0.saturating_sub(o.0))
    }
}
impl Rate {
    pub const fn per_ns(n: u64) -> Rate {
        Rate(n * 1_000_000_000)
    }
    /// The time that `units` take, rounded up to a picosecond; `Ps::MAX` if it does not fit. A machine file has no
    /// rate of zero.
    pub fn time_for(self, units: u64) -> Ps {
        let ps = (u128::from(units) * PS_PER_S).div_ceil(u128::from(self.0.max(1)));
        Ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}
impl Add for Ps {
    type Output = Ps;
    fn add(self, o: Ps) -> Ps {
        Ps(self.0 + o.0)
    }
}
impl AddAssign for Ps {
    fn add_assign(&mut self, o: Ps) {
        self.0 += o.0;
    }
}
impl Sub for Ps {
    type Output = Ps;
    fn sub(self, o: Ps) -> Ps {
        Ps(self.0 - o.0)
    }
}
impl fmt::Display for Ps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.as_ns())
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}
