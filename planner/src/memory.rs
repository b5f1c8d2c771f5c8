//! Bytes that one PE holds.

use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::Options;
use crate::shards::{Shards, shards};

/// Per PE.
#[derive(Clone, Copy, Debug)]
pub struct Memory<N: Num> {
    /// Layers of a stage of pp.
    pub layers_held: N,
    pub attention_weights_bytes: N,
    pub ffn_weights_bytes: N,
    pub weights_bytes: N,
    pub kv_bytes: N,
    pub transient_bytes: N,
    pub budget_bytes: N,
    pub used_bytes: N,
    /// Never below zero.
    pub slack_bytes: N,
    pub over_budget: N::Bool,
}

/// Query rows of a prefill tile whose scores are alive at a time.
const PREFILL_TILE: f64 = 1024.0;

#[inline(always)]
pub fn memory<N: Num>(i: &Inputs<N>, sh: &Shards<N>, attention: N::Bool, ffn: N::Bool, _o: Options) -> Memory<N> {
    let (zero, two) = (N::lit(0.0), N::lit(2.0));
    let layers_held = i.layers.div_ceil(i.pp).def("Ls", Dim::ONE, "layers that a stage of pp holds");
    let per_layer_attention = i.d * sh.hq * i.h + two * i.d * sh.kh * i.h + sh.hq * i.h * i.d;
    let per_layer_attention = N::pick(attention, || per_layer_attention, || zero);
    let per_layer_ffn = N::pick(ffn, || N::lit(3.0) * i.d * sh.fp_held, || zero);
    let weights = (layers_held * i.e * (per_layer_attention + per_layer_ffn)).floor();
    let weights_bytes =
        weights.def("memory.weights", Dim::BYTE, "W_Q, W_K, W_V, W_O, gate, up, down of the layers held");
    let kv = (two * sh.s_local * sh.kh * i.h * i.e * layers_held * i.b).floor();
    let kv_bytes = N::pick(attention, || kv, || N::bytes(0.0)).def("memory.kv", Dim::BYTE, "K and V of the context");
    let heads = (i.q_heads * i.h).div_floor(i.tp);
    let decode = || N::lit(4.0) * (i.d + heads) * i.e;
    let prefill = || two * (sh.hq * sh.t * N::lit(PREFILL_TILE) * i.e) + sh.t * i.d * i.e;
    let transient_bytes =
        N::pick(i.decode, decode, prefill).def("memory.transient", Dim::BYTE, "what a step holds while it runs");
    let budget_bytes = i.hbm.floor().def("memory.budget", Dim::BYTE, "HBM of a PE");
    let used_bytes = (weights_bytes + kv_bytes + transient_bytes).def("memory.used", Dim::BYTE, "");
    let slack_bytes = (budget_bytes.max(used_bytes) - used_bytes).def("memory.slack", Dim::BYTE, "");
    Memory {
        layers_held,
        attention_weights_bytes: (layers_held * i.e * per_layer_attention).floor(),
        ffn_weights_bytes: (layers_held * i.e * per_layer_ffn).floor(),
        weights_bytes,
        kv_bytes,
        transient_bytes,
        budget_bytes,
        used_bytes,
        slack_bytes,
        over_budget: budget_bytes.lt(used_bytes),
    }
}

/// A point of a budget curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Tokens or requests.
    pub axis: u64,
    pub weights_bytes: f64,
    pub kv_bytes: f64,
    pub transient_bytes: f64,
    pub used_bytes: f64,
    pub free_bytes: f64,
    pub over_budget: bool,
}

/// What a budget curve varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Context,
    Requests,
}

/// Memory against context (at `other` requests) or requests (at `other` tokens). In the baseline only K and V move;
/// weights and transient stay those of `config`.
pub fn curve(config: &Inputs<f64>, axis: Axis, other: u64, values: &[u64], o: Options) -> Vec<CurvePoint> {
    let at = |i: &Inputs<f64>| memory(i, &shards(i, o), i.attention, i.ffn, o);
    let frozen = at(config);
    let point = |value: &u64| {
        let mut i = *config;
        let (tokens, requests) = match axis {
            Axis::Context => (*value, other),
            Axis::Requests => (other, *value),
        };
        (i.s, i.b) = (tokens as f64, requests.max(1) as f64);
        let m = at(&i);
        let used_bytes = frozen.weights_bytes + m.kv_bytes + frozen.transient_bytes;
        CurvePoint {
            axis: *value,
            weights_bytes: frozen.weights_bytes,
            kv_bytes: m.kv_bytes,
            transient_bytes: frozen.transient_bytes,
            used_bytes,
            free_bytes: (m.budget_bytes - used_bytes).max(0.0),
            over_budget: used_bytes > m.budget_bytes,
        }
    };
    values.iter().map(point).collect()
}
