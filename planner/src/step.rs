//! One step of the whole model: all layers, one token of each request in decode, the whole context in prefill.

use crate::formula::{Dim, Expr, Graph, Num};
use crate::inputs::Inputs;
use crate::memory::{Memory, memory};
use crate::options::Options;
use crate::placement::{Placed, place};
use crate::shards::{Shards, shards};
use crate::stages::{Rows, stages};

/// A step, with everything that led to it.
#[derive(Clone, Copy, Debug)]
pub struct Step<N: Num> {
    pub placed: Placed<N>,
    pub shards: Shards<N>,
    pub rows: Rows<N>,
    /// Of the parts that count.
    pub memory: Memory<N>,
    pub attention_visible_s: N,
    pub ffn_visible_s: N,
    /// TPOT in decode, TTFT in prefill.
    pub latency_s: N,
    pub throughput_tok_per_s: N,
    /// Geometric mean of compute and bandwidth use.
    pub efficiency: N,
    pub hbm_utilization: N,
}

/// The formulas of a step.
#[inline(always)]
pub fn step<N: Num>(i: &Inputs<N>, o: Options) -> Step<N> {
    let placed = place(i);
    let shards = shards(i, o);
    let always = N::always(true);
    let memory = memory(i, &shards, always, always, o);
    let rows = stages(i, o, &placed, &shards);
    let counted = |part: N::Bool, x: N, none: N| N::pick(part, || x, || none);
    let attention = rows.visible_s(true).def("attention_visible", Dim::SECOND, "sum over S1 to C2");
    let ffn = rows.visible_s(false).def("ffn_visible", Dim::SECOND, "sum over F1 to CF1");
    let layer = counted(i.attention, attention, N::seconds(0.0)) + counted(i.ffn, ffn, N::seconds(0.0));
    let latency_s =
        (i.layers * layer).def("latency", Dim::SECOND, "a request crosses every stage of pp, so all layers");
    let flops = counted(i.attention, rows.sum(true, |r| r.flops), N::flop(0.0))
        + counted(i.ffn, rows.sum(false, |r| r.flops), N::flop(0.0));
    let bytes = counted(i.attention, rows.sum(true, |r| r.mem_bytes), N::bytes(0.0))
        + counted(i.ffn, rows.sum(false, |r| r.mem_bytes), N::bytes(0.0));
    let one = N::lit(1.0);
    let use_of = |work: N, rate: N| (memory.layers_held * work / (rate * placed.total_pes * latency_s)).min(one);
    let compute_use = use_of(flops, i.peak).def("compute_use", Dim::ONE, "a PE's operations over the peak of all PEs");
    let hbm_use = use_of(bytes, i.w).def("hbm_use", Dim::ONE, "a PE's bytes over the bandwidth of all PEs");
    let efficiency = (compute_use * hbm_use).sqrt().def("efficiency", Dim::ONE, "geometric mean of the two");
    Step {
        placed,
        shards,
        rows,
        memory,
        attention_visible_s: attention,
        ffn_visible_s: ffn,
        latency_s,
        throughput_tok_per_s: (one / latency_s).def("throughput", Dim::PER_S, "one over the latency"),
        efficiency,
        hbm_utilization: (memory.used_bytes / memory.budget_bytes).def("hbm_utilization", Dim::ONE, ""),
    }
}

/// The formulas of a step as expressions, for these options.
pub fn formulas(o: Options) -> (Graph, Step<Expr>) {
    Graph::trace(|| step(&Inputs::traced(), o))
}
