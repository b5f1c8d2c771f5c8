//! When instructions run, as far as their order in the text does not say it.

use crate::ptx::{Body, Label, Line, Op};
use rustc_hash::FxHashMap;

/// When each line runs, as a number of a line: what stands behind the end of the kernel runs where it is branched to.
pub fn places(body: &Body) -> Vec<usize> {
    let mut first_branch: FxHashMap<Label, usize> = FxHashMap::default();
    let mut end = usize::MAX;
    for (at, line) in body.lines().enumerate() {
        match line.inst.op {
            Op::Bra { to, .. } => {
                first_branch.entry(to).or_insert(at);
            }
            // A guarded one leaves the middle of a kernel.
            Op::Ret if line.inst.guard.is_none() => end = end.min(at),
            _ => {}
        }
    }
    let mut from = None;
    let place = |(at, line): (usize, &Line)| {
        if at <= end {
            return at;
        }
        if let Op::Label(label) = line.inst.op {
            match first_branch.get(&label) {
                Some(branch) if *branch < end => from = Some(*branch),
                // Of the piece at hand, which skips a part of itself.
                Some(branch) if *branch < at => {}
                // Of another such piece: it may run at any time.
                _ => from = None,
            }
        }
        from.unwrap_or(at)
    };
    body.lines().enumerate().map(place).collect()
}
