//! All that formulas read, as numbers. One row an input: field, unit, name in printed formulas and JavaScript, meaning.

use crate::formula::Input;
use crate::formula::{Cond, Dim, Expr, Graph, Num};
use crate::machine::Machine;
use crate::model::Model;
use crate::topology::{CpRing, FfnShardScope, KvShardMode, Phase, Placement, SipTopology, Topology, Work};

macro_rules! inputs {
    (
        numbers { $($field:ident $unit:ident $name:literal $what:literal;)* }
        flags { $($flag:ident $flag_name:literal $flag_what:literal;)* }
    ) => {
        /// The inputs of the formulas.
        #[derive(Clone, Copy, Debug)]
        pub struct Inputs<N: Num> {
            $(#[doc = $what] pub $field: N,)*
            $(#[doc = $flag_what] pub $flag: N::Bool,)*
        }
        impl Inputs<Expr> {
            /// Declares all inputs in the graph that is being traced.
            pub fn traced() -> Inputs<Expr> {
                Inputs {
                    $($field: number($name, Dim::$unit, $what),)*
                    $($flag: flag($flag_name, $flag_what),)*
                }
            }
        }
        impl Inputs<f64> {
            /// The values in the order in which [`Inputs::traced`] declares them.
            pub fn values(&self) -> Vec<f64> {
                vec![$(self.$field,)* $(f64::from(u8::from(self.$flag)),)*]
            }
        }
    };
}

fn number(name: &'static str, unit: Dim, what: &'static str) -> Expr {
    Graph::input(Input { name, unit, what, is_flag: false })
}
fn flag(name: &'static str, what: &'static str) -> Cond {
    Graph::flag(Input { name, unit: Dim::ONE, what, is_flag: true })
}

inputs! {
    numbers {
        d ONE "d" "hidden size";
        f ONE "f" "FFN width; of a mixture, the width of the active experts together";
        q_heads ONE "Hq" "query heads";
        kv_heads ONE "Hk" "KV heads";
        h ONE "h" "head dimension";
        layers ONE "L" "layers";
        e BYTE "e" "bytes of an element";
        experts ONE "E" "experts of a layer (1: no mixture)";
        active ONE "k" "experts that a token is routed to";
        shared ONE "shared" "experts that every token visits";
        imbalance ONE "imbalance" "load of the busiest rank of ep over the mean";
        ffn_matrices ONE "ffn_matrices" "FFN weight matrices: 3 gated, 2 plain";
        latent ONE "latent" "elements of the latent that stands for K and V (0: none)";
        rope ONE "rope" "elements of the shared rotary key beside the latent";
        window ONE "window" "tokens that a windowed layer looks back (0: no window)";
        windowed ONE "windowed" "part of the layers that have the window";
        vocab ONE "V" "tokens of the vocabulary (0: head not counted)";
        heads_tied ONE "embeddings" "embedding and head matrices that are stored: 1 when tied, else 2";
        cp ONE "cp" "shards of the sequence";
        tp ONE "tp" "shards of heads";
        pp ONE "pp" "stages of layers";
        dp ONE "dp" "replicas";
        ep ONE "ep" "shards of experts";
        b ONE "b" "requests of a stage";
        micro ONE "micro_batches" "micro-batches of a burst (0: an endless stream)";
        s ONE "S" "tokens of context";
        t_q ONE "t_q" "new tokens of this step (0: one in decode, all in prefill)";
        peak FLOP_PER_S "peak" "f16 products of a PE";
        u ONE "u" "part of the peak that stages count on";
        hbm BYTE "hbm" "HBM of a PE";
        w BYTE_PER_S "W" "HBM bandwidth of a PE";
        bw_intra BYTE_PER_S "bw_intra" "link between PEs of a cube";
        a_intra SECOND "a_intra" "its hop";
        bw_inter BYTE_PER_S "bw_inter" "link between cubes of a SIP";
        a_inter SECOND "a_inter" "its hop";
        bw_sip BYTE_PER_S "bw_sip" "link between SIPs";
        a_sip SECOND "a_sip" "its hop";
        pes_per_cube ONE "pes_per_cube" "PEs of a cube";
        cubes_per_sip ONE "cubes_per_sip" "cubes of a SIP";
        math PER_S "math" "elementwise operations of a PE";
        exp_ops ONE "exp_ops" "elementwise operations of an exponential";
        scratch BYTE "scratch" "on-chip memory of a PE";
        tile_m ONE "tile_m" "rows that fill the GEMM engine";
        tile_n ONE "tile_n" "columns that fill it";
        tile_k ONE "tile_k" "depth that fills it";
        issue SECOND "issue" "issue of a command";
    }
    flags {
        decode "decode" "one new token, else prefill";
        kv_split "kv_split" "ranks that share a KV head hold parts of it, else copies";
        scope_cp "scope_cp" "FFN weights are divided over cp too";
        scope_dp "scope_dp" "and over dp";
        tp_on_pe "tp_on_pe" "ranks of tp are PEs of a cube, else cubes";
        cp_on_pe "cp_on_pe" "ranks of cp are PEs of a cube, else cubes";
        ring_qoml "ring_qoml" "the ring of cp carries Q and its state, else K and V";
        sip_mesh "sip_mesh" "SIPs form a mesh, else a ring";
        sip_torus "sip_torus" "SIPs form a torus";
        attention "attention" "attention counts";
        ffn "ffn" "the FFN counts";
    }
}

impl Inputs<f64> {
    pub fn new(model: &Model, machine: &Machine, topology: &Topology, work: &Work) -> Inputs<f64> {
        let experts = model.experts.unwrap_or_default();
        let latent = model.latent.unwrap_or_default();
        let window = model.window.unwrap_or_default();
        let [tile_m, tile_n, tile_k] = machine.gemm_tile;
        let mut inputs = Inputs {
            d: n(model.hidden),
            f: n(model.ffn_dim),
            q_heads: n(model.q_heads),
            kv_heads: n(model.kv_heads),
            h: n(model.d_head),
            layers: n(model.layers),
            e: model.bytes_per_elem,
            experts: n(experts.total),
            active: n(experts.active),
            shared: n(experts.shared),
            imbalance: 1.0,
            ffn_matrices: model.ffn_kind.matrices(),
            latent: n(latent.latent),
            rope: n(latent.rope),
            window: n(window.tokens),
            windowed: if window.every == 0 { 0.0 } else { 1.0 / n(window.every) },
            vocab: n(model.vocab),
            heads_tied: if model.tied_head { 1.0 } else { 2.0 },
            cp: 1.0,
            tp: 1.0,
            pp: 1.0,
            dp: 1.0,
            ep: 1.0,
            b: 1.0,
            micro: n(work.micro_batches),
            s: n(work.s_kv),
            t_q: n(work.t_q.unwrap_or(0)),
            peak: 0.0,
            u: machine.utilisation,
            hbm: 0.0,
            w: 0.0,
            bw_intra: 0.0,
            a_intra: 0.0,
            bw_inter: 0.0,
            a_inter: 0.0,
            bw_sip: 0.0,
            a_sip: 0.0,
            pes_per_cube: n(machine.pes_per_cube),
            cubes_per_sip: n(machine.cubes_per_sip),
            math: machine.math_elem_per_s,
            exp_ops: machine.exp_ops,
            scratch: machine.scratch_bytes,
            tile_m: n(tile_m),
            tile_n: n(tile_n),
            tile_k: n(tile_k),
            issue: machine.issue_s,
            decode: work.phase == Phase::Decode,
            kv_split: true,
            scope_cp: true,
            scope_dp: false,
            tp_on_pe: true,
            cp_on_pe: false,
            ring_qoml: false,
            sip_mesh: false,
            sip_torus: false,
            attention: work.parts.attention,
            ffn: work.parts.ffn,
        };
        inputs.set_machine(machine);
        inputs.set_topology(topology);
        inputs
    }
    /// The same with another number of requests.
    #[must_use]
    pub fn with_requests(mut self, b: f64) -> Inputs<f64> {
        self.b = b;
        self
    }
    /// Another machine under the same model and work: what a search of hardware varies.
    pub fn set_machine(&mut self, machine: &Machine) {
        self.peak = machine.peak_flop_per_s;
        self.hbm = machine.hbm_bytes;
        self.w = machine.hbm_bytes_per_s;
        (self.bw_intra, self.a_intra) = (machine.intra.bytes_per_s, machine.intra.hop_s);
        (self.bw_inter, self.a_inter) = (machine.inter.bytes_per_s, machine.inter.hop_s);
        (self.bw_sip, self.a_sip) = (machine.intersip.bytes_per_s, machine.intersip.hop_s);
    }
    /// Another deployment of the same model on the same machine: what a search of parallelism varies.
    pub fn set_topology(&mut self, t: &Topology) {
        [self.cp, self.tp, self.pp, self.dp, self.ep] = [t.cp, t.tp, t.pp, t.dp, t.ep].map(n);
        self.b = n(t.b.max(1));
        self.kv_split = t.kv_shard_mode == KvShardMode::Split;
        self.scope_cp = t.ffn_shard_scope != FfnShardScope::Tp;
        self.scope_dp = t.ffn_shard_scope == FfnShardScope::TpCpDp;
        self.tp_on_pe = t.tp_placement == Placement::Pe;
        self.cp_on_pe = t.cp_placement == Placement::Pe;
        self.ring_qoml = t.cp_ring_variant == CpRing::Qoml;
        self.sip_mesh = t.sip_topology == SipTopology::Mesh2d;
        self.sip_torus = t.sip_topology == SipTopology::Torus2d;
    }
}

/// Exact: counts are far below 2^53.
fn n(count: u64) -> f64 {
    count as f64
}
