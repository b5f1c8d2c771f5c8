//! Indices as a multiple of a loop's index and what the loop does not change: what a turn adds to an address, and what
//! can be computed before the loop.

use super::super::Lower;
use super::turns::Around;
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::{Def, Literal, Op, OpId, ValueId};

/// `times * index + the terms + constant`, in 64 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Affine {
    pub(super) times: i64,
    /// Values that the loop does not change, and how often each is added.
    pub(super) terms: Vec<(ValueId, i64)>,
    pub(super) constant: i64,
}

impl Affine {
    fn plus(mut self, other: Affine, times: i64) -> Option<Affine> {
        self.times = self.times.checked_add(other.times.checked_mul(times)?)?;
        self.constant = self.constant.checked_add(other.constant.checked_mul(times)?)?;
        for (v, n) in other.terms {
            self.terms.push((v, n.checked_mul(times)?));
        }
        Some(self)
    }
}

impl Lower<'_> {
    /// `v` in the terms of a loop around the current op. `None`: it has another form, or a part of it that has fewer than
    /// 64 bits may wrap. In 64 bits the sum wraps where the index does, so that an address is the same.
    pub(super) fn affine(&self, v: ValueId, around: &Around) -> Option<Affine> {
        if around.index() == Some(v) {
            return Some(Affine { times: 1, ..Affine::default() });
        }
        if let Some(n) = self.literal(v) {
            return Some(Affine { constant: i64::try_from(n).ok()?, ..Affine::default() });
        }
        if !self.changes_in(v, around) {
            return Some(Affine { terms: vec![(v, 1)], ..Affine::default() });
        }
        let Def::Result(op, _) = self.m.def(v) else { return None };
        match &self.m.op(op).op {
            Op::Add(o) if self.is_exact(op, o.a, o.b) => self.affine(o.a, around)?.plus(self.affine(o.b, around)?, 1),
            Op::Sub(o) if self.is_exact(op, o.a, o.b) => self.affine(o.a, around)?.plus(self.affine(o.b, around)?, -1),
            Op::Mul(o) if self.is_exact(op, o.a, o.b) => {
                let (of, times) = match (self.literal(o.a), self.literal(o.b)) {
                    (Some(n), _) => (o.b, n),
                    (_, Some(n)) => (o.a, n),
                    (None, None) => return None,
                };
                Affine::default().plus(self.affine(of, around)?, i64::try_from(times).ok()?)
            }
            // Wider integers hold the same number.
            Op::Cast(o) if self.is_widened(o.x, o.to.0.elem()) => self.affine(o.x, around),
            _ => None,
        }
    }
    /// Whether turns of the loop may give it different values.
    pub(super) fn changes_in(&self, v: ValueId, around: &Around) -> bool {
        match self.m.def(v) {
            Def::Const(_) | Def::Param(_) => false,
            Def::Arg(region, _) => around.has_region(region),
            Def::Result(op, _) => around.has_op(op),
        }
    }
    pub(super) fn literal(&self, v: ValueId) -> Option<i128> {
        self.m.literal(v).and_then(Literal::as_int)
    }
    pub(super) fn is_widened(&self, x: ValueId, to: ElemType) -> bool {
        let from = self.m.ty(x).elem();
        is_index(from) && is_index(to) && from.bits() <= to.bits()
    }
    /// Whether the result is the sum, difference or product of the operands as it enters an address.
    fn is_exact(&self, op: OpId, a: ValueId, b: ValueId) -> bool {
        let elem = self.m.ty(a).elem();
        let (Some(a), Some(b)) = (self.prover.facts().get(self.m, a), self.prover.facts().get(self.m, b)) else {
            return false;
        };
        let fits = |n: Option<i128>| n.is_some_and(|n| i32::try_from(n).is_ok());
        let fit = |f: fn(i128, i128) -> Option<i128>| {
            [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)].into_iter().all(|(a, b)| fits(f(a, b)))
        };
        elem == ElemType::I64
            || elem == ElemType::I32
                && match &self.m.op(op).op {
                    Op::Add(_) => fit(i128::checked_add),
                    Op::Sub(_) => fit(i128::checked_sub),
                    _ => fit(i128::checked_mul),
                }
    }
}

/// Whether indices have this type.
fn is_index(elem: ElemType) -> bool {
    elem.kind() == Kind::Signed && elem.bits() >= 32
}
