//! What the two decode tables share: timing some users of one kernel, and what the columns are made of.

use super::plan::Plan;
use crate::errors;
use tilewright_core::diag::Diagnostics;
use tilewright_core::passes;
use tilewright_harness::registry::{Case, Inputs, Instance};
use tilewright_harness::runtime::Runtime;
use tilewright_kernels::gqa_decode::Mode;
use tilewright_sim::timing::{Limits, Timing, User, time};

/// Cubes that one user's KV heads take, with the kernel's own number of heads.
///
/// # Errors
/// The kernel does not have the parameter.
pub fn cubes(instance: &Instance, mode: Mode) -> Result<usize, Diagnostics> {
    Ok(instance.settings.integer("h-kv")?.div_ceil(mode.kv_per_cube()))
}

/// Times `users` launches of the instance at once, each on `cubes` cubes of its own. With data, one user's values are
/// computed and compared first.
///
/// # Errors
/// The launch contract, a disagreement with the reference, or what went wrong in the run.
pub fn measure(instance: &Instance, plan: &Plan, users: usize, cubes: usize) -> Result<Timing, Diagnostics> {
    let mut case = instance.case(plan.inputs, &plan.limits())?;
    if let Inputs::Random { .. } = plan.inputs {
        check_values(instance, case.as_mut())?;
    }
    let ready = case.launch()?.ready()?;
    let module = passes::for_timing(&ready.module);
    let starts = plan.machine.user_starts(users, cubes);
    let users =
        (0..).zip(starts).map(|(user, start)| User { first_cube: user * cubes, start, ..User::alone(&module, &ready) });
    time(&plan.machine, &users.collect::<Vec<_>>(), Limits::default())
}

fn check_values(instance: &Instance, case: &mut dyn Case) -> Result<(), Diagnostics> {
    case.launch()?.run(&mut Runtime::reference())?;
    let fault = case.check()?.into_iter().find_map(|output| output.fault);
    fault.map_or(Ok(()), |fault| Err(errors::wrong_values(&instance.to_string(), &fault).into()))
}
