//! What one PE holds of tokens, heads and FFN width.

use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::Options;

/// A PE's share.
#[derive(Clone, Copy, Debug)]
pub struct Shards<N: Num> {
    /// New tokens of a request.
    pub t: N,
    /// Tokens of context.
    pub s_local: N,
    /// Query and KV heads of the stages; whole.
    pub hq: N,
    pub hk: N,
    /// KV heads of the memory; a part of one where a head is split.
    pub kh: N,
    /// Ranks that FFN weights are divided over.
    pub ffn_divisor: N,
    /// FFN columns of the stages; at least one.
    pub fp: N,
    /// FFN columns of the memory.
    pub fp_held: N,
    /// Ranks that share a KV head.
    pub q: N,
}

#[inline(always)]
pub fn shards<N: Num>(i: &Inputs<N>, _o: Options) -> Shards<N> {
    let one = N::lit(1.0);
    let s_local = i.s.div_floor(i.cp).def("Sl", Dim::ONE, "context tokens a PE holds");
    let t = N::pick(i.decode, || one, || s_local).def("T", Dim::ONE, "new tokens a PE works on");
    let hq = one.max(i.q_heads.div_floor(i.tp)).def("hq", Dim::ONE, "query heads of a PE");
    let hk = one.max(i.kv_heads.div_floor(i.tp)).def("hk", Dim::ONE, "KV heads of a PE, in the stages");
    let part = i.kv_heads / i.tp;
    let kh = N::pick(i.kv_split, || part, || one.max(part)).def("kh", Dim::ONE, "KV heads of a PE, in memory");
    let scope_cp = N::pick(i.scope_cp, || i.cp, || one);
    let scope_dp = N::pick(i.scope_dp, || i.dp, || one);
    let ffn_divisor = (i.tp * scope_cp * scope_dp).def("D", Dim::ONE, "ranks that FFN weights are divided over");
    let fp_held = i.f.div_floor(ffn_divisor * i.ep).def("fp_held", Dim::ONE, "FFN columns a PE holds");
    let fp = one.max(fp_held).def("fp", Dim::ONE, "FFN columns a PE works on");
    let q = one.max(i.tp.div_floor(i.kv_heads)).def("q", Dim::ONE, "ranks that share a KV head");
    Shards { t, s_local, hq, hk, kh, ffn_divisor, fp, fp_held, q }
}
