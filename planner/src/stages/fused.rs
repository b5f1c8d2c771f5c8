//! What causal masks and windows leave of attention, and attention as one stage that reads K and V (option `kv-read`).

use super::attention::{has_latent, passes};
use super::{Gemm, Layer, Row, StageId};
use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::{Opt, Options};
use crate::shards::Shards;

/// Query-key pairs of a request and a layer, on one PE: averaged over layers with and without a window, shards balanced.
#[inline(always)]
pub(super) fn pairs<N: Num>(i: &Inputs<N>, sh: &Shards<N>, o: Options) -> N {
    if !o.has(Opt::Causal) {
        return passes(i) * sh.t * sh.s_local;
    }
    let all = visible_pairs(i, sh, i.s).def("pairs_full", Dim::ONE, "pairs of a layer that looks back over all");
    let windowed = visible_pairs(i, sh, i.window.min(i.s));
    let mean = (N::lit(1.0) - i.windowed) * all + i.windowed * windowed;
    (mean / i.cp).def("pairs", Dim::ONE, "pairs of a PE: a mean layer, divided over cp")
}

/// The row at position p sees min(p + 1, window) tokens; the new rows are the last ones.
fn visible_pairs<N: Num>(i: &Inputs<N>, sh: &Shards<N>, window: N) -> N {
    let (one, half) = (N::lit(1.0), N::lit(0.5));
    let first = i.s - sh.t_total;
    // Rows that see less than the window.
    let growing = (window.max(first) - first).min(sh.t_total);
    growing * first + half * growing * (growing + one) + (sh.t_total - growing) * window
}

/// Elementwise operations of the softmax: a maximum, a difference, an exponential, a sum.
#[inline(always)]
pub(super) fn softmax_ops<N: Num>(l: &Layer<'_, N>) -> N {
    l.i.b * l.pairs * l.sh.hq_work * (N::lit(3.0) + l.i.exp_ops)
}

/// SA: products, softmax and the reading of K and V at once; the longest counts.
#[inline(always)]
pub(super) fn attention<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let id = StageId::Sa;
    // Each pass of a ring reads the shard that came.
    let whole = || passes(i) * i.b * N::lit(2.0) * sh.s_kept * sh.kh * i.h * i.e;
    let bytes = if l.o.has(Opt::Mla) {
        let weights = N::lit(2.0) * i.latent * sh.hq * i.h * i.e;
        let latent = || passes(i) * i.b * sh.s_kept * (i.latent + i.rope) * i.e + weights;
        N::pick(has_latent(l), latent, whole)
    } else {
        whole()
    };
    let row = Row::overlapped(l, id, products(l, l.pairs, ["mla.absorbed", "mla.naive"]), bytes);
    let compute_s = if l.o.has(Opt::Shapes) {
        // The query rows of a KV head are one product's rows.
        let shared = i.q_heads / i.kv_heads;
        let scores = Gemm { rows: sh.t * shared, columns: sh.s_kept, depth: i.h };
        let padded = products(l, l.pairs * scores.padding(i), ["mla.absorbed_padded", "mla.naive_padded"]);
        (padded / l.flop_per_s).def_part("SA", "padded", Dim::SECOND)
    } else {
        row.compute_s
    };
    let busy = if l.o.has(Opt::Vector) {
        let math = (softmax_ops(l) / i.math).def_part("SA", "softmax", Dim::SECOND);
        compute_s.max(math)
    } else {
        compute_s
    };
    let visible_s = busy.max(row.memory_s).def_part("SA", "longest", Dim::SECOND);
    Row { compute_s: busy, visible_s, ..row }
}

/// Q times K and P times V over so many pairs.
#[inline(always)]
fn products<N: Num>(l: &Layer<'_, N>, pairs: N, names: [&'static str; 2]) -> N {
    let heads = || N::flop(4.0) * l.i.b * pairs * l.i.h * l.sh.hq_work;
    if l.o.has(Opt::Mla) { N::pick(has_latent(l), || over_latent(l, pairs, names), heads) } else { heads() }
}

/// Attention over a latent. Absorbed: queries are brought into the latent's space, scores and values stay there. Naive: K and
/// V of every head are made from the latent first. The cache holds the same in both.
fn over_latent<N: Num>(l: &Layer<'_, N>, pairs: N, [absorbed, naive]: [&'static str; 2]) -> N {
    let (i, sh) = (l.i, l.sh);
    let two = N::flop(2.0);
    let rows = sh.t * sh.hq;
    let absorb = two * i.b * rows * i.h * i.latent * N::lit(2.0);
    let inside = two * i.b * pairs * sh.hq * (i.latent + i.latent + i.rope);
    let absorbed = (absorb + inside).def(absorbed, Dim::FLOP, "queries in the space of the latent");
    let expand = two * i.b * sh.s_local * passes(i) * i.latent * sh.hq * i.h * N::lit(2.0);
    let apart = two * i.b * pairs * sh.hq * (i.h + i.h + i.rope);
    let naive = (expand + apart).def(naive, Dim::FLOP, "K and V of every head, made anew");
    absorbed.min(naive)
}
