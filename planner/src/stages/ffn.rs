//! The FFN: F1 to F5, CE, CF1.

use super::attention::norm;
use super::collective::{all_reduce, gather_or_scatter};
use super::row::BoundRule;
use super::{Gemm, Layer, Row, Rows, StageId};
use crate::formula::{Dim, Num};
use crate::options::Opt;
use crate::placement::{Group, Tier};

#[inline(always)]
pub(super) fn push<N: Num>(l: &Layer<'_, N>, rows: &mut Rows<N>) {
    rows.push(norm(l, StageId::F1));
    if l.o.has(Opt::Moe) {
        rows.push(dispatch(l));
    }
    rows.push(gate(l));
    rows.push(columns(l, StageId::F3));
    rows.push(activation(l));
    rows.push(rows_of_down(l));
    rows.push(ffn_sum(l));
}

/// Tokens that the PE's columns see, of all requests.
fn tokens<N: Num>(l: &Layer<'_, N>) -> N {
    let own = l.i.b * l.sh.t;
    if l.o.has(Opt::FfnTokens) { own * l.sh.gathered } else { own }
}

/// The busiest rank of ep has more than its share.
fn load<N: Num>(l: &Layer<'_, N>, flops: N) -> N {
    if l.o.has(Opt::Moe) { N::pick(N::lit(1.0).lt(l.sh.ep), || flops * l.i.imbalance, || flops) } else { flops }
}

/// Gate or up: the PE has some columns.
fn columns<N: Num>(l: &Layer<'_, N>, id: StageId) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = load(l, N::flop(2.0) * tokens(l) * i.d * sh.fp);
    Row::gemm(l, id, flops, i.d * sh.fp_read * i.e, Gemm { rows: tokens(l), columns: sh.fp, depth: i.d })
}

/// F2, which a plain FFN has not.
fn gate<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let row = columns(l, StageId::F2);
    if !l.o.has(Opt::Presets) {
        return row;
    }
    let gated = N::lit(2.0).lt(l.i.ffn_matrices);
    let kept = |x: N, none: N| N::pick(gated, || x, || none);
    let none = N::seconds(0.0);
    Row {
        flops: kept(row.flops, N::flop(0.0)),
        mem_bytes: kept(row.mem_bytes, N::bytes(0.0)),
        compute_s: kept(row.compute_s, none),
        memory_s: kept(row.memory_s, none),
        visible_s: kept(row.visible_s, none).def_part("F2", "visible_gated", Dim::SECOND),
        present: gated,
        ..row
    }
}

fn activation<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let matrices = if l.o.has(Opt::Presets) { i.ffn_matrices } else { N::lit(3.0) };
    let elements = tokens(l) * sh.fp;
    let flops = if l.o.has(Opt::Presets) {
        N::flop(1.0) * matrices * elements
    } else {
        N::flop(3.0) * i.b * sh.t * sh.gathered * sh.fp
    };
    let bytes = matrices * elements * i.e;
    let bytes =
        if l.o.has(Opt::Activations) { N::pick(i.scratch.lt(bytes), || bytes, || N::bytes(0.0)) } else { bytes };
    if l.o.has(Opt::Vector) {
        // The gate's factor, and a function with an exponential.
        return Row::elementwise(l, StageId::F4, flops, elements * (matrices + i.exp_ops), bytes);
    }
    Row::memory_only(l, StageId::F4, flops, bytes)
}

/// Down: the PE has some rows.
fn rows_of_down<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = load(l, N::flop(2.0) * tokens(l) * sh.fp * i.d);
    Row::gemm(l, StageId::F5, flops, sh.fp_read * i.d * i.e, Gemm { rows: tokens(l), columns: i.d, depth: sh.fp })
}

/// CE: each token goes to the ranks of its experts and its results come back; a part of 1/ep stays.
fn dispatch<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let (one, two) = (N::lit(1.0), N::lit(2.0));
    let ways = two * (sh.ep - one);
    let bytes = ways / sh.ep * i.active * i.b * sh.t * i.d * i.e;
    let tier = l.groups.ffn.tier(i);
    let row = Row::comm_only(StageId::Ce, bytes / tier.bytes_per_s + ways * tier.hop_s, bytes, BoundRule::CommIfAny);
    Row { present: one.lt(sh.ep), ..row }
}

/// CF1, and the gathering of tokens before it where the FFN is divided over ranks that hold different ones.
fn ffn_sum<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh, p) = (l.i, l.sh, l.placed);
    let one = N::lit(1.0);
    let (intra, inter, sip) = (Tier::intra(i), Tier::inter(i), Tier::intersip(i));
    let wide = Tier::pick(one.lt(p.sips_used), sip, inter);
    let narrow = Tier::pick(p.tp_spans_cubes.le(one), intra, inter);
    let tier = Tier::pick(i.scope_cp, wide, narrow);
    let share = i.b * sh.t * i.d * i.e;
    let group = l.groups.ffn;
    let cost = if l.o.has(Opt::FfnTokens) || l.o.has(Opt::Moe) {
        // Experts apart exchange tokens (CE) instead of sums.
        let ep = if l.o.has(Opt::Moe) { sh.ep } else { one };
        let over = |ranks: N| {
            let ranks = one.max(ranks);
            let in_cube = group.in_cube.min(ranks);
            let cubes = one.max(ranks / in_cube / group.sips);
            Group { ranks, in_cube, cubes, sips: group.sips.min(one.max(ranks / in_cube)) }
        };
        let gathered = one.max(sh.gathered / ep);
        let gather = gather_or_scatter(l, &over(gathered), share, &tier);
        let sum = all_reduce(l, &over(sh.ffn_divisor / ep / gathered), share, &tier);
        // Gathered before the products, scattered after them.
        gather.plus(gather).plus(sum)
    } else {
        all_reduce(l, &group, share, &tier)
    };
    Row::comm_only(StageId::Cf1, cost.time_s, cost.bytes, BoundRule::CommIfAny)
}
