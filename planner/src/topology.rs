//! How a model is spread: degrees, modes and placements, and what one step is asked to do.

use crate::errors::Fault;
use std::fmt;

/// Largest degree of one kind of parallelism, and of their product: no machine is near.
pub const MAX_DEGREE: u64 = 1 << 16;
pub const MAX_PES: u64 = 1 << 32;

/// Defines an enum of named choices, as flags and JSON write them.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),* }
        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant),*];
            pub const NAMES: &[&str] = &[$($text),*];
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
        impl std::str::FromStr for $name {
            type Err = Fault;
            fn from_str(text: &str) -> Result<$name, Fault> {
                let found = $name::ALL.iter().find(|v| v.name().eq_ignore_ascii_case(text));
                found.copied().ok_or_else(|| Fault::Choice {
                    what: $what,
                    found: text.to_string(),
                    known: $name::NAMES.iter().map(|n| n.to_string()).collect(),
                })
            }
        }
    };
}

choice! {
    /// What a step does.
    Phase, "--phase" {
        /// One new token a request.
        Decode = "decode",
        /// All tokens of the context at once.
        Prefill = "prefill",
    }
}
choice! {
    /// What ranks of tp do that share a KV head (tp above the number of KV heads).
    KvShardMode, "--kv-shard-mode" {
        /// Each holds a part of the head's dimensions; scores are summed over them.
        Split = "split",
        /// Each holds the whole head and takes different query heads.
        Replicate = "replicate",
    }
}
choice! {
    /// The ranks that FFN weights are divided over.
    FfnShardScope, "--ffn-shard-scope" {
        Tp = "TP",
        TpCp = "TP+CP",
        TpCpDp = "TP+CP+DP",
    }
}
choice! {
    /// Where the ranks of one kind lie.
    Placement, "--tp-placement" {
        /// On the PEs of a cube.
        Pe = "pe",
        /// One a cube.
        Cube = "cube",
    }
}
choice! {
    /// What goes round the ring of cp in prefill.
    CpRing, "--cp-ring-variant" {
        /// K and V.
        Kv = "kv",
        /// Q, and the output, maximum and sum so far.
        Qoml = "qoml",
    }
}
choice! {
    /// How SIPs are linked.
    SipTopology, "--sip-topology" {
        Ring = "ring",
        Mesh2d = "mesh2d",
        Torus2d = "torus2d",
    }
}

/// Degrees and modes of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topology {
    /// Shards of the sequence.
    pub cp: u64,
    /// Shards of heads and hidden dimensions.
    pub tp: u64,
    /// Stages of layers.
    pub pp: u64,
    /// Replicas.
    pub dp: u64,
    /// Shards of experts.
    pub ep: u64,
    /// Requests that a stage works on at once; 0 counts as 1.
    pub b: u64,
    pub kv_shard_mode: KvShardMode,
    pub ffn_shard_scope: FfnShardScope,
    pub tp_placement: Placement,
    pub cp_placement: Placement,
    pub cp_ring_variant: CpRing,
    pub sip_topology: SipTopology,
}

impl Default for Topology {
    fn default() -> Topology {
        Topology {
            cp: 4,
            tp: 8,
            pp: 1,
            dp: 1,
            ep: 1,
            b: 1,
            kv_shard_mode: KvShardMode::Split,
            ffn_shard_scope: FfnShardScope::TpCp,
            tp_placement: Placement::Pe,
            cp_placement: Placement::Cube,
            cp_ring_variant: CpRing::Kv,
            sip_topology: SipTopology::Ring,
        }
    }
}

impl Topology {
    /// One PE and nothing shared: where a search starts from, so that what it does not vary has no effect.
    pub fn single() -> Topology {
        Topology { cp: 1, tp: 1, ..Topology::default() }
    }
    pub fn total_pes(&self) -> u64 {
        self.cp * self.tp * self.pp * self.dp
    }
    /// Ranks that are placed on the PEs of one cube.
    pub fn ranks_in_cube(&self) -> u64 {
        let inside = |placement: Placement, ranks: u64| if placement == Placement::Pe { ranks } else { 1 };
        inside(self.tp_placement, self.tp) * inside(self.cp_placement, self.cp)
    }
    /// # Errors
    /// `TW-E0711`: more ranks are placed on PEs than a cube has; names the placement nearest to this one that is valid.
    pub fn check_placement(&self, pes_per_cube: u64) -> Result<(), Fault> {
        let intra = self.ranks_in_cube();
        if intra <= pes_per_cube {
            return Ok(());
        }
        let moved = [
            ("--cp-placement cube", Topology { cp_placement: Placement::Cube, ..*self }),
            ("--tp-placement cube", Topology { tp_placement: Placement::Cube, ..*self }),
        ];
        let valid = moved.iter().find(|(_, t)| t.ranks_in_cube() <= pes_per_cube);
        let next = valid.map_or("--tp-placement cube --cp-placement cube", |(flag, _)| *flag);
        Err(Fault::Placement { tp: self.tp, cp: self.cp, intra, pes: pes_per_cube, next: next.to_string() })
    }
    /// # Errors
    /// `TW-E0704`: a degree is 0 or beyond every machine.
    pub fn check(&self) -> Result<(), Fault> {
        let degrees = [("cp", self.cp), ("tp", self.tp), ("pp", self.pp), ("dp", self.dp), ("ep", self.ep)];
        for (name, value) in degrees {
            if !(1..=MAX_DEGREE).contains(&value) {
                return Err(Fault::Degree { name, value, limit: MAX_DEGREE });
            }
        }
        if self.b > MAX_DEGREE {
            return Err(Fault::Degree { name: "b", value: self.b, limit: MAX_DEGREE });
        }
        // Each is at most 2^16, so four multiply within 2^64.
        let pes = u128::from(self.cp) * u128::from(self.tp) * u128::from(self.pp) * u128::from(self.dp);
        if pes > u128::from(MAX_PES) { Err(Fault::TooManyPes { pes, limit: MAX_PES }) } else { Ok(()) }
    }
}

/// Which parts of a layer count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    pub attention: bool,
    pub ffn: bool,
}

impl Parts {
    pub const ALL: Parts = Parts { attention: true, ffn: true };
}

/// What one step is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    pub phase: Phase,
    /// Tokens of context, those of this step among them.
    pub s_kv: u64,
    /// New tokens of this step, where that is not one (decode) or all (prefill): a chunk, a suffix, a draft. Option `chunked`.
    pub t_q: Option<u64>,
    /// Micro-batches that cross the stages of pp in a burst; 0: an endless stream, without a bubble. Option `throughput`.
    pub micro_batches: u64,
    /// What latency and efficiency count; searches test the memory of both.
    pub parts: Parts,
}

/// Longest context: the largest of today's times a thousand.
pub const MAX_TOKENS: u64 = 1 << 32;

impl Work {
    pub fn new(phase: Phase, s_kv: u64) -> Work {
        Work { phase, s_kv, t_q: None, micro_batches: 0, parts: Parts::ALL }
    }
    /// # Errors
    /// `TW-E0705`: no tokens, too many, or more new ones than there are in all.
    pub fn check(&self) -> Result<(), Fault> {
        if !(1..=MAX_TOKENS).contains(&self.s_kv) {
            return Err(Fault::Tokens { flag: "--s-kv", value: self.s_kv, limit: MAX_TOKENS });
        }
        match self.t_q {
            Some(t) if t == 0 || t > self.s_kv => Err(Fault::Tokens { flag: "--t-q", value: t, limit: self.s_kv }),
            _ => Ok(()),
        }
    }
}
