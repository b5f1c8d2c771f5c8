//! What is known of one integer: an interval and a divisor; and what an op makes of such facts. Every transfer function
//! is sound for the op table's meaning: integers wrap, division truncates and by zero gives 0, shifts by the width or
//! more give 0 or the sign.
//!
//! How wrapping is met: the exact result is computed first. If it fits the element, it is the fact; otherwise any number
//! is possible, and of the divisor only its power of two survives, since wrapping adds multiples of `2^width`.

use crate::elem::{Class, ElemType, Kind};
use crate::ir::ops::Pred;
use crate::ir::{Literal, Op};

/// An integer (or a truth value as 0 or 1) is in `lo..=hi` and a multiple of `divisor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    pub lo: i128,
    pub hi: i128,
    /// At least 1, but for the number 0, which is a multiple of everything: there it is 0.
    pub divisor: u128,
}

/// The numbers that an element type holds; `None` for floats.
pub fn range(elem: ElemType) -> Option<(i128, i128)> {
    match elem.kind() {
        Kind::Bool => Some((0, 1)),
        Kind::Signed => Some((-(1i128 << (elem.bits() - 1)), (1i128 << (elem.bits() - 1)) - 1)),
        Kind::Unsigned => Some((0, (1i128 << elem.bits()) - 1)),
        Kind::Float | Kind::Storage => None,
    }
}

pub(in crate::passes) fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
/// The largest power of two that divides; for 0, larger than any element.
fn power_of_two(d: u128) -> u128 {
    if d == 0 { 1 << 64 } else { 1 << d.trailing_zeros().min(64) }
}
/// `2^n - 1`, the smallest such number that is at least `x`, for `x >= 0`.
fn ones_above(x: i128) -> i128 {
    let bits = 128 - x.max(0).leading_zeros();
    if bits >= 127 { i128::MAX } else { (1i128 << bits) - 1 }
}

impl Fact {
    pub fn exact(x: i128) -> Fact {
        Fact { lo: x, hi: x, divisor: x.unsigned_abs() }
    }
    /// All that an element type says; `None` for floats.
    pub fn any(elem: ElemType) -> Option<Fact> {
        range(elem).map(|(lo, hi)| Fact { lo, hi, divisor: 1 })
    }
    /// `lo..=hi`, or anything if that is empty.
    pub fn between(lo: i128, hi: i128, divisor: u128, elem: ElemType) -> Option<Fact> {
        let (min, max) = range(elem)?;
        let (lo, hi) = (lo.max(min), hi.min(max));
        if lo > hi { Fact::any(elem) } else { Some(Fact { lo, hi, divisor }.tight()) }
    }
    pub fn literal(lit: Literal) -> Option<Fact> {
        lit.as_int().or(lit.as_bool().map(i128::from)).map(Fact::exact)
    }
    pub fn as_exact(self) -> Option<i128> {
        (self.lo == self.hi).then_some(self.lo)
    }
    pub fn holds(self, x: i128) -> bool {
        self.lo <= x && x <= self.hi && x.unsigned_abs().is_multiple_of(self.divisor)
    }
    /// What holds of both.
    pub fn join(self, o: Fact) -> Fact {
        Fact { lo: self.lo.min(o.lo), hi: self.hi.max(o.hi), divisor: gcd(self.divisor, o.divisor) }
    }
    /// The numbers of both; `None` if there are none.
    pub(super) fn meet(self, o: Fact) -> Option<Fact> {
        self.multiple_of(o.divisor)?.within(o.lo, o.hi)
    }
    /// Those in `lo..=hi`; `None` if there are none.
    pub(super) fn within(self, lo: i128, hi: i128) -> Option<Fact> {
        let (lo, hi) = (self.lo.max(lo), self.hi.min(hi));
        let fact = Fact { lo, hi, ..self };
        if lo > hi || !fact.has_one() {
            return None;
        }
        let fact = fact.tight();
        Some(fact.as_exact().map_or(fact, Fact::exact))
    }
    /// Those that `divisor` divides; `None` if there are none.
    pub(super) fn multiple_of(self, divisor: u128) -> Option<Fact> {
        if divisor == 0 || self.divisor == 0 {
            return self.holds(0).then(|| Fact::exact(0));
        }
        let both = (self.divisor / gcd(self.divisor, divisor)).checked_mul(divisor).unwrap_or(self.divisor);
        let fact = Fact { divisor: both, ..self }.tight();
        fact.has_one().then_some(fact)
    }
    /// Those that are not the one number of another fact, as far as an interval can tell.
    pub(super) fn without(self, o: Fact) -> Option<Fact> {
        match o.as_exact() {
            Some(x) if x == self.lo => self.within(x + 1, self.hi),
            Some(x) if x == self.hi => self.within(self.lo, x - 1),
            Some(_) | None => Some(self),
        }
    }
    /// Whether a number is in the interval and a multiple of the divisor.
    fn has_one(self) -> bool {
        match i128::try_from(self.divisor) {
            Ok(0) => self.holds(0),
            Ok(d) => self.hi - self.hi.rem_euclid(d) >= self.lo,
            Err(_) => self.holds(0),
        }
    }
    /// The ends moved to multiples of the divisor.
    fn tight(self) -> Fact {
        let Some(d) = i128::try_from(self.divisor).ok().filter(|d| *d > 1) else { return self };
        let (lo, hi) = (self.lo + (-self.lo).rem_euclid(d), self.hi - self.hi.rem_euclid(d));
        match () {
            () if lo > hi => self,
            () if lo == hi => Fact::exact(lo),
            () => Fact { lo, hi, ..self },
        }
    }
    /// The exact result `lo..=hi` (`None`: too large to tell), wrapped to the element.
    fn wrapped(ends: Option<(i128, i128)>, divisor: u128, elem: ElemType) -> Option<Fact> {
        let (min, max) = range(elem)?;
        Some(match ends {
            Some((lo, hi)) if lo == hi && min <= lo && lo <= max => Fact::exact(lo),
            Some((lo, hi)) if min <= lo && hi <= max => Fact { lo, hi, divisor }.tight(),
            Some(_) | None => Fact { lo: min, hi: max, divisor: power_of_two(divisor).min(1 << elem.bits()) }.tight(),
        })
    }
}

/// The smallest and largest of some numbers; `None` if one of them is missing.
fn ends(numbers: &[Option<i128>]) -> Option<(i128, i128)> {
    let first = (*numbers.first()?)?;
    numbers.iter().try_fold((first, first), |(lo, hi), x| x.map(|x| (lo.min(x), hi.max(x))))
}
fn corners(a: Fact, b: Fact, f: impl Fn(i128, i128) -> Option<i128>) -> Option<(i128, i128)> {
    ends(&[f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)])
}

/// The exact ends of `a + b`, `a - b`, `a * b` before wrapping; `None` for other ops.
pub(in crate::passes) fn exact_ends(op: &Op, a: Fact, b: Fact) -> Option<(i128, i128)> {
    match op {
        Op::Add(_) => ends(&[a.lo.checked_add(b.lo), a.hi.checked_add(b.hi)]),
        Op::Sub(_) => ends(&[a.lo.checked_sub(b.hi), a.hi.checked_sub(b.lo)]),
        Op::Mul(_) => corners(a, b, i128::checked_mul),
        _ => None,
    }
}

/// The fact of a scalar op's integer result; `None` where nothing but the type is known.
pub(super) fn transfer(op: &Op, operands: &[Fact], elem: ElemType) -> Option<Fact> {
    match *operands {
        [x] => unary(op, x, elem),
        [a, b] => binary(op, a, b, elem),
        _ => None,
    }
}

fn unary(op: &Op, x: Fact, elem: ElemType) -> Option<Fact> {
    match op {
        Op::Neg(_) => Fact::wrapped(Some((-x.hi, -x.lo)), x.divisor, elem),
        Op::Abs(_) => {
            let least = if x.lo <= 0 && x.hi >= 0 { 0 } else { x.lo.abs().min(x.hi.abs()) };
            Fact::wrapped(Some((least, x.lo.abs().max(x.hi.abs()))), x.divisor, elem)
        }
        Op::Not(_) => {
            // -1 - x for signed elements, the largest number - x for others.
            let top = if elem.kind() == Kind::Signed { -1 } else { range(elem)?.1 };
            Fact::wrapped(Some((top - x.hi, top - x.lo)), 1, elem)
        }
        Op::Cast(_) if elem.kind() == Kind::Bool => match () {
            () if x.lo > 0 || x.hi < 0 => Some(Fact::exact(1)),
            () if x == Fact::exact(0) => Some(x),
            () => None,
        },
        Op::Cast(_) | Op::Bitcast(_) => Fact::wrapped(Some((x.lo, x.hi)), x.divisor, elem),
        _ => None,
    }
}

fn binary(op: &Op, a: Fact, b: Fact, elem: ElemType) -> Option<Fact> {
    let both = gcd(a.divisor, b.divisor);
    match op {
        Op::Add(_) | Op::Sub(_) => Fact::wrapped(exact_ends(op, a, b), both, elem),
        // Where the product of the divisors is too large, one of them still divides.
        Op::Mul(_) => {
            let divisor = a.divisor.checked_mul(b.divisor).unwrap_or(a.divisor);
            Fact::wrapped(exact_ends(op, a, b), divisor, elem)
        }
        Op::Div(_) => Some(quotient(a, b, elem)?),
        Op::Rem(_) => Fact::between(remainder(a, b).0, remainder(a, b).1, both, elem),
        Op::MulHi(_) => {
            let (lo, hi) = corners(a, b, i128::checked_mul)?;
            Fact::between(lo >> elem.bits(), hi >> elem.bits(), 1, elem)
        }
        Op::Maximum(_) => Some(Fact { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi), divisor: both }.tight()),
        Op::Minimum(_) => Some(Fact { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi), divisor: both }.tight()),
        Op::And(_) => {
            let divisor = power_of_two(a.divisor).max(power_of_two(b.divisor));
            match [a, b].iter().filter(|f| f.lo >= 0).map(|f| f.hi).min() {
                Some(hi) => Fact::between(0, hi, divisor, elem),
                None => Fact::any(elem)?.multiple_of(divisor),
            }
        }
        Op::Or(_) | Op::Xor(_) if a.lo >= 0 && b.lo >= 0 => {
            let least = if let Op::Or(_) = op { a.lo.max(b.lo) } else { 0 };
            let divisor = power_of_two(a.divisor).min(power_of_two(b.divisor));
            Fact::between(least, ones_above(a.hi.max(b.hi)), divisor, elem)
        }
        Op::Shl(_) => match b.as_exact() {
            Some(n) if (0..elem.bits() as i128).contains(&n) => binary_product(a, 1i128 << n, elem),
            Some(_) => Some(Fact::exact(0)),
            // A shift adds zeros at the end, or leaves none but zeros.
            None => {
                Fact::any(elem).map(|f| Fact { divisor: power_of_two(a.divisor).min(1 << elem.bits()), ..f }.tight())
            }
        },
        Op::Shr(_) => match b.as_exact() {
            Some(n) if (0..elem.bits() as i128).contains(&n) => {
                let divides = a.divisor.is_multiple_of(1u128 << n);
                let divisor = if divides && a.divisor > 0 { a.divisor >> n } else { 1 };
                Fact::between(a.lo >> n, a.hi >> n, divisor, elem)
            }
            // Towards 0, or towards -1 from below.
            Some(_) | None => Fact::between(a.lo.min(0), a.hi.max(if a.lo < 0 { -1 } else { 0 }), 1, elem),
        },
        Op::Cmp(o) => compared(o.pred, a, b).map(|holds| Fact::exact(i128::from(holds))),
        _ => None,
    }
}
fn binary_product(a: Fact, by: i128, elem: ElemType) -> Option<Fact> {
    let divisor = a.divisor.checked_mul(by.unsigned_abs()).unwrap_or(a.divisor);
    Fact::wrapped(corners(a, Fact::exact(by), i128::checked_mul), divisor, elem)
}
fn quotient(a: Fact, b: Fact, elem: ElemType) -> Option<Fact> {
    if b.lo < 1 {
        // No quotient is further from 0 than the dividend; by zero it is 0.
        let far = a.lo.abs().max(a.hi.abs());
        return Fact::wrapped(Some((-far, far)), 1, elem);
    }
    let exact = b.as_exact().map(i128::unsigned_abs).filter(|by| a.divisor.is_multiple_of(*by));
    let divisor = exact.map_or(1, |by| a.divisor / by).max(u128::from(a.divisor != 0));
    let (lo, hi) = corners(a, b, i128::checked_div)?;
    // Where 0 is the only multiple, the ends say so.
    if (lo, hi) == (0, 0) { Some(Fact::exact(0)) } else { Fact::between(lo, hi, divisor.max(1), elem) }
}
/// The ends of `a % b`, which has the sign of `a`; by zero it is 0.
fn remainder(a: Fact, b: Fact) -> (i128, i128) {
    if a.lo >= 0 && a.hi < b.lo {
        return (a.lo, a.hi);
    }
    let most = (b.lo.abs().max(b.hi.abs()) - 1).max(0);
    (if a.lo < 0 { -most.min(-a.lo) } else { 0 }, if a.hi > 0 { most.min(a.hi) } else { 0 })
}
/// Whether a comparison of integers always or never holds.
fn compared(pred: Pred, a: Fact, b: Fact) -> Option<bool> {
    let less = if a.hi < b.lo {
        Some(true)
    } else if a.lo >= b.hi {
        Some(false)
    } else {
        None
    };
    let more = if a.lo > b.hi {
        Some(true)
    } else if a.hi <= b.lo {
        Some(false)
    } else {
        None
    };
    let equal = match (a.as_exact(), b.as_exact()) {
        (Some(x), Some(y)) => Some(x == y),
        _ => (a.hi < b.lo || a.lo > b.hi).then_some(false),
    };
    match pred {
        Pred::Lt => less,
        Pred::Ge => less.map(|yes| !yes),
        Pred::Gt => more,
        Pred::Le => more.map(|yes| !yes),
        Pred::Eq => equal,
        Pred::Ne => equal.map(|yes| !yes),
    }
}

/// Whether an element has facts.
pub(super) fn is_counted(elem: ElemType) -> bool {
    elem.is(Class::Bits)
}
