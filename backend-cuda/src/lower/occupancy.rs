//! How many CTAs ptxas is told that an SM should hold (`.minnctapersm`).

use super::Lower;
use crate::compile::Options;
use crate::ptx::{self, Kernel};

impl Lower<'_> {
    /// As many as make 1024 threads, fewer where the tiles need more registers; all it can where threads hold little and a loop
    /// `streams`: has an instruction or two for each address. Asked for more, ptxas keeps fewer loads in flight or spills; asked
    /// for fewer, it spends registers on numbers that it could compute anew (PTX.md 2).
    pub(super) fn min_ctas(&self, options: &Options, shared_bytes: u32) -> u32 {
        let (threads, target) = (options.threads, options.target);
        let mut alive = ptx::pressure(&self.body);
        if self.unrolls {
            // Operands of the next steps are read early.
            alive += alive / 2;
        }
        let room = |ctas: u32| REGISTERS / (threads * ctas) / ALLOCATED_BY * ALLOCATED_BY;
        // Addresses, and what ptxas keeps of its own: more where more is alive.
        let own = (alive / 6).max(12);
        let fits = |ctas: &u32| room(*ctas) >= alive + own && shared_bytes * ctas <= target.shared_bytes();
        let most = if self.streams && alive <= LITTLE { u32::MAX } else { 1024 / threads };
        (1..=most.clamp(1, target.ctas_per_sm(threads))).rev().find(fits).unwrap_or(1)
    }
}

/// Whether a thread of a warp that goes on by itself holds more than ptxas can give it.
pub(crate) fn spills(kernel: &Kernel) -> bool {
    let room = (REGISTERS / kernel.threads).min(MOST);
    ptx::pressure_by_warp(&kernel.body) + OWN > room
}
/// Registers of a thread at most, and those that ptxas needs for itself at least.
const MOST: u32 = 255;
const OWN: u32 = 12;

/// Registers alive that leave ptxas enough for its own where an SM is full and each thread has 32.
const LITTLE: u32 = 20;
/// 32-bit registers of an SM.
const REGISTERS: u32 = 1 << 16;
/// A thread gets a multiple of so many.
const ALLOCATED_BY: u32 = 8;
