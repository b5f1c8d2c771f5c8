//! Timing the users of a point, and what the columns of several tables are made of.

use super::plan::{Plan, Point};
use crate::errors;
use tilewright_core::diag::Diagnostics;
use tilewright_core::passes;
use tilewright_harness::registry::{Case, Inputs, Instance};
use tilewright_harness::runtime::Runtime;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Limits, Timing, User, time};

pub const KIB: f64 = 1024.0;
pub const MIB: f64 = 1024.0 * 1024.0;

/// Times the users of a point at once, each on cubes of its own. With data, one user's values are computed and compared
/// first.
///
/// # Errors
/// The launch contract, a disagreement with the reference, or what went wrong in the run.
pub fn measure(point: &Point, plan: &Plan) -> Result<Timing, Diagnostics> {
    let mut case = point.instance.case(plan.inputs, &plan.limits())?;
    if let Inputs::Random { .. } = plan.inputs {
        check_values(&point.instance, case.as_mut())?;
    }
    timed(case.as_mut(), point.machine.as_deref().unwrap_or(&plan.machine), point.users, point.cubes)
}

/// Times `users` launches of a case at once, each on `cubes` cubes of its own.
///
/// # Errors
/// The launch contract, or what went wrong in the run.
pub fn timed(case: &mut dyn Case, machine: &Machine, users: usize, cubes: usize) -> Result<Timing, Diagnostics> {
    let ready = case.launch()?.ready()?;
    let module = passes::for_timing(&ready.module);
    let starts = machine.user_starts(users, cubes);
    let users =
        (0..).zip(starts).map(|(user, start)| User { first_cube: user * cubes, start, ..User::alone(&module, &ready) });
    time(machine, &users.collect::<Vec<_>>(), Limits::default())
}

fn check_values(instance: &Instance, case: &mut dyn Case) -> Result<(), Diagnostics> {
    case.launch()?.run(&mut Runtime::reference())?;
    let fault = case.check()?.into_iter().find_map(|output| output.fault);
    fault.map_or(Ok(()), |fault| Err(errors::wrong_values(&instance.to_string(), &fault).into()))
}

/// Commands that the published count takes; `mul` and the copies of yielded tiles are not in it.
const COUNTED: [&str; 7] = ["reduce_max", "reduce_sum", "exp", "sub", "add", "div", "maximum"];

/// MATH operations as the published tables count them.
pub fn math_count(t: &Timing) -> u64 {
    COUNTED.iter().filter_map(|mnemonic| t.commands.get(mnemonic)).sum::<u64>() + t.composite_math_ops
}

/// Time of all PEs together, the denominator of utilisations.
pub fn pe_ns(t: &Timing) -> f64 {
    t.wall.as_ns() * t.n_pe as f64
}

/// Share of what the slices of all PEs could have moved.
pub fn slices_use(plan: &Plan, t: &Timing) -> f64 {
    let rate_ns = plan.machine.hbm.slice_rate.0 as f64 / 1e9;
    (t.sums.read_bytes + t.sums.write_bytes) as f64 / (pe_ns(t) * rate_ns)
}

/// Commands and cycles of the PE that the long-context tables show: PE 0 of cube 6, or of the last cube if there are fewer.
pub fn observed(t: &Timing, cubes: usize) -> (u64, u64) {
    let cube = 6.min(cubes - 1);
    let pe = t.pes.iter().find(|pe| pe.cube as usize == cube && pe.pe == 0);
    pe.map_or((0, 0), |pe| (pe.commands, pe.cycles))
}
