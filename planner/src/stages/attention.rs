//! Attention: S1 to S10, C1 to C3.

use super::collective::ring_all_reduce;
use super::row::{Bound, BoundRule};
use super::{Layer, Row, Rows, StageId};
use crate::formula::{Dim, Num};
use crate::placement::Tier;

#[inline(always)]
pub(super) fn push<N: Num>(l: &Layer<'_, N>, rows: &mut Rows<N>) {
    rows.push(norm(l));
    rows.push(query_projection(l));
    rows.push(kv_projection(l));
    rows.push(kv_append(l));
    rows.push(products(l, StageId::S5));
    rows.push(softmax(l));
    rows.push(products(l, StageId::S7));
    rows.push(ring(l));
    rows.push(score_sum(l));
    rows.push(merge(l));
    rows.push(normalise(l));
    rows.push(output_projection(l));
    rows.push(tp_sum(l));
}

fn norm<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(4.0) * i.b * sh.t * i.d;
    Row::overlapped(l, StageId::S1, flops, (i.b + N::lit(1.0)) * sh.t * i.d * i.e)
}

fn query_projection<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(2.0) * i.b * sh.t * i.d * sh.hq * i.h;
    Row::overlapped(l, StageId::S2, flops, i.d * sh.hq * i.h * i.e)
}

fn kv_projection<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(4.0) * i.b * sh.t * i.d * sh.hk * i.h;
    Row::overlapped(l, StageId::S3, flops, N::lit(2.0) * i.d * sh.hk * i.h * i.e)
}

fn kv_append<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    Row::memory_only(l, StageId::S4, N::flop(0.0), N::lit(2.0) * i.b * sh.t * sh.hk * i.h * i.e)
}

/// Passes over the context: one for each shard that comes round the ring in prefill.
fn passes<N: Num>(l: &Layer<'_, N>) -> N {
    N::pick(l.i.decode, || N::lit(1.0), || l.i.cp)
}

/// Q times K, or P times V.
fn products<N: Num>(l: &Layer<'_, N>, id: StageId) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    Row::compute_only(l, id, passes(l) * N::flop(2.0) * i.b * sh.t * sh.s_local * i.h * sh.hq)
}

fn softmax<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let bytes = passes(l) * N::lit(2.0) * i.e * i.b * sh.hq * sh.t * sh.s_local;
    Row::memory_only(l, StageId::S6, N::flop(0.0), bytes)
}

/// C1: shards of K and V (or of Q with its state) go round while S5 to S7 work on the last.
fn ring<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh, p) = (l.i, l.sh, l.placed);
    let (zero, one, two) = (N::lit(0.0), N::lit(1.0), N::lit(2.0));
    let kv = || two * i.b * sh.s_local * sh.hk * i.h * i.e;
    let qoml = || i.b * sh.t * sh.hq * (two * i.h + two) * i.e;
    let message = N::pick(i.ring_qoml, qoml, kv).def("C1.message", Dim::BYTE, "what one hop carries");
    let (intra, inter, sip) = (Tier::intra(i), Tier::inter(i), Tier::intersip(i));
    let hop = |tier: &Tier<N>| message / tier.bytes_per_s + tier.hop_s;
    let inside = N::pick(i.cp_on_pe, || i.cp - one, || p.ring_hops_inter);
    let across = N::pick(i.cp_on_pe, || zero, || p.ring_hops_sip);
    let all_hops = || p.ring_hops_inter * hop(&inter) + p.ring_hops_sip * hop(&sip);
    let time = N::pick(i.cp_on_pe, || (i.cp - one) * hop(&intra), all_hops);
    let credit = (two * (N::flop(2.0) * i.b * sh.t * sh.s_local * i.h * sh.hq) / l.flop_per_s
        + two * i.e * sh.hq * sh.t * sh.s_local / i.w)
        .def("C1.credit", Dim::SECOND, "work of one pass that hides a hop");
    let left = |tier: &Tier<N>| hop(tier).max(credit) - credit;
    let visible = inside * left(&inter) + across * left(&sip);
    let present = N::and(N::not(i.decode), one.lt(i.cp));
    let when_present = |x: N, unit: N| N::pick(present, || x, || unit);
    let comm_s = when_present(time, N::seconds(0.0)).def_part("C1", "comm", Dim::SECOND);
    let comm_bytes = when_present(message * (p.ring_hops_inter + p.ring_hops_sip), N::bytes(0.0)).def_part(
        "C1",
        "comm_bytes",
        Dim::BYTE,
    );
    let visible_s = when_present(visible, N::seconds(0.0)).def_part("C1", "visible", Dim::SECOND);
    Row { comm_s, comm_bytes, visible_s, rule: BoundRule::Is(Bound::Comm), present, ..Row::blank(StageId::C1) }
}

/// C3: ranks that hold parts of a KV head sum their scores.
fn score_sum<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let payload = i.b * sh.hq * sh.t * sh.s_local * i.e;
    let sum = ring_all_reduce(sh.q, payload, &Tier::intra(i));
    let split = N::and(i.kv_split, i.kv_heads.lt(i.tp));
    let when_split = |x: N, none: N| N::pick(split, || x, || none);
    let time = when_split(i.cp * sum.time_s, N::seconds(0.0));
    let bytes = when_split(reduced_bytes(sh.q, payload, i.cp), N::bytes(0.0));
    let row = Row::comm_only(StageId::C3, time, bytes, BoundRule::Is(Bound::Comm));
    Row { present: N::lit(0.0).lt(row.comm_s), ..row }
}

/// Bytes of `times` sums, rounded once.
fn reduced_bytes<N: Num>(ranks: N, payload: N, times: N) -> N {
    (N::lit(2.0) * (ranks - N::lit(1.0)) / ranks * payload * times).floor()
}

/// S8: partial outputs of the shards, with their maximum and sum, become one.
fn merge<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh, p) = (l.i, l.sh, l.placed);
    let one = N::lit(1.0);
    let flops = (N::flop(6.0) * i.b * sh.t * sh.hq * i.h * (i.cp - one)).def_part("S8", "flops", Dim::FLOP);
    let outer = Tier::pick(one.lt(p.sips_used), Tier::intersip(i), Tier::inter(i));
    let tier = Tier::pick(i.cp_on_pe, Tier::intra(i), outer);
    let sum = ring_all_reduce(i.cp, i.b * sh.hq * (i.h + N::lit(2.0)) * i.e, &tier);
    let sends = N::and(i.decode, one.lt(i.cp));
    let comm_s = N::pick(sends, || sum.time_s, || N::seconds(0.0)).def_part("S8", "comm", Dim::SECOND);
    let comm_bytes = N::pick(sends, || sum.bytes, || N::bytes(0.0)).def_part("S8", "comm_bytes", Dim::BYTE);
    let compute_s = (flops / l.flop_per_s).def_part("S8", "compute", Dim::SECOND);
    let visible_s = compute_s.max(comm_s).def_part("S8", "visible", Dim::SECOND);
    let rule = BoundRule::CommOrCompute;
    Row { flops, comm_bytes, compute_s, comm_s, visible_s, rule, ..Row::blank(StageId::S8) }
}

fn normalise<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let row = Row::compute_only(l, StageId::S9, N::flop(1.0) * i.b * sh.t * sh.hq * i.h);
    Row { rule: BoundRule::Is(Bound::Trivial), ..row }
}

fn output_projection<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(2.0) * i.b * sh.t * sh.hq * i.h * i.d;
    Row::overlapped(l, StageId::S10, flops, sh.hq * i.h * i.d * i.e)
}

fn tp_sum<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let sum = ring_all_reduce(i.tp, i.b * sh.t * i.d * i.e, &l.placed.tp_tier);
    Row::comm_only(StageId::C2, sum.time_s, sum.bytes, BoundRule::CommIfAny)
}
