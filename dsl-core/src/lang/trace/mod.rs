//! The tracer: one per thread while a kernel body runs. It holds the IR builder and adds what the builder does not know:
//! the user's location of each op with the calls it was inlined at, names, faults, and which values a place may use.
//!
//! A fault does not stop the trace: the op is appended with the type its handle says, its results are marked, and what
//! uses them is not checked again, so each mistake is reported once. Only limits and panics end a trace early.
//!
//! `append`: ops, constants and parameters. `region`: bodies of loops and conditions. `name`: the names that statements give.

mod append;
mod name;
mod region;

use super::errors::{LangFault, MAX_CALLS, MAX_NESTING, MAX_OPS, MAX_STACK};
use super::handle::Val;
use super::unwind;
use crate::diag::{Color, Diagnostic, Diagnostics, render};
use crate::ir::loc::Place;
use crate::ir::verify::verify;
use crate::ir::{Builder, Def, Deny, Fault, Literal, Loc, LocId, Module, Op, RegionId, Results, Type, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::Arc;

pub(crate) use append::{constant, effect, emit, emit_all, fail, known, parameter, silent_type, spoil, tile_type, ty};
pub use name::{Mark, mark, name_last, named};
pub(crate) use name::{hands_back, name};
pub(crate) use region::{Traced, has_effects, hide, region, reveal, splice};

thread_local! {
    static TRACER: RefCell<Option<Tracer>> = const { RefCell::new(None) };
    static TRACES: Cell<u32> = const { Cell::new(0) };
}

/// What is traced: the kernel's name, its specialisation for print, and its runtime parameters.
pub(crate) struct Subject<'a> {
    pub name: &'a str,
    pub key: &'a [(String, String)],
    pub params: &'a [(&'static str, Type)],
    pub deny: Deny,
}

/// Runs a body on a fresh tracer.
///
/// # Errors
/// Every fault that was found; a panic of the body is one of them.
pub(crate) fn record(subject: &Subject<'_>, body: &dyn Fn()) -> Result<Module, Diagnostics> {
    let outside = TRACER.replace(Some(Tracer::new(subject)));
    let ended = unwind::catch(body);
    let Some(mut tracer) = TRACER.replace(outside) else { return Err(Diagnostics::default()) };
    match ended {
        unwind::Ended::Returned => {}
        unwind::Ended::Aborted => return Err(tracer.found), // a limit, reported where it was met
        unwind::Ended::Panicked { text, at } => {
            tracer.panicked(text, at);
            return Err(tracer.found);
        }
    }
    tracer.found.finish()?;
    let module = tracer.b.finish();
    verify(&module)?;
    Ok(module)
}

pub(crate) struct Tracer {
    b: Builder,
    /// Tells handles of this trace from others.
    number: u32,
    /// Where the operation that is being traced stands in the user's source.
    here: &'static Location<'static>,
    /// An address of the host stack near the body.
    stack: usize,
    /// Call sites of the `#[device]` functions that are being traced, outermost first.
    frames: Vec<LocId>,
    locs: FxHashMap<(*const Location<'static>, Option<LocId>), LocId>,
    files: FxHashMap<&'static str, Arc<str>>,
    /// Regions whose values may be used here; the last is where ops go.
    visible: Vec<RegionId>,
    /// The region each value belongs to, by value.
    homes: Vec<RegionId>,
    /// Regions whose ops were moved into another.
    merged: FxHashMap<RegionId, RegionId>,
    /// Results of faulty ops.
    spoilt: FxHashSet<ValueId>,
    /// Regions that yield such results.
    spoilt_regions: FxHashSet<RegionId>,
    /// The next op is faulty for a reason already reported.
    spoil_next: bool,
    last: Last,
    /// Room for the operands of the op that is being traced.
    uses: Vec<ValueId>,
    found: Diagnostics,
    reported: FxHashSet<(&'static str, LocId, String)>,
}

/// What the last operation or `#[device]` function handed back, for the name of the statement around it.
#[derive(Default)]
struct Last {
    values: Vec<ValueId>,
    /// The names of the parts: `m`, `l` for a struct, `0`, `1` for a tuple; may be empty.
    parts: Vec<String>,
}
impl Last {
    fn set(&mut self, values: impl Iterator<Item = ValueId>, parts: Vec<String>) {
        self.values.clear();
        self.values.extend(values);
        self.parts = parts;
    }
}

const BODY: RegionId = RegionId(0);

impl Tracer {
    fn new(subject: &Subject<'_>) -> Tracer {
        let number = TRACES.with(|n| {
            n.set(n.get().wrapping_add(1).max(1));
            n.get()
        });
        let mut b = Builder::new(subject.name);
        subject.key.iter().for_each(|(name, value)| b.key(name, value));
        for (name, ty) in subject.params {
            b.param(name, *ty);
        }
        b.deny(subject.deny);
        let mut t = Tracer {
            b,
            number,
            here: Location::caller(),
            stack: stack_address(),
            frames: Vec::new(),
            locs: FxHashMap::default(),
            files: FxHashMap::default(),
            visible: vec![BODY],
            homes: Vec::new(),
            merged: FxHashMap::default(),
            spoilt: FxHashSet::default(),
            spoilt_regions: FxHashSet::default(),
            spoil_next: false,
            last: Last::default(),
            uses: Vec::new(),
            found: Diagnostics::default(),
            reported: FxHashSet::default(),
        };
        t.settle(BODY);
        t
    }
    fn module(&self) -> &Module {
        self.b.module()
    }
    /// Notes that all values made since the last time belong to `home`.
    fn settle(&mut self, home: RegionId) {
        self.homes.resize(self.b.module().num_values(), home);
    }
    fn val(&self, id: ValueId) -> Val {
        Val { id, trace: self.number }
    }
    fn current(&self) -> RegionId {
        self.visible.last().copied().unwrap_or(BODY)
    }

    /// The IR value behind a handle.
    pub(crate) fn id(&mut self, v: Val) -> ValueId {
        if v.trace == self.number && v.id.index() < self.homes.len() {
            return v.id;
        }
        self.fail(LangFault::Foreign);
        self.spoil_next = true;
        self.literal(Literal::from(false))
    }
    pub(crate) fn ids(&mut self, vals: &[Val]) -> Vec<ValueId> {
        vals.iter().map(|v| self.id(*v)).collect()
    }
    fn type_of(&mut self, v: Val) -> Type {
        let id = self.id(v);
        self.module().ty(id)
    }
    /// A constant; it belongs to the whole kernel.
    pub(crate) fn literal(&mut self, lit: Literal) -> ValueId {
        let id = self.b.constant(lit);
        self.settle(BODY);
        id
    }

    fn loc(&mut self) -> LocId {
        let inlined_at = self.frames.last().copied();
        let key = (std::ptr::from_ref(self.here), inlined_at);
        if let Some(loc) = self.locs.get(&key) {
            return *loc;
        }
        let file = self.files.entry(self.here.file()).or_insert_with(|| self.here.file().into()).clone();
        let place = Place { file, line: self.here.line(), col: self.here.column() };
        let loc = self.b.locs().intern(Loc { place, inlined_at });
        self.locs.insert(key, loc);
        loc
    }

    fn report(&mut self, d: Diagnostic) {
        self.report_with(d, None);
    }
    fn report_with(&mut self, d: Diagnostic, other: Option<(LocId, &str)>) {
        let loc = self.loc();
        if self.reported.insert((d.code, loc, d.message.clone())) {
            let d = d.at(self.b.module(), loc, "");
            let d = match other {
                Some((at, text)) => d.at(self.b.module(), at, text),
                None => d,
            };
            self.found.push(d);
        }
    }
    pub(crate) fn fail(&mut self, fault: LangFault) {
        self.report(fault.diagnostic());
    }
    fn fault(&mut self, fault: Fault) {
        if let Fault::Unlike { a, b } = fault
            && a.elem() == b.elem()
            && a.dims().map(|d| d.rank()) == b.dims().map(|d| d.rank())
        {
            return self.fail(LangFault::AnyLength { a, b }); // the types agree, so only such a length can differ
        }
        self.report(Diagnostic::new(fault.code(), fault.to_string()).next(fault.next()));
    }
    fn panicked(&mut self, text: String, at: Option<Place>) {
        let d = LangFault::Panicked { text }.diagnostic();
        let last = "the trace had come to here";
        let d = match at {
            Some(place) => d.label(place, ""),
            None => d,
        };
        let loc = self.loc();
        let d = if self.module().num_ops() > 0 { d.at(self.b.module(), loc, last) } else { d };
        self.found.push(d);
    }
    /// Ends the trace after a limit was met and reported.
    fn abort(&mut self, fault: LangFault) -> ! {
        self.fail(fault);
        unwind::abort()
    }

    /// Whether a value may be used at the current place.
    fn reachable(&self, v: ValueId) -> bool {
        let mut home = self.homes.get(v.index()).copied().unwrap_or(BODY);
        while let Some(into) = self.merged.get(&home) {
            home = *into;
        }
        self.visible.iter().rev().any(|r| *r == home)
    }
    /// Reports values used outside their region; says whether all is well.
    fn check_uses(&mut self, uses: &[ValueId]) -> bool {
        let mut good = true;
        for &v in uses {
            if self.spoilt.contains(&v) {
                good = false;
            } else if !self.reachable(v) {
                self.escaped(v);
                good = false;
            }
        }
        good
    }

    fn escaped(&mut self, v: ValueId) {
        let fault = LangFault::Escaped { ty: self.module().ty(v) }.diagnostic();
        let made = match self.module().def(v) {
            Def::Result(op, _) => self.module().op(op).loc,
            Def::Param(_) | Def::Const(_) | Def::Arg(..) => LocId::UNKNOWN,
        };
        self.report_with(fault, Some((made, "made here")));
    }

    fn emit(&mut self, op: Op, fallback: &[Type]) -> Results {
        if self.module().num_ops() >= MAX_OPS {
            self.abort(LangFault::TooManyOps);
        }
        let loc = self.loc();
        let mut good = !std::mem::take(&mut self.spoil_next);
        let mut uses = std::mem::take(&mut self.uses);
        op.each_operand(&mut |v| uses.push(v));
        good &= self.check_uses(&uses);
        uses.clear();
        self.uses = uses;
        op.each_region(&mut |r| good &= !self.spoilt_regions.contains(&r));
        let types = match op.result_types(self.module()) {
            Ok(types) if good => Some(types),
            Ok(_) => None,
            Err(fault) => {
                if good {
                    self.fault(fault);
                }
                None
            }
        };
        let results = self.b.push_unchecked(op, types.as_deref().unwrap_or(fallback), loc);
        self.settle(self.current());
        if types.is_none() {
            self.spoilt.extend(results.iter());
        }
        if results.count > 0 {
            self.last.set(results.iter(), Vec::new());
        }
        results
    }

    fn open(&mut self, args: &[Type], names: &[String]) -> Vec<Val> {
        if self.visible.len() > MAX_NESTING {
            self.abort(LangFault::Nesting);
        }
        let region = self.b.open(args);
        self.visible.push(region);
        self.settle(region);
        let args = self.module().region(region).args.clone();
        for (arg, name) in args.iter().zip(names).filter(|(_, n)| !n.is_empty()) {
            self.b.name(*arg, name);
        }
        args.into_iter().map(|a| self.val(a)).collect()
    }
    fn close(&mut self, yields: &[Val]) -> RegionId {
        let yields = self.ids(yields);
        let good = self.check_uses(&yields) & !std::mem::take(&mut self.spoil_next);
        self.visible.pop();
        let region = self.b.close(yields);
        if !good {
            self.spoilt_regions.insert(region);
        }
        region
    }
    fn name_last(&mut self, mark: Mark, name: &str) {
        let Last { values, parts } = std::mem::take(&mut self.last);
        // What was there before the statement, or belongs to the whole kernel, keeps the name it has.
        let made = |v: ValueId| v.0 >= mark.0 && matches!(self.b.module().def(v), Def::Result(..));
        let named: Vec<(usize, ValueId)> = values.iter().copied().enumerate().filter(|(_, v)| made(*v)).collect();
        for (i, v) in named {
            match parts.get(i).map_or("", String::as_str) {
                "" => self.b.name(v, name),
                part => self.b.name(v, &format!("{name}.{part}")),
            }
        }
        self.last = Last { values, parts };
    }
}

/// Runs `f` on the tracer of this thread, at the caller's place.
#[track_caller]
pub(crate) fn at<R>(f: impl FnOnce(&mut Tracer) -> R) -> R {
    let here = Location::caller();
    let done = TRACER.with_borrow_mut(|t| {
        t.as_mut().map(|t| {
            t.here = here;
            if t.stack.abs_diff(stack_address()) > MAX_STACK {
                t.abort(LangFault::Recursion);
            }
            f(t)
        })
    });
    match done {
        Some(r) => r,
        None => outside(),
    }
}
fn stack_address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
/// Without a trace there is neither a handle to return nor a launch to return the fault from: host code has called what
/// only a kernel can, which is a bug of the program as an index out of range is. The panic's text is the diagnostic.
#[cold]
#[track_caller]
fn outside() -> ! {
    let at = Location::caller();
    let place = Place { file: at.file().into(), line: at.line(), col: at.column() };
    panic!("{}", render(&LangFault::Outside.diagnostic().label(place, "no kernel is traced here"), Color::Never))
}

/// The call of a `#[device]` function, while its body is traced.
#[doc(hidden)]
pub struct Frame(());
impl Frame {
    #[track_caller]
    pub fn enter() -> Frame {
        let here = Location::caller();
        TRACER.with_borrow_mut(|t| {
            if let Some(t) = t {
                t.here = here;
                if t.frames.len() >= MAX_CALLS {
                    t.abort(LangFault::Recursion);
                }
                let loc = t.loc();
                t.frames.push(loc);
            }
        });
        Frame(())
    }
}
impl Drop for Frame {
    fn drop(&mut self) {
        TRACER.with_borrow_mut(|t| {
            if let Some(t) = t {
                t.frames.pop();
            }
        });
    }
}
