//! Attention: S1 to S10, C1 to C3.

use super::collective::{Cost, all_reduce, ring_all_reduce};
use super::row::{Bound, BoundRule};
use super::{Gemm, Layer, Row, Rows, StageId, fused};
use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::Opt;
use crate::placement::Tier;

#[inline(always)]
pub(super) fn push<N: Num>(l: &Layer<'_, N>, rows: &mut Rows<N>) {
    rows.push(norm(l, StageId::S1));
    rows.push(query_projection(l));
    rows.push(kv_projection(l));
    rows.push(kv_append(l));
    if l.o.has(Opt::KvRead) {
        let fused = fused::attention(l);
        rows.push(fused);
        rows.push(ring(l, fused.visible_s));
    } else {
        let (scores, softmax, values) = (products(l, StageId::S5), softmax(l), products(l, StageId::S7));
        rows.push(scores);
        rows.push(softmax);
        rows.push(values);
        rows.push(ring(l, scores.visible_s + softmax.visible_s + values.visible_s));
    }
    rows.push(score_sum(l));
    rows.push(merge(l));
    rows.push(normalise(l));
    rows.push(output_projection(l));
    rows.push(tp_sum(l));
}

/// Latent attention is modelled, and this model has it.
pub(super) fn has_latent<N: Num>(l: &Layer<'_, N>) -> N::Bool {
    N::and(N::always(l.o.has(Opt::Mla)), N::lit(0.0).lt(l.i.latent))
}

/// S1 or F1.
#[inline(always)]
pub(super) fn norm<N: Num>(l: &Layer<'_, N>, id: StageId) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(4.0) * i.b * sh.t * i.d;
    let bytes = if l.o.has(Opt::Activations) {
        // In and out where they miss the on-chip memory; the weight once.
        let both = N::lit(2.0) * i.b * sh.t * i.d * i.e;
        N::pick(i.scratch.lt(both), || both, || N::bytes(0.0)) + i.d * i.e
    } else {
        (i.b + N::lit(1.0)) * sh.t * i.d * i.e
    };
    match id {
        _ if l.o.has(Opt::Vector) => Row::elementwise(l, id, flops, N::lit(4.0) * i.b * sh.t * i.d, bytes),
        StageId::F1 => Row::memory_only(l, id, flops, bytes),
        _ => Row::overlapped(l, id, flops, bytes),
    }
}

fn query_projection<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let columns = || sh.hq * i.h;
    let columns = if l.o.has(Opt::Mla) {
        // A latent's heads have a rotary part beside their own.
        columns() + N::pick(has_latent(l), || sh.hq * i.rope, || N::lit(0.0))
    } else {
        columns()
    };
    if l.o.has(Opt::Mla) {
        let flops = N::flop(2.0) * i.b * sh.t * i.d * columns;
        let shape = Gemm { rows: i.b * sh.t, columns, depth: i.d };
        return Row::gemm(l, StageId::S2, flops, i.d * columns * i.e, shape);
    }
    let flops = N::flop(2.0) * i.b * sh.t * i.d * sh.hq * i.h;
    let shape = Gemm { rows: i.b * sh.t, columns, depth: i.d };
    Row::gemm(l, StageId::S2, flops, i.d * sh.hq * i.h * i.e, shape)
}

fn kv_projection<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let rows = i.b * sh.t;
    if l.o.has(Opt::Mla) {
        // W_DKV is on every rank of tp: each needs the whole latent.
        let columns = N::pick(has_latent(l), || i.latent + i.rope, || N::lit(2.0) * sh.hk_work * i.h);
        let flops = N::flop(2.0) * rows * i.d * columns;
        return Row::gemm(l, StageId::S3, flops, i.d * columns * i.e, Gemm { rows, columns, depth: i.d });
    }
    let flops = N::flop(4.0) * i.b * sh.t * i.d * sh.hk_work * i.h;
    let shape = Gemm { rows, columns: N::lit(2.0) * sh.hk_work * i.h, depth: i.d };
    Row::gemm(l, StageId::S3, flops, N::lit(2.0) * i.d * sh.hk_work * i.h * i.e, shape)
}

fn kv_append<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let whole = || N::lit(2.0) * i.b * sh.t * sh.hk_work * i.h * i.e;
    let bytes = if l.o.has(Opt::Mla) {
        N::pick(has_latent(l), || i.b * sh.t * (i.latent + i.rope) * i.e, whole)
    } else {
        whole()
    };
    Row::memory_only(l, StageId::S4, N::flop(0.0), bytes)
}

/// Passes over the context: one for each shard that comes round the ring in prefill.
pub(super) fn passes<N: Num>(i: &Inputs<N>) -> N {
    N::pick(i.decode, || N::lit(1.0), || i.cp)
}

/// Q times K, or P times V.
fn products<N: Num>(l: &Layer<'_, N>, id: StageId) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    if l.o.has(Opt::Causal) {
        return Row::compute_only(l, id, N::flop(2.0) * i.b * l.pairs * i.h * sh.hq_work);
    }
    Row::compute_only(l, id, passes(i) * N::flop(2.0) * i.b * sh.t * sh.s_local * i.h * sh.hq_work)
}

fn softmax<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let bytes = if l.o.has(Opt::Causal) {
        N::lit(2.0) * i.e * i.b * sh.hq * l.pairs
    } else {
        passes(i) * N::lit(2.0) * i.e * i.b * sh.hq * sh.t * sh.s_local
    };
    if l.o.has(Opt::Vector) {
        return Row::elementwise(l, StageId::S6, N::flop(0.0), fused::softmax_ops(l), bytes);
    }
    Row::memory_only(l, StageId::S6, N::flop(0.0), bytes)
}

/// C1: shards of K and V (or of Q with its state) go round while attention works on the last. `attention` is the time of
/// all passes.
fn ring<N: Num>(l: &Layer<'_, N>, attention: N) -> Row<N> {
    let (i, sh, p) = (l.i, l.sh, l.placed);
    let (zero, one, two) = (N::lit(0.0), N::lit(1.0), N::lit(2.0));
    let whole = || two * i.b * sh.s_local * sh.hk_work * i.h * i.e;
    let latent = || i.b * sh.s_local * (i.latent + i.rope) * i.e;
    let kv = || if l.o.has(Opt::Mla) { N::pick(has_latent(l), latent, whole) } else { whole() };
    let qoml = || i.b * sh.t * sh.hq * (two * i.h + two) * i.e;
    // With few new tokens over a long context, Q is the smaller.
    let message = if l.o.has(Opt::Chunked) { kv().min(qoml()) } else { N::pick(i.ring_qoml, qoml, kv) };
    let message = message.def("C1.message", Dim::BYTE, "what one hop carries");
    let (intra, inter, sip) = (Tier::intra(i), Tier::inter(i), Tier::intersip(i));
    let hop = |tier: &Tier<N>| message / tier.bytes_per_s + tier.hop_s;
    let inside = N::pick(i.cp_on_pe, || i.cp - one, || p.ring_hops_inter);
    let across = N::pick(i.cp_on_pe, || zero, || p.ring_hops_sip);
    let all_hops = || p.ring_hops_inter * hop(&inter) + p.ring_hops_sip * hop(&sip);
    let time = N::pick(i.cp_on_pe, || (i.cp - one) * hop(&intra), all_hops);
    // What attention takes is what hides a hop, unless it takes what the baseline's credit was made for.
    let other = [Opt::Overlap, Opt::KvRead, Opt::Causal, Opt::KvSplit, Opt::Vector];
    let credit = if other.iter().any(|o| l.o.has(*o)) { attention / i.cp } else { baseline_credit(l) };
    let credit = credit.def("C1.credit", Dim::SECOND, "work of one pass that hides a hop");
    let left = |tier: &Tier<N>| hop(tier).max(credit) - credit;
    let near = if l.o.has(Opt::Overlap) { Tier::pick(i.cp_on_pe, intra, inter) } else { inter };
    let visible = inside * left(&near) + across * left(&sip);
    let present = N::and(N::not(i.decode), one.lt(i.cp));
    let when_present = |x: N, none: N| N::pick(present, || x, || none);
    let comm_s = when_present(time, N::seconds(0.0)).def_part("C1", "comm", Dim::SECOND);
    let all_bytes = message * (p.ring_hops_inter + p.ring_hops_sip);
    let comm_bytes = when_present(all_bytes, N::bytes(0.0)).def_part("C1", "comm_bytes", Dim::BYTE);
    let visible_s = when_present(visible, N::seconds(0.0)).def_part("C1", "visible", Dim::SECOND);
    Row { comm_s, comm_bytes, visible_s, rule: BoundRule::Is(Bound::Comm), present, ..Row::blank(StageId::C1) }
}

/// Products and softmax of one pass. The baseline forgets the requests in the second term.
fn baseline_credit<N: Num>(l: &Layer<'_, N>) -> N {
    let (i, sh) = (l.i, l.sh);
    let two = N::lit(2.0);
    let products = two * (N::flop(2.0) * i.b * sh.t * sh.s_local * i.h * sh.hq) / l.flop_per_s;
    products + two * i.e * sh.hq * sh.t * sh.s_local / i.w
}

/// C3: ranks that hold parts of a KV head sum their scores.
fn score_sum<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let split = N::and(i.kv_split, i.kv_heads.lt(i.tp));
    // A latent has no heads to split.
    let split = if l.o.has(Opt::Mla) { N::and(split, N::not(has_latent(l))) } else { split };
    let when_split = |x: N, none: N| N::pick(split, || x, || none);
    let (time, bytes) = if l.o.has(Opt::KvSplit) {
        // A rank has a part of the dimensions for every query head of the KV head.
        let scores = if l.o.has(Opt::Causal) { l.pairs } else { passes(i) * sh.t * sh.s_local };
        let payload = i.b * (i.q_heads / i.kv_heads) * scores * i.e;
        let tier = Tier::pick(sh.q.le(N::lit(1.0)), Tier::intra(i), l.placed.tp_tier);
        let Cost { time_s, bytes } = ring_all_reduce(sh.q, payload, &tier);
        (when_split(time_s, N::seconds(0.0)), when_split(bytes, N::bytes(0.0)))
    } else {
        let payload = i.b * sh.hq * sh.t * sh.s_local * i.e;
        let sum = ring_all_reduce(sh.q, payload, &Tier::intra(i));
        let bytes = (N::lit(2.0) * (sh.q - N::lit(1.0)) / sh.q * payload * i.cp).floor();
        (when_split(i.cp * sum.time_s, N::seconds(0.0)), when_split(bytes, N::bytes(0.0)))
    };
    let row = Row::comm_only(StageId::C3, time, bytes, BoundRule::Is(Bound::Comm));
    Row { present: N::lit(0.0).lt(row.comm_s), ..row }
}

/// S8: partial outputs of the shards, with their maximum and sum, become one.
fn merge<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh, p) = (l.i, l.sh, l.placed);
    let one = N::lit(1.0);
    let flops = (N::flop(6.0) * i.b * sh.t * sh.hq * i.h * (i.cp - one)).def_part("S8", "flops", Dim::FLOP);
    let outer = Tier::pick(one.lt(p.sips_used), Tier::intersip(i), Tier::inter(i));
    let tier = Tier::pick(i.cp_on_pe, Tier::intra(i), outer);
    let state = if l.o.has(Opt::Chunked) { sh.t * sh.hq } else { sh.hq };
    let sum = all_reduce(l, &l.groups.cp, i.b * state * (i.h + N::lit(2.0)) * i.e, &tier);
    let sends = N::and(i.decode, one.lt(i.cp));
    let comm_s = N::pick(sends, || sum.time_s, || N::seconds(0.0)).def_part("S8", "comm", Dim::SECOND);
    let comm_bytes = N::pick(sends, || sum.bytes, || N::bytes(0.0)).def_part("S8", "comm_bytes", Dim::BYTE);
    let compute_s = if l.o.has(Opt::Vector) {
        N::lit(6.0) * i.b * sh.t * sh.hq * i.h * (i.cp - one) / i.math
    } else {
        flops / l.flop_per_s
    };
    let compute_s = compute_s.def_part("S8", "compute", Dim::SECOND);
    let visible_s = compute_s.max(comm_s).def_part("S8", "visible", Dim::SECOND);
    let rule = BoundRule::CommOrCompute;
    Row { flops, comm_bytes, compute_s, comm_s, visible_s, rule, ..Row::blank(StageId::S8) }
}

fn normalise<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(1.0) * i.b * sh.t * sh.hq * i.h;
    let row = if l.o.has(Opt::Vector) {
        Row::elementwise(l, StageId::S9, flops, i.b * sh.t * sh.hq * i.h, N::bytes(0.0))
    } else {
        Row::compute_only(l, StageId::S9, flops)
    };
    Row { rule: BoundRule::Is(Bound::Trivial), ..row }
}

fn output_projection<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(2.0) * i.b * sh.t * sh.hq * i.h * i.d;
    let shape = Gemm { rows: i.b * sh.t, columns: i.d, depth: sh.hq * i.h };
    Row::gemm(l, StageId::S10, flops, sh.hq * i.h * i.d * i.e, shape)
}

fn tp_sum<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let sum = all_reduce(l, &l.groups.tp, i.b * sh.t * i.d * i.e, &l.placed.tp_tier);
    Row::comm_only(StageId::C2, sum.time_s, sum.bytes, BoundRule::CommIfAny)
}
