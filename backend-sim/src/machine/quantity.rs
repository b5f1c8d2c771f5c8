//! Numbers with units in machine files and on the command line: "256 GB/s", "13 ns", "1 MiB".
//! A value is exact: what does not fit a whole number of the kind's base unit is an error, nothing is rounded.
//! Not here: which field takes which kind (`spec.rs`), where the text stands (`load.rs`), the error texts (`errors.rs`).

use super::table::Base;
use crate::units::{Bytes, Cycles, Ps, Rate};
use std::ops::Range;

/// What a field measures. The base unit, in which rows and ranges count, stands behind each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A whole number of things.
    Count,
    /// CPU cycles.
    Cycles,
    /// Picoseconds.
    Time,
    /// Bytes.
    Size,
    /// Bytes a second.
    ByteRate,
    /// Elements a second.
    ElemRate,
    /// Floating-point operations a second.
    FlopRate,
    /// Cycles a second.
    Clock,
    /// Millionths.
    Factor,
}

/// A multiple, in millionths: 0.5 is `Factor(500_000)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Factor(pub u64);

impl Factor {
    pub const ONE: Factor = Factor(1_000_000);
    /// So many times the rate, rounded down to a whole unit a second, at least one.
    pub fn of(self, rate: Rate) -> Rate {
        let scaled = u128::from(rate.0) * u128::from(self.0) / u128::from(Factor::ONE.0);
        Rate(u64::try_from(scaled).unwrap_or(u64::MAX).max(1))
    }
}

/// A unit's spelling and how many base units it is.
type Unit = (&'static str, u64);

const K: u64 = 1000;
const KI: u64 = 1024;

const TIME: &[Unit] = &[("ns", K), ("ps", 1), ("us", K * K), ("ms", K * K * K), ("s", K * K * K * K)];
const SIZE: &[Unit] = &[
    ("B", 1),
    ("kB", K),
    ("MB", K * K),
    ("GB", K * K * K),
    ("TB", K * K * K * K),
    ("KiB", KI),
    ("MiB", KI * KI),
    ("GiB", KI * KI * KI),
    ("TiB", KI * KI * KI * KI),
];
const BYTE_RATE: &[Unit] = &[
    ("GB/s", K * K * K),
    ("B/s", 1),
    ("kB/s", K),
    ("MB/s", K * K),
    ("TB/s", K * K * K * K),
    ("KiB/s", KI),
    ("MiB/s", KI * KI),
    ("GiB/s", KI * KI * KI),
    ("TiB/s", KI * KI * KI * KI),
];
const ELEM_RATE: &[Unit] =
    &[("Gelem/s", K * K * K), ("elem/s", 1), ("kelem/s", K), ("Melem/s", K * K), ("Telem/s", K * K * K * K)];
const FLOP_RATE: &[Unit] = &[
    ("TFLOP/s", K * K * K * K),
    ("FLOP/s", 1),
    ("kFLOP/s", K),
    ("MFLOP/s", K * K),
    ("GFLOP/s", K * K * K),
    ("PFLOP/s", K * K * K * K * K),
];
const CLOCK: &[Unit] = &[("GHz", K * K * K), ("Hz", 1), ("kHz", K), ("MHz", K * K)];

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Count,
        Kind::Cycles,
        Kind::Time,
        Kind::Size,
        Kind::ByteRate,
        Kind::ElemRate,
        Kind::FlopRate,
        Kind::Clock,
        Kind::Factor,
    ];
    /// As an error message says it.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Count => "a whole number",
            Kind::Cycles => "a number of cycles",
            Kind::Time => "a time",
            Kind::Size => "a size",
            Kind::ByteRate => "bytes a second",
            Kind::ElemRate => "elements a second",
            Kind::FlopRate => "operations a second",
            Kind::Clock => "a clock frequency",
            Kind::Factor => "a factor",
        }
    }
    /// The units that this kind is written in, the usual one first; none for a plain number.
    pub fn units(self) -> &'static [Unit] {
        match self {
            Kind::Count | Kind::Factor => &[],
            Kind::Cycles => &[("cycles", 1), ("cycle", 1)],
            Kind::Time => TIME,
            Kind::Size => SIZE,
            Kind::ByteRate => BYTE_RATE,
            Kind::ElemRate => ELEM_RATE,
            Kind::FlopRate => FLOP_RATE,
            Kind::Clock => CLOCK,
        }
    }
    /// Whether a file writes it as a bare number.
    pub fn is_plain(self) -> bool {
        self.units().is_empty()
    }
    /// What loads where the row does not say: times up to 1 s and rates from 1 M a second, so that no sum of a run
    /// overflows; no rate or factor of zero.
    pub(super) const fn range(self) -> (u64, u64) {
        match self {
            Kind::Count => (1, u32::MAX as u64),
            Kind::Cycles => (0, 1_000_000),
            Kind::Time => (0, K * K * K * K),
            Kind::Size => (1, 1 << 40),
            Kind::ByteRate | Kind::ElemRate => (K * K, K * K * K * K * K),
            Kind::FlopRate => (K * K * K, K * K * K * K * K * K),
            Kind::Clock => (K * K, K * K * K * K),
            Kind::Factor => (10_000, 1_000_000_000),
        }
    }
    fn scale(self, unit: &str) -> Option<u64> {
        self.units().iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
    }
}

/// Why a text is no value of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No digits where a number should be.
    NotANumber,
    /// `inf` or `nan`.
    NotFinite,
    Negative,
    MissingUnit,
    /// A plain number was followed by this.
    SurplusUnit(String),
    /// A unit of bits; the same value in bytes, if it is exact.
    Bits {
        unit: String,
        bytes: Option<String>,
    },
    /// The unit is right but for upper and lower case.
    Case {
        unit: String,
        right: &'static str,
    },
    /// The unit belongs to another kind.
    OtherKind {
        unit: String,
        kind: Kind,
    },
    /// Nothing known; the nearest unit of the kind.
    UnknownUnit {
        unit: String,
        nearest: Option<&'static str>,
    },
    /// Not a whole number of base units.
    TooFine,
    /// Does not fit.
    TooLarge,
}

/// A problem and the part of the text it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    pub at: Range<usize>,
    pub problem: Problem,
}

/// Reads a value of `kind`, in its base units.
pub fn parse(kind: Kind, text: &str) -> Result<u64, Malformed> {
    let start = text.len() - text.trim_start().len();
    let end = text.trim_end().len().max(start);
    let fail = |at: Range<usize>, problem| Err(Malformed { at, problem });
    if ["nan", "inf"].iter().any(|w| text[start..end].trim_start_matches(['+', '-']).to_lowercase().starts_with(w)) {
        return fail(start..end, Problem::NotFinite);
    }
    let number_end = start + number_len(&text[start..end]);
    let Some(number) = Decimal::parse(&text[start..number_end]) else {
        return fail(start..end, Problem::NotANumber);
    };
    if text[start..].starts_with('-') {
        return fail(start..number_end, Problem::Negative);
    }
    let unit_start = end - text[number_end..end].trim_start().len();
    let unit = &text[unit_start..end];
    let scale = if kind.is_plain() {
        if !unit.is_empty() {
            return fail(unit_start..end, Problem::SurplusUnit(unit.to_owned()));
        }
        if kind == Kind::Factor { Factor::ONE.0 } else { 1 }
    } else if unit.is_empty() {
        return fail(start..end, Problem::MissingUnit);
    } else {
        match kind.scale(unit) {
            Some(scale) => scale,
            None => return fail(unit_start..end, wrong_unit(kind, unit, &text[start..number_end])),
        }
    };
    number.times(scale).or_else(|problem| fail(start..number_end, problem))
}

/// What the number at the start of a text covers: sign, digits, fraction, exponent.
fn number_len(text: &str) -> usize {
    let mut len = usize::from(text.starts_with(['+', '-']));
    let rest = |len: usize| text[len..].bytes();
    len += rest(len).take_while(|b| b.is_ascii_digit() || matches!(b, b'_' | b'.')).count();
    let exponent = rest(len).next().is_some_and(|b| matches!(b, b'e' | b'E'));
    if exponent {
        let sign = usize::from(matches!(rest(len + 1).next(), Some(b'+' | b'-')));
        let digits = rest(len + 1 + sign).take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            len += 1 + sign + digits;
        }
    }
    len
}

/// `digits * 10^exponent`, the sign dropped.
struct Decimal {
    digits: u128,
    exponent: i64,
    /// More digits than fit.
    overflow: bool,
}

impl Decimal {
    /// `None` unless the text is a number from its first to its last character.
    fn parse(text: &str) -> Option<Decimal> {
        let text = text.trim_start_matches(['+', '-']);
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digit = |c: char| c.is_ascii_digit() || c == '_';
        if !whole.starts_with(|c: char| c.is_ascii_digit()) || !whole.chars().chain(fraction.chars()).all(digit) {
            return None;
        }
        // An exponent that does not fit is as good as a very large one.
        let exponent = exponent.parse::<i32>().unwrap_or(if exponent.starts_with('-') { i32::MIN } else { i32::MAX });
        let fraction = fraction.replace('_', "");
        let fraction = fraction.trim_end_matches('0');
        let mut number = Decimal { digits: 0, exponent: i64::from(exponent) - fraction.len() as i64, overflow: false };
        for c in whole.chars().chain(fraction.chars()).filter_map(|c| c.to_digit(10)) {
            match number.digits.checked_mul(10).and_then(|d| d.checked_add(c.into())) {
                Some(digits) => number.digits = digits,
                None => number.overflow = true,
            }
        }
        Some(number)
    }
    /// The product with a scale, exact.
    fn times(&self, scale: u64) -> Result<u64, Problem> {
        if self.overflow {
            return Err(if self.exponent < 0 { Problem::TooFine } else { Problem::TooLarge });
        }
        if self.digits == 0 {
            return Ok(0);
        }
        let power = |n: i64| u32::try_from(n).ok().and_then(|n| 10u128.checked_pow(n));
        let value = self.digits.checked_mul(scale.into()).ok_or(Problem::TooLarge)?;
        let value = if self.exponent >= 0 {
            power(self.exponent).and_then(|p| value.checked_mul(p)).ok_or(Problem::TooLarge)?
        } else {
            let divisor = power(-self.exponent).ok_or(Problem::TooFine)?;
            if value % divisor != 0 {
                return Err(Problem::TooFine);
            }
            value / divisor
        };
        u64::try_from(value).map_err(|_| Problem::TooLarge)
    }
}

/// Bytes of a word that may be a misspelt one. The time of a comparison grows with the product of the lengths.
pub(super) const MAX_WORD: usize = 64;

fn wrong_unit(kind: Kind, unit: &str, number: &str) -> Problem {
    let owned = unit.to_owned();
    if let Some(other) = Kind::ALL.into_iter().find(|k| k.scale(unit).is_some()) {
        return Problem::OtherKind { unit: owned, kind: other };
    }
    if let Some(bytes) = byte_spelling(unit) {
        let eighth = parse(kind, &format!("{number} {bytes}")).ok().filter(|v| v % 8 == 0).map(|v| show(kind, v / 8));
        return Problem::Bits { unit: owned, bytes: eighth };
    }
    let spellings = || kind.units().iter().map(|(name, _)| *name);
    if let Some(right) = spellings().find(|name| name.eq_ignore_ascii_case(unit)) {
        return Problem::Case { unit: owned, right };
    }
    let distance = |name: &&str| if unit.len() > MAX_WORD { 0 } else { strsim::damerau_levenshtein(name, unit) };
    Problem::UnknownUnit { unit: owned, nearest: spellings().min_by_key(distance) }
}

/// The unit of bytes with the same prefix, if the unit is one of bits: `Gb/s`, `Gbit/s`, `Gbps`, `Kib`.
fn byte_spelling(unit: &str) -> Option<String> {
    let (amount, per_second) = match unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")) {
        Some(amount) => (amount, "/s"),
        None => (unit, ""),
    };
    let prefix = ["bits", "bit", "b"].iter().find_map(|word| amount.strip_suffix(word))?;
    let bytes = format!("{prefix}B{per_second}");
    Kind::ALL.iter().any(|k| k.scale(&bytes).is_some()).then_some(bytes)
}

/// The value as a file writes it, without quotes; `parse` gives it back.
pub fn show(kind: Kind, units: u64) -> String {
    let decimal = |scale: u64| {
        let digits = scale.ilog10() as usize;
        let text = format!("{}.{:0digits$}", units / scale, units % scale);
        debug_assert_eq!(10u64.pow(scale.ilog10()), scale, "powers of ten only");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match kind {
        Kind::Count => units.to_string(),
        Kind::Factor => decimal(Factor::ONE.0),
        Kind::Cycles => format!("{units} cycles"),
        Kind::Time => format!("{} ns", decimal(K)),
        Kind::Size => {
            largest(kind, |scale| scale.is_power_of_two() && units.is_multiple_of(scale), |s| (units / s).to_string())
        }
        Kind::ByteRate | Kind::ElemRate | Kind::FlopRate | Kind::Clock => {
            largest(kind, |scale| !(scale > 1 && scale.is_power_of_two()) && units >= scale, decimal)
        }
    }
}

/// The text in the kind's largest unit that suits.
fn largest(kind: Kind, suits: impl Fn(u64) -> bool, text: impl Fn(u64) -> String) -> String {
    let unit = kind.units().iter().filter(|(_, scale)| suits(*scale)).max_by_key(|(_, scale)| *scale);
    unit.map_or_else(|| text(1), |(name, scale)| format!("{} {name}", text(*scale)))
}

impl Base for u32 {
    fn from_base(units: u64) -> u32 {
        // The range of every count fits; checked before.
        u32::try_from(units).unwrap_or(u32::MAX)
    }
    fn base(&self) -> u64 {
        u64::from(*self)
    }
}
macro_rules! base {
    ($($Type:ident),+) => { $(impl Base for $Type {
        fn from_base(units: u64) -> $Type {
            $Type(units)
        }
        fn base(&self) -> u64 {
            self.0
        }
    })+ };
}
base!(Cycles, Ps, Bytes, Rate, Factor);
