//! From a module to PTX: passes, layouts, lowering, text.

use crate::abi::Abi;
use crate::launch_errors::check_threads;
use crate::layout::Layouts;
use crate::lower::{self, Lowered, Move};
use crate::outcome::{Slot, Stop};
use crate::ptx::{Kernel, Printed};
use crate::shared::Plan;
use crate::talk::Talk;
use crate::target::Target;
use std::time::{Duration, Instant};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::{Module, Op, OpId, ValueId};
use tilewright_core::passes::bounds::{Checks, Prover};
use tilewright_core::passes::facts::Known;
use tilewright_core::passes::{self, Remark, Verdict};

/// Who takes the turns of a `map_reduce` is told under this name, beside what passes say.
pub const WARPS: &str = "warps";

/// How to compile.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub target: Target,
    /// Of a CTA: a power of two from 32 to 1024.
    pub threads: u32,
    /// What the code may rely on in every launch that it is for.
    pub known: Known,
    /// Accesses and loops of the optimised module that are checked at launch and failed there: they are checked in place.
    pub in_place: Vec<OpId>,
    /// By parameter: what divides the addresses of its views, in bytes; 16 where nothing is said.
    pub aligned: Vec<u32>,
    /// `a * b + c` may round once, and f32 functions are those of the hardware (`docs/gpu-math.md`).
    pub fast_math: bool,
    /// Of a kernel with messages; `None`: `Talk::DEFAULT`.
    pub talk: Option<Talk>,
}

impl Options {
    /// Right for every launch.
    pub fn new(target: Target, threads: u32) -> Options {
        let (in_place, aligned, known) = (Vec::new(), Vec::new(), Known::default());
        Options { target, threads, known, in_place, aligned, fast_math: false, talk: None }
    }
}

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub kernel: Kernel,
    pub printed: Printed,
    pub abi: Abi,
    /// The error records that it may leave.
    pub slots: Vec<Slot>,
    /// The ops that print, as lines in the buffer number them.
    pub prints: Vec<OpId>,
    /// Where programs may end before their end, as they number them.
    pub stops: Vec<Stop>,
    /// Bytes of global memory that each program's queues take.
    pub mail_bytes: u32,
    /// The loops whose step is looked at when a launch is made: it may be below 1 as far as the code knows.
    pub steps: Vec<OpId>,
    /// The optimised module: what locations and records refer to.
    pub module: Module,
    pub checks: Checks,
    pub remarks: Vec<Remark>,
    /// Of the optimised module's tiles.
    pub layouts: Layouts,
    /// Tiles that were needed in another layout than theirs.
    pub moves: Vec<Move>,
    /// Of shared memory.
    pub plan: Plan,
    pub took: Took,
}

impl Compiled {
    /// What a launch of which this is known has to check in place: accesses and steps of loops that it does not show to be
    /// right.
    pub fn fail_at(&self, known: &Known) -> Vec<OpId> {
        let mut failed = self.checks.fail_at(&self.module, known);
        if !self.steps.is_empty() {
            let prover = Prover::new(&self.module, known);
            let may_fail = |op: &OpId| match &self.module.op(*op).op {
                Op::For(o) => o.range.step.is_some_and(|step| !counts_up(&prover, &self.module, step)),
                _ => false,
            };
            failed.extend(self.steps.iter().copied().filter(may_fail));
        }
        failed
    }
}

/// Whether a step is known to be 1 or more.
pub(crate) fn counts_up(prover: &Prover<'_>, m: &Module, step: ValueId) -> bool {
    prover.facts().get(m, step).is_some_and(|fact| fact.lo > 0)
}

/// How long the parts of a compilation took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Took {
    pub passes: Duration,
    pub lowering: Duration,
    pub printing: Duration,
}

/// Compiles a verified module.
///
/// # Errors
/// A number of threads that a CTA cannot have, ops that have no lowering, tiles that do not fit its registers.
pub fn compile(m: &Module, options: &Options) -> Result<Compiled, Diagnostics> {
    check_threads(options.threads)?;
    if !m.has(is_shared_out) {
        return lowered(optimised(m, options)?, options);
    }
    // Where accesses are checked changes nothing of this choice, as their ids are those of the module that it leads to.
    let anywhere = Options { in_place: Vec::new(), ..options.clone() };
    let why_not = match by_warps(optimised(m, &anywhere)?, &anywhere) {
        Ok(compiled) if options.in_place.is_empty() => return Ok(compiled),
        Ok(compiled) if !inside(&compiled.module, &options.in_place) => {
            return lowered(optimised(m, options)?, options);
        }
        // Faults are told in the order of turns.
        Ok(_) => {
            let turns = optimised(&passes::expand(m), options)?;
            let options = Options { in_place: all_checked(&turns), ..options.clone() };
            return lowered(turns, &options);
        }
        Err(why_not) => why_not,
    };
    let mut compiled = lowered(optimised(&passes::expand(m), options)?, options)?;
    compiled.remarks.extend(why_not);
    Ok(compiled)
}
/// Whether warps may take turns of it by themselves.
fn is_shared_out(op: &Op) -> bool {
    matches!(op, Op::MapReduce(_))
}
/// Whether one of these ops is in a `map_reduce`.
fn inside(m: &Module, ops: &[OpId]) -> bool {
    let mut found = false;
    m.each_op(&mut |op| {
        if let Op::MapReduce(o) = &m.op(op).op {
            [o.body, o.merge].into_iter().for_each(|r| m.walk(r, &mut |op| found |= ops.contains(&op)));
        }
    });
    found
}
/// Everything that a launch may find has to be checked in place.
fn all_checked((_, optimised): &(Duration, passes::Optimised)) -> Vec<OpId> {
    let mut out: Vec<OpId> = optimised.checks.0.iter().map(|check| check.op).collect();
    let m = &optimised.module;
    m.each_op(&mut |op| out.extend(matches!(m.op(op).op, Op::For(_)).then_some(op)));
    out
}

/// The optimised module, and how long that took.
fn optimised(m: &Module, options: &Options) -> Result<(Duration, passes::Optimised), Diagnostics> {
    let start = Instant::now();
    let options = passes::Options { known: options.known.clone(), ahead: true, ..Default::default() };
    let optimised = passes::optimise(m, &options)?;
    Ok((start.elapsed(), optimised))
}
/// With warps that take turns by themselves; or why not.
fn by_warps((took, module): (Duration, passes::Optimised), options: &Options) -> Result<Compiled, Vec<Remark>> {
    let remark = |op, text| Remark::new(WARPS, Verdict::Declined, &module.module, op, text);
    let refused = lower::refused(&module.module, &module.checks, options);
    if !refused.is_empty() {
        return Err(refused.into_iter().map(|(op, why)| remark(op, why)).collect());
    }
    let mut ops = Vec::new();
    module.module.each_op(&mut |op| ops.extend(is_shared_out(&module.module.op(op).op).then_some(op)));
    let all = |text: &str| ops.iter().map(|op| remark(*op, text.to_string())).collect::<Vec<_>>();
    let failed = all("cannot be lowered so");
    let spills = all("its values do not fit the registers of a warp's threads");
    let applied = ops.iter().map(|op| {
        let text = format!("each of {} warps takes turns by itself", options.threads / 32);
        Remark::new(WARPS, Verdict::Applied, &module.module, *op, text)
    });
    let applied: Vec<Remark> = applied.collect();
    let mut compiled = lowered((took, module), options).map_err(|why| {
        let text = why.0.first().map(|d| d.message.clone());
        failed.into_iter().map(|r| Remark { text: text.clone().unwrap_or(r.text.clone()), ..r }).collect::<Vec<_>>()
    })?;
    if lower::spills(&compiled.kernel) {
        return Err(spills);
    }
    compiled.remarks.extend(applied);
    Ok(compiled)
}
fn lowered((took, module): (Duration, passes::Optimised), options: &Options) -> Result<Compiled, Diagnostics> {
    let passes::Optimised { module, mut remarks, checks } = module;
    let start = Instant::now();
    let Lowered { kernel, abi, slots, prints, stops, mail_bytes, steps, layouts, moves, plan, remarks: more } =
        lower::lower(&module, &checks, options)?;
    remarks.extend(more);
    let lowered = Instant::now();
    let printed = kernel.print();
    let took = Took { passes: took, lowering: lowered - start, printing: lowered.elapsed() };
    Ok(Compiled {
        kernel,
        printed,
        abi,
        module,
        checks,
        remarks,
        slots,
        prints,
        stops,
        mail_bytes,
        steps,
        layouts,
        moves,
        plan,
        took,
    })
}
