//! Who shares a server. In the model of events all traffic of a slice meets at its port, and all that leaves a cube at its
//! egress. Without contention every user of a slice has a *lane*: a port, a request stream and an egress of its own, for
//! each way it uses the slice. Lanes also count what went over them, which is what the roofline needs.
//!
//! Kept true: the jobs of a lane arrive in an order that the program fixes (loads, stores and streamed tiles in program
//! order, a channel one flit at a time), so that no time decides who goes first. Hence lanes are this fine.

use super::fabric::{Fabric, PeIx};
use super::ipcq::Link;
use crate::units::Bytes;
use rustc_hash::FxHashMap;

/// Whether users of a slice meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One port a PE, one egress a cube, as in hardware.
    Shared,
    /// Every user has its own: nobody waits for others' traffic.
    Private,
}

/// How a lane uses its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Usage {
    /// Loads.
    Load,
    /// Streamed operands of composites.
    Tile,
    /// Stores and atomics.
    Store,
    /// A channel's messages leave a PE.
    Send { channel: u32 },
    /// A channel's messages enter a PE.
    Receive { channel: u32 },
}

/// One user's share of a slice's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The PE whose port it is.
    pub home: PeIx,
    /// Whose load, store or message it is.
    pub user: PeIx,
    pub usage: Usage,
    /// What lies between the PEs; for messages only.
    pub link: Option<Link>,
    /// All that went over it.
    pub bytes: Bytes,
}

/// The lanes of a run without contention.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    numbers: FxHashMap<(PeIx, PeIx, Usage), u32>,
    all: Vec<Lane>,
}

impl Fabric {
    /// The number of the port, and of the request streams, that a user's bytes go through: the PE's own where all share it.
    pub(super) fn port_of(&mut self, home: PeIx, user: PeIx, usage: Usage, bytes: u64) -> u32 {
        let Some(lanes) = &mut self.lanes else { return home.0 };
        let new = lanes.all.len() as u32;
        let number = *lanes.numbers.entry((home, user, usage)).or_insert(new);
        if number == new {
            let link = match usage {
                Usage::Load | Usage::Tile | Usage::Store => None,
                Usage::Send { channel } | Usage::Receive { channel } => Some(self.channels[channel as usize].link()),
            };
            lanes.all.push(Lane { home, user, usage, link, bytes: Bytes(0) });
            self.ports.push(Default::default());
            self.streams.push(Default::default());
            self.egress.push(Default::default());
        }
        let sum = &mut lanes.all[number as usize].bytes;
        sum.0 = sum.0.saturating_add(bytes);
        number
    }
    /// The number of the egress that reads of another cube leave through, behind this port.
    pub(super) fn egress_of(&self, home: PeIx, port: u32) -> u32 {
        if self.lanes.is_some() { port } else { self.cube_of(home) }
    }
    /// All lanes, in order of first use; none where servers are shared.
    pub fn lanes(&self) -> &[Lane] {
        self.lanes.as_ref().map_or(&[], |lanes| &lanes.all)
    }
    /// The number of the PE that a port belongs to.
    pub(super) fn home_of(&self, port: u32) -> PeIx {
        self.lanes().get(port as usize).map_or(PeIx(port), |lane| lane.home)
    }
}
