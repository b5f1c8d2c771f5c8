//! Control flow and comparison. Types decide: a host condition runs one arm while tracing, `Scalar<bool>` traces both.
//! The macro calls these; a kernel author meets them in error texts only.

use super::elem::{Elem, Float, Int, Num};
use super::errors::LangFault;
use super::handle::{Handle, Scalar, Tile, Val};
use super::operand::{Operand, beside, scalar};
use super::shape::{D0, Shape};
use super::trace::{self, Traced};
use super::value::{Group, Vals, Value, group_names, group_vals, part_names, types_of, vals_of};
use crate::elem::ElemType;
use crate::ir::ops::{self, Carry, Pred, Range};
use crate::ir::{Literal, Op, RegionId, Type};

macro_rules! compare {
    ($Trait:ident, $Host:ident, $class:ident: $($f:ident $Pred:ident)*) => {
        /// Comparison, of host values as in Rust, of kernel values per element. The result is a parameter, not an
        /// associated type: of a wrong comparison rustc would report the missing trait and the missing type.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` cannot be compared with `{R}`",
            label = "other element type or shape",
            note = "convert with `.cast::<..>()`; a vector joins a matrix as `.col()` or `.row()`; the kernel value stands on the left"
        )]
        pub trait $Trait<R, Out> {
            $(#[track_caller] fn $f(&self, r: &R) -> Out;)*
        }
        impl<L: $Host> $Trait<L, bool> for L {
            $(fn $f(&self, r: &L) -> bool { $Host::$f(self, r) })*
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class, R: Operand<T, D0>> $Trait<R, Scalar<bool>> for Scalar<T> {
            $(#[track_caller] fn $f(&self, r: &R) -> Scalar<bool> { Scalar::of(cmp(Pred::$Pred, *self, *r)) })*
        }
        #[diagnostic::do_not_recommend]
        impl<T: $class, S: Shape, R: Operand<T, S>> $Trait<R, Tile<bool, S>> for Tile<T, S> {
            $(#[track_caller] fn $f(&self, r: &R) -> Tile<bool, S> { Tile::of(cmp(Pred::$Pred, *self, *r)) })*
        }
        #[diagnostic::do_not_recommend]
        impl<T: Int> $Trait<Scalar<T>, Scalar<bool>> for usize {
            $(#[track_caller] fn $f(&self, r: &Scalar<T>) -> Scalar<bool> {
                Scalar::of(cmp(Pred::$Pred, scalar::<T>(*self), *r))
            })*
        }
        #[diagnostic::do_not_recommend]
        impl<T: Float> $Trait<Scalar<T>, Scalar<bool>> for f64 {
            $(#[track_caller] fn $f(&self, r: &Scalar<T>) -> Scalar<bool> {
                Scalar::of(cmp(Pred::$Pred, scalar::<T>(*self), *r))
            })*
        }
    };
}
compare! { Order, PartialOrd, Num: lt Lt le Le gt Gt ge Ge }
compare! { Same, PartialEq, Elem: eq Eq ne Ne }

// Host texts, which Rust compares across types.
macro_rules! texts {
    ($($a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Same<$b, bool> for $a {
            fn eq(&self, r: &$b) -> bool { *self == *r }
            fn ne(&self, r: &$b) -> bool { *self != *r }
        }
    )*};
}
texts! { String, &str; &str, String; }

#[track_caller]
fn cmp<X: Handle>(pred: Pred, a: X, b: impl Operand<X::T, X::S>) -> Val {
    let (a, b, ty) = beside(a, b);
    trace::emit(ty.with_elem(ElemType::I1), |t| ops::Cmp { pred, a: t.id(a), b: t.id(b) }.into())
}

/// `&&` and `||` with Rust's meaning: the right side runs only if it is needed.
#[diagnostic::on_unimplemented(
    message = "`&&` and `||` join `bool`s or `Scalar<bool>`s, not `{Self}` and `{R}`",
    label = "not a condition",
    note = "element by element: `&` and `|`"
)]
pub trait Logic<R, Out>: Sized {
    #[track_caller]
    fn and(self, right: impl Fn() -> R) -> Out;
    #[track_caller]
    fn or(self, right: impl Fn() -> R) -> Out;
}
#[diagnostic::do_not_recommend]
impl Logic<bool, bool> for bool {
    fn and(self, right: impl Fn() -> bool) -> bool {
        self && right()
    }
    fn or(self, right: impl Fn() -> bool) -> bool {
        self || right()
    }
}
#[diagnostic::do_not_recommend]
impl Logic<Scalar<bool>, Scalar<bool>> for bool {
    #[track_caller]
    fn and(self, right: impl Fn() -> Scalar<bool>) -> Scalar<bool> {
        if self { right() } else { scalar(false) }
    }
    #[track_caller]
    fn or(self, right: impl Fn() -> Scalar<bool>) -> Scalar<bool> {
        if self { scalar(true) } else { right() }
    }
}
#[diagnostic::do_not_recommend]
impl Logic<bool, Scalar<bool>> for Scalar<bool> {
    #[track_caller]
    fn and(self, right: impl Fn() -> bool) -> Scalar<bool> {
        if right() { self } else { scalar(false) }
    }
    #[track_caller]
    fn or(self, right: impl Fn() -> bool) -> Scalar<bool> {
        if right() { scalar(true) } else { self }
    }
}
#[diagnostic::do_not_recommend]
impl Logic<Scalar<bool>, Scalar<bool>> for Scalar<bool> {
    #[track_caller]
    fn and(self, right: impl Fn() -> Scalar<bool>) -> Scalar<bool> {
        guarded(self, right, Short::And)
    }
    #[track_caller]
    fn or(self, right: impl Fn() -> Scalar<bool>) -> Scalar<bool> {
        guarded(self, right, Short::Or)
    }
}

#[derive(Clone, Copy)]
enum Short {
    And,
    Or,
}
/// Without effects the right side is traced in place and joined by one op; else it goes into an arm of its own.
#[track_caller]
fn guarded(left: Scalar<bool>, right: impl Fn() -> Scalar<bool>, short: Short) -> Scalar<bool> {
    let Traced { region, out } = trace::region(&[], &[], |_| right(), |r: &Scalar<bool>| vec![r.val()]);
    let (a, b) = (left.val(), out.val());
    if !trace::has_effects(region) {
        trace::splice(region);
        let op = |t: &mut trace::Tracer| -> Op {
            let (a, b) = (t.id(a), t.id(b));
            match short {
                Short::And => ops::And { a, b }.into(),
                Short::Or => ops::Or { a, b }.into(),
            }
        };
        return Scalar::of(trace::emit(Type::BOOL, op));
    }
    let skipped = trace::constant(Literal::from(matches!(short, Short::Or)));
    let rest = trace::region(&[], &[], |_| (), |()| vec![skipped]).region;
    let (then, other) = match short {
        Short::And => (region, rest),
        Short::Or => (rest, region),
    };
    Scalar::of(trace::emit(Type::BOOL, |t| ops::If { cond: t.id(a), then, other }.into()))
}

/// A condition of a kernel `if`.
#[diagnostic::on_unimplemented(
    message = "a kernel `if` needs a `bool` (decided while tracing) or a `Scalar<bool>` (decided on the device), found `{Self}`",
    label = "not a condition",
    note = "for a tile of bools use `select(mask, a, b)`, or reduce it first"
)]
pub trait Branch<V, G>: Sized {
    #[track_caller]
    fn branch(self, names: &[&str], g: G, then: impl Fn(G) -> (V, G), other: impl Fn(G) -> (V, G)) -> (V, G);
}
impl<V, G> Branch<V, G> for bool {
    fn branch(self, _: &[&str], g: G, then: impl Fn(G) -> (V, G), other: impl Fn(G) -> (V, G)) -> (V, G) {
        if self { then(g) } else { other(g) }
    }
}
impl<V: Value, G: Group> Branch<V, G> for Scalar<bool> {
    #[track_caller]
    fn branch(self, names: &[&str], g: G, then: impl Fn(G) -> (V, G), other: impl Fn(G) -> (V, G)) -> (V, G) {
        let pack = |(v, g): &(V, G)| [vals_of(v), group_vals(g)].concat();
        let then = trace::region(&[], &[], |_| then(g), pack);
        let other = trace::region(&[], &[], |_| other(g), pack);
        let types = types_of(&pack(&then.out));
        let (cond, then, other) = (self.val(), then.region, other.region);
        let vals = trace::emit_all(&types, part_names::<V>(""), &group_names::<G>(names), |t| {
            ops::If { cond: t.id(cond), then, other }.into()
        });
        let mut vals = Vals(vals.iter());
        (V::from_vals(&mut vals), G::from_vals(&mut vals))
    }
}
#[track_caller]
pub fn if_<C: Branch<V, G>, G, V>(
    cond: C,
    names: &[&str],
    g: G,
    then: impl Fn(G) -> (V, G),
    other: impl Fn(G) -> (V, G),
) -> (V, G) {
    cond.branch(names, g, then, other)
}

/// Host integers stand for constants beside a `Scalar`; two of them count in `i32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no end of a kernel loop",
    label = "a `Scalar<i32>`, a `Scalar<i64>` or a plain integer is needed here"
)]
pub trait HostInt: Copy {}
impl HostInt for i32 {}
impl HostInt for usize {}

/// The two ends of a device loop.
#[diagnostic::on_unimplemented(
    message = "the ends of a kernel loop are integers of one type, found `{Self}`",
    label = "not the ends of a kernel loop",
    note = "`Scalar<i32>`, `Scalar<i64>` or plain integers; convert with `.cast::<i64>()`"
)]
pub trait Ends<I> {
    #[track_caller]
    fn ends(self) -> (Scalar<I>, Scalar<I>);
}
#[diagnostic::do_not_recommend]
impl<I: Int> Ends<I> for (Scalar<I>, Scalar<I>) {
    fn ends(self) -> (Scalar<I>, Scalar<I>) {
        self
    }
}
#[diagnostic::do_not_recommend]
impl<I: Int, H: HostInt + Operand<I, D0>> Ends<I> for (H, Scalar<I>) {
    #[track_caller]
    fn ends(self) -> (Scalar<I>, Scalar<I>) {
        (scalar(self.0), self.1)
    }
}
#[diagnostic::do_not_recommend]
impl<I: Int, H: HostInt + Operand<I, D0>> Ends<I> for (Scalar<I>, H) {
    #[track_caller]
    fn ends(self) -> (Scalar<I>, Scalar<I>) {
        (self.0, scalar(self.1))
    }
}
#[diagnostic::do_not_recommend]
impl<H: HostInt + Operand<i32, D0>, J: HostInt + Operand<i32, D0>> Ends<i32> for (H, J) {
    #[track_caller]
    fn ends(self) -> (Scalar<i32>, Scalar<i32>) {
        (scalar(self.0), scalar(self.1))
    }
}

/// A device loop's header: `a..b` in a `for`, with what follows it.
#[derive(Clone, Copy)]
pub struct Loop<I> {
    lo: Scalar<I>,
    hi: Scalar<I>,
    step: Option<Scalar<I>>,
    stages: Option<u32>,
}
#[track_caller]
pub fn range<A, B, I>(lo: A, hi: B) -> Loop<I>
where
    (A, B): Ends<I>,
{
    let (lo, hi) = (lo, hi).ends();
    Loop { lo, hi, step: None, stages: None }
}
impl<I: Int> Loop<I> {
    /// The distance between turns; above zero.
    #[track_caller]
    pub fn step_by(self, step: impl Operand<I, D0>) -> Self {
        let step = scalar(step);
        if trace::known(step.val()).and_then(Literal::as_int).is_some_and(|n| n <= 0) {
            trace::fail(LangFault::ZeroStep);
        }
        Loop { step: Some(step), ..self }
    }
    /// A hint: loads of this many turns may be in flight.
    pub fn stages(self, stages: usize) -> Self {
        Loop { stages: Some(u32::try_from(stages).unwrap_or(u32::MAX)), ..self }
    }
}

#[track_caller]
pub fn for_<I: Int, G: Group>(
    header: Loop<I>,
    index: &str,
    names: &[&str],
    g: G,
    body: impl Fn(Scalar<I>, G) -> G,
) -> G {
    let (inits, names) = (group_vals(&g), group_names::<G>(names));
    let types = types_of(&inits);
    let args: Vec<Type> = std::iter::once(Type::Scalar(I::ELEM)).chain(types.iter().copied()).collect();
    let arg_names: Vec<String> = std::iter::once(index.to_string()).chain(names.iter().cloned()).collect();
    let turn = |args: &[Val]| {
        let mut vals = Vals(args.iter());
        let index = Scalar::from_vals(&mut vals);
        body(index, G::from_vals(&mut vals))
    };
    let body = trace::region(&args, &arg_names, turn, group_vals).region;
    let vals = trace::emit_all(&types, Vec::new(), &names, |t| {
        let range = Range {
            lo: t.id(header.lo.val()),
            hi: t.id(header.hi.val()),
            step: header.step.map(|s| t.id(s.val())),
            stages: header.stages,
        };
        ops::For { range, carry: Carry(t.ids(&inits)), body }.into()
    });
    G::from_vals(&mut Vals(vals.iter()))
}

/// The condition of a kernel `while`.
#[diagnostic::on_unimplemented(
    message = "a kernel `while` needs a `Scalar<bool>`, found `{Self}`",
    label = "not a device condition",
    note = "a loop decided while tracing is `for k in unroll(..)`"
)]
pub trait DeviceBool {
    fn flag(self) -> Val;
}
impl DeviceBool for Scalar<bool> {
    fn flag(self) -> Val {
        self.val()
    }
}
#[track_caller]
pub fn while_<G: Group, C: DeviceBool>(names: &[&str], g: G, cond: impl Fn(G) -> C, body: impl Fn(G) -> G) -> G {
    let (inits, names) = (group_vals(&g), group_names::<G>(names));
    let types = types_of(&inits);
    let mut state = Vec::new();
    let test = |args: &[Val]| {
        state = args.to_vec();
        cond(G::from_vals(&mut Vals(args.iter()))).flag()
    };
    let cond: RegionId = trace::region(&types, &names, test, |flag: &Val| vec![*flag]).region;
    trace::reveal(cond);
    let body = trace::region(&[], &[], |_| body(G::from_vals(&mut Vals(state.iter()))), group_vals).region;
    trace::hide(cond);
    let vals =
        trace::emit_all(&types, Vec::new(), &names, |t| ops::While { carry: Carry(t.ids(&inits)), cond, body }.into());
    G::from_vals(&mut Vals(vals.iter()))
}

/// Says that a loop runs while tracing: `for k in unroll(0..4)`. Any other iterator does the same.
pub fn unroll<I: IntoIterator>(items: I) -> I {
    items
}

/// Stands where the macro has already reported an error, so it never runs.
pub fn hole<T>() -> T {
    unreachable!("the macro has reported an error here")
}
/// What `?` takes the value of; the macro has already reported an error there.
pub trait Tried {
    type Value;
    fn value(self) -> Self::Value;
}
impl<T> Tried for Option<T> {
    type Value = T;
    fn value(self) -> T {
        hole()
    }
}
impl<T, E> Tried for Result<T, E> {
    type Value = T;
    fn value(self) -> T {
        hole()
    }
}
