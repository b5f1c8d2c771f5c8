//! Which op is which function of `number`, for scalars and for tiles alike. `Elementwise::of` is the one place that sorts
//! all ops; below it, small enums are matched exhaustively.

use super::convert;
use super::dispatch::{with_float, with_integer, with_number};
use super::math::{Functions, Real1};
use super::number::{Bits, FloatLane, Integer, Lane, Number, Real};
use crate::data::{Data, Stored};
use crate::elem::ElemType;
use crate::ir::ops::{Pred, family};
use crate::ir::{Literal, Op};
use crate::with_elem;

/// Arithmetic of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arith1 {
    Neg,
    Abs,
}
/// Arithmetic of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arith2 {
    Add,
    Sub,
    Mul,
    Div,
    Maximum,
    Minimum,
}
/// Arithmetic of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Int2 {
    Rem,
    MulHi,
    Shl,
    Shr,
}
/// Two integers or truth values, bit by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bits2 {
    And,
    Or,
    Xor,
}
/// The larger or smaller of two floats, where NaN wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Real2 {
    MaxNan,
    MinNan,
}

/// An op that makes each element of its result from the elements of its operands at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elementwise {
    Arith1(Arith1),
    Arith2(Arith2),
    Int2(Int2),
    Bits2(Bits2),
    Not,
    Real1(Real1),
    Real2(Real2),
    Fma,
    Cmp(Pred),
    Select,
    Cast,
    Bitcast,
}

impl Elementwise {
    pub(super) fn of(op: &Op) -> Option<Elementwise> {
        Some(match op {
            Op::Neg(_) => Elementwise::Arith1(Arith1::Neg),
            Op::Abs(_) => Elementwise::Arith1(Arith1::Abs),
            Op::Add(_) => Elementwise::Arith2(Arith2::Add),
            Op::Sub(_) => Elementwise::Arith2(Arith2::Sub),
            Op::Mul(_) => Elementwise::Arith2(Arith2::Mul),
            Op::Div(_) => Elementwise::Arith2(Arith2::Div),
            Op::Maximum(_) => Elementwise::Arith2(Arith2::Maximum),
            Op::Minimum(_) => Elementwise::Arith2(Arith2::Minimum),
            Op::Rem(_) => Elementwise::Int2(Int2::Rem),
            Op::MulHi(_) => Elementwise::Int2(Int2::MulHi),
            Op::Shl(_) => Elementwise::Int2(Int2::Shl),
            Op::Shr(_) => Elementwise::Int2(Int2::Shr),
            Op::And(_) => Elementwise::Bits2(Bits2::And),
            Op::Or(_) => Elementwise::Bits2(Bits2::Or),
            Op::Xor(_) => Elementwise::Bits2(Bits2::Xor),
            Op::Not(_) => Elementwise::Not,
            family::math!() => Elementwise::Real1(Real1::of(op)?),
            Op::MaxNan(_) => Elementwise::Real2(Real2::MaxNan),
            Op::MinNan(_) => Elementwise::Real2(Real2::MinNan),
            Op::Fma(_) => Elementwise::Fma,
            Op::Cmp(o) => Elementwise::Cmp(o.pred),
            Op::Select(_) => Elementwise::Select,
            Op::Cast(_) => Elementwise::Cast,
            Op::Bitcast(_) => Elementwise::Bitcast,
            family::shape!() | family::reduction!() | family::product!() | family::memory!() => return None,
            family::place!() | family::messages!() | family::observation!() | family::control!() => return None,
        })
    }
    /// Whether a zero second operand of this element type is a fault.
    pub(super) fn divides(self, elem: ElemType) -> bool {
        let quotient = matches!(self, Elementwise::Arith2(Arith2::Div) | Elementwise::Int2(Int2::Rem));
        quotient && elem.is(crate::elem::Class::Int)
    }
}

/// What a function of one element is applied to: one scalar, or a whole tile in one loop.
pub(super) trait Apply1<W> {
    type Out;
    fn apply(self, f: impl Fn(W) -> W) -> Self::Out;
}
trait Apply2<W> {
    type Out;
    fn apply(self, f: impl Fn(W, W) -> W) -> Self::Out;
}
struct One<T>(T);
struct Two<T>(T, T);
struct Tile<'a, T>(&'a [T]);
struct Tiles<'a, T>(&'a [T], &'a [T]);

impl<T: Lane> Apply1<T::Wide> for One<T> {
    type Out = Literal;
    fn apply(self, f: impl Fn(T::Wide) -> T::Wide) -> Literal {
        literal(T::narrow(f(self.0.widen())))
    }
}
impl<T: Lane> Apply2<T::Wide> for Two<T> {
    type Out = Literal;
    fn apply(self, f: impl Fn(T::Wide, T::Wide) -> T::Wide) -> Literal {
        literal(T::narrow(f(self.0.widen(), self.1.widen())))
    }
}
impl<T: Lane> Apply1<T::Wide> for Tile<'_, T> {
    type Out = Data;
    fn apply(self, f: impl Fn(T::Wide) -> T::Wide) -> Data {
        T::wrap(T::map(self.0, f))
    }
}
impl<T: Lane> Apply2<T::Wide> for Tiles<'_, T> {
    type Out = Data;
    fn apply(self, f: impl Fn(T::Wide, T::Wide) -> T::Wide) -> Data {
        T::wrap(T::zip(self.0, self.1, f))
    }
}
fn literal<T: Stored>(value: T) -> Literal {
    Literal { elem: T::ELEM, bits: value.to_bits() }
}

#[inline]
fn arith1<T: Lane>(f: Arith1, x: T) -> T {
    match f {
        Arith1::Neg => x.neg(),
        Arith1::Abs => x.abs(),
    }
}
fn arith2<W: Number, A: Apply2<W>>(f: Arith2, to: A) -> A::Out {
    match f {
        Arith2::Add => to.apply(W::add),
        Arith2::Sub => to.apply(W::sub),
        Arith2::Mul => to.apply(W::mul),
        Arith2::Div => to.apply(W::div),
        Arith2::Maximum => to.apply(W::max),
        Arith2::Minimum => to.apply(W::min),
    }
}
fn int2<W: Integer, A: Apply2<W>>(f: Int2, to: A) -> A::Out {
    match f {
        Int2::Rem => to.apply(W::rem),
        Int2::MulHi => to.apply(W::mul_hi),
        Int2::Shl => to.apply(W::shl),
        Int2::Shr => to.apply(W::shr),
    }
}
fn real2<W: Real, A: Apply2<W>>(f: Real2, to: A) -> A::Out {
    match f {
        Real2::MaxNan => to.apply(W::max_nan),
        Real2::MinNan => to.apply(W::min_nan),
    }
}
fn bits2<T: Bits>(f: Bits2) -> fn(T, T) -> T {
    match f {
        Bits2::And => T::and,
        Bits2::Or => T::or,
        Bits2::Xor => T::xor,
    }
}
fn holds<W: PartialOrd>(pred: Pred) -> fn(&W, &W) -> bool {
    match pred {
        Pred::Lt => W::lt,
        Pred::Le => W::le,
        Pred::Gt => W::gt,
        Pred::Ge => W::ge,
        Pred::Eq => W::eq,
        Pred::Ne => W::ne,
    }
}

/// The value of `f` for scalar operands; `None` where the operands are not what the op takes.
pub(super) fn scalar(f: Elementwise, operands: &[Literal], to: ElemType) -> Option<Literal> {
    let elem = operands.first()?.elem;
    let same = |n: usize| operands.len() == n && operands.iter().all(|x| x.elem == elem);
    let arg = |i: usize| operands.get(i).copied();
    match f {
        Elementwise::Arith1(f) if same(1) => with_number!(elem, T => Some(literal(arith1::<T>(f, arg(0)?.get())))),
        Elementwise::Real1(f) if same(1) => with_float!(elem, T => Some(Functions::real1(f, One::<T>(arg(0)?.get())))),
        Elementwise::Arith2(f) if same(2) => {
            with_number!(elem, T => Some(arith2(f, Two::<T>(arg(0)?.get(), arg(1)?.get()))))
        }
        Elementwise::Int2(f) if same(2) => {
            with_integer!(elem, T => Some(int2(f, Two::<T>(arg(0)?.get(), arg(1)?.get()))))
        }
        Elementwise::Real2(f) if same(2) => {
            with_float!(elem, T => Some(real2(f, Two::<T>(arg(0)?.get(), arg(1)?.get()))))
        }
        Elementwise::Bits2(f) if same(2) => match elem {
            ElemType::I1 => Some(literal(bits2::<bool>(f)(arg(0)?.get(), arg(1)?.get()))),
            _ => with_integer!(elem, T => Some(literal(bits2::<T>(f)(arg(0)?.get(), arg(1)?.get())))),
        },
        Elementwise::Not if same(1) => match elem {
            ElemType::I1 => Some(literal(!arg(0)?.get::<bool>())),
            _ => with_integer!(elem, T => Some(literal(Bits::not(arg(0)?.get::<T>())))),
        },
        Elementwise::Fma if same(3) => {
            with_float!(elem, T => Some(literal(FloatLane::fma(arg(0)?.get::<T>(), arg(1)?.get(), arg(2)?.get()))))
        }
        Elementwise::Cmp(pred) if same(2) => {
            let yes = match elem {
                ElemType::I1 => Some(holds(pred)(&arg(0)?.get::<bool>(), &arg(1)?.get())),
                _ => with_number!(elem, T => {
                    Some(holds(pred)(&arg(0)?.get::<T>().widen(), &arg(1)?.get::<T>().widen()))
                }),
            };
            yes.map(Literal::from)
        }
        Elementwise::Select if operands.len() == 3 => {
            let (mask, a, b) = (arg(0)?.as_bool()?, arg(1)?, arg(2)?);
            (a.elem == b.elem).then_some(if mask { a } else { b })
        }
        Elementwise::Cast if same(1) => Some(convert::literal(arg(0)?, to)),
        Elementwise::Bitcast if same(1) => {
            let bits = arg(0)?.bits;
            (elem.bytes() == to.bytes())
                .then(|| with_elem!(to, T => literal(<T as crate::ir::Element>::from_bits(bits))))
        }
        Elementwise::Arith1(_)
        | Elementwise::Real1(_)
        | Elementwise::Arith2(_)
        | Elementwise::Int2(_)
        | Elementwise::Real2(_)
        | Elementwise::Bits2(_)
        | Elementwise::Not
        | Elementwise::Fma
        | Elementwise::Cmp(_)
        | Elementwise::Select
        | Elementwise::Cast
        | Elementwise::Bitcast => None,
    }
}

/// The elements of `f` for tiles of one shape; `None` where the operands are not what the op takes.
pub(super) fn tile(f: Elementwise, operands: &[&Data], to: ElemType) -> Option<Data> {
    let elem = operands.first()?.elem();
    let arg = |i: usize| operands.get(i).copied();
    match f {
        Elementwise::Arith1(f) => {
            with_number!(elem, T => Some(T::wrap(T::slice(arg(0)?)?.iter().map(|x| arith1(f, *x)).collect())))
        }
        Elementwise::Real1(f) => with_float!(elem, T => Some(Functions::real1(f, Tile::<T>(T::slice(arg(0)?)?)))),
        Elementwise::Arith2(f) => {
            with_number!(elem, T => Some(arith2(f, Tiles::<T>(T::slice(arg(0)?)?, T::slice(arg(1)?)?))))
        }
        Elementwise::Int2(f) => {
            with_integer!(elem, T => Some(int2(f, Tiles::<T>(T::slice(arg(0)?)?, T::slice(arg(1)?)?))))
        }
        Elementwise::Real2(f) => {
            with_float!(elem, T => Some(real2(f, Tiles::<T>(T::slice(arg(0)?)?, T::slice(arg(1)?)?))))
        }
        Elementwise::Bits2(f) => match elem {
            ElemType::I1 => bits2_tile::<bool>(f, arg(0)?, arg(1)?),
            _ => with_integer!(elem, T => bits2_tile::<T>(f, arg(0)?, arg(1)?)),
        },
        Elementwise::Not => match elem {
            ElemType::I1 => not_tile::<bool>(arg(0)?),
            _ => with_integer!(elem, T => not_tile::<T>(arg(0)?)),
        },
        Elementwise::Fma => with_float!(elem, T => {
            let (a, b, c) = (T::slice(arg(0)?)?, T::slice(arg(1)?)?, T::slice(arg(2)?)?);
            Some(T::wrap(a.iter().zip(b).zip(c).map(|((a, b), c)| FloatLane::fma(*a, *b, *c)).collect()))
        }),
        Elementwise::Cmp(pred) => {
            let (a, b) = (arg(0)?, arg(1)?);
            let yes = match elem {
                ElemType::I1 => {
                    let (a, b) = (bool::slice(a)?, bool::slice(b)?);
                    Some(a.iter().zip(b).map(|(a, b)| holds(pred)(a, b)).collect())
                }
                _ => with_number!(elem, T => Some(compare_tile::<T>(pred, T::slice(a)?, T::slice(b)?))),
            };
            yes.map(Data::I1)
        }
        Elementwise::Select => {
            let mask = bool::slice(arg(0)?)?;
            with_elem!(arg(1)?.elem(), T => {
                let (a, b) = (T::slice(arg(1)?)?, T::slice(arg(2)?)?);
                let chosen = mask.iter().zip(a.iter().zip(b)).map(|(m, (a, b))| if *m { *a } else { *b });
                Some(T::wrap(chosen.collect()))
            })
        }
        Elementwise::Cast => Some(convert::tile(arg(0)?, to)),
        Elementwise::Bitcast => Some(with_elem!(elem, F => with_elem!(to, T => {
            let same_bits = |x: &F| <T as crate::ir::Element>::from_bits(crate::ir::Element::to_bits(*x));
            T::wrap(F::slice(arg(0)?)?.iter().map(same_bits).collect())
        }))),
    }
}
fn bits2_tile<T: Bits>(f: Bits2, a: &Data, b: &Data) -> Option<Data> {
    let (a, b) = (T::slice(a)?, T::slice(b)?);
    let pairs = a.iter().zip(b);
    Some(T::wrap(match f {
        Bits2::And => pairs.map(|(a, b)| a.and(*b)).collect(),
        Bits2::Or => pairs.map(|(a, b)| a.or(*b)).collect(),
        Bits2::Xor => pairs.map(|(a, b)| a.xor(*b)).collect(),
    }))
}
fn not_tile<T: Bits>(x: &Data) -> Option<Data> {
    Some(T::wrap(T::slice(x)?.iter().map(|x| x.not()).collect()))
}
fn compare_tile<T: Lane>(pred: Pred, a: &[T], b: &[T]) -> Vec<bool> {
    match pred {
        Pred::Lt => T::compare(a, b, T::Wide::lt),
        Pred::Le => T::compare(a, b, T::Wide::le),
        Pred::Gt => T::compare(a, b, T::Wide::gt),
        Pred::Ge => T::compare(a, b, T::Wide::ge),
        Pred::Eq => T::compare(a, b, T::Wide::eq),
        Pred::Ne => T::compare(a, b, T::Wide::ne),
    }
}

/// The first zero of an integer tile, and how many there are.
pub(super) fn zeros(x: &Data) -> Option<(usize, u64)> {
    with_integer!(x.elem(), T => {
        let x = T::slice(x)?;
        let first = x.iter().position(|x| *x == T::ZERO)?;
        Some((first, x[first..].iter().filter(|x| **x == T::ZERO).count() as u64))
    })
}
