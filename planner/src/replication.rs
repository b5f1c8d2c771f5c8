//! Bytes that are held more than once, and what to change.

use crate::inputs::Inputs;
use crate::options::{Opt, Options};
use crate::step::Step;

/// A tensor that several PEs hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplicate {
    pub tensor: &'static str,
    pub per_pe_bytes: f64,
    pub copies: f64,
    /// (copies - 1) times the bytes of a PE.
    pub wasted_bytes: f64,
}

/// Advice on a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    pub category: &'static str,
    pub severity: &'static str,
    pub name: &'static str,
    pub text: &'static str,
}

/// What is held more than once. The step counts both parts of a layer. With `dup-report` a row is a tensor with all its
/// holders, and K and V of other requests are no copies.
pub fn duplicates(i: &Inputs<f64>, s: &Step<f64>, o: Options) -> Vec<Duplicate> {
    let m = &s.memory;
    let outside = |in_scope: bool, ranks: f64| if in_scope { 1.0 } else { ranks };
    let shared_heads = if !i.kv_split && i.tp > i.kv_heads { s.shards.q } else { 1.0 };
    let latent = o.has(Opt::Mla) && i.latent > 0.0;
    let by_holders = [
        ("attention_weights", m.attention_weights_bytes, i.cp * i.dp),
        ("ffn_weights", m.ffn_weights_bytes, outside(i.scope_cp, i.cp) * outside(i.scope_dp, i.dp)),
        ("kv_cache", m.kv_bytes, if latent { i.tp } else { shared_heads }),
    ];
    let by_replica = [
        ("attention_weights", m.attention_weights_bytes, i.cp),
        ("ffn_weights", m.ffn_weights_bytes, outside(i.scope_cp, i.cp) * outside(i.scope_dp, i.dp)),
        ("kv_cache", m.kv_bytes, shared_heads),
        ("whole_replica", m.weights_bytes + m.kv_bytes, i.dp),
    ];
    let row = |(tensor, per_pe_bytes, copies): (&'static str, f64, f64)| Duplicate {
        tensor,
        per_pe_bytes,
        copies,
        wasted_bytes: (copies - 1.0) * per_pe_bytes,
    };
    let rows = if o.has(Opt::DupReport) { by_holders.to_vec() } else { by_replica.to_vec() };
    rows.into_iter().map(row).filter(|d| d.copies > 1.0).collect()
}

/// Advice that applies, in a fixed order.
pub fn hints(i: &Inputs<f64>, s: &Step<f64>) -> Vec<Hint> {
    let m = &s.memory;
    let ring = !i.sip_mesh && !i.sip_torus;
    let all = [
        (
            !i.scope_cp && i.cp > 1.0,
            hint("space", "warn", "ffn_scope_widen_to_tp_cp", "divide the FFN over cp too: --ffn-shard-scope TP+CP"),
        ),
        (
            !i.scope_dp && i.dp > 1.0,
            hint(
                "space",
                "info",
                "ffn_scope_widen_to_dp",
                "the FFN could be divided over dp: --ffn-shard-scope TP+CP+DP",
            ),
        ),
        (
            !i.kv_split && i.tp > i.kv_heads,
            hint("space", "warn", "kv_switch_to_split", "ranks hold copies of K and V: --kv-shard-mode split"),
        ),
        (
            i.cp <= 1.0 && i.tp <= i.kv_heads && m.kv_bytes > m.attention_weights_bytes,
            hint("space", "info", "kv_dominates_add_cp", "K and V outweigh the weights of attention: raise --cp"),
        ),
        (
            s.placed.ring_hops_sip > 0.0,
            hint("comm", "warn", "cp_ring_crosses_sips", "the ring of cp crosses SIPs: lower --cp, or place it on PEs"),
        ),
        (
            s.placed.tp_spans_cubes > 1.0,
            hint("comm", "warn", "tp_spans_cubes", "a group of tp spans cubes: sums over tp use the slower links"),
        ),
        (
            ring && s.placed.sips_used > 1.0,
            hint(
                "layout",
                "info",
                "sip_ring_to_torus",
                "several SIPs on a ring: --sip-topology torus2d shortens paths",
            ),
        ),
        (
            i.tp <= i.kv_heads,
            hint("comm", "good", "tp_within_kv_heads", "tp is within the KV heads: no head is shared"),
        ),
        (
            i.decode,
            hint(
                "compute",
                "info",
                "decode_memory_bound",
                "decode reads all weights for one token: raise --b to use them more",
            ),
        ),
    ];
    all.into_iter().filter_map(|(applies, hint)| applies.then_some(hint)).collect()
}

fn hint(category: &'static str, severity: &'static str, name: &'static str, text: &'static str) -> Hint {
    Hint { category, severity, name, text }
}
