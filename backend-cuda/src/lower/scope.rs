//! Whose threads run the current op together: those of the CTA, or, where warps go on by themselves, those of a warp. Tiles
//! lie over these threads, and what they hand to each other lies in buffers of their own.

use super::Lower;
use super::memory::Hoisted;
use crate::ptx::{Bin, Buffer, Reg, Special, Src, Tern, Ty};

/// Threads of a warp.
pub(super) const WARP: u32 = 32;

impl Lower<'_> {
    /// How many they are.
    pub(super) fn threads(&self) -> u32 {
        if self.body.by_warp { WARP } else { self.options.threads }
    }
    /// This thread's number among them.
    pub(super) fn thread(&mut self) -> Reg {
        let tid = self.special(Special::TidX);
        if !self.body.by_warp {
            return tid;
        }
        self.hoisted(Hoisted::Lane, |cx| cx.body.bin(Bin::And, Ty::B32, tid, Src::Imm(u64::from(WARP - 1))))
    }
    /// The warp's number in the CTA.
    pub(super) fn warp(&mut self) -> Reg {
        let tid = self.special(Special::TidX);
        let shift = Src::Imm(u64::from(WARP.trailing_zeros()));
        self.hoisted(Hoisted::Warp, |cx| cx.body.bin(Bin::Shr, Ty::U32, tid, shift))
    }
    /// Warps of the CTA.
    pub(super) fn warps(&self) -> u32 {
        self.options.threads / WARP
    }
    /// A new piece of shared memory, one for each warp where they go on by themselves.
    pub(super) fn buffer(&mut self, bytes: u32, align: u32) -> Buffer {
        if self.body.by_warp {
            return self.body.buffer(bytes.next_multiple_of(align) * self.warps(), align);
        }
        self.body.buffer(bytes, align)
    }
    /// Where the piece begins.
    pub(super) fn buffer_base(&mut self, buffer: Buffer) -> Reg {
        if !self.body.by_warp {
            return self.body.buffer_base(buffer);
        }
        let bytes = self.body.buffers()[buffer.0 as usize].0 / self.warps();
        let warp = self.warp();
        let base = self.body.buffer_base(buffer);
        self.body.tern(Tern::MadLo, Ty::U32, warp, Src::Imm(u64::from(bytes)), base)
    }
}
