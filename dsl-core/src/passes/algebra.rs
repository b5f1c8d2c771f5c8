//! What one op is always equal to, to the bit and with the same error records. Integers wrap, so their identities hold
//! everywhere. Floats keep theirs only where IEEE 754 and the rule that arithmetic makes one NaN leave no other bits:
//! `x * 1.0` is `x` only if `x` is not a NaN of other bits, `x + 0.0` is not `x` for -0, `x - x` is not 0 for infinity.

use super::edit::{Edit, constant_of};
use super::facts::negated;
use crate::elem::Class;
use crate::interp::scalar;
use crate::ir::ops::{self, At, Pred, ResultType, family};
use crate::ir::{Literal, Op, OpId, Type, ValueId};

/// What stands for the result of an op, and why.
pub(super) enum Becomes {
    Value(ValueId, &'static str),
    /// The same result from another op.
    Op(Op, &'static str),
}

/// A simpler form of an op with one result; `None` if there is none.
pub(super) fn simplify(e: &mut Edit, id: OpId) -> Option<Becomes> {
    let data = e.m.op(id);
    let result = data.results.get(0).filter(|_| data.results.count == 1)?;
    let (op, ty) = (data.op.clone(), e.m.ty(result));
    constants(e, &op, ty)
        .or_else(|| constant_to_the_right(e, &op))
        .or_else(|| arithmetic(e, &op, ty))
        .or_else(|| bits(e, &op, ty))
        .or_else(|| choice(e, &op, ty))
        .or_else(|| conversion(e, &op, ty))
        .or_else(|| shape(e, &op, ty))
}

/// Elementwise ops whose operands are constants, or tiles of one constant each.
fn constants(e: &mut Edit, op: &Op, ty: Type) -> Option<Becomes> {
    let operands: Vec<Literal> = op.operands().iter().map(|v| constant_of(&e.m, *v)).collect::<Option<_>>()?;
    let evaluated = scalar::eval(op, &operands, Type::Scalar(ty.elem()))?;
    if evaluated.fault.is_some() {
        return None;
    }
    filled(e, ty, evaluated.value, "has constant operands")
}

/// The scalar, or the tile of it.
fn filled(e: &mut Edit, ty: Type, value: Literal, why: &'static str) -> Option<Becomes> {
    let x = e.constant(value);
    match ty {
        Type::Scalar(_) => Some(Becomes::Value(x, why)),
        Type::Tile(..) => Some(Becomes::Op(ops::Splat { x, to: ResultType(ty) }.into(), why)),
        Type::View(_) => None,
    }
}

/// `2 + x` is `x + 2` for the ops whose operands may change places without changing a bit.
fn constant_to_the_right(e: &Edit, op: &Op) -> Option<Becomes> {
    let swap = |a: ValueId, b: ValueId| constant_of(&e.m, a).is_some() && constant_of(&e.m, b).is_none();
    let op: Op = match op.clone() {
        Op::Add(ops::Add { a, b }) if swap(a, b) => ops::Add { a: b, b: a }.into(),
        Op::Mul(ops::Mul { a, b }) if swap(a, b) => ops::Mul { a: b, b: a }.into(),
        Op::MulHi(ops::MulHi { a, b }) if swap(a, b) => ops::MulHi { a: b, b: a }.into(),
        Op::Maximum(ops::Maximum { a, b }) if swap(a, b) => ops::Maximum { a: b, b: a }.into(),
        Op::Minimum(ops::Minimum { a, b }) if swap(a, b) => ops::Minimum { a: b, b: a }.into(),
        Op::MaxNan(ops::MaxNan { a, b }) if swap(a, b) => ops::MaxNan { a: b, b: a }.into(),
        Op::MinNan(ops::MinNan { a, b }) if swap(a, b) => ops::MinNan { a: b, b: a }.into(),
        Op::And(ops::And { a, b }) if swap(a, b) => ops::And { a: b, b: a }.into(),
        Op::Or(ops::Or { a, b }) if swap(a, b) => ops::Or { a: b, b: a }.into(),
        Op::Xor(ops::Xor { a, b }) if swap(a, b) => ops::Xor { a: b, b: a }.into(),
        Op::Cmp(ops::Cmp { pred, a, b }) if swap(a, b) => ops::Cmp { pred: mirrored(pred), a: b, b: a }.into(),
        _ => return None,
    };
    Some(Becomes::Op(op, "takes its constant on the right"))
}
/// The predicate for exchanged operands.
fn mirrored(pred: Pred) -> Pred {
    match pred {
        Pred::Lt => Pred::Gt,
        Pred::Le => Pred::Ge,
        Pred::Gt => Pred::Lt,
        Pred::Ge => Pred::Le,
        Pred::Eq => Pred::Eq,
        Pred::Ne => Pred::Ne,
    }
}

fn is_int(e: &Edit, v: ValueId, n: i128) -> bool {
    constant_of(&e.m, v).and_then(Literal::as_int) == Some(n)
}
/// Whether `v` is this float in all places, to the bit.
fn is_float(e: &Edit, v: ValueId, x: f64) -> bool {
    constant_of(&e.m, v).is_some_and(|lit| Literal::float(lit.elem, x) == Some(lit))
}
/// Whether a float is no NaN but the one that arithmetic makes, so that arithmetic that changes nothing keeps its bits.
/// Always true of integers and truth values.
fn is_plain(e: &Edit, v: ValueId) -> bool {
    if !e.m.ty(v).is(Class::Float) {
        return e.m.ty(v).is(Class::Bits);
    }
    if let Some(lit) = constant_of(&e.m, v) {
        return lit.as_float().is_some_and(|x| !x.is_nan());
    }
    matches!(
        e.maker(v),
        Some(Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Maximum(_) | Op::Minimum(_) | Op::MaxNan(_))
            | Some(Op::MinNan(_) | family::math!())
    )
}

fn arithmetic(e: &mut Edit, op: &Op, ty: Type) -> Option<Becomes> {
    let int = ty.is(Class::Int);
    let value = |v: ValueId, why: &'static str| Some(Becomes::Value(v, why));
    match *op {
        Op::Add(ops::Add { a, b }) => match () {
            () if is_int(e, b, 0) => value(a, "adds 0"),
            () if is_float(e, b, -0.0) && is_plain(e, a) => value(a, "adds -0.0"),
            () if int => reassociated(e, op, a, b),
            () => None,
        },
        Op::Sub(ops::Sub { a, b }) => match () {
            () if is_int(e, b, 0) => value(a, "subtracts 0"),
            () if is_float(e, b, 0.0) && is_plain(e, a) => value(a, "subtracts 0.0"),
            () if int && a == b => filled(e, ty, Literal::zero(ty.elem()), "subtracts a value from itself"),
            () => None,
        },
        Op::Mul(ops::Mul { a, b }) => match () {
            () if is_int(e, b, 1) => value(a, "multiplies by 1"),
            () if is_int(e, b, 0) => value(b, "multiplies by 0"),
            () if is_float(e, b, 1.0) && is_plain(e, a) => value(a, "multiplies by 1.0"),
            () if int => reassociated(e, op, a, b),
            () => None,
        },
        Op::Div(ops::Div { a, b }) if is_int(e, b, 1) => value(a, "divides by 1"),
        Op::Div(ops::Div { a, b }) if is_float(e, b, 1.0) && is_plain(e, a) => value(a, "divides by 1.0"),
        Op::Rem(ops::Rem { b, .. }) if is_int(e, b, 1) || is_int(e, b, -1) => {
            filled(e, ty, Literal::zero(ty.elem()), "is the remainder of a division by one")
        }
        Op::MulHi(ops::MulHi { b, .. }) if is_int(e, b, 0) => value(b, "multiplies by 0"),
        Op::Maximum(ops::Maximum { a, b })
        | Op::Minimum(ops::Minimum { a, b })
        | Op::MaxNan(ops::MaxNan { a, b })
        | Op::MinNan(ops::MinNan { a, b })
            if a == b && is_plain(e, a) =>
        {
            value(a, "compares a value with itself")
        }
        Op::Neg(ops::Neg { x }) => match e.maker(x) {
            Some(Op::Neg(inner)) => value(inner.x, "negates twice"),
            _ => None,
        },
        Op::Abs(ops::Abs { x }) => match e.maker(x) {
            Some(Op::Abs(_)) => value(x, "is of an absolute value"),
            Some(Op::Neg(inner)) => Some(Becomes::Op(ops::Abs { x: inner.x }.into(), "is of a negated value")),
            _ => None,
        },
        _ => None,
    }
}
/// `(x + 1) + 2` is `x + 3`, and so for products: integers wrap, so the order of steps does not matter. Scalars only.
fn reassociated(e: &mut Edit, op: &Op, a: ValueId, b: ValueId) -> Option<Becomes> {
    let (ty, outer) = (e.m.ty(a), e.m.literal(b)?);
    let (x, inner) = match (op, e.maker(a)?) {
        (Op::Add(_), Op::Add(o)) => (o.a, e.m.literal(o.b)?),
        (Op::Mul(_), Op::Mul(o)) => (o.a, e.m.literal(o.b)?),
        _ => return None,
    };
    let constant = scalar::eval(op, &[inner, outer], ty)?.value;
    let b = e.constant(constant);
    let op: Op = if let Op::Add(_) = op { ops::Add { a: x, b }.into() } else { ops::Mul { a: x, b }.into() };
    Some(Becomes::Op(op, "joins the constants of two steps"))
}

fn bits(e: &mut Edit, op: &Op, ty: Type) -> Option<Becomes> {
    let value = |v: ValueId, why: &'static str| Some(Becomes::Value(v, why));
    let is_zero = |e: &Edit, v: ValueId| constant_of(&e.m, v).is_some_and(|lit| lit.bits == 0);
    match *op {
        Op::And(ops::And { a, b }) | Op::Or(ops::Or { a, b }) if a == b => value(a, "is of a value with itself"),
        Op::And(ops::And { b, .. }) if is_zero(e, b) => value(b, "clears all bits"),
        Op::And(ops::And { a, b }) if is_ones(e, b) => value(a, "keeps all bits"),
        Op::Or(ops::Or { a, b }) if is_zero(e, b) => value(a, "sets no bit"),
        Op::Or(ops::Or { b, .. }) if is_ones(e, b) => value(b, "sets all bits"),
        Op::Xor(ops::Xor { a, b }) if a == b => filled(e, ty, Literal::zero(ty.elem()), "is of a value with itself"),
        Op::Xor(ops::Xor { a, b }) if is_zero(e, b) => value(a, "changes no bit"),
        Op::Shl(ops::Shl { a, n }) | Op::Shr(ops::Shr { a, n }) if is_int(e, n, 0) => value(a, "shifts by 0"),
        Op::Not(ops::Not { x }) => match e.maker(x) {
            Some(Op::Not(inner)) => value(inner.x, "complements twice"),
            // With NaN, neither `a < b` nor `a >= b` holds.
            Some(Op::Cmp(c)) if !e.m.ty(c.a).is(Class::Float) || matches!(c.pred, Pred::Eq | Pred::Ne) => {
                let opposite = ops::Cmp { pred: negated(c.pred), a: c.a, b: c.b };
                Some(Becomes::Op(opposite.into(), "complements a comparison"))
            }
            _ => None,
        },
        _ => None,
    }
}
fn is_ones(e: &Edit, v: ValueId) -> bool {
    constant_of(&e.m, v).is_some_and(|lit| match lit.as_int() {
        Some(n) => n == -1 || (n > 0 && n == (1i128 << lit.elem.bits()) - 1),
        None => lit.as_bool() == Some(true),
    })
}

fn choice(e: &mut Edit, op: &Op, ty: Type) -> Option<Becomes> {
    match *op {
        Op::Cmp(ops::Cmp { pred, a, b }) if a == b && e.m.ty(a).is(Class::Bits) => {
            let holds = matches!(pred, Pred::Le | Pred::Ge | Pred::Eq);
            filled(e, ty, holds.into(), "compares a value with itself")
        }
        Op::Select(ops::Select { mask, a, b }) => {
            if let Some(mask) = constant_of(&e.m, mask).and_then(Literal::as_bool) {
                return Some(Becomes::Value(if mask { a } else { b }, "has a constant mask"));
            }
            if a == b {
                return Some(Becomes::Value(a, "has one value on both sides"));
            }
            if let Some(Op::Not(inner)) = e.maker(mask) {
                let select = ops::Select { mask: inner.x, a: b, b: a };
                return Some(Becomes::Op(select.into(), "has a complemented mask"));
            }
            let truth = |v: ValueId| constant_of(&e.m, v).and_then(Literal::as_bool);
            (truth(a) == Some(true) && truth(b) == Some(false)).then_some(Becomes::Value(mask, "is its mask"))
        }
        _ => None,
    }
}

fn conversion(e: &Edit, op: &Op, ty: Type) -> Option<Becomes> {
    match *op {
        Op::Cast(ops::Cast { x, .. }) if e.m.ty(x) == ty && is_plain(e, x) => {
            Some(Becomes::Value(x, "is to the type it has"))
        }
        Op::Bitcast(ops::Bitcast { x, .. }) if e.m.ty(x) == ty => Some(Becomes::Value(x, "is to the type it has")),
        Op::Bitcast(ops::Bitcast { x, to }) => match e.maker(x) {
            Some(Op::Bitcast(inner)) => {
                Some(Becomes::Op(ops::Bitcast { x: inner.x, to }.into(), "is of another bitcast"))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Chains of shape ops, and shape ops on a tile of one scalar.
fn shape(e: &Edit, op: &Op, ty: Type) -> Option<Becomes> {
    let (x, to) = match *op {
        Op::Broadcast(ops::Broadcast { x, .. }) => (x, None),
        Op::Reshape(ops::Reshape { x, to }) => (x, Some(to)),
        Op::Trans(ops::Trans { x }) => (x, None),
        Op::Rows(ops::Rows { x, .. }) => (x, None),
        _ => return None,
    };
    let maker = e.maker(x)?;
    if let Op::Splat(splat) = maker {
        let splat = ops::Splat { x: splat.x, to: ResultType(ty) };
        return Some(Becomes::Op(splat.into(), "is of a tile of one scalar"));
    }
    if e.m.ty(x) == ty && matches!(op, Op::Reshape(_) | Op::Rows(_)) {
        return Some(Becomes::Value(x, "is to the shape it has"));
    }
    match (op, maker) {
        (Op::Trans(_), Op::Trans(inner)) => Some(Becomes::Value(inner.x, "transposes twice")),
        (Op::Reshape(_), Op::Reshape(inner)) => {
            Some(Becomes::Op(ops::Reshape { x: inner.x, to: to? }.into(), "is of another reshape"))
        }
        (Op::Rows(outer), Op::Rows(inner)) => {
            let first = At(outer.first.0.checked_add(inner.first.0)?);
            Some(Becomes::Op(ops::Rows { x: inner.x, first, to: outer.to }.into(), "is of other rows"))
        }
        _ => None,
    }
}
