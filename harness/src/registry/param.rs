//! Parameters of a kernel as the command line knows them: a name, a closed set or a range of values, a default.

use std::fmt;
use std::ops::RangeInclusive;

/// One parameter of a kernel: `--NAME VALUE` on the command line, `NAME=VALUE` in an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Lower case with dashes, as the flag is written: `s-kv`.
    pub name: &'static str,
    /// One line for `--help`.
    pub help: &'static str,
    /// Used where none is given, in the text form of `values`.
    pub default: &'static str,
    pub values: Values,
}

/// What a parameter may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number in this range.
    Integer(RangeInclusive<usize>),
    /// Any finite number.
    Number,
}

impl Param {
    /// A parameter with a closed set of values.
    pub const fn one_of(
        name: &'static str,
        values: &'static [&'static str],
        default: &'static str,
        help: &'static str,
    ) -> Param {
        Param { name, help, default, values: Values::OneOf(values) }
    }
    /// A whole number in a range.
    pub const fn integer(
        name: &'static str,
        range: RangeInclusive<usize>,
        default: &'static str,
        help: &'static str,
    ) -> Param {
        Param { name, help, default, values: Values::Integer(range) }
    }
    /// A finite number.
    pub const fn number(name: &'static str, default: &'static str, help: &'static str) -> Param {
        Param { name, help, default, values: Values::Number }
    }
}

impl Values {
    /// Whether a parameter may be what this text says.
    pub fn allow(&self, text: &str) -> bool {
        match self {
            Values::OneOf(words) => words.contains(&text),
            Values::Integer(range) => text.parse().is_ok_and(|n| range.contains(&n)),
            Values::Number => text.parse().is_ok_and(f64::is_finite),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::OneOf(words) => f.write_str(&words.join(", ")),
            Values::Integer(r) if *r.end() == usize::MAX => write!(f, "a whole number from {} on", r.start()),
            Values::Integer(r) => write!(f, "a whole number from {} to {}", r.start(), r.end()),
            Values::Number => f.write_str("a number"),
        }
    }
}
