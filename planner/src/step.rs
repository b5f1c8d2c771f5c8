//! One step of the whole model: all layers, one token of each request in decode, the whole context in prefill.

use crate::formula::{Dim, Expr, Graph, Num};
use crate::inputs::Inputs;
use crate::memory::{Memory, memory};
use crate::options::{Opt, Options};
use crate::placement::{Placed, place};
use crate::shards::{Shards, shards};
use crate::stages::{Part, Row, Rows, stages};

/// A step, with everything that led to it.
#[derive(Clone, Copy, Debug)]
pub struct Step<N: Num> {
    pub placed: Placed<N>,
    pub shards: Shards<N>,
    pub rows: Rows<N>,
    /// Of both parts of a layer, whichever counts.
    pub memory: Memory<N>,
    pub attention_visible_s: N,
    pub ffn_visible_s: N,
    /// Head and sends between stages of pp, once a step.
    pub beside_layers_s: N,
    /// TPOT in decode, TTFT in prefill.
    pub latency_s: N,
    /// Of a step in which engines never wait for each other, and of one in which they always do.
    pub bounds_s: [N; 2],
    pub throughput_tok_per_s: N,
    /// Part of the peak, and of the HBM bandwidth, that is used: of all PEs, or of one (option `utilisation`).
    pub compute_use: N,
    pub hbm_use: N,
    /// Their geometric mean.
    pub efficiency: N,
    pub hbm_utilization: N,
}

/// The formulas of a step.
#[inline(always)]
pub fn step<N: Num>(i: &Inputs<N>, o: Options) -> Step<N> {
    let placed = place(i, o);
    let shards = shards(i, o);
    let always = N::always(true);
    let memory = memory(i, &shards, always, always, o);
    let rows = stages(i, o, &placed, &shards);
    let seconds = N::seconds(0.0);
    let attention = rows.sum(Part::Attention, |r| r.visible_s, seconds);
    let attention = attention.def("attention_visible", Dim::SECOND, "sum over the stages of attention");
    let ffn = rows.sum(Part::Ffn, |r| r.visible_s, seconds);
    let ffn = ffn.def("ffn_visible", Dim::SECOND, "sum over the stages of the FFN");
    let beside = if o.has(Opt::Head) || o.has(Opt::Pipeline) {
        rows.sum(Part::Step, |r| r.visible_s, seconds).def("beside_layers", Dim::SECOND, "once a step")
    } else {
        seconds
    };
    let layer = counted(i.attention, attention, seconds) + counted(i.ffn, ffn, seconds);
    let all = i.layers * layer;
    let all = if o.has(Opt::Head) || o.has(Opt::Pipeline) { all + beside } else { all };
    let all = all.def("sum_of_stages", Dim::SECOND, "a request crosses every stage of pp, so all layers");
    let busiest = busiest_engine(i, &rows, o);
    let latency_s = if o.has(Opt::Schedule) {
        let hidden = i.layers * prefetched(i, &rows);
        (all.max(hidden) - hidden).max(busiest).def("latency", Dim::SECOND, "less what prefetching weights hides")
    } else {
        all
    };
    let one = N::lit(1.0);
    let flops = work(i, &rows, |r| r.flops, N::flop(0.0));
    let bytes = work(i, &rows, |r| r.mem_bytes, N::bytes(0.0));
    let use_of = |work: N, rate: N| {
        let work = memory.layers_held * work;
        if o.has(Opt::Utilisation) {
            let stages = if o.has(Opt::Throughput) { i.pp * busy_part(i) } else { one };
            (work * stages / (rate * latency_s)).min(one)
        } else {
            (work / (rate * placed.total_pes * latency_s)).min(one)
        }
    };
    let compute_use = use_of(flops, i.peak).def("compute_use", Dim::ONE, "operations over what the peak allows: MFU");
    let hbm_use = use_of(bytes, i.w).def("hbm_use", Dim::ONE, "bytes over what the bandwidth allows: MBU");
    let efficiency = (compute_use * hbm_use).sqrt().def("efficiency", Dim::ONE, "geometric mean of the two");
    let throughput = if o.has(Opt::Throughput) {
        let tokens = i.b * shards.t_total;
        (tokens * i.dp * i.pp * busy_part(i) / latency_s).def(
            "throughput",
            Dim::PER_S,
            "tokens of all replicas and stages",
        )
    } else {
        (one / latency_s).def("throughput", Dim::PER_S, "one over the latency")
    };
    Step {
        placed,
        shards,
        rows,
        memory,
        attention_visible_s: attention,
        ffn_visible_s: ffn,
        beside_layers_s: beside,
        latency_s,
        bounds_s: [busiest, all],
        throughput_tok_per_s: throughput,
        compute_use,
        hbm_use,
        efficiency,
        hbm_utilization: (memory.used_bytes / memory.budget_bytes).def("hbm_utilization", Dim::ONE, ""),
    }
}

#[inline(always)]
fn counted<N: Num>(part: N::Bool, x: N, none: N) -> N {
    N::pick(part, || x, || none)
}

/// Of the parts of a layer that count.
#[inline(always)]
fn work<N: Num>(i: &Inputs<N>, rows: &Rows<N>, of: impl Fn(&Row<N>) -> N + Copy, none: N) -> N {
    counted(i.attention, rows.sum(Part::Attention, of, none), none)
        + counted(i.ffn, rows.sum(Part::Ffn, of, none), none)
}

/// Part of the time that a stage of pp is busy: of m micro-batches, m of m + pp - 1 turns; of a stream, all.
#[inline(always)]
fn busy_part<N: Num>(i: &Inputs<N>) -> N {
    let one = N::lit(1.0);
    let burst = || i.micro / (i.micro + i.pp - one);
    N::pick(N::lit(0.0).lt(i.micro), burst, || one)
}

/// No step is shorter than its busiest engine: products and elementwise work, HBM, links.
#[inline(always)]
fn busiest_engine<N: Num>(i: &Inputs<N>, rows: &Rows<N>, o: Options) -> N {
    if !o.has(Opt::Schedule) {
        return N::seconds(0.0);
    }
    let none = N::seconds(0.0);
    let compute = work(i, rows, |r| r.compute_s, none);
    let memory = work(i, rows, |r| r.memory_s, none);
    let layer = compute.max(memory);
    (i.layers * layer).def("busiest_engine", Dim::SECOND, "the sum over an engine's work, of the engine that has most")
}

/// While a stage waits for products or links, HBM is free for the weights of the next stage that waits for HBM, as far as
/// half the on-chip memory holds them: a layer's sum, at most all that is waited for.
#[inline(always)]
fn prefetched<N: Num>(i: &Inputs<N>, rows: &Rows<N>) -> N {
    let none = N::seconds(0.0);
    let room = N::lit(0.5) * i.scratch / i.w;
    let less = |a: N, b: N| a.max(b) - b;
    let idle = work(i, rows, |r| less(r.visible_s, r.memory_s), none);
    // K and V are no weights: what hides their reading is the ring (C1).
    let waited = |r: &Row<N>| {
        if r.id.reads_weights() { less(r.memory_s, r.compute_s.max(r.comm_s)).min(room) } else { none }
    };
    let waited_for = work(i, rows, waited, none);
    idle.min(waited_for).def("prefetched", Dim::SECOND, "of a layer: weights read while another engine works")
}

/// The formulas of a step as expressions, for these options.
pub fn formulas(o: Options) -> (Graph, Step<Expr>) {
    Graph::trace(|| step(&Inputs::traced(), o))
}
