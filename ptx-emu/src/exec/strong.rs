//! What orders blocks: releases and acquires, alone or by fences around relaxed accesses.

use super::lanes;
use super::warp::Run;
use crate::inst::{Order, Space};
use crate::shadow::{Map, Released, join};

impl Run<'_, '_> {
    /// A relaxed or stronger read of global memory: of what was released there, the lane learns now or at its next fence.
    pub(super) fn has_read(&mut self, space: Space, address: u64, lane: usize, order: Order) {
        if space != Space::Global {
            return;
        }
        if let Some(released) = self.world.released.get(&address) {
            match order.acquire {
                true => self.warp.knowledge.acquire(lane as u32, address, released),
                false => self.warp.knowledge.see(lane as u32, address, released),
            }
        }
    }
    /// `adds`: an atomic goes on with what others released at the place before.
    pub(super) fn has_written(&mut self, space: Space, address: u64, lane: usize, order: Order, adds: bool) {
        if space != Space::Global {
            return;
        }
        let thread = self.thread(lane as u32) as u16;
        let knowledge = &mut self.warp.knowledge;
        let new: Map = if order.release { knowledge.release(self.block, thread) } else { knowledge.relaxed(thread) };
        let released = self.world.released.entry(address).or_default();
        if adds {
            join(&mut released.map, &new);
        } else {
            *released = Released { map: new, chain: released.chain + 1 };
        }
    }
    pub(super) fn fence(&mut self, mask: u32) {
        for lane in lanes(mask) {
            let thread = self.thread(lane as u32) as u16;
            self.warp.knowledge.fence(self.block, thread);
        }
        self.warp.knowledge.clock = self.warp.knowledge.clock.tick();
    }
}
