//! Bytes that one PE holds.

use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::{Opt, Options};
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
pub fn memory<N: Num>(i: &Inputs<N>, sh: &Shards<N>, attention: N::Bool, ffn: N::Bool, o: Options) -> Memory<N> {
    let zero = N::lit(0.0);
    let layers_held = i.layers.div_ceil(i.pp).def("Ls", Dim::ONE, "layers that a stage of pp holds");
    let per_layer_attention = N::pick(attention, || attention_params(i, sh, o), || zero);
    let matrices = if o.has(Opt::Presets) { i.ffn_matrices } else { N::lit(3.0) };
    let per_layer_ffn = N::pick(ffn, || matrices * i.d * sh.fp_held, || zero);
    let layers = layers_held * i.e * (per_layer_attention + per_layer_ffn);
    let weights = if o.has(Opt::Head) {
        with_head(i, layers_held, per_layer_attention + per_layer_ffn, o).floor()
    } else {
        layers.floor()
    };
    let weights_bytes =
        weights.def("memory.weights", Dim::BYTE, "W_Q, W_K, W_V, W_O, gate, up, down of the layers held");
    let kept = sh.s_kept;
    let kv = (N::lit(2.0) * kept * sh.kh * i.h * i.e * layers_held * i.b).floor();
    let kv = if o.has(Opt::Mla) {
        // Once, not for K and for V, and whole on every rank of tp.
        let latent = (kept * (i.latent + i.rope) * i.e * layers_held * i.b).floor();
        N::pick(zero.lt(i.latent), || latent, || kv)
    } else {
        kv
    };
    let kv_bytes = N::pick(attention, || kv, || N::bytes(0.0)).def("memory.kv", Dim::BYTE, "K and V of the context");
    let transient = if o.has(Opt::Transient) { transient_of_all(i, sh) } else { baseline_transient(i, sh) };
    let transient_bytes = transient.def("memory.transient", Dim::BYTE, "what a step holds while it runs");
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

/// W_Q, W_K, W_V and W_O of a layer on one PE.
fn attention_params<N: Num>(i: &Inputs<N>, sh: &Shards<N>, o: Options) -> N {
    let two = N::lit(2.0);
    let heads = i.d * sh.hq * i.h + two * i.d * sh.kh * i.h + sh.hq * i.h * i.d;
    if !o.has(Opt::Mla) {
        return heads;
    }
    // Down to the latent on every rank; up from it, and the rotary part of the queries, by heads.
    let down = i.d * (i.latent + i.rope);
    let up = two * i.latent * sh.hq * i.h;
    let latent = two * i.d * sh.hq * i.h + i.d * sh.hq * i.rope + down + up;
    N::pick(N::lit(0.0).lt(i.latent), || latent, || heads)
}

/// Bytes of the fullest stage of pp: layers with their norms, and embedding and head over tp. `pipeline` puts the
/// embedding on the first stage and the head on the last, which has a layer less where they do not divide.
fn with_head<N: Num>(i: &Inputs<N>, layers_held: N, per_layer: N, o: Options) -> N {
    let (one, two) = (N::lit(1.0), N::lit(2.0));
    let per_layer = per_layer + two * i.d;
    let table = i.vocab.div_ceil(i.tp) * i.d;
    if !o.has(Opt::Pipeline) {
        return i.e * (layers_held * per_layer + table * i.heads_tied + i.d);
    }
    let last = N::pick((i.layers / i.pp).floor().lt(layers_held), || layers_held - one, || layers_held);
    let alone = N::pick(one.lt(i.pp), || one, || i.heads_tied);
    let first_stage = layers_held * per_layer + N::pick(one.lt(i.pp), || table, || table * alone);
    let last_stage = last * per_layer + table * alone + i.d;
    i.e * first_stage.max(last_stage)
}

/// One request's, whatever the batch; scores of a tile as if they lay in HBM.
fn baseline_transient<N: Num>(i: &Inputs<N>, sh: &Shards<N>) -> N {
    let heads = (i.q_heads * i.h).div_floor(i.tp);
    let decode = || N::lit(4.0) * (i.d + heads) * i.e;
    let prefill = || N::lit(2.0) * (sh.hq * sh.t * N::lit(PREFILL_TILE) * i.e) + sh.t * i.d * i.e;
    N::pick(i.decode, decode, prefill)
}

/// Hidden states in and out and the widest of what lies between, of all requests and gathered tokens, beyond the on-chip
/// memory; and what the ring of cp holds twice: the shard at work and the one that comes.
fn transient_of_all<N: Num>(i: &Inputs<N>, sh: &Shards<N>) -> N {
    let two = N::lit(2.0);
    let tokens = i.b * sh.t;
    let between = ((sh.hq + two * sh.hk) * i.h).max(two * sh.fp * sh.gathered);
    let activations = tokens * (two * i.d + between) * i.e;
    let beyond = activations.max(i.scratch) - i.scratch;
    let ring = N::pick(
        N::and(N::not(i.decode), N::lit(1.0).lt(i.cp)),
        || two * two * i.b * sh.s_local * sh.hk * i.h * i.e,
        || N::bytes(0.0),
    );
    beyond + ring
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
/// weights and transient stay those of `config`. With `transient` all of it moves.
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
        let transient_bytes = if o.has(Opt::Transient) { m.transient_bytes } else { frozen.transient_bytes };
        let used_bytes = frozen.weights_bytes + m.kv_bytes + transient_bytes;
        CurvePoint {
            axis: *value,
            weights_bytes: frozen.weights_bytes,
            kv_bytes: m.kv_bytes,
            transient_bytes,
            used_bytes,
            free_bytes: (m.budget_bytes - used_bytes).max(0.0),
            over_budget: used_bytes > m.budget_bytes,
        }
    };
    values.iter().map(point).collect()
}
