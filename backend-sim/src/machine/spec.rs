//! The machine: every constant of the AHBM cost model with its type. Values and their statuses are in
//! `machines/ahbm.toml`; a row's range is what loads. What a constant does is said in AHBM.md, by the section named here.

use super::quantity::{Factor, Kind};
use super::table::{Base, Field, FieldId, Status, machine_fields};
use crate::units::{Bytes, Cycles, Ps, Rate};
use tilewright_core::elem::ElemType;

machine_fields! {
    /// How many processing elements there are, and in which grids (section 1).
    topology: Topology {
        /// SIPs of the machine, in a ring.
        sips: u32 = Count[1, 64];
        /// Rows of cubes in a SIP; cube ids go row by row.
        cube_rows: u32 = Count[1, 64];
        /// Columns of cubes in a SIP.
        cube_cols: u32 = Count[1, 64];
        /// Rows of PEs in a cube; PE ids go row by row.
        pe_rows: u32 = Count[1, 64];
        /// Columns of PEs in a cube.
        pe_cols: u32 = Count[1, 64];
    }
    /// The in-order CPU of a PE: what it spends to issue a command (section 2).
    cpu: Cpu {
        /// Clock of the CPU, in which the cycles below count.
        clock: Rate = Clock;
        /// Issue of a `load` of a tile.
        load: Cycles = Cycles;
        /// Issue of a `store` of a tile.
        store: Cycles = Cycles;
        /// Issue of a `recv`, after the message arrived.
        recv: Cycles = Cycles;
        /// Spent after the issue of a `recv` before its tile is usable.
        recv_overhead: Cycles = Cycles;
        /// Issue of a `send`.
        send: Cycles = Cycles;
        /// Issue of a `dot`, after its operands arrived.
        dot: Cycles = Cycles;
        /// Issue of an `exp` of a tile.
        exp: Cycles = Cycles;
        /// Issue of a binary operation on tiles: `add`, `sub`, `mul`, `div`, `maximum`, ...
        binary: Cycles = Cycles;
        /// Issue of a reduction along an axis of a tile: `sum`, `max`, ...
        reduction: Cycles = Cycles;
        /// Issue of the copy that a loop or `if` makes when it yields a MATH or GEMM result.
        copy: Cycles = Cycles;
        /// Issue of a composite without prologue and epilogue.
        composite: Cycles = Cycles;
        /// Issue of a composite with a prologue or an epilogue.
        composite_fused: Cycles = Cycles;
        /// Issue of any other elementwise operation on tiles: `sqrt`, `abs`, comparisons, ...
        elementwise: Cycles = Cycles;
        /// Issue of a `select` on tiles.
        select: Cycles = Cycles;
        /// Issue of a `cast` of a tile to another type (to the same type it is no command).
        cast: Cycles = Cycles;
        /// Issue of a reduction or scan with the user's own function.
        combine: Cycles = Cycles;
        /// Issue of a `trans` whose only users are dots.
        trans_into_dot: Cycles = Cycles;
        /// Issue of any other `trans`.
        trans: Cycles = Cycles;
        /// Issue of a `reshape`.
        reshape: Cycles = Cycles;
        /// Issue of a `broadcast`.
        broadcast: Cycles = Cycles;
        /// Issue of an `iota`.
        iota: Cycles = Cycles;
        /// Issue of a `full` and of a tile constant.
        full: Cycles = Cycles;
        /// An operation on scalars.
        scalar: Cycles = Cycles;
        /// An `if`.
        branch: Cycles = Cycles;
        /// One trip of a loop.
        loop_trip: Cycles = Cycles;
        /// Issue of a load of one element, which then moves `hbm.scalar_read` bytes.
        load_scalar: Cycles = Cycles;
        /// Issue of a barrier, before the wait for the slowest PE.
        barrier: Cycles = Cycles;
        /// Issue of an atomic.
        atomic: Cycles = Cycles;
        /// Time that each blocking engine command (`dot`, MATH, copy) adds to its engine's.
        engine_overhead: Ps = Time;
    }
    /// The matrix engine of a PE (sections 1 and 5).
    gemm: Gemm {
        /// Peak for 16-bit floats; a product of M x N x K takes 2 M N K / peak.
        peak_f16: Rate = FlopRate;
        /// Peak for 8-bit elements, as a multiple of `peak_f16`.
        factor_8bit: Factor = Factor;
        /// Peak for f32, as a multiple of `peak_f16`.
        factor_f32: Factor = Factor;
        /// Peak for f64, as a multiple of `peak_f16`.
        factor_f64: Factor = Factor;
        /// Rows of a composite's tile.
        tile_m: u32 = Count[1, 4096];
        /// Columns of a composite's tile.
        tile_n: u32 = Count[1, 4096];
        /// Depth of a composite's tile.
        tile_k: u32 = Count[1, 4096];
        /// Edge of the blocks in which a `dot` is issued, each of which loads its part of what was loaded once more; 0: a `dot` is one command.
        dot_block: u32 = Count[0, 4096];
    }
    /// The elementwise engine of a PE (section 1).
    math: Math {
        /// Output elements a second.
        rate: Rate = ElemRate;
        /// An operation takes a whole number of these.
        quantum: Ps = Time;
        /// Engine time of a reduction, whatever its size.
        reduction: Ps = Time;
    }
    /// The memory slice of a PE and its port (section 4).
    hbm: Hbm {
        /// Bandwidth of a slice, and of the port it shares with the PE's messages.
        slice_rate: Rate = ByteRate;
        /// What the port, the links and the queues serve at a time.
        transfer_unit: Bytes = Size[64, 1 << 30];
        /// From the last byte leaving the port (or the egress) to the end of a read.
        read_latency: Ps = Time;
        /// From the last byte entering the port to the end of a write.
        write_latency: Ps = Time;
        /// Added to a read for each hop of the PE grid to the home slice, in the same cube.
        hop_read: Ps = Time;
        /// Added to a write for each hop of the PE grid to the home slice, in the same cube.
        hop_write: Ps = Time;
        /// Added to a read whose home slice is in another cube.
        cube_read: Ps = Time;
        /// Added to a write whose home slice is in another cube.
        cube_write: Ps = Time;
        /// Shortest time that a read unit holds the port.
        min_unit_read: Ps = Time;
        /// Units of its current request that a request stream keeps in the port's queue.
        read_ahead: u32 = Count[1, 4096];
        /// What a load of one element moves.
        scalar_read: Bytes = Size[1, 1 << 20];
        /// Added to an atomic's write.
        atomic_latency: Ps = Time;
    }
    /// What a cube serves to other cubes: one server for the whole cube (section 4).
    egress: Egress {
        /// Bandwidth.
        rate: Rate = ByteRate;
        /// Units between a port and the exit of the egress at which the slice's remote stream stalls.
        buffer: u32 = Count[1, 4096];
    }
    /// The on-chip memory of a PE (section 1).
    scratch: Scratch {
        /// Capacity.
        capacity: Bytes = Size[1, 1 << 40];
        /// Bandwidth of the unit that fetches operands of composites and stores their results.
        rate: Rate = ByteRate;
    }
    /// Composite commands (section 5).
    composite: Composite {
        /// From the last store to done.
        done_overhead: Ps = Time;
        /// More of it when an operand is streamed from memory.
        done_overhead_dma: Ps = Time;
        /// More of it when there is an epilogue.
        fused_tail: Ps = Time;
        /// From the start of the prologue to the first fetch of an operand that is on chip.
        prologue_delay: Ps = Time;
        /// From the start of the prologue to the first request for an operand that is streamed.
        prologue_delay_dma: Ps = Time;
        /// One prologue operation on as many values as the product has rows.
        prologue_small_op: Ps = Time;
        /// Between the logged starts of successive tile requests.
        feed: Ps = Time;
        /// Tile requests of a PE that are outstanding to another cube.
        window: u32 = Count[1, 4096];
    }
    /// Message queues between PEs and between cubes of a SIP (section 6).
    queue: Queue {
        /// At the start of a message, the port not held.
        setup: Ps = Time;
        /// Added to each unit at the source's port.
        unit_overhead: Ps = Time;
        /// Added to a message after its last unit, inside a cube.
        latency: Ps = Time;
        /// Bandwidth at the destination of a message from another cube.
        cube_rate: Rate = ByteRate;
        /// Added to each unit at the destination of a message from another cube.
        cube_unit_overhead: Ps = Time;
        /// Added to a message from another cube after its last unit.
        cube_latency: Ps = Time;
        /// Messages in a queue, where the launch does not say.
        depth: u32 = Count[1, 65536];
        /// From the `recv` to the slot's return to the sender.
        credit_latency: Ps = Time;
    }
    /// The ring of SIPs.
    sip: Sip {
        /// Bandwidth of a link.
        rate: Rate = ByteRate;
        /// Added to each message.
        latency: Ps = Time;
    }
    /// Barriers: from the arrival of the slowest PE until all go on (section 2).
    barrier: Barrier {
        /// Between the PEs of a cube: a hop inside a cube.
        cube: Ps = Time;
        /// Between the PEs of a launch on one SIP: a hop between cubes.
        launch: Ps = Time;
        /// Between the PEs of a launch on several SIPs: a hop between SIPs.
        sips: Ps = Time;
    }
    /// When the users of one SIP start: an interpolation of the published offsets, not a launch model (section 7).
    launch_skew: LaunchSkew {
        /// Between users of at most `small_cubes` cubes.
        small: Ps = Time;
        /// Most cubes of a small user.
        small_cubes: u32 = Count[0, 4096];
        /// Between larger users, ...
        base: Ps = Time;
        /// ... and more of it for each cube of the user.
        per_cube: Ps = Time;
        /// Earlier by this for each column of the user's first cube.
        column: Ps = Time;
        /// Earlier by this for each row of the user's first cube.
        row: Ps = Time;
    }
}

impl Machine {
    /// PEs of a cube.
    pub fn pes_per_cube(&self) -> usize {
        self.topology.pe_rows as usize * self.topology.pe_cols as usize
    }
    /// Cubes of a SIP.
    pub fn cubes_per_sip(&self) -> usize {
        self.topology.cube_rows as usize * self.topology.cube_cols as usize
    }
    /// Cubes of the machine.
    pub fn num_cubes(&self) -> usize {
        self.cubes_per_sip() * self.topology.sips as usize
    }
    /// The row and column of a PE in its cube.
    pub fn pe_at(&self, pe: usize) -> (usize, usize) {
        let cols = self.topology.pe_cols as usize;
        (pe / cols, pe % cols)
    }
    /// The row and column of a cube in its SIP.
    pub fn cube_at(&self, cube: usize) -> (usize, usize) {
        let (cols, cube) = (self.topology.cube_cols as usize, cube % self.cubes_per_sip());
        (cube / cols, cube % cols)
    }
    /// Steps over the PE grid between two PEs of a cube.
    pub fn pe_hops(&self, a: usize, b: usize) -> u64 {
        let ((ar, ac), (br, bc)) = (self.pe_at(a), self.pe_at(b));
        (ar.abs_diff(br) + ac.abs_diff(bc)) as u64
    }
    /// The time of so many CPU cycles.
    pub fn cycles(&self, n: Cycles) -> Ps {
        self.cpu.clock.time_for(n.0)
    }
    /// The peak of the matrix engine for operands of an element type, and the field of its factor, if one applies.
    pub fn gemm_peak(&self, operands: ElemType) -> (Rate, Option<FieldId>) {
        let scaled = |factor: Factor, id| (factor.of(self.gemm.peak_f16), Some(id));
        match operands.bytes() {
            1 => scaled(self.gemm.factor_8bit, field::gemm::factor_8bit),
            4 => scaled(self.gemm.factor_f32, field::gemm::factor_f32),
            8 => scaled(self.gemm.factor_f64, field::gemm::factor_f64),
            _ => (self.gemm.peak_f16, None),
        }
    }
    /// The time of a product of M x N x K on the matrix engine: 2 M N K / peak, nothing padded.
    pub fn gemm_time(&self, operands: ElemType, m: u64, n: u64, k: u64) -> Ps {
        self.gemm_peak(operands).0.time_for(flops(m, n, k))
    }
    /// The time of one composite tile, always padded.
    pub fn composite_tile_time(&self, operands: ElemType) -> Ps {
        self.gemm_time(operands, self.gemm.tile_m.into(), self.gemm.tile_n.into(), self.gemm.tile_k.into())
    }
    /// The time of an elementwise operation with so many output elements.
    pub fn math_time(&self, elements: u64) -> Ps {
        self.math.rate.time_for(elements).ceil_to(self.math.quantum)
    }
}

/// Multiplications and additions of a product; the largest number if it does not fit.
fn flops(m: u64, n: u64, k: u64) -> u64 {
    m.saturating_mul(n).saturating_mul(k).saturating_mul(2)
}
