//! In which order ops are issued: loads first, so that all of them are on their way before the first of them is used.

use tilewright_core::ir::{Def, Effect, Module, Op, OpId};

/// Registers of a thread that loads may fill before anything is done with them.
const IN_FLIGHT: usize = 96;

/// The ops of a region, with loads before what does not lead to one, between ops that have effects. `regs`: what a load
/// takes of a thread.
pub(in crate::lower) fn issue_order(m: &Module, ops: &[OpId], regs: &dyn Fn(OpId) -> usize) -> Vec<OpId> {
    let moves = |op: &OpId| {
        let op = &m.op(*op).op;
        !op.has_regions() && matches!(op.effect(), Effect::Pure | Effect::Read)
    };
    let mut out = Vec::with_capacity(ops.len());
    for run in ops.chunk_by(|a, b| moves(a) && moves(b)) {
        let first = leading(m, run, regs);
        out.extend(run.iter().zip(&first).filter(|(_, first)| **first).map(|(op, _)| *op));
        out.extend(run.iter().zip(&first).filter(|(_, first)| !**first).map(|(op, _)| *op));
    }
    out
}

/// Which ops of a run are loads that are issued early, or lead to one.
fn leading(m: &Module, run: &[OpId], regs: &dyn Fn(OpId) -> usize) -> Vec<bool> {
    let mut room = IN_FLIGHT;
    let mut first = vec![false; run.len()];
    for (i, op) in run.iter().enumerate() {
        if matches!(m.op(*op).op, Op::Load(_)) {
            let taken = regs(*op);
            if taken > room {
                break;
            }
            (room, first[i]) = (room - taken, true);
        }
    }
    for i in (0..run.len()).rev().filter(|i| first[*i]).collect::<Vec<_>>() {
        lead(m, run, i, &mut first);
    }
    first
}
/// Marks what an op of the run needs of the run.
fn lead(m: &Module, run: &[OpId], i: usize, first: &mut [bool]) {
    for v in m.op(run[i]).op.operands() {
        if let Def::Result(op, _) = m.def(v)
            && let Some(at) = run[..i].iter().position(|other| *other == op)
            && !first[at]
        {
            first[at] = true;
            lead(m, run, at, first);
        }
    }
}
