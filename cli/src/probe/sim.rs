//! The probes on the machine model: what a PE, a cube and a SIP stream from their own memory, contiguous and in slabs.

use super::Pattern;
use super::arms::{Arm, Plan, Tensors};
use crate::errors;
use crate::lines::{Lines, tenths};
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::{Backend, Grid};
use tilewright_core::placement::Placement;
use tilewright_harness::cli::{Cell, Facts, Failure};
use tilewright_harness::runtime::{Report, Runtime};
use tilewright_kernels::bw_read::{Order, Shape, spread};
use tilewright_sim::machine::Machine;

/// The largest blocks: nothing hides the way to memory but what is asked for at once.
const BLOCK: Shape = Shape { threads: 4096, vec: 4, ilp: 1 };

/// Every program reads from the memory slice of its PE: a run of its own, or slabs that lie scattered in it.
pub fn run(plan: &Plan, machine: &Machine, lines: &mut Lines<'_>) -> Result<Facts, Failure> {
    let (cubes, pes) = (machine.cubes_per_sip(), machine.pes_per_cube());
    let scopes = [("PE", 1, 1), ("cube", 1, pes), ("SIP", cubes, pes)];
    let patterns: &[Pattern] = match plan.pattern {
        Pattern::Contiguous => &[Pattern::Contiguous],
        Pattern::Slabs => &[Pattern::Contiguous, Pattern::Slabs],
    };
    let ilps: &[usize] = if plan.quick { &[8] } else { &[1, 2, 4, 8] };
    let mut facts = Facts::new();
    let mut best = [0f64; 2];
    for (scope, cubes, pes) in scopes {
        for pattern in patterns {
            for ilp in ilps.iter().filter(|ilp| plan.ilp.is_none_or(|only| only == **ilp)) {
                let shape = Shape { ilp: *ilp, ..BLOCK };
                let arm = Arm { pattern: *pattern, shape, blocks: cubes * pes };
                let Some((gbs, told)) = measured(plan, machine, &arm, (cubes, pes))? else { continue };
                facts = told;
                if scope == "PE" {
                    let best = &mut best[usize::from(*pattern == Pattern::Slabs)];
                    *best = best.max(gbs);
                }
                let [peer, name, load, ilp, blocks, _] = arm.cells();
                let cells = [peer, name, load, ilp, blocks, Cell::Empty, tenths(gbs), Cell::Empty, scope.into()];
                lines.row(&cells.into_iter().chain([Cell::Empty]).collect::<Vec<Cell>>())?;
            }
        }
    }
    if plan.pattern == Pattern::Slabs {
        let text = format!(
            "scattered slabs cost what contiguous reads cost here ({:.1} and {:.1} GB/s a PE): the model has no row buffers",
            best[1], best[0]
        );
        facts.push(("slabs".to_string(), text));
    }
    Ok(facts)
}

/// GB/s, and what the result says of itself. `None`: there is no kernel of this shape.
fn measured(
    plan: &Plan,
    machine: &Machine,
    arm: &Arm,
    (cubes, pes): (usize, usize),
) -> Result<Option<(f64, Facts)>, Diagnostics> {
    let programs = cubes * pes;
    let (slice, slab) = (plan.amount.pool_rows(), plan.amount.slab_rows());
    let first: Vec<usize> = match arm.pattern {
        Pattern::Contiguous => Vec::new(),
        Pattern::Slabs => {
            let inside = spread(slice, slab, plan.amount.slabs);
            let inside = inside.ok_or_else(|| errors::misfit(&plan.amount.misfit()))?;
            // Program p reads the slabs p, p + programs, ..
            inside.iter().flat_map(|row| (0..programs).map(move |p| p * slice + row)).collect()
        }
    };
    let bytes = programs as u64 * plan.amount.read(arm.pattern);
    let mut tensors = Tensors::of(programs * slice, &first, arm.shape);
    tensors.x = tensors.x.placed(Placement::over_cubes(0, cubes).over_pes(&[(0, pes)]));
    let grid = Grid::cubes(cubes).pes(pes);
    let Some(launch) = tensors.launch(arm, Order::Runs, slab, 1) else { return Ok(None) };
    let launch = launch.grid(grid).ready()?;
    let report = Runtime::sim_with(machine.clone()).timing_only()?.execute(launch)?;
    let ns = match &report {
        Report::Sim(sim) => sim.timing.wall.as_ns(),
        _ => f64::NAN,
    };
    Ok(Some((bytes as f64 / ns, report.facts())))
}
