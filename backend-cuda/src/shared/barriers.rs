//! Where the threads of a CTA wait for each other: before an access to memory that another thread may have touched since
//! the last barrier, unless both only read. Control flow is the same in all threads, so a barrier may stand anywhere. Only
//! where warps go on by themselves do they wait for no other: the lanes of a warp wait for each other there, and whatever
//! all threads have to have done is awaited before (`Op::Part`).
//!
//! A copy that lands later stays pending until it has been waited for: a barrier before that orders nothing.
//!
//! What is pending at the start of a block is what is pending at the end of any block before it; blocks are walked until
//! nothing changes. Barriers are only ever added, so this ends.

use super::plan::Plan;
use crate::ptx::{Blocks, Body, Cluster, Inst, Line, Memory, Op, Ring, Touch};

/// Accesses since the last barrier, by the instruction that made them.
type Pending = Vec<(usize, Touch)>;

/// Puts barriers where they are needed.
pub fn place_barriers(body: &mut Body, plan: &Plan) {
    let lines = std::mem::take(body.lines_mut());
    let blocks = Blocks::of(&lines.iter().collect::<Vec<_>>());
    let mut before = vec![false; lines.len()];
    let mut at_start: Vec<Pending> = vec![Pending::new(); blocks.count()];
    let mut todo: Vec<usize> = (0..blocks.count()).rev().collect();
    while let Some(block) = todo.pop() {
        let end = walk(&lines, blocks.range(block), at_start[block].clone(), plan, &mut before);
        for &next in &blocks.next[block] {
            let known = &mut at_start[next];
            let new: Vec<_> = end.iter().filter(|p| !known.contains(p)).copied().collect();
            if !new.is_empty() {
                known.extend(new);
                todo.push(next);
            }
        }
    }
    let out = body.lines_mut();
    for (at, line) in lines.into_iter().enumerate() {
        if before[at] {
            let op = if line.by_warp { Op::WarpSync } else { Op::Bar };
            out.push(Line { inst: Inst { guard: None, op }, loc: line.loc, touch: None, by_warp: line.by_warp });
        }
        out.push(line);
    }
}

/// One block; what is pending at its end.
fn walk(
    lines: &[Line],
    range: std::ops::Range<usize>,
    mut pending: Pending,
    plan: &Plan,
    before: &mut [bool],
) -> Pending {
    for at in range {
        let by_warp = lines[at].by_warp;
        if let Some(touch) = lines[at].touch {
            before[at] |= pending.iter().any(|(from, p)| collide(plan, (*from, *p), (at, touch)));
        }
        match lines[at].inst.op {
            // A warp may be far ahead of another: what it touches may be what the other still has to write or read.
            Op::Part => before[at] |= pending.iter().any(|(_, p)| p.writes || matches!(p.memory, Memory::Shared(_))),
            Op::Join => before[at] = true,
            _ => {}
        }
        let ordered = before[at] || orders(lines, at);
        if ordered {
            // A barrier of a warp orders what the warp did by itself.
            pending.retain(|(from, p)| p.lands.is_some() || (by_warp && !lines[*from].by_warp));
        }
        if let Op::CopyWait { upto, .. } = lines[at].inst.op {
            pending.iter_mut().for_each(|(_, p)| p.lands = p.lands.filter(|group| *group > upto));
        }
        if let Some(touch) = lines[at].touch
            && !pending.contains(&(at, touch))
        {
            pending.push((at, touch));
        }
    }
    pending
}

/// Whether threads that are past a line have done all that stands before it.
fn orders(lines: &[Line], at: usize) -> bool {
    match lines[at].inst.op {
        Op::Bar | Op::BarOr { .. } | Op::WarpSync => true,
        // Who waits for the others of a cluster long after it came knows what they did before they came, not since.
        Op::Cluster(Cluster::Wait) => {
            let came = at.checked_sub(1).map(|before| &lines[before].inst.op);
            matches!(came, Some(Op::Cluster(Cluster::Arrive { release: true })))
        }
        _ => false,
    }
}

fn collide(plan: &Plan, (from, a): (usize, Touch), (at, b): (usize, Touch)) -> bool {
    // An access of the same group further down, or at the same place, is one of an earlier turn.
    let same_group = a.group == b.group && (from < at || a.apart);
    // A ring's loop keeps its slots apart; what fills them before it goes to different ones.
    let ordered = match (a.ring, b.ring) {
        (Some(_), Some(Ring::Turning)) => true,
        (Some(Ring::Filling), Some(Ring::Filling)) => a.lands.is_some(),
        _ => false,
    };
    let turning = a.memory == b.memory && ordered;
    (a.writes || b.writes) && !same_group && !turning && plan.overlap(a.memory, b.memory)
}
