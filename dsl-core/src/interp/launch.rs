//! From a launch to a run: arguments against parameters, then all programs.

use super::machine::{Finished, Machine};
use super::memory::{Elements, View};
use super::pe::Value;
use super::print::Printed;
use super::race::Races;
use super::{Options, Outcome, errors};
use crate::data::Data;
use crate::diag::Diagnostics;
use crate::ir::{Def, Effect, Module, Op, Type, ValueId, ViewType};
use crate::launch::{Arg, Backend, DEFAULT_QUEUE_DEPTH, Grid, Ready};
use crate::unwritten::Unwritten;
use std::sync::Arc;

/// Programs that one launch may have here.
const MAX_PROGRAMS: usize = 1 << 24;

/// Runs a launch to its end; results are in its `ViewMut` tensors.
///
/// # Errors
/// What does not fit in the launch, or all that went wrong in the run. After faults that do not stop a program (an access
/// outside a view, a division by zero, an assertion) the tensors hold what the others computed.
pub fn run(ready: Ready<'_>, options: &Options) -> Result<Outcome, Diagnostics> {
    Interp::new(*options).execute(ready)
}

/// The interpreter as a backend.
#[derive(Clone, Debug, Default)]
pub struct Interp {
    pub options: Options,
    prints: Vec<Printed>,
}

impl Interp {
    pub fn new(options: Options) -> Interp {
        Interp { options, prints: Vec::new() }
    }
    /// What the last launch printed, also if it failed.
    pub fn prints(&self) -> &[Printed] {
        &self.prints
    }
}

impl Backend for Interp {
    type Report = Outcome;
    fn execute(&mut self, ready: Ready<'_>) -> Result<Outcome, Diagnostics> {
        self.prints.clear();
        let module: Arc<Module> = ready.module;
        let (grid, depth) = (ready.config.grid, ready.config.queue_depth.unwrap_or(DEFAULT_QUEUE_DEPTH));
        let mut faults = Vec::new();
        match grid.num_programs() {
            Some(0) => faults.push(format!("the grid has no programs: {grid}")),
            Some(n) if n <= MAX_PROGRAMS => {}
            _ => faults.push(format!("the grid has more than {MAX_PROGRAMS} programs: {grid}")),
        }
        let views = bind(&module, ready.args, &mut faults);
        let len = |i: usize, axis| if let Some(Bound::View(view, _)) = views.get(i) { view.len(axis) } else { None };
        check_lens(&module, len, &mut faults);
        if !faults.is_empty() {
            return Err(Diagnostics(faults.into_iter().map(errors::launch).collect()));
        }
        let registers = registers(&module, &views);
        let races = self.options.check_races.then(|| watch(&module, grid, &views));
        let (views, marks) = views.into_iter().map(Bound::split).unzip();
        let machine = Machine::new(&module, (grid, depth), views, races, &self.options);
        let Finished { prints, steps, control, errors, unwritten } = machine.run(&registers);
        self.prints.clone_from(&prints);
        note_written(marks, unwritten);
        errors.finish()?;
        Ok(Outcome { prints, steps, control })
    }
}

/// An argument that fits its parameter.
enum Bound<'a> {
    Scalar(crate::ir::Literal),
    View(View<'a>, Marks<'a>),
    /// Does not fit; the launch fails.
    Nothing,
}

/// What a tensor says of its unwritten elements.
enum Marks<'a> {
    Read(&'a Unwritten),
    Write(&'a mut Unwritten),
}

impl<'a> Bound<'a> {
    fn split(self) -> (Option<View<'a>>, Option<Marks<'a>>) {
        match self {
            Bound::View(view, marks) => (Some(view), Some(marks)),
            Bound::Scalar(_) | Bound::Nothing => (None, None),
        }
    }
}

/// The check for races over all tensors that have elements.
fn watch(m: &Module, grid: Grid, bound: &[Bound<'_>]) -> Races {
    let mut races = Races::new(grid);
    for (param, bound) in bound.iter().enumerate() {
        let view = if let Bound::View(view, marks) = bound { view.data().map(|data| (data, marks)) } else { None };
        match view {
            None => races.skip(),
            Some((data, Marks::Read(unwritten))) => races.watch(false, data.len(), unwritten),
            Some((data, Marks::Write(unwritten))) => races.watch(is_written(m, param), data.len(), unwritten),
        }
    }
    races
}
/// Whether some op writes the tensor of a parameter.
fn is_written(m: &Module, param: usize) -> bool {
    let mut found = false;
    m.each_op(&mut |op| {
        let op = &m.op(op).op;
        let writes = matches!(op.effect(), Effect::Write | Effect::Atomic);
        if let Some(at) = op.access().filter(|_| writes) {
            found |= match m.def(at.view) {
                Def::Param(i) => i as usize == param,
                Def::Const(_) | Def::Result(..) | Def::Arg(..) => true,
            };
        }
    });
    found
}
/// Tensors know what is still not written; if nobody looked, all of it counts as written.
fn note_written(marks: Vec<Option<Marks<'_>>>, unwritten: Vec<Unwritten>) {
    let known = unwritten.into_iter().chain(std::iter::repeat_with(Unwritten::default));
    for (marks, left) in marks.into_iter().zip(known) {
        match marks {
            Some(Marks::Write(tensor)) => *tensor = left,
            Some(Marks::Read(_)) | None => {}
        }
    }
}

fn bind<'a>(m: &Module, args: Vec<Arg<'a>>, faults: &mut Vec<String>) -> Vec<Bound<'a>> {
    check_count(m, args.len(), faults);
    let mut bound = Vec::new();
    for (&param, arg) in m.params.iter().zip(args) {
        bound.push(bind_one(m.ty(param), arg).unwrap_or_else(|fault| {
            faults.push(of_argument(m, param, &fault));
            Bound::Nothing
        }));
    }
    bound
}
fn bind_one(ty: Type, arg: Arg<'_>) -> Result<Bound<'_>, String> {
    check_one(ty, &arg)?;
    match arg {
        Arg::Scalar(value) => Ok(Bound::Scalar(value)),
        Arg::View(t) => {
            bind_view(&t.dims, t.data.as_ref().map_or(Elements::Missing, Elements::Read), Marks::Read(&t.unwritten))
        }
        Arg::ViewMut(t) => {
            let elements = t.data.as_mut().map_or(Elements::Missing, Elements::Write);
            bind_view(&t.dims, elements, Marks::Write(&mut t.unwritten))
        }
    }
}
/// Whether an argument is what its parameter asks for.
fn check_one(ty: Type, arg: &Arg<'_>) -> Result<(), String> {
    match (ty, arg) {
        (Type::Scalar(elem), Arg::Scalar(value)) if value.elem == elem => Ok(()),
        (Type::View(view), Arg::View(t)) if !view.writable => fits(&view, t.elem, &t.dims, t.data.as_ref()),
        (Type::View(view), Arg::ViewMut(t)) => fits(&view, t.elem, &t.dims, t.data.as_ref()),
        (_, Arg::Scalar(value)) => Err(format!("expected {ty}, found a scalar {}", value.elem)),
        (_, Arg::View(t)) => Err(format!("expected {ty}, found a read-only tensor of {}", t.elem)),
        (_, Arg::ViewMut(t)) => Err(format!("expected {ty}, found a tensor of {}", t.elem)),
    }
}
/// Whether the arguments of a launch fit its kernel, for backends that bind them in their own way.
///
/// # Errors
/// What does not fit, as the interpreter tells it.
pub fn check_args(m: &Module, args: &[Arg<'_>]) -> Result<(), Diagnostics> {
    let mut faults = Vec::new();
    check_count(m, args.len(), &mut faults);
    for (&param, arg) in m.params.iter().zip(args) {
        if let Err(fault) = check_one(m.ty(param), arg) {
            faults.push(of_argument(m, param, &fault));
        }
    }
    let dims = |i: usize| match args.get(i)? {
        Arg::View(t) => Some(t.dims.as_slice()),
        Arg::ViewMut(t) => Some(t.dims.as_slice()),
        Arg::Scalar(_) => None,
    };
    check_lens(m, |i, axis| dims(i)?.get(axis as usize).copied(), &mut faults);
    Diagnostics(faults.into_iter().map(errors::launch).collect()).finish()
}
fn check_count(m: &Module, given: usize, faults: &mut Vec<String>) {
    if given != m.params.len() {
        faults.push(format!("`{}` has {} parameters, {given} arguments given", m.name, m.params.len()));
    }
}
fn of_argument(m: &Module, param: ValueId, fault: &str) -> String {
    let name = m.value(param).name.as_deref().unwrap_or("?");
    format!("argument `{name}` of `{}`: {fault}", m.name)
}
fn bind_view<'a>(dims: &[usize], elements: Elements<'a>, marks: Marks<'a>) -> Result<Bound<'a>, String> {
    let view = View::new(dims, elements).map(|view| Bound::View(view, marks));
    view.ok_or_else(|| format!("a tensor of lengths {dims:?} is too large"))
}
/// Whether a tensor is what the view's type says.
fn fits(view: &ViewType, elem: crate::elem::ElemType, dims: &[usize], data: Option<&Data>) -> Result<(), String> {
    let found = || format!("expected {}, found a tensor of {elem} with lengths {dims:?}", Type::View(*view));
    if elem != view.elem || dims.len() != usize::from(view.rank) {
        return Err(found());
    }
    let mut stride = 1usize;
    for (i, len) in dims.iter().enumerate().rev() {
        let same = |fixed: Option<u32>, is: usize| fixed.is_none_or(|n| n as usize == is);
        if !same(view.dims[i], *len) || !same(view.strides[i], stride) {
            return Err(found());
        }
        stride = stride.saturating_mul(*len);
    }
    match data {
        Some(data) if data.elem() != elem || data.len() != stride => {
            Err(format!("a tensor of lengths {dims:?} holds {} elements of {}", data.len(), data.elem()))
        }
        Some(_) | None => Ok(()),
    }
}
/// `len` is an i32: an axis that the kernel asks for may not be longer.
fn check_lens(m: &Module, len: impl Fn(usize, u32) -> Option<usize>, faults: &mut Vec<String>) {
    m.each_op(&mut |op| {
        if let Op::Len(o) = &m.op(op).op
            && let Def::Param(i) = m.def(o.view)
            && let Some(len) = len(i as usize, o.axis.0).filter(|len| i32::try_from(*len).is_err())
        {
            let fault =
                format!("`len` of axis {} is asked for, but {len} does not fit i32; pass it as a parameter", o.axis.0);
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    });
}
/// What every program starts with: parameters and constants.
fn registers(m: &Module, bound: &[Bound<'_>]) -> Vec<Value> {
    let value = |v: ValueId| match m.def(v) {
        Def::Const(lit) => Value::Scalar(lit),
        Def::Param(i) => match bound.get(i as usize) {
            Some(Bound::Scalar(lit)) => Value::Scalar(*lit),
            Some(Bound::View(..)) => Value::View(i as usize),
            Some(Bound::Nothing) | None => Value::Unset,
        },
        Def::Result(..) | Def::Arg(..) => Value::Unset,
    };
    (0..m.num_values() as u32).map(|v| value(ValueId(v))).collect()
}
