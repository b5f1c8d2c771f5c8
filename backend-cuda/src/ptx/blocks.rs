//! The flow of control through a kernel's instructions: straight pieces between labels and branches.

use super::body::Line;
use super::inst::{Inst, Label, Op};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Straight pieces, in the order of the instructions.
pub struct Blocks {
    starts: Vec<usize>,
    /// By block: those that may run after it.
    pub next: Vec<Vec<usize>>,
    lines: usize,
}

impl Blocks {
    pub fn of(lines: &[&Line]) -> Blocks {
        let mut starts = vec![0];
        let mut labels: FxHashMap<Label, usize> = FxHashMap::default();
        for (at, line) in lines.iter().enumerate() {
            match line.inst.op {
                Op::Label(label) => {
                    if starts.last() != Some(&at) {
                        starts.push(at);
                    }
                    labels.insert(label, starts.len() - 1);
                }
                Op::Bra { .. } | Op::Ret => starts.push(at + 1),
                _ => {}
            }
        }
        let count = starts.len();
        let mut blocks = Blocks { starts, next: vec![Vec::new(); count], lines: lines.len() };
        for block in 0..count {
            let last = blocks.range(block).next_back().map(|at| &lines[at].inst);
            let follows = (block + 1 < count).then_some(block + 1);
            blocks.next[block] = match last {
                Some(Inst { guard, op: Op::Bra { to, .. } }) => {
                    let fall = follows.filter(|_| guard.is_some());
                    labels.get(to).copied().into_iter().chain(fall).collect()
                }
                Some(Inst { guard: None, op: Op::Ret }) => Vec::new(),
                _ => follows.into_iter().collect(),
            };
        }
        blocks
    }
    pub fn count(&self) -> usize {
        self.starts.len()
    }
    /// The instructions of a block.
    pub fn range(&self, block: usize) -> Range<usize> {
        self.starts[block]..self.starts.get(block + 1).copied().unwrap_or(self.lines)
    }
}
