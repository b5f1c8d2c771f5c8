//! The host side of a kernel: the launch builder that calling it gives, its specialisation key, the cache of traces, and
//! the checks of a launch that hold on every backend.

use super::elem::Elem;
use super::errors::LangFault;
use super::handle::{Scalar, Val};
use super::trace::{self, Subject};
use super::view::{View, ViewMut};
use crate::diag::Diagnostics;
use crate::ir::loc::Place;
use crate::ir::text::{op_text, print};
use crate::ir::{Deny, Literal, Module, Op, OpId, Type, ViewType};
use crate::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use crate::tensor::Tensor;
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A kernel parameter and what the host passes for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a host type and cannot be a kernel parameter as it stands",
    label = "`View`, `ViewMut`, `Scalar`, or mark it #[comptime]"
)]
pub trait Parameter: Copy {
    /// What the host passes.
    type Host<'a>;
    #[doc(hidden)]
    fn ty() -> Type;
    #[doc(hidden)]
    fn arg<'a>(host: Self::Host<'a>) -> Arg<'a>;
    #[doc(hidden)]
    fn of(v: Val) -> Self;
}
#[diagnostic::do_not_recommend]
impl<T: Elem, const R: usize> Parameter for View<T, R> {
    type Host<'a> = &'a Tensor<T, R>;
    fn ty() -> Type {
        Type::View(ViewType::dynamic(T::ELEM, R, false))
    }
    fn arg<'a>(host: Self::Host<'a>) -> Arg<'a> {
        Arg::View(host.as_any())
    }
    fn of(v: Val) -> Self {
        View::of(v)
    }
}
#[diagnostic::do_not_recommend]
impl<T: Elem, const R: usize> Parameter for ViewMut<T, R> {
    type Host<'a> = &'a mut Tensor<T, R>;
    fn ty() -> Type {
        Type::View(ViewType::dynamic(T::ELEM, R, true))
    }
    fn arg<'a>(host: Self::Host<'a>) -> Arg<'a> {
        Arg::ViewMut(host.as_any_mut())
    }
    fn of(v: Val) -> Self {
        ViewMut::of(v)
    }
}
#[diagnostic::do_not_recommend]
impl<T: Elem> Parameter for Scalar<T> {
    type Host<'a> = T;
    fn ty() -> Type {
        Type::Scalar(T::ELEM)
    }
    fn arg<'a>(host: Self::Host<'a>) -> Arg<'a> {
        Arg::Scalar(Literal { elem: T::ELEM, bits: host.to_bits() })
    }
    fn of(v: Val) -> Self {
        Scalar::of(v)
    }
}

/// A `#[comptime]` parameter: part of the specialisation, compared by value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a #[comptime] parameter",
    label = "needs `Clone + Hash + Eq + Debug`, and to be `Send + Sync + 'static`",
    note = "`#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]`; a float goes in as its bits"
)]
pub trait Comptime: Clone + Hash + Eq + Debug + Send + Sync + 'static {}
#[diagnostic::do_not_recommend]
impl<C: Clone + Hash + Eq + Debug + Send + Sync + 'static> Comptime for C {}

/// A value of any type inside a key.
trait KeyValue: Send + Sync {
    fn any(&self) -> &dyn Any;
    fn equals(&self, other: &dyn KeyValue) -> bool;
    fn hash_into(&self, state: &mut dyn Hasher);
}
impl<C: Comptime> KeyValue for C {
    fn any(&self) -> &dyn Any {
        self
    }
    fn equals(&self, other: &dyn KeyValue) -> bool {
        other.any().downcast_ref::<C>() == Some(self)
    }
    fn hash_into(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }
}
#[derive(Clone)]
enum KeyPart {
    Type(TypeId),
    Value(Arc<dyn KeyValue>),
}
/// What makes two launches the same kernel: the function, its type parameters, consts and comptime values.
#[derive(Clone)]
struct Key {
    module: &'static str,
    name: &'static str,
    place: (&'static str, u32, u32),
    /// The address of the body's instance.
    body: usize,
    parts: Vec<KeyPart>,
}
impl PartialEq for Key {
    fn eq(&self, o: &Key) -> bool {
        let same = |(a, b): (&KeyPart, &KeyPart)| match (a, b) {
            (KeyPart::Type(a), KeyPart::Type(b)) => a == b,
            (KeyPart::Value(a), KeyPart::Value(b)) => a.equals(b.as_ref()),
            (KeyPart::Type(_), KeyPart::Value(_)) | (KeyPart::Value(_), KeyPart::Type(_)) => false,
        };
        (self.module, self.name, self.place, self.body) == (o.module, o.name, o.place, o.body)
            && self.parts.len() == o.parts.len()
            && self.parts.iter().zip(&o.parts).all(same)
    }
}
impl Eq for Key {}
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.module, self.name, self.place, self.body).hash(state);
        for part in &self.parts {
            match part {
                KeyPart::Type(id) => id.hash(state),
                KeyPart::Value(v) => v.hash_into(state),
            }
        }
    }
}

/// Traces of this process, so that a warm launch never traces.
static TRACES: Mutex<Option<FxHashMap<Key, Arc<Module>>>> = Mutex::new(None);
/// Traces kept; a process that specialises more often starts over, so that memory stays bounded.
const MAX_TRACES: usize = 4096;

fn cached(key: &Key) -> Option<Arc<Module>> {
    let traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    traces.as_ref()?.get(key).cloned()
}
fn keep(key: &Key, module: &Arc<Module>) {
    let mut traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    let traces = traces.get_or_insert_default();
    if traces.len() >= MAX_TRACES {
        traces.clear();
    }
    traces.insert(key.clone(), module.clone());
}

/// A bound runtime argument; gives its handle while the body is traced.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Slot<P> {
    index: usize,
    /// Kept as a function, so that a type that is no parameter is reported once, where it is bound.
    of: fn(Val) -> P,
}
impl<P> Slot<P> {
    #[track_caller]
    pub fn handle(&self) -> P {
        (self.of)(trace::parameter(self.index))
    }
}

/// A kernel with its arguments, and how to run it: what calling a `#[kernel]` gives.
#[must_use = "a launch does nothing until it is run: `.run(&mut runtime)`"]
pub struct Launch<'a> {
    key: Key,
    key_text: Vec<(String, String)>,
    params: Vec<(&'static str, Type)>,
    args: Vec<Arg<'a>>,
    config: LaunchConfig,
    deny: Deny,
    retrace: bool,
    body: Box<dyn Fn() + Send + Sync + 'a>,
}

/// How generated code builds a launch.
#[doc(hidden)]
impl<'a> Launch<'a> {
    #[track_caller]
    pub fn new(name: &'static str, module: &'static str) -> Self {
        let at = Location::caller();
        Launch {
            key: Key { module, name, place: (at.file(), at.line(), at.column()), body: 0, parts: Vec::new() },
            key_text: Vec::new(),
            params: Vec::new(),
            args: Vec::new(),
            config: LaunchConfig::default(),
            deny: Deny::default(),
            retrace: std::env::var_os("TILEWRIGHT_RETRACE").is_some_and(|v| v != "0"),
            body: Box::new(|| ()),
        }
    }
    pub fn type_param<T: 'static>(&mut self, name: &str) {
        self.key.parts.push(KeyPart::Type(TypeId::of::<T>()));
        self.key_text.push((name.to_string(), short_type_name(std::any::type_name::<T>())));
    }
    pub fn const_param<C: Comptime>(&mut self, name: &str, value: C) {
        self.comptime(name, &value);
        if let (Some(last), Some(&super::shape::ANY)) = (self.key_text.last_mut(), (&value as &dyn Any).downcast_ref())
        {
            last.1 = "ANY".to_string();
        }
    }
    pub fn comptime<C: Comptime>(&mut self, name: &str, value: &C) {
        self.key.parts.push(KeyPart::Value(Arc::new(value.clone())));
        self.key_text.push((name.to_string(), format!("{value:?}")));
    }
    pub fn bind<P: Parameter>(&mut self, name: &'static str, host: P::Host<'a>) -> Slot<P> {
        self.params.push((name, P::ty()));
        self.args.push(P::arg(host));
        Slot { index: self.params.len() - 1, of: P::of }
    }
    /// Of `#[kernel(deny(..))]`: the same for all launches of a kernel, so no part of its key.
    pub fn deny(&mut self, name: &str) {
        let known = self.deny.add(name);
        debug_assert!(known, "the macro lets known names through only");
    }
    pub fn body(mut self, instance: *const (), body: impl Fn() + Send + Sync + 'a) -> Self {
        self.key.body = instance as usize;
        self.body = Box::new(body);
        self
    }
}

impl<'a> Launch<'a> {
    /// How many programs run. Default: one.
    pub fn grid(mut self, grid: Grid) -> Self {
        self.config.grid = grid;
        self
    }
    /// Messages a queue holds before a send waits. Default: the backend's choice, usually 4.
    pub fn queue_depth(mut self, messages: u32) -> Self {
        self.config.queue_depth = Some(messages);
        self
    }
    /// Threads per program on a GPU. Default: the backend's choice.
    pub fn threads(mut self, threads: u32) -> Self {
        self.config.threads = Some(threads);
        self
    }
    /// On a GPU: whether `a * b + c` may round once, and f32 functions may be those of the hardware, faster and less exact
    /// (`docs/gpu-math.md`). Default: no.
    pub fn fast_math(mut self, yes: bool) -> Self {
        self.config.fast_math = yes;
        self
    }
    /// Traces again even if this specialisation has been traced, and compares: finds bodies that are not pure.
    /// `TILEWRIGHT_RETRACE=1` does so for every launch.
    pub fn retrace(mut self, yes: bool) -> Self {
        self.retrace = yes;
        self
    }

    /// The kernel's IR, traced the first time. To run it too, take `ready()`, which holds the module.
    ///
    /// # Errors
    /// All faults of the kernel at once, each with the user's line.
    pub fn trace(self) -> Result<Arc<Module>, Diagnostics> {
        self.module()
    }
    fn module(&self) -> Result<Arc<Module>, Diagnostics> {
        let known = cached(&self.key);
        if let Some(module) = &known
            && !self.retrace
        {
            return Ok(module.clone());
        }
        let module = Arc::new(self.record()?);
        if self.retrace {
            let other = known.map_or_else(|| self.record().map(Arc::new), Ok)?;
            self.compare(&other, &module)?;
        }
        keep(&self.key, &module);
        Ok(module)
    }
    fn record(&self) -> Result<Module, Diagnostics> {
        let subject = Subject { name: self.key.name, key: &self.key_text, params: &self.params, deny: self.deny };
        trace::record(&subject, &*self.body)
    }
    fn compare(&self, first: &Module, second: &Module) -> Result<(), Diagnostics> {
        if first == second {
            return Ok(());
        }
        let (a, b) = (print(first), print(second));
        let (mut a, mut b) = (a.lines(), b.lines());
        let (a, b) = loop {
            match (a.next(), b.next()) {
                (Some(x), Some(y)) if x == y => {}
                (x, y) => break (x.unwrap_or("(nothing)").trim().into(), y.unwrap_or("(nothing)").trim().into()),
            }
        };
        let d = LangFault::Impure { first: a, second: b }.diagnostic().label(self.place(), "this kernel");
        Err(match first_difference(first, second) {
            Some(op) => d.at(second, second.op(op).loc, "they part here"),
            None => d,
        }
        .into())
    }
    fn place(&self) -> Place {
        let (file, line, col) = self.key.place;
        Place { file: file.into(), line, col }
    }

    /// The traced kernel with its arguments, after the checks that hold on every backend.
    ///
    /// # Errors
    /// All faults of the kernel, or of the launch, at once.
    pub fn ready(self) -> Result<Ready<'a>, Diagnostics> {
        let module = self.module()?;
        let mut found = Diagnostics::default();
        self.check_config(&mut found);
        self.check_lengths(&module, &mut found);
        found.finish()?;
        Ok(Ready { module, args: self.args, config: self.config })
    }
    /// Runs the kernel to its end; results are in the tensors bound to `ViewMut`s.
    ///
    /// # Errors
    /// All faults of the kernel or the launch, or what went wrong in the run.
    pub fn run<B: Backend>(self, backend: &mut B) -> Result<B::Report, Diagnostics> {
        backend.execute(self.ready()?)
    }

    fn check_config(&self, found: &mut Diagnostics) {
        let mut report = |fault: LangFault| found.push(fault.diagnostic().label(self.place(), "this kernel"));
        let grid = self.config.grid;
        match grid.num_programs() {
            Some(0) => report(LangFault::NoPrograms { grid }),
            Some(n) if i32::try_from(n).is_ok() => {}
            Some(_) | None => report(LangFault::TooManyPrograms { grid }),
        }
        if self.config.queue_depth == Some(0) {
            report(LangFault::ZeroQueueDepth);
        }
        if self.config.threads == Some(0) {
            report(LangFault::ZeroThreads);
        }
    }
    /// `x.len(axis)` is an i32.
    fn check_lengths(&self, m: &Module, found: &mut Diagnostics) {
        let long = |dims: &[usize]| dims.iter().any(|len| i32::try_from(*len).is_err());
        let any_long = self.args.iter().any(|arg| match arg {
            Arg::View(t) => long(&t.dims),
            Arg::ViewMut(t) => long(&t.dims),
            Arg::Scalar(_) => false,
        });
        if !any_long {
            return;
        }
        m.each_op(&mut |op| {
            let data = m.op(op);
            let Op::Len(len) = &data.op else { return };
            let Some(index) = m.params.iter().position(|p| *p == len.view) else { return };
            let dims = match self.args.get(index) {
                Some(Arg::View(t)) => &t.dims,
                Some(Arg::ViewMut(t)) => &t.dims,
                Some(Arg::Scalar(_)) | None => return,
            };
            let axis = len.axis.0 as usize;
            if let Some(&len) = dims.get(axis)
                && i32::try_from(len).is_err()
            {
                let parameter = self.params.get(index).map_or("", |p| p.0).to_string();
                let fault = LangFault::LongAxis { parameter, axis, len };
                found.push(fault.diagnostic().at(m, data.loc, "its length is asked for here"));
            }
        });
    }
}

/// The first op in which two traces differ, as an op of the second.
fn first_difference(first: &Module, second: &Module) -> Option<OpId> {
    let differs = |op: &OpId| op.index() >= first.num_ops() || op_text(first, *op) != op_text(second, *op);
    let last = second.num_ops().checked_sub(1).map(|n| OpId(n as u32));
    (0..second.num_ops() as u32).map(OpId).find(differs).or(last)
}

/// A type's name without the paths: `half::binary16::f16` is `f16`.
fn short_type_name(full: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let mut chars = full.chars().peekable();
    while let Some(c) = chars.next() {
        if c == ':' && chars.peek() == Some(&':') {
            chars.next();
            word.clear(); // what stood before was a path
        } else if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            out.push_str(&std::mem::take(&mut word));
            out.push(c);
        }
    }
    out + &word
}

#[cfg(test)]
mod tests {
    use super::short_type_name;

    #[test]
    fn type_names_in_a_key_have_no_paths() {
        assert_eq!(short_type_name("half::binary16::f16"), "f16");
        assert_eq!(short_type_name("a::b::Pair<core::option::Option<f32>, [x::Y; 2]>"), "Pair<Option<f32>, [Y; 2]>");
    }
}
