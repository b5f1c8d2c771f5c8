//! A stage: what it does, how long each resource takes for it, and what counts towards latency.

use super::Layer;
use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::Opt;

/// Declares the stages in the order of a step.
macro_rules! stages {
    ($($(#[$doc:meta])* $variant:ident $name:literal $what:literal;)*) => {
        /// Stages in the order of a step.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum StageId { $($(#[$doc])* $variant),* }
        impl StageId {
            pub const ALL: &[StageId] = &[$(StageId::$variant),*];
            pub const fn name(self) -> &'static str {
                match self { $(StageId::$variant => $name),* }
            }
            /// What it does, in a few words.
            pub const fn what(self) -> &'static str {
                match self { $(StageId::$variant => $what),* }
            }
        }
    };
}

stages! {
    S1 "S1" "RMSNorm before attention";
    S2 "S2" "W_Q";
    S3 "S3" "W_K and W_V";
    S4 "S4" "K and V appended to the cache";
    S5 "S5" "Q times K";
    S6 "S6" "softmax";
    S7 "S7" "P times V";
    /// Instead of S5 to S7 (option `kv-read`).
    Sa "SA" "Q times K, softmax and P times V in one";
    C1 "C1" "ring over the shards of the sequence";
    C3 "C3" "scores summed over the ranks of a KV head";
    S8 "S8" "partial outputs merged over cp";
    S9 "S9" "division by the sum";
    S10 "S10" "W_O";
    C2 "C2" "sum over tp";
    F1 "F1" "RMSNorm before the FFN";
    /// Option `moe`.
    Ce "CE" "tokens to their experts and back";
    F2 "F2" "gate";
    F3 "F3" "up";
    F4 "F4" "activation: SwiGLU, or plain";
    F5 "F5" "down";
    Cf1 "CF1" "sum over the ranks of the FFN";
    /// Option `pipeline`; not of a layer.
    Pp "PP" "sends between stages of pp";
    /// Option `head`; not of a layer.
    Lm "LM" "head, once a step";
}

/// Which part of a step a stage belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Attention,
    Ffn,
    /// Not of a layer: counted once a step.
    Step,
}

impl StageId {
    pub const fn part(self) -> Part {
        match self as usize {
            at if at < StageId::F1 as usize => Part::Attention,
            at if at < StageId::Pp as usize => Part::Ffn,
            _ => Part::Step,
        }
    }
}

impl StageId {
    /// What it reads from HBM are weights, known before the stage starts.
    pub const fn reads_weights(self) -> bool {
        use StageId::{F2, F3, F5, Lm, S2, S3, S10};
        matches!(self, S2 | S3 | S10 | F2 | F3 | F5 | Lm)
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
    /// A product: computes at the rate of products and reads HBM at the same time.
    #[inline(always)]
    pub fn gemm(l: &Layer<'_, N>, id: StageId, flops: N, weight_bytes: N, shape: Gemm<N>) -> Row<N> {
        let i = l.i;
        let weight_bytes = if l.o.has(Opt::Activations) {
            // What does not stay on chip is read and written.
            let [taken, given] = [shape.rows * shape.depth * i.e, shape.rows * shape.columns * i.e];
            let missed = N::pick(i.scratch.lt(taken + given), || taken + given, || N::bytes(0.0));
            weight_bytes + missed
        } else {
            weight_bytes
        };
        let row = Row::overlapped(l, id, flops, weight_bytes);
        if !l.o.has(Opt::Shapes) {
            return row;
        }
        let compute_s = (row.compute_s * shape.padding(i)).def_part(id.name(), "padded", Dim::SECOND);
        let busy = compute_s.max(row.memory_s);
        // A stage without work issues nothing.
        let issue = N::pick(N::lit(0.0).lt(busy), || i.issue, || N::seconds(0.0));
        Row { compute_s, visible_s: (busy + issue).def_part(id.name(), "visible_issued", Dim::SECOND), ..row }
    }
    /// A stage that computes at the rate of products and reads HBM at the same time.
    #[inline(always)]
    pub fn overlapped(l: &Layer<'_, N>, id: StageId, flops: N, mem_bytes: N) -> Row<N> {
        let (flops, mem_bytes) = named(id, flops, mem_bytes);
        let compute_s = (flops / l.flop_per_s).def_part(id.name(), "compute", Dim::SECOND);
        let memory_s = (mem_bytes / l.i.w).def_part(id.name(), "memory", Dim::SECOND);
        let visible_s = compute_s.max(memory_s).def_part(id.name(), "visible", Dim::SECOND);
        Row { flops, mem_bytes, compute_s, memory_s, visible_s, ..Row::blank(id) }
    }
    /// A stage on the MATH engine (option `vector`), reading HBM at the same time: `ops` elementwise operations.
    #[inline(always)]
    pub fn elementwise(l: &Layer<'_, N>, id: StageId, flops: N, ops: N, mem_bytes: N) -> Row<N> {
        let (flops, mem_bytes) = named(id, flops, mem_bytes);
        let ops = ops.def_part(id.name(), "ops", Dim::ONE);
        let compute_s = (ops / l.i.math).def_part(id.name(), "compute", Dim::SECOND);
        let memory_s = (mem_bytes / l.i.w).def_part(id.name(), "memory", Dim::SECOND);
        let visible_s = compute_s.max(memory_s).def_part(id.name(), "visible", Dim::SECOND);
        Row { flops, mem_bytes, compute_s, memory_s, visible_s, ..Row::blank(id) }
    }
    /// A stage that only moves bytes of HBM; its operations are counted, not timed.
    #[inline(always)]
    pub fn memory_only(l: &Layer<'_, N>, id: StageId, flops: N, mem_bytes: N) -> Row<N> {
        let (flops, mem_bytes) = named(id, flops, mem_bytes);
        let memory_s = (mem_bytes / l.i.w).def_part(id.name(), "memory", Dim::SECOND);
        let visible_s = memory_s.def_part(id.name(), "visible", Dim::SECOND);
        Row { flops, mem_bytes, memory_s, visible_s, rule: BoundRule::Is(Bound::Memory), ..Row::blank(id) }
    }
    /// A stage that only computes, at the rate of products.
    #[inline(always)]
    pub fn compute_only(l: &Layer<'_, N>, id: StageId, flops: N) -> Row<N> {
        let flops = flops.def_part(id.name(), "flops", Dim::FLOP);
        let compute_s = (flops / l.flop_per_s).def_part(id.name(), "compute", Dim::SECOND);
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

/// Extents of a product.
#[derive(Clone, Copy, Debug)]
pub struct Gemm<N: Num> {
    pub rows: N,
    pub columns: N,
    pub depth: N,
}

impl<N: Num> Gemm<N> {
    /// Padded over useful work: each extent fills whole tiles.
    #[inline(always)]
    pub fn padding(&self, i: &Inputs<N>) -> N {
        let one = N::lit(1.0);
        // An extent below one (a part of a head) is padded as one.
        let over = |extent: N, tile: N| extent.max(one).div_ceil(tile) * tile / extent.max(one);
        over(self.rows, i.tile_m) * over(self.columns, i.tile_n) * over(self.depth, i.tile_k)
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

/// Most stages that a step has.
const MOST: usize = StageId::ALL.len();

/// The stages of a step, in order. Without an allocation: a search makes millions.
#[derive(Clone, Copy, Debug)]
pub struct Rows<N: Num> {
    rows: [Row<N>; MOST],
    len: usize,
}

impl<N: Num> Rows<N> {
    #[inline(always)]
    pub(super) fn new() -> Rows<N> {
        Rows { rows: [Row::blank(StageId::S1); MOST], len: 0 }
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
    /// The sum over the stages of a part.
    #[inline(always)]
    pub fn sum(&self, part: Part, of: impl Fn(&Row<N>) -> N, none: N) -> N {
        let rows = self.all().iter().filter(|r| r.id.part() == part);
        rows.fold(none, |sum, row| sum + of(row))
    }
}

impl Rows<f64> {
    pub fn present(&self) -> impl Iterator<Item = &Row<f64>> {
        self.all().iter().filter(|row| row.present)
    }
}
