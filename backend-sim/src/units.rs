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
        if quantum.0 == 0 { self } else { Ps(self.0.div_ceil(quantum.0).saturating_mul(quantum.0)) }
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
/// Sums stop at `Ps::MAX`: no machine, however slow, makes a time wrap.
impl Add for Ps {
    type Output = Ps;
    fn add(self, o: Ps) -> Ps {
        Ps(self.0.saturating_add(o.0))
    }
}
impl AddAssign for Ps {
    fn add_assign(&mut self, o: Ps) {
        *self = *self + o;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_rounds_a_time_up_to_a_picosecond() {
        let slice = Rate::per_ns(256);
        assert_eq!(slice.time_for(0), Ps::ZERO);
        assert_eq!(slice.time_for(1), Ps(4)); // 1000 / 256 = 3.9
        assert_eq!(slice.time_for(32), Ps(125)); // 32 * 1000 / 256, exact
        assert_eq!(slice.time_for(33), Ps(129)); // 128.9
        assert_eq!(slice.time_for(4 << 20), Ps::from_ns(16384));
    }

    #[test]
    fn binary_prefixes_and_odd_rates_do_not_drift() {
        let gib = Rate(256 << 30);
        assert_eq!(gib.time_for(256 << 30), Ps::from_ns(1_000_000_000)); // one second, whatever the size
        let third = Rate(3);
        assert_eq!(third.time_for(3_000_000), Ps(1_000_000_000_000_000_000));
        assert_eq!(third.time_for(1), Ps(333_333_333_334));
    }

    #[test]
    fn a_time_that_does_not_fit_is_the_largest() {
        assert_eq!(Rate(1).time_for(u64::MAX), Ps::MAX);
        assert_eq!(Rate(1).time_for(18_446_744), Ps(18_446_744_000_000_000_000)); // the last whole second that fits
        assert_eq!(Rate(1).time_for(18_446_745), Ps::MAX);
        assert_eq!(Ps::MAX + Ps(1), Ps::MAX);
        assert_eq!(Rate(0).time_for(1), Rate(1).time_for(1)); // no division by zero
    }

    #[test]
    fn a_time_is_rounded_up_to_whole_quanta() {
        let ns = Ps(1000);
        assert_eq!(Ps(0).ceil_to(ns), Ps(0));
        assert_eq!(Ps(1).ceil_to(ns), ns);
        assert_eq!(Ps(1000).ceil_to(ns), ns);
        assert_eq!(Ps(1001).ceil_to(ns), Ps(2000));
        assert_eq!(Ps(1001).ceil_to(Ps::ZERO), Ps(1001)); // no quantum
        assert_eq!(Ps::MAX.ceil_to(ns), Ps::MAX);
    }

    #[test]
    fn a_time_prints_in_nanoseconds() {
        assert_eq!(Ps(1110).to_string(), "1.11 ns");
        assert_eq!(Ps::from_ns(16384).to_string(), "16384 ns");
        assert_eq!((Ps(1110).as_ns(), Ps(2_500_000).as_us()), (1.11, 2.5));
    }
}
