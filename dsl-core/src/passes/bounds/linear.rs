//! Sums of multiples of unknowns: what indices are written as in proofs.

use crate::ir::ValueId;
use std::collections::BTreeMap;

/// Something without a value before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unknown {
    Value(ValueId),
    /// The length of a view along an axis.
    Len(ValueId, u32),
}

/// A sum of multiples of unknowns, and a constant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Linear {
    pub terms: BTreeMap<Unknown, i128>,
    pub constant: i128,
}

impl Linear {
    pub(super) fn constant(constant: i128) -> Linear {
        Linear { terms: BTreeMap::new(), constant }
    }
    pub(super) fn of(unknown: Unknown) -> Linear {
        Linear { terms: BTreeMap::from([(unknown, 1)]), constant: 0 }
    }
    /// `self + times * other`; `None` if a factor is too large.
    pub(super) fn plus(mut self, times: i128, other: &Linear) -> Option<Linear> {
        self.constant = self.constant.checked_add(times.checked_mul(other.constant)?)?;
        for (unknown, factor) in &other.terms {
            let term = self.terms.entry(*unknown).or_insert(0);
            *term = term.checked_add(times.checked_mul(*factor)?)?;
        }
        self.terms.retain(|_, factor| *factor != 0);
        Some(self)
    }
    /// `self - other`.
    pub(super) fn less(self, other: &Linear) -> Option<Linear> {
        self.plus(-1, other)
    }
    pub(super) fn factor(&self, unknown: Unknown) -> i128 {
        self.terms.get(&unknown).copied().unwrap_or(0)
    }
    /// With a sum in the place of an unknown.
    pub(super) fn with(&self, unknown: Unknown, sum: &Linear) -> Option<Linear> {
        let factor = self.factor(unknown);
        self.clone().plus(-factor, &Linear::of(unknown))?.plus(factor, sum)
    }
    /// A sum without the unknown that is at least as large as a positive multiple of this one wherever `bound <= 0`,
    /// where the unknown stands in both with the same sign: if it is not positive, neither is this one.
    pub(super) fn without(&self, unknown: Unknown, bound: &Linear) -> Option<Linear> {
        let (own, its) = (self.factor(unknown), bound.factor(unknown));
        if own == 0 || own.signum() != its.signum() {
            return None;
        }
        Linear::default().plus(its.checked_abs()?, self)?.plus(own.checked_abs()?.checked_neg()?, bound)
    }
}
