//! What a condition tells of integers where it holds: the comparisons it is made of, and how they narrow facts. An arm
//! of an `if`, the body of a `while` or `for`, and the sides of a `select` run only where theirs hold.

use super::fact::{Fact, is_counted};
use crate::ir::ops::{self, Pred};
use crate::ir::{Def, Literal, Module, Op, Type, ValueId};

/// `a pred b`, of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::passes) struct Comparison {
    pub pred: Pred,
    pub a: ValueId,
    pub b: ValueId,
}

/// Parts of one condition that are looked at.
const MAX_PARTS: usize = 32;

/// The predicate that holds exactly where `pred` does not, for elements without NaN.
pub(in crate::passes) fn negated(pred: Pred) -> Pred {
    match pred {
        Pred::Lt => Pred::Ge,
        Pred::Le => Pred::Gt,
        Pred::Gt => Pred::Le,
        Pred::Ge => Pred::Lt,
        Pred::Eq => Pred::Ne,
        Pred::Ne => Pred::Eq,
    }
}

/// The comparisons that hold where `cond` is `holds`.
pub(in crate::passes) fn comparisons(m: &Module, cond: ValueId, holds: bool) -> Vec<Comparison> {
    let (mut out, mut parts) = (Vec::new(), vec![(cond, holds)]);
    for _ in 0..MAX_PARTS {
        let Some((cond, holds)) = parts.pop() else { break };
        let Def::Result(op, i) = m.def(cond) else { continue };
        match &m.op(op).op {
            Op::Cmp(c) if matches!(m.ty(c.a), Type::Scalar(elem) if is_counted(elem)) => {
                let pred = if holds { c.pred } else { negated(c.pred) };
                out.push(Comparison { pred, a: c.a, b: c.b });
            }
            Op::Not(o) => parts.push((o.x, !holds)),
            Op::And(ops::And { a, b }) if holds => parts.extend([(*a, true), (*b, true)]),
            Op::Or(ops::Or { a, b }) if !holds => parts.extend([(*a, false), (*b, false)]),
            Op::Select(o) => parts.extend(way(m, o.mask, o.a, o.b, holds)),
            Op::If(o) => {
                let of = |r| m.region(r).yields.get(i as usize).copied();
                if let (Some(a), Some(b)) = (of(o.then), of(o.other)) {
                    parts.extend(way(m, o.cond, a, b, holds));
                }
            }
            _ => {}
        }
    }
    out
}

/// Which way a choice of truth values was taken, where only one of them can be `holds`: `p && q` and `p || q` are
/// `if p { q } else { false }` and `if p { true } else { q }`.
fn way(m: &Module, mask: ValueId, a: ValueId, b: ValueId, holds: bool) -> Vec<(ValueId, bool)> {
    let is = |v: ValueId| m.literal(v).and_then(Literal::as_bool);
    match (is(a), is(b)) {
        (_, Some(b)) if b != holds => vec![(mask, true), (a, holds)],
        (Some(a), _) if a != holds => vec![(mask, false), (b, holds)],
        _ => Vec::new(),
    }
}

impl Comparison {
    /// What is known of integers where the comparison holds; `None` if it cannot hold, so that nothing runs there.
    pub(in crate::passes) fn narrow(
        &self,
        m: &Module,
        get: &dyn Fn(ValueId) -> Option<Fact>,
    ) -> Option<Vec<(ValueId, Fact)>> {
        let (Some(a), Some(b)) = (get(self.a), get(self.b)) else { return Some(Vec::new()) };
        let (new_a, new_b) = match self.pred {
            Pred::Lt => (a.within(i128::MIN, b.hi - 1), b.within(a.lo + 1, i128::MAX)),
            Pred::Le => (a.within(i128::MIN, b.hi), b.within(a.lo, i128::MAX)),
            Pred::Gt => (a.within(b.lo + 1, i128::MAX), b.within(i128::MIN, a.hi - 1)),
            Pred::Ge => (a.within(b.lo, i128::MAX), b.within(i128::MIN, a.hi)),
            Pred::Eq => (a.meet(b), a.meet(b)),
            Pred::Ne => (a.without(b), b.without(a)),
        };
        let mut out = vec![(self.a, new_a?), (self.b, new_b?)];
        if self.pred == Pred::Eq && b == Fact::exact(0) {
            out.extend(divided(m, self.a, get));
        }
        Some(out)
    }
}

/// `x % 16 == 0` and `x & 15 == 0` tell that 16 divides x.
fn divided(m: &Module, rest: ValueId, get: &dyn Fn(ValueId) -> Option<Fact>) -> Option<(ValueId, Fact)> {
    let Def::Result(op, _) = m.def(rest) else { return None };
    let (x, by) = match &m.op(op).op {
        // A remainder by 0 is 0 and tells nothing.
        Op::Rem(ops::Rem { a, b }) => (*a, get(*b)?.as_exact().filter(|by| *by != 0)?.checked_abs()?),
        Op::And(ops::And { a, b }) => {
            let by = get(*b)?.as_exact()?.checked_add(1)?;
            (*a, Some(by).filter(|by| by.count_ones() == 1 && *by > 0)?)
        }
        _ => return None,
    };
    get(x)?.multiple_of(by.unsigned_abs()).map(|fact| (x, fact))
}
