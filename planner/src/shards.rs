//! What one PE holds of tokens, heads and FFN width.

use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::{Opt, Options};

/// A PE's share.
#[derive(Clone, Copy, Debug)]
pub struct Shards<N: Num> {
    /// New tokens of a request, on all ranks of cp together.
    pub t_total: N,
    /// New tokens of a request that this PE works on.
    pub t: N,
    /// Tokens of context.
    pub s_local: N,
    /// Of them, those whose K and V are kept, of a mean layer.
    pub s_kept: N,
    /// Query and KV heads of the stages; whole.
    pub hq: N,
    pub hk: N,
    /// Query heads' worth of attention products; a part of one where heads are split over more ranks than there are.
    pub hq_work: N,
    /// KV heads' worth of projections.
    pub hk_work: N,
    /// KV heads of the memory; a part of one where a head is split.
    pub kh: N,
    /// Ranks that FFN weights are divided over.
    pub ffn_divisor: N,
    /// FFN columns that products use for a token; at least one.
    pub fp: N,
    /// FFN columns whose weights are read.
    pub fp_read: N,
    /// FFN columns of the memory.
    pub fp_held: N,
    /// Times that the FFN sees a PE's tokens: ranks whose tokens are gathered.
    pub gathered: N,
    /// Ranks of ep inside the group of the FFN.
    pub ep: N,
    /// Ranks that share a KV head.
    pub q: N,
}

/// A part of `whole` over `ranks`: the smallest in the baseline, the largest with `ceil`.
#[inline(always)]
fn part<N: Num>(whole: N, ranks: N, o: Options) -> N {
    if o.has(Opt::Ceil) { whole.div_ceil(ranks) } else { whole.div_floor(ranks) }
}

#[inline(always)]
pub fn shards<N: Num>(i: &Inputs<N>, o: Options) -> Shards<N> {
    let one = N::lit(1.0);
    let s_local = part(i.s, i.cp, o).def("Sl", Dim::ONE, "context tokens a PE holds");
    let s_kept = if o.has(Opt::Causal) {
        let windowed = s_local.min(i.window.div_ceil(i.cp));
        ((one - i.windowed) * s_local + i.windowed * windowed).def(
            "tokens_kept",
            Dim::ONE,
            "context tokens of a mean layer: a windowed one keeps its window",
        )
    } else {
        s_local
    };
    let usual = || N::pick(i.decode, || one, || i.s);
    let t_total = if o.has(Opt::Chunked) { N::pick(N::lit(0.0).lt(i.t_q), || i.t_q, usual) } else { usual() };
    let t_total = t_total.def("t_new", Dim::ONE, "new tokens of a request");
    // Ranks of cp share the new tokens in prefill; in decode each has all of them.
    let t = N::pick(i.decode, || t_total, || one.max(part(t_total, i.cp, o)));
    let t = if o.has(Opt::Chunked) { t } else { N::pick(i.decode, || one, || s_local) };
    let t = t.def("T", Dim::ONE, "new tokens a PE works on");

    let hq = one.max(part(i.q_heads, i.tp, o)).def("hq", Dim::ONE, "query heads of a PE");
    let hk = one.max(part(i.kv_heads, i.tp, o)).def("hk", Dim::ONE, "KV heads of a PE, in the stages");
    let shares_head = i.kv_heads.lt(i.tp);
    let q = one.max(part(i.tp, i.kv_heads, o)).def("q", Dim::ONE, "ranks that share a KV head");
    let fraction = i.kv_heads / i.tp;
    let whole_heads = || if o.has(Opt::Ceil) { i.kv_heads.div_ceil(i.tp) } else { fraction };
    let held_split = N::pick(shares_head, || fraction, whole_heads);
    let kh = N::pick(i.kv_split, || held_split, || one.max(whole_heads()));
    let kh = kh.def("kh", Dim::ONE, "KV heads of a PE, in memory");
    let (hq_work, hk_work) = if o.has(Opt::KvSplit) {
        let split = N::and(i.kv_split, shares_head);
        let few_heads = N::and(i.kv_split, i.q_heads.lt(i.tp));
        let hq_work = N::pick(few_heads, || i.q_heads / i.tp, || hq);
        let hk_work = N::pick(split, || fraction, || hk);
        (
            hq_work.def("hq_work", Dim::ONE, "query heads' worth of products: split heads add up to the whole"),
            hk_work.def("hk_work", Dim::ONE, "KV heads' worth of projections"),
        )
    } else {
        (hq, hk)
    };

    let scope_cp = N::pick(i.scope_cp, || i.cp, || one);
    let scope_dp = N::pick(i.scope_dp, || i.dp, || one);
    let ffn_divisor = (i.tp * scope_cp * scope_dp).def("D", Dim::ONE, "ranks that FFN weights are divided over");
    let gathered = if o.has(Opt::FfnTokens) {
        // In decode all ranks of cp have the same token.
        let over_cp = N::pick(i.decode, || one, || scope_cp);
        (over_cp * scope_dp).def("g", Dim::ONE, "ranks whose tokens the FFN sees")
    } else {
        one
    };
    let ffn = Ffn { d: ffn_divisor, gathered, t };
    let (ep, fp, fp_read, fp_held) = if o.has(Opt::Moe) { ffn.mixture(i, o) } else { ffn.dense(i, o) };
    Shards {
        t_total,
        t,
        s_local,
        s_kept,
        hq,
        hk,
        hq_work,
        hk_work,
        kh,
        ffn_divisor,
        fp,
        fp_read,
        fp_held,
        gathered,
        ep,
        q,
    }
}

struct Ffn<N: Num> {
    d: N,
    gathered: N,
    t: N,
}

impl<N: Num> Ffn<N> {
    /// ep, and the columns used, read and held: of the active width.
    fn dense(&self, i: &Inputs<N>, o: Options) -> (N, N, N, N) {
        let held = part(i.f, self.d * i.ep, o).def("fp_held", Dim::ONE, "FFN columns a PE holds");
        let fp = N::lit(1.0).max(held).def("fp", Dim::ONE, "FFN columns a PE works on");
        (i.ep, fp, fp, held)
    }
    /// The same of a mixture: every expert is held, those that some token is routed to are read.
    fn mixture(&self, i: &Inputs<N>, o: Options) -> (N, N, N, N) {
        let one = N::lit(1.0);
        let width = (i.f / (i.active + i.shared)).def("expert_width", Dim::ONE, "columns of one expert");
        let ep = i.ep.min(self.d).min(i.experts).def("ep_inside", Dim::ONE, "ranks of ep inside the group of the FFN");
        let fp = one.max(part(i.f, self.d, o)).def("fp", Dim::ONE, "FFN columns a PE works on, for a token");
        let tokens = i.b * self.t * self.gathered;
        let missed = (one - i.active / i.experts).pow(tokens);
        let touched = (i.experts * (one - missed)).def("experts_touched", Dim::ONE, "E (1 - (1 - k/E)^tokens)");
        let read =
            ((touched + i.shared) * width / self.d).def("fp_read", Dim::ONE, "FFN columns whose weights are read");
        let ranks = self.d / ep;
        let held = part(i.experts, ep, o) * part(width, ranks, o) + i.shared * part(width, self.d, o);
        (ep, fp, read, held.def("fp_held", Dim::ONE, "FFN columns a PE holds, of all its experts"))
    }
}

/// A division that leaves shards of two sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uneven {
    pub what: &'static str,
    pub whole: f64,
    pub ranks: f64,
    pub largest: f64,
    pub smallest: f64,
}

/// What does not divide evenly: the largest shard sets the pace, the others wait.
pub fn uneven(i: &Inputs<f64>, s: &Shards<f64>) -> Vec<Uneven> {
    let divisions = [
        ("context tokens over cp", i.s, i.cp),
        ("query heads over tp", i.q_heads, i.tp),
        ("KV heads over tp", i.kv_heads, i.tp.min(i.kv_heads)),
        ("FFN columns over the ranks of the FFN", i.f, s.ffn_divisor),
        ("layers over pp", i.layers, i.pp),
    ];
    let division = |(what, whole, ranks): (&'static str, f64, f64)| {
        let (largest, smallest) = ((whole / ranks).ceil(), (whole / ranks).floor());
        Uneven { what, whole, ranks, largest, smallest }
    };
    divisions.into_iter().map(division).filter(|u| u.largest != u.smallest).collect()
}
