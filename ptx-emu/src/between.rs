//! Instructions between the blocks of a cluster: its barrier, mbarriers, what lands in the shared memory of another block.

use crate::inst::{Addr, Pred, Reg, Space, Src};

#[derive(Clone, Debug)]
pub(crate) enum Between {
    /// `mbarrier.init`: a phase ends with so many arrivals.
    Init {
        at: Addr,
        count: Src,
    },
    Inval {
        at: Addr,
    },
    Arrive {
        space: Space,
        /// `.cluster`: what it releases holds for the other blocks' global memory too.
        wide: bool,
        /// The phase it was, for a wait.
        state: Option<Reg>,
        at: Addr,
        count: Option<Src>,
        /// Bytes that this phase waits for besides.
        expect: Option<Src>,
    },
    /// Bytes that are to come, or, unless expected, have.
    Bytes {
        space: Space,
        expect: bool,
        at: Addr,
        bytes: Src,
    },
    /// Whether a phase is over: by its parity, or by what an arrival gave.
    Wait {
        space: Space,
        parity: bool,
        wide: bool,
        d: Pred,
        at: Addr,
        phase: Src,
    },
    /// `st.async`
    Store {
        bytes: u32,
        a: Vec<Src>,
        at: Addr,
        barrier: Addr,
    },
    /// `cp.async.bulk`
    Bulk {
        from: Space,
        to: Addr,
        source: Addr,
        size: Src,
        barrier: Addr,
    },
    /// `fence.mbarrier_init`
    InitFence,
    /// `fence.proxy.async`
    ProxyFence,
    /// `mapa`: the address of the same place of another block.
    Map {
        d: Reg,
        a: Src,
        rank: Src,
    },
    /// `getctarank`
    Rank {
        d: Reg,
        a: Src,
    },
    /// `barrier.cluster.arrive`
    Come {
        release: bool,
    },
    /// `barrier.cluster.wait`
    Meet,
}
