//! What is timed: kernels with their arguments, where on the machine they run, and when they start.

use super::errors::{Fault, Unreadable};
use crate::machine::{Barrier, FieldId, Machine, field};
use crate::placement::{CubeSpan, Placed};
use crate::units::Ps;
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::stall::Scene;
use tilewright_core::interp::{ControlTrace, launch_fault};
use tilewright_core::ir::ops::Scope;
use tilewright_core::ir::{Def, Effect, Literal, Module, Op, OpId, Type, ValueId};
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::tensor::AnyTensor;

/// One argument of a launch, as far as time depends on it.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// Lengths and placement; data only where time depends on it.
    View(&'a AnyTensor),
    Scalar(Literal),
}

/// A launch on a part of the machine: one of the users that run at once.
#[derive(Clone, Debug)]
pub struct User<'a> {
    /// After `passes::for_timing`.
    pub module: &'a Module,
    /// One per parameter of the module.
    pub args: Vec<Operand<'a>>,
    pub config: LaunchConfig,
    /// The first cube of the launch, in each of its SIPs.
    pub first_cube: usize,
    /// When its PEs start.
    pub start: Ps,
    /// From a functional run of the same module, where time depends on data.
    pub trace: Option<&'a ControlTrace>,
}

impl<'a> User<'a> {
    /// A launch of a module alone on the machine, from cube 0 and time 0 on.
    pub fn alone(module: &'a Module, launch: &'a Ready<'_>) -> User<'a> {
        let args = launch.args.iter().map(|a| match a {
            Arg::View(t) => Operand::View(t),
            Arg::ViewMut(t) => Operand::View(t),
            Arg::Scalar(s) => Operand::Scalar(*s),
        });
        User { module, args: args.collect(), config: launch.config, first_cube: 0, start: Ps::ZERO, trace: None }
    }
}

/// A launch whose arguments fit its kernel and whose grid fits the machine.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    pub module: &'a Module,
    args: &'a [Operand<'a>],
    /// By parameter: views that the kernel writes, and where views lie.
    written: Vec<bool>,
    placed: Vec<Option<Placed>>,
    pub grid: Grid,
    /// Its first cube, in each of its SIPs.
    first_cube: usize,
    pub queue_depth: u32,
    barrier: Barrier,
    pub start: Ps,
    pub trace: Option<&'a ControlTrace>,
}

impl<'a> Launch<'a> {
    /// # Errors
    /// Everything about the launch that does not fit.
    pub fn check(machine: &Machine, user: &'a User<'a>) -> Result<Launch<'a>, Diagnostics> {
        let (m, grid) = (user.module, user.config.grid);
        let scene = Scene { module: m, grid };
        let mut faults = Diagnostics::default();
        let end = user.first_cube.checked_add(grid.cubes);
        let fits = grid.sips <= machine.topology.sips as usize
            && end.is_some_and(|end| end <= machine.cubes_per_sip())
            && grid.pes <= machine.pes_per_cube();
        if grid.num_programs() == Some(0) {
            faults.push(launch_fault(format!("the grid has no programs: {grid}")));
        } else if !fits {
            let fault = Fault::GridTooLarge { grid, first_cube: user.first_cube, machine: machine.into() };
            faults.push(fault.diagnostic(scene));
        }
        if user.config.queue_depth == Some(0) {
            faults.push(Fault::NoQueueDepth.diagnostic(scene));
        }
        check_args(m, &user.args, &mut faults);
        faults.finish()?;
        let mut launch = Launch {
            module: m,
            args: &user.args,
            written: vec![false; m.params.len()],
            placed: Vec::new(),
            grid,
            first_cube: user.first_cube,
            queue_depth: user.config.queue_depth.unwrap_or(machine.queue.depth),
            barrier: machine.barrier.clone(),
            start: user.start,
            trace: user.trace,
        };
        launch.note_writes();
        launch.place(machine, grid)?;
        Ok(launch)
    }
    fn place(&mut self, machine: &Machine, grid: Grid) -> Result<(), Diagnostics> {
        let span = CubeSpan::of(machine, grid, self.first_cube);
        let mut faults = Diagnostics::default();
        for (i, written) in self.written.iter().enumerate() {
            let name = self.module.value(self.module.params[i]).name.as_deref().unwrap_or("");
            let placed = match self.tensor(i as u32).map(|t| Placed::check(machine, span, name, t, *written)) {
                Some(Ok(placed)) => Some(placed),
                Some(Err(found)) => {
                    faults.0.extend(found.0);
                    None
                }
                None => None,
            };
            self.placed.push(placed);
        }
        faults.finish()
    }
    /// A view's tensor and where it lies.
    pub fn placed(&self, param: u32) -> Option<(&'a AnyTensor, &Placed)> {
        Some((self.tensor(param)?, self.placed.get(param as usize)?.as_ref()?))
    }
    pub fn cubes(&self) -> usize {
        self.grid.sips * self.grid.cubes
    }
    pub fn programs(&self) -> usize {
        self.cubes() * self.grid.pes
    }
    pub fn scene(&self) -> Scene<'a> {
        Scene { module: self.module, grid: self.grid }
    }
    /// From the arrival of the slowest PE at a barrier until all go on, and the field that says so.
    pub fn barrier(&self, scope: Scope) -> (Ps, FieldId) {
        match scope {
            Scope::Cube => (self.barrier.cube, field::barrier::cube),
            Scope::Launch if self.grid.sips > 1 => (self.barrier.sips, field::barrier::sips),
            Scope::Launch => (self.barrier.launch, field::barrier::launch),
        }
    }
    /// Whether the control trace has the results of this op.
    pub fn traced(&self, op: OpId) -> bool {
        self.trace.is_some_and(|t| t.sources.contains(op))
    }
    /// The SIP of a cube of the launch, or behind it in the same SIP, and its number there.
    pub fn place_of(&self, cube: usize) -> (usize, usize) {
        let sip = if self.grid.sips == 1 { 0 } else { cube / self.grid.cubes };
        (sip, self.first_cube + cube - sip * self.grid.cubes)
    }
    fn note_writes(&mut self) {
        let m = self.module;
        m.each_op(&mut |op| {
            let op = &m.op(op).op;
            if let (Effect::Write | Effect::Atomic, Some(at)) = (op.effect(), op.access()) {
                let param = self.param(at.view) as usize;
                self.written[param] = true;
            }
        });
    }
    /// The parameter that a view is.
    pub fn param(&self, view: ValueId) -> u32 {
        match self.module.def(view) {
            Def::Param(i) => i,
            // Views are parameters only (LANGUAGE.md 2); the verifier has seen to it.
            Def::Const(_) | Def::Result(..) | Def::Arg(..) => 0,
        }
    }
    pub fn tensor(&self, param: u32) -> Option<&'a AnyTensor> {
        match self.args.get(param as usize) {
            Some(Operand::View(t)) => Some(t),
            Some(Operand::Scalar(_)) | None => None,
        }
    }
    pub fn scalar(&self, param: usize) -> Option<Literal> {
        match self.args.get(param) {
            Some(Operand::Scalar(s)) => Some(*s),
            Some(Operand::View(_)) | None => None,
        }
    }
    pub fn len(&self, view: ValueId, axis: usize) -> usize {
        self.tensor(self.param(view)).and_then(|t| t.dims.get(axis).copied()).unwrap_or(0)
    }
    /// Why the elements of a view cannot be read while timing; `None` if they can.
    pub fn unreadable(&self, view: ValueId) -> Option<Unreadable> {
        let param = self.param(view);
        if self.written[param as usize] {
            return Some(Unreadable::Written);
        }
        let has_data = self.tensor(param).is_some_and(|t| t.data.is_some());
        (!has_data).then_some(Unreadable::NoData)
    }
}

/// Arguments against parameters, in the interpreter's words.
fn check_args(m: &Module, args: &[Operand<'_>], faults: &mut Diagnostics) {
    if args.len() != m.params.len() {
        let (params, given) = (m.params.len(), args.len());
        faults.push(launch_fault(format!("`{}` has {params} parameters, {given} arguments given", m.name)));
    }
    for (&param, arg) in m.params.iter().zip(args) {
        if !fits(m.ty(param), arg) {
            let name = m.value(param).name.as_deref().unwrap_or("?");
            let (want, found) = (m.ty(param), describe(arg));
            faults.push(launch_fault(format!("argument `{name}` of `{}`: expected {want}, found {found}", m.name)));
        }
    }
    if m.has(|op| matches!(op, Op::MapReduce(_))) {
        faults
            .push(launch_fault("a map_reduce is timed turn by turn: take the module from `passes::for_timing`".into()));
    }
    m.each_op(&mut |op| {
        if let Op::Len(o) = &m.op(op).op
            && let Def::Param(i) = m.def(o.view)
            && let Some(Operand::View(t)) = args.get(i as usize)
            && let Some(len) = t.dims.get(o.axis.0 as usize).filter(|len| i32::try_from(**len).is_err())
        {
            let axis = o.axis.0;
            faults.push(launch_fault(format!(
                "`len` of axis {axis} is asked for, but {len} does not fit i32; pass it as a parameter"
            )));
        }
    });
}
fn describe(arg: &Operand<'_>) -> String {
    match arg {
        Operand::View(t) => format!("a tensor of {} with lengths {:?}", t.elem, t.dims),
        Operand::Scalar(s) => format!("a scalar {}", s.elem),
    }
}
fn fits(param: Type, arg: &Operand<'_>) -> bool {
    match (param, arg) {
        (Type::View(v), Operand::View(t)) => {
            let fixed = v.dims.iter().zip(&t.dims).all(|(want, have)| want.is_none_or(|w| w as usize == *have));
            v.elem == t.elem && v.rank as usize == t.dims.len() && fixed
        }
        (Type::Scalar(e), Operand::Scalar(s)) => e == s.elem,
        (Type::View(_) | Type::Scalar(_) | Type::Tile(..), Operand::View(_) | Operand::Scalar(_)) => false,
    }
}
