//! The event engine: what happens when, on hardware that knows nothing of kernels.
//! `event.rs`: events, their total order, their hash. `wheel.rs`, `heap.rs`: the event set and its oracle. `clock.rs`: time.
//! `fifo.rs`: the one kind of server. `fabric.rs`: ports, slices, egress, queues of one machine; `lanes.rs`: who shares
//! them; `memory.rs`: reads and writes; `ipcq.rs`: messages; `composite.rs`: composite commands; `record.rs`: what is measured meanwhile.
//! Not here: programs and the PE's CPU (`timing`), the machine file (`machine`).
//!
//! Kept true everywhere: handlers insert their events in the order of AHBM.md's executable reading, because events of
//! equal time run in order of insertion, and published tables depend on it.

pub mod clock;
pub mod composite;
pub mod event;
pub mod fabric;
pub mod fifo;
pub mod heap;
pub mod ipcq;
pub mod lanes;
pub mod memory;
pub mod record;
pub mod wheel;

#[cfg(test)]
mod contention;

pub use clock::Clock;
pub use event::{Event, EventSet, Kind};
pub use fabric::{Fabric, FabricSpec, PeIx};
pub use heap::Heap;
pub use lanes::{Lane, Sharing, Usage};
pub use record::{Class, Engine, Recorder, Stalls};
pub use wheel::Wheel;
