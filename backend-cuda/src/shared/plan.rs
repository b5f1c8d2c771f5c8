//! Where buffers lie: those that are alive at the same time lie apart, others share their place.

use super::places::places;
use crate::ptx::{Body, Label, Memory, Op};
use rustc_hash::FxHashMap;

/// The dynamic shared memory of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// By buffer, in bytes from the start.
    pub offsets: Vec<u32>,
    pub bytes: u32,
    /// Bytes of each buffer.
    pub sizes: Vec<u32>,
}

impl Plan {
    /// Whether two pieces of memory have bytes in common.
    pub fn overlap(&self, a: Memory, b: Memory) -> bool {
        match (a, b) {
            (Memory::View(a), Memory::View(b)) => a == b,
            (Memory::Shared(a), Memory::Shared(b)) => {
                let range = |i: u32| (self.offsets[i as usize], self.offsets[i as usize] + self.sizes[i as usize]);
                let ((a, a_end), (b, b_end)) = (range(a.0), range(b.0));
                a < b_end && b < a_end
            }
            (Memory::View(_), Memory::Shared(_)) | (Memory::Shared(_), Memory::View(_)) => false,
        }
    }
}

/// Buffers that together take no more than this lie apart in any case: sharing a place costs a barrier.
const SMALL: u32 = 8 * 1024;

/// First fit by descending size, over the instructions between the first and the last touch of each buffer. What was written
/// before a loop and is touched in it lives until the loop ends; what warps touch by themselves lives all the time that they do.
pub fn plan(body: &Body) -> Plan {
    let buffers = body.buffers();
    let mut life: Vec<Option<(usize, usize)>> = vec![None; buffers.len()];
    let (mut labels, mut loops): (FxHashMap<Label, usize>, Vec<(usize, usize)>) = Default::default();
    let (mut parted, mut by_warps): (Option<usize>, Vec<(usize, usize)>) = Default::default();
    for (at, line) in places(body).into_iter().zip(body.lines()) {
        match line.inst.op {
            Op::Label(label) => {
                labels.insert(label, at);
            }
            Op::Bra { to, .. } => loops.extend(labels.get(&to).map(|from| (*from, at)).filter(|(from, to)| from < to)),
            Op::Part => parted = Some(at),
            Op::Join => by_warps.extend(parted.take().map(|from| (from, at))),
            _ => {}
        }
        if let Some(touch) = line.touch
            && let Memory::Shared(buffer) = touch.memory
        {
            let range = &mut life[buffer.0 as usize];
            let (first, last) = range.unwrap_or((at, at));
            *range = Some((first.min(at), last.max(at)));
        }
    }
    body.kept_buffers().iter().for_each(|buffer| life[buffer.0 as usize] = Some((0, usize::MAX)));
    // While warps go on by themselves, no one knows how far each of them is.
    for (from, to) in by_warps {
        for (first, last) in life.iter_mut().flatten().filter(|(first, last)| *first < to && from < *last) {
            (*first, *last) = (from.min(*first), to.max(*last));
        }
    }
    // Inner loops end first.
    for (from, to) in loops {
        for (first, last) in
            life.iter_mut().flatten().filter(|(first, last)| *first < from && (from..=to).contains(last))
        {
            (*first, *last) = (*first, to);
        }
    }
    let mut order: Vec<usize> = (0..buffers.len()).filter(|b| life[*b].is_some()).collect();
    order.sort_by_key(|b| (std::cmp::Reverse(buffers[*b].0), *b));
    let mut plan = Plan { offsets: vec![0; buffers.len()], bytes: 0, sizes: buffers.iter().map(|(n, _)| *n).collect() };
    let small = order.iter().map(|b| buffers[*b].0.next_multiple_of(buffers[*b].1)).sum::<u32>() <= SMALL;
    let mut placed: Vec<usize> = Vec::new();
    for b in order {
        let (bytes, align) = buffers[b];
        let meets = |other: &&usize| {
            small || matches!((life[b], life[**other]), (Some((a, z)), Some((c, y))) if a <= y && c <= z)
        };
        let mut taken: Vec<(u32, u32)> =
            placed.iter().filter(meets).map(|o| (plan.offsets[*o], plan.offsets[*o] + plan.sizes[*o])).collect();
        taken.sort_unstable();
        let mut at = 0;
        for (from, to) in taken {
            if at + bytes <= from {
                break;
            }
            at = at.max(to).next_multiple_of(align);
        }
        plan.offsets[b] = at;
        plan.bytes = plan.bytes.max(at + bytes);
        placed.push(b);
    }
    plan
}
