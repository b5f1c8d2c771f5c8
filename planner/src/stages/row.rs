//! A stage: what it does, how long each resource takes for it, and what counts towards latency.

use super::Layer;
use crate::formula::{Dim, Num};

/// Stages in the order of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageId {
    S1,
    S2,
    S3,
    S4,
    S5,
    S6,
    S7,
    C1,
    C3,
    S8,
    S9,
    S10,
    C2,
    F1,
    F2,
    F3,
    F4,
    F5,
    Cf1,
}

impl StageId {
    pub const ALL: [StageId; 19] = [
        StageId::S1,
        StageId::S2,
        StageId::S3,
        StageId::S4,
        StageId::S5,
        StageId::S6,
        StageId::S7,
        StageId::C1,
        StageId::C3,
        StageId::S8,
        StageId::S9,
        StageId::S10,
        StageId::C2,
        StageId::F1,
        StageId::F2,
        StageId::F3,
        StageId::F4,
        StageId::F5,
        StageId::Cf1,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            StageId::S1 => "S1",
            StageId::S2 => "S2",
            StageId::S3 => "S3",
            StageId::S4 => "S4",
            StageId::S5 => "S5",
            StageId::S6 => "S6",
            StageId::S7 => "S7",
            StageId::C1 => "C1",
            StageId::C3 => "C3",
            StageId::S8 => "S8",
            StageId::S9 => "S9",
            StageId::S10 => "S10",
            StageId::C2 => "C2",
            StageId::F1 => "F1",
            StageId::F2 => "F2",
            StageId::F3 => "F3",
            StageId::F4 => "F4",
            StageId::F5 => "F5",
            StageId::Cf1 => "CF1",
        }
    }
    /// What it does, in a few words.
    pub const fn what(self) -> &'static str {
        match self {
            StageId::S1 => "RMSNorm before attention",
            StageId::S2 => "W_Q",
            StageId::S3 => "W_K and W_V",
            StageId::S4 => "K and V appended to the cache",
            StageId::S5 => "Q times K",
            StageId::S6 => "softmax",
            StageId::S7 => "P times V",
            StageId::C1 => "ring over the shards of the sequence",
            StageId::C3 => "scores summed over the ranks of a KV head",
            StageId::S8 => "partial outputs merged over cp",
            StageId::S9 => "division by the sum",
            StageId::S10 => "W_O",
            StageId::C2 => "sum over tp",
            StageId::F1 => "RMSNorm before the FFN",
            StageId::F2 => "gate",
            StageId::F3 => "up",
            StageId::F4 => "SwiGLU",
            StageId::F5 => "down",
            StageId::Cf1 => "sum over the ranks of the FFN",
        }
    }
    pub const fn is_attention(self) -> bool {
        (self as usize) < StageId::F1 as usize
    }
}

/// What a stage waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    Compute,
    Memory,
    Comm,
    Trivial,
}

impl Bound {
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
            Bound::Comm => "comm",
            Bound::Trivial => "trivial",
        }
    }
}

/// How the label of a stage is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundRule {
    Is(Bound),
    /// The larger time; on a tie compute, then memory, then comm.
    Larger,
    /// Comm if it is longer than compute, else compute if there is any, else trivial.
    CommOrCompute,
    /// Comm, or trivial if the stage takes no time.
    CommIfAny,
}

/// One stage of a layer on one PE.
#[derive(Clone, Copy, Debug)]
pub struct Row<N: Num> {
    pub id: StageId,
    pub flops: N,
    /// HBM.
    pub mem_bytes: N,
    /// Over links.
    pub comm_bytes: N,
    pub compute_s: N,
    pub memory_s: N,
    pub comm_s: N,
    /// What counts towards latency.
    pub visible_s: N,
    pub rule: BoundRule,
    /// The stage exists here.
    pub present: N::Bool,
}

impl<N: Num> Row<N> {
    pub fn blank(id: StageId) -> Row<N> {
        let zero = N::lit(0.0);
        Row {
            id,
            flops: zero,
            mem_bytes: zero,
            comm_bytes: zero,
            compute_s: zero,
            memory_s: zero,
            comm_s: zero,
            visible_s: zero,
            rule: BoundRule::Larger,
            present: N::always(true),
        }
    }
    /// A stage that computes at the rate of products and reads HBM at the same time.
    #[inline(always)]
    pub fn overlapped(layer: &Layer<'_, N>, id: StageId, flops: N, mem_bytes: N) -> Row<N> {
        let (flops, mem_bytes) = named(id, flops, mem_bytes);
        let compute_s = (flops / layer.flop_per_s).def_part(id.name(), "compute", Dim::SECOND);
        let memory_s = (mem_bytes / layer.i.w).def_part(id.name(), "memory", Dim::SECOND);
        let visible_s = compute_s.max(memory_s).def_part(id.name(), "visible", Dim::SECOND);
        Row { flops, mem_bytes, compute_s, memory_s, visible_s, ..Row::blank(id) }
    }
    /// A stage that only moves bytes of HBM; its operations are counted, not timed.
    #[inline(always)]
    pub fn memory_only(layer: &Layer<'_, N>, id: StageId, flops: N, mem_bytes: N) -> Row<N> {
        let (flops, mem_bytes) = named(id, flops, mem_bytes);
        let memory_s = (mem_bytes / layer.i.w).def_part(id.name(), "memory", Dim::SECOND);
        let visible_s = memory_s.def_part(id.name(), "visible", Dim::SECOND);
        Row { flops, mem_bytes, memory_s, visible_s, rule: BoundRule::Is(Bound::Memory), ..Row::blank(id) }
    }
    /// A stage that only computes, at the rate of products.
    #[inline(always)]
    pub fn compute_only(layer: &Layer<'_, N>, id: StageId, flops: N) -> Row<N> {
        let flops = flops.def_part(id.name(), "flops", Dim::FLOP);
        let compute_s = (flops / layer.flop_per_s).def_part(id.name(), "compute", Dim::SECOND);
        let visible_s = compute_s.def_part(id.name(), "visible", Dim::SECOND);
        Row { flops, compute_s, visible_s, rule: BoundRule::Is(Bound::Compute), ..Row::blank(id) }
    }
    /// A stage that only sends, all of it seen.
    #[inline(always)]
    pub fn comm_only(id: StageId, time: N, bytes: N, rule: BoundRule) -> Row<N> {
        let comm_s = time.def_part(id.name(), "comm", Dim::SECOND);
        let comm_bytes = bytes.def_part(id.name(), "comm_bytes", Dim::BYTE);
        let visible_s = comm_s.def_part(id.name(), "visible", Dim::SECOND);
        Row { comm_s, comm_bytes, visible_s, rule, ..Row::blank(id) }
    }
}

fn named<N: Num>(id: StageId, flops: N, mem_bytes: N) -> (N, N) {
    (flops.def_part(id.name(), "flops", Dim::FLOP), mem_bytes.def_part(id.name(), "hbm_bytes", Dim::BYTE))
}

impl Row<f64> {
    pub fn bound(&self) -> Bound {
        match self.rule {
            BoundRule::Is(bound) => bound,
            BoundRule::Larger if self.compute_s >= self.memory_s && self.compute_s >= self.comm_s => Bound::Compute,
            BoundRule::Larger if self.memory_s >= self.comm_s => Bound::Memory,
            BoundRule::Larger => Bound::Comm,
            BoundRule::CommOrCompute if self.comm_s > self.compute_s => Bound::Comm,
            BoundRule::CommOrCompute if self.compute_s > 0.0 => Bound::Compute,
            BoundRule::CommIfAny if self.comm_s > 0.0 => Bound::Comm,
            BoundRule::CommOrCompute | BoundRule::CommIfAny => Bound::Trivial,
        }
    }
}

/// The stages of a layer, in order. Without an allocation: a search makes millions.
#[derive(Clone, Copy, Debug)]
pub struct Rows<N: Num> {
    rows: [Row<N>; StageId::ALL.len()],
    len: usize,
}

impl<N: Num> Rows<N> {
    #[inline(always)]
    pub(super) fn new() -> Rows<N> {
        Rows { rows: [Row::blank(StageId::S1); StageId::ALL.len()], len: 0 }
    }
    #[inline(always)]
    pub(super) fn push(&mut self, row: Row<N>) {
        self.rows[self.len] = row;
        self.len += 1;
    }
    /// Those that some deployment has; `Row::present` says whether this one does.
    pub fn all(&self) -> &[Row<N>] {
        &self.rows[..self.len]
    }
    /// The sum of what counts towards latency, over attention or the FFN.
    #[inline(always)]
    pub fn visible_s(&self, attention: bool) -> N {
        self.sum(attention, |r| r.visible_s)
    }
    #[inline(always)]
    pub fn sum(&self, attention: bool, of: impl Fn(&Row<N>) -> N) -> N {
        let rows = self.all().iter().filter(|r| r.id.is_attention() == attention);
        rows.fold(N::lit(0.0), |sum, row| sum + of(row))
    }
}

impl Rows<f64> {
    pub fn present(&self) -> impl Iterator<Item = &Row<f64>> {
        self.all().iter().filter(|row| row.present)
    }
}
