//! Units of formulas: seconds, bytes, floating-point operations, and their products. Counts have none.

use std::fmt;
use std::ops::{Div, Mul};

/// A product of powers of second, byte and flop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    second: i8,
    byte: i8,
    flop: i8,
}

impl Dim {
    /// A count or a ratio.
    pub const ONE: Dim = Dim::of(0, 0, 0);
    pub const SECOND: Dim = Dim::of(1, 0, 0);
    pub const BYTE: Dim = Dim::of(0, 1, 0);
    pub const FLOP: Dim = Dim::of(0, 0, 1);
    pub const BYTE_PER_S: Dim = Dim::of(-1, 1, 0);
    pub const FLOP_PER_S: Dim = Dim::of(-1, 0, 1);
    pub const PER_S: Dim = Dim::of(-1, 0, 0);
    pub const FLOP_PER_BYTE: Dim = Dim::of(0, -1, 1);

    const fn of(second: i8, byte: i8, flop: i8) -> Dim {
        Dim { second, byte, flop }
    }
    /// The unit of the square root, if there is one.
    pub fn sqrt(self) -> Option<Dim> {
        let even = self.second % 2 == 0 && self.byte % 2 == 0 && self.flop % 2 == 0;
        even.then_some(Dim::of(self.second / 2, self.byte / 2, self.flop / 2))
    }
}

impl Mul for Dim {
    type Output = Dim;
    fn mul(self, other: Dim) -> Dim {
        Dim::of(self.second + other.second, self.byte + other.byte, self.flop + other.flop)
    }
}
impl Div for Dim {
    type Output = Dim;
    fn div(self, other: Dim) -> Dim {
        Dim::of(self.second - other.second, self.byte - other.byte, self.flop - other.flop)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let factors = [("flop", self.flop), ("B", self.byte), ("s", self.second)];
        let write = |f: &mut fmt::Formatter<'_>, sign: i8| {
            let named = factors.iter().filter(|(_, power)| power.signum() == sign);
            named.enumerate().try_for_each(|(i, (name, power))| {
                write!(f, "{}{name}", if i == 0 { "" } else { "*" })?;
                if power.abs() == 1 { Ok(()) } else { write!(f, "^{}", power.abs()) }
            })
        };
        if *self == Dim::ONE {
            return Ok(());
        }
        if factors.iter().all(|(_, power)| *power <= 0) {
            write!(f, "1")?;
        }
        write(f, 1)?;
        if factors.iter().any(|(_, power)| *power < 0) {
            write!(f, "/")?;
            write(f, -1)?;
        }
        Ok(())
    }
}
