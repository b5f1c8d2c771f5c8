//! Control flow. Types decide: a host condition runs one arm while tracing, `Scalar<bool>` traces both. The macro puts
//! calls of these traits in place of `if`, `for`, `while` and `?`; a kernel author meets them in error texts only, so
//! each says there what to write. Their methods are called through the trait: rustc then has no bound of a function to
//! tell of. Not here: comparisons, `&&` and `||` (`compare`).

use super::elem::Int;
use super::errors::LangFault;
use super::handle::{Scalar, Val};
use super::operand::{Operand, scalar};
use super::shape::D0;
use super::trace;
use super::value::{Vals, Value, part_names, rebuilt, types_of, vals_of};
use crate::ir::ops::{self, Carry, Range};
use crate::ir::{Literal, RegionId, Type};

/// A condition of a kernel `if` whose value is a `V` and whose arms assign the variables `G`: a `bool` takes one arm
/// while tracing, a `Scalar<bool>` makes a device branch, whose `V` and `G` are device values.
#[diagnostic::on_unimplemented(
    message = "a kernel `if` needs a `bool` (decided while tracing) or a `Scalar<bool>` (decided on the device), found `{Self}`",
    label = "not a condition",
    note = "for a tile of bools use `select(mask, a, b)`, or reduce it first"
)]
pub trait Condition<V, G>: Sized {
    #[doc(hidden)]
    #[track_caller]
    fn branch(self, names: &[&str], g: G, then: impl Fn(G) -> (V, G), other: impl Fn(G) -> (V, G)) -> (V, G);
}
#[diagnostic::do_not_recommend]
impl<V, G> Condition<V, G> for bool {
    fn branch(self, _: &[&str], g: G, then: impl Fn(G) -> (V, G), other: impl Fn(G) -> (V, G)) -> (V, G) {
        if self { then(g) } else { other(g) }
    }
}
// Recommended, unlike the others: what rustc tells of a host value in an arm hangs on this.
impl<V: Value, G: Carried> Condition<V, G> for Scalar<bool> {
    #[track_caller]
    fn branch(self, names: &[&str], g: G, then: impl Fn(G) -> (V, G), other: impl Fn(G) -> (V, G)) -> (V, G) {
        let pack = |(v, g): &(V, G)| [vals_of(v), carried_vals(g)].concat();
        let then = trace::region(&[], &[], |_| then(g), pack);
        let other = trace::region(&[], &[], |_| other(g), pack);
        let types = types_of(&pack(&then.out));
        let (cond, then, other) = (self.val(), then.region, other.region);
        let vals = trace::emit_all(&types, part_names::<V>(""), &carried_names::<G>(names), |t| {
            ops::If { cond: t.id(cond), then, other }.into()
        });
        let mut vals = Vals(vals.iter());
        (V::from_vals(&mut vals), G::from_vals(&mut vals))
    }
}

/// The condition of a kernel `while`: a `Scalar<bool>`.
#[diagnostic::on_unimplemented(
    message = "a kernel `while` needs a `Scalar<bool>`, found `{Self}`",
    label = "not a device condition",
    note = "a loop decided while tracing is `for k in unroll(..)`"
)]
pub trait DeviceCondition {
    #[doc(hidden)]
    fn flag(self) -> Val;
}
#[diagnostic::do_not_recommend]
impl DeviceCondition for Scalar<bool> {
    fn flag(self) -> Val {
        self.val()
    }
}

/// A condition that has to be known while tracing, since it belongs to a pattern: a match guard, or what stands beside
/// a `let` in a condition. A `bool`.
#[diagnostic::on_unimplemented(
    message = "a match guard, or a condition beside `let`, is decided while tracing: it needs a `bool`, found `{Self}`",
    label = "not known while tracing",
    note = "what the device decides is an `if` of its own, inside the arm or the block"
)]
pub trait HostCondition {
    #[doc(hidden)]
    fn known(self) -> bool;
}
#[diagnostic::do_not_recommend]
impl HostCondition for bool {
    fn known(self) -> bool {
        self
    }
}

/// A host integer as an end of a device loop, beside a `Scalar` or another one; two of them count in `i32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no end of a kernel loop",
    label = "a `Scalar<i32>`, a `Scalar<i64>` or a plain integer is needed here"
)]
pub trait HostEnd: Copy {}
impl HostEnd for i32 {}
impl HostEnd for usize {}

/// The two ends of a device loop whose index is a `Scalar<I>`.
#[diagnostic::on_unimplemented(
    message = "the ends of a kernel loop are integers of one type, found `{Self}`",
    label = "not the ends of a kernel loop",
    note = "`Scalar<i32>`, `Scalar<i64>` or plain integers; convert with `.cast::<i64>()`"
)]
pub trait LoopEnds<I>: Sized {
    #[doc(hidden)]
    #[track_caller]
    fn ends(self) -> (Scalar<I>, Scalar<I>);
    #[doc(hidden)]
    #[track_caller]
    fn range(self) -> DeviceLoop<I> {
        let (lo, hi) = self.ends();
        DeviceLoop { lo, hi, step: None, stages: None, names: ("", ["a", "b"]) }
    }
}
#[diagnostic::do_not_recommend]
impl<I: Int> LoopEnds<I> for (Scalar<I>, Scalar<I>) {
    fn ends(self) -> (Scalar<I>, Scalar<I>) {
        self
    }
}
#[diagnostic::do_not_recommend]
impl<I: Int, H: HostEnd + Operand<I, D0>> LoopEnds<I> for (H, Scalar<I>) {
    #[track_caller]
    fn ends(self) -> (Scalar<I>, Scalar<I>) {
        (scalar(self.0), self.1)
    }
}
#[diagnostic::do_not_recommend]
impl<I: Int, H: HostEnd + Operand<I, D0>> LoopEnds<I> for (Scalar<I>, H) {
    #[track_caller]
    fn ends(self) -> (Scalar<I>, Scalar<I>) {
        (self.0, scalar(self.1))
    }
}
#[diagnostic::do_not_recommend]
impl<H: HostEnd + Operand<i32, D0>, J: HostEnd + Operand<i32, D0>> LoopEnds<i32> for (H, J) {
    #[track_caller]
    fn ends(self) -> (Scalar<i32>, Scalar<i32>) {
        (scalar(self.0), scalar(self.1))
    }
}

/// A device loop's header: `a..b` in a `for`, with what follows it.
#[derive(Clone, Copy)]
pub struct DeviceLoop<I> {
    lo: Scalar<I>,
    hi: Scalar<I>,
    step: Option<Scalar<I>>,
    stages: Option<u32>,
    /// Of a `map_reduce`: its index, and the two values that it merges.
    names: (&'static str, [&'static str; 2]),
}
impl<I: Int> DeviceLoop<I> {
    /// The distance between turns; above zero.
    #[track_caller]
    pub fn step_by(self, step: impl Operand<I, D0>) -> Self {
        let step = scalar(step);
        if trace::known(step.val()).and_then(Literal::as_int).is_some_and(|n| n <= 0) {
            trace::fail(LangFault::ZeroStep);
        }
        DeviceLoop { step: Some(step), ..self }
    }
    /// A hint: loads of this many turns may be in flight.
    pub fn stages(self, stages: usize) -> Self {
        DeviceLoop { stages: Some(u32::try_from(stages).unwrap_or(u32::MAX)), ..self }
    }
    #[doc(hidden)]
    pub fn named(self, index: &'static str, merged: [&'static str; 2]) -> Self {
        DeviceLoop { names: (index, merged), ..self }
    }
    fn header(self, t: &mut trace::Tracer) -> Range {
        Range {
            lo: t.id(self.lo.val()),
            hi: t.id(self.hi.val()),
            step: self.step.map(|s| t.id(s.val())),
            stages: self.stages,
        }
    }
}

/// `map` of every index of a range, merged to one value: `map_reduce((0..tiles).stages(4), |t| .., |a, b| a.merge(b))`. The
/// values are any one `Value`, so a struct of tiles too. The range is a literal and has at least one index; none is an
/// error at this line when the kernel runs.
///
/// Where a `for` is one turn after the other, this lets a machine run turns side by side, each with a value of its own, and
/// merge at the end: the author promises that the result does not depend on how the values are grouped or ordered, up to
/// rounding. The interpreter and the simulator merge in increasing order. `map` may load and compute, `merge` computes;
/// stores, messages, barriers, prints and assertions stand outside.
#[track_caller]
pub fn map_reduce<I: Int, V: Value>(
    range: DeviceLoop<I>,
    map: impl Fn(Scalar<I>) -> V,
    merge: impl Fn(V, V) -> V,
) -> V {
    let (index, [a, b]) = range.names;
    let of_turn = |args: &[Val]| map(Scalar::from_vals(&mut Vals(args.iter())));
    let body = trace::region(&[Type::Scalar(I::ELEM)], &[index.to_string()], of_turn, vals_of::<V>);
    let types = types_of(&vals_of(&body.out));
    let two = [types.as_slice(), types.as_slice()].concat();
    let names = [part_names::<V>(a), part_names::<V>(b)].concat();
    let of_two = |args: &[Val]| {
        let mut vals = Vals(args.iter());
        let a = V::from_vals(&mut vals);
        merge(a, V::from_vals(&mut vals))
    };
    let (body, merge) = (body.region, trace::region(&two, &names, of_two, vals_of::<V>).region);
    let vals = trace::emit_all(&types, part_names::<V>(""), &[], |t| {
        ops::MapReduce { range: range.header(t), body, merge }.into()
    });
    rebuilt(&vals)
}

/// The variables that a device branch or loop assigns and that are declared outside of it, as `(a, (b, ()))`: each is a
/// `Value`.
pub trait Carried: Copy {
    #[doc(hidden)]
    fn vals(&self, out: &mut Vec<Val>);
    #[doc(hidden)]
    fn from_vals(vals: &mut Vals<'_>) -> Self;
    /// One name a part, from the names of the variables.
    #[doc(hidden)]
    fn names(variables: &[&str], out: &mut Vec<String>);

    /// A device `for`.
    #[doc(hidden)]
    #[track_caller]
    fn counted<I: Int>(
        self,
        header: DeviceLoop<I>,
        index: &str,
        names: &[&str],
        body: impl Fn(Scalar<I>, Self) -> Self,
    ) -> Self {
        let (inits, names) = (carried_vals(&self), carried_names::<Self>(names));
        let types = types_of(&inits);
        let args: Vec<Type> = std::iter::once(Type::Scalar(I::ELEM)).chain(types.iter().copied()).collect();
        let arg_names: Vec<String> = std::iter::once(index.to_string()).chain(names.iter().cloned()).collect();
        let turn = |args: &[Val]| {
            let mut vals = Vals(args.iter());
            let index = Scalar::from_vals(&mut vals);
            body(index, Self::from_vals(&mut vals))
        };
        let body = trace::region(&args, &arg_names, turn, carried_vals).region;
        let vals = trace::emit_all(&types, Vec::new(), &names, |t| {
            let range = header.header(t);
            ops::For { range, carry: Carry(t.ids(&inits)), body }.into()
        });
        Self::from_vals(&mut Vals(vals.iter()))
    }
    /// A device `while`.
    #[doc(hidden)]
    #[track_caller]
    fn repeated(self, names: &[&str], cond: impl Fn(Self) -> Val, body: impl Fn(Self) -> Self) -> Self {
        let (inits, names) = (carried_vals(&self), carried_names::<Self>(names));
        let types = types_of(&inits);
        let mut state = Vec::new();
        let test = |args: &[Val]| {
            state = args.to_vec();
            cond(Self::from_vals(&mut Vals(args.iter())))
        };
        let cond: RegionId = trace::region(&types, &names, test, |flag: &Val| vec![*flag]).region;
        trace::reveal(cond);
        let body = trace::region(&[], &[], |_| body(Self::from_vals(&mut Vals(state.iter()))), carried_vals).region;
        trace::hide(cond);
        let vals = trace::emit_all(&types, Vec::new(), &names, |t| {
            ops::While { carry: Carry(t.ids(&inits)), cond, body }.into()
        });
        Self::from_vals(&mut Vals(vals.iter()))
    }
}
impl Carried for () {
    fn vals(&self, _: &mut Vec<Val>) {}
    fn from_vals(_: &mut Vals<'_>) -> Self {}
    fn names(_: &[&str], _: &mut Vec<String>) {}
}
impl<A: Value, G: Carried> Carried for (A, G) {
    fn vals(&self, out: &mut Vec<Val>) {
        self.0.vals(out);
        self.1.vals(out);
    }
    fn from_vals(vals: &mut Vals<'_>) -> Self {
        (A::from_vals(vals), G::from_vals(vals))
    }
    fn names(variables: &[&str], out: &mut Vec<String>) {
        let (first, rest) = variables.split_first().map_or(("", variables), |(f, r)| (*f, r));
        A::names(first, out);
        G::names(rest, out);
    }
}
fn carried_vals<G: Carried>(g: &G) -> Vec<Val> {
    let mut out = Vec::new();
    g.vals(&mut out);
    out
}
fn carried_names<G: Carried>(variables: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    G::names(variables, &mut out);
    out
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
#[diagnostic::on_unimplemented(message = "`{Self}` has nothing that `?` could take out")]
pub trait Tried {
    #[doc(hidden)]
    type Value;
    #[doc(hidden)]
    fn value(self) -> Self::Value;
}
#[diagnostic::do_not_recommend]
impl<T> Tried for Option<T> {
    type Value = T;
    fn value(self) -> T {
        hole()
    }
}
#[diagnostic::do_not_recommend]
impl<T, E> Tried for Result<T, E> {
    type Value = T;
    fn value(self) -> T {
        hole()
    }
}
