//! Departures from the baseline model, each with a name. `--method baseline` has none of them, `refined` all.

use crate::errors::Fault;
use std::fmt;

macro_rules! options {
    ($($variant:ident $name:literal $baseline:literal $better:literal;)*) => {
        /// One departure from the baseline model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Opt { $(#[doc = $better] $variant),* }
        impl Opt {
            pub const ALL: &[Opt] = &[$(Opt::$variant),*];
            pub const fn name(self) -> &'static str {
                match self { $(Opt::$variant => $name),* }
            }
            /// What the baseline does.
            pub const fn baseline(self) -> &'static str {
                match self { $(Opt::$variant => $baseline),* }
            }
            /// What the option does instead.
            pub const fn better(self) -> &'static str {
                match self { $(Opt::$variant => $better),* }
            }
        }
    };
}

options! {
    KvRead "kv-read"
        "S5 and S7 read no K and V from HBM; S6 is charged for scores, which stay on chip"
        "one fused attention stage, SA, that reads K and V once a pass";
    FfnTokens "ffn-tokens"
        "an FFN divided over cp or dp works on one rank's tokens only"
        "tokens are gathered over the scope: work for all of them, all-gather and reduce-scatter";
    Throughput "throughput"
        "throughput is 1 / latency: pp, dp and b earn nothing"
        "tokens of all replicas and busy stages of pp, less the pipeline's bubble; a fourth axis of the frontier";
    Utilisation "utilisation"
        "efficiency is one PE's work over the peak of all PEs"
        "a PE's work over a PE's peak: MFU and MBU, and their geometric mean";
    Causal "causal"
        "prefill attention is S x S, and windows are ignored"
        "half of it, shards balanced; sliding windows bound what a layer reads, multiplies and keeps";
    Moe "moe"
        "a mixture is a dense model of its active width; ep divides it further for nothing"
        "all experts are resident, those touched are read; ep lies inside the group of the FFN and costs all-to-all";
    Mla "mla"
        "latent attention is stored as K and V of every head"
        "the latent is stored once, on every rank of tp; the cheaper of the absorbed and the naive form";
    Sizing "sizing"
        "the whole model runs on one PE for time and lies on many for capacity"
        "the step of the sharded replica, its batch by bisection; says when the goal cannot be reached";
    Placement "placement"
        "SIP crossings count all SIPs of all stages and replicas"
        "ranks are placed one after another; a group crosses the SIPs that it lies on; --sip-topology counts";
    Collectives "collectives"
        "one flat ring at the slowest link"
        "a phase for each tier, the shortest of ring, recursive halving and tree";
    Overlap "overlap"
        "the ring of cp is seen at the rate of cubes even inside one, and is hidden behind one request's softmax"
        "the tier that it uses, hidden behind the pass of all requests";
    KvSplit "kv-split"
        "ranks that share a KV head sum scores cp times in decode too, inside a cube, and do whole-head work"
        "one sum in decode, over the tier they lie on, of all query heads of the KV head; projections are divided";
    Ceil "ceil"
        "shards are rounded down: uneven ones lose tokens, heads and columns"
        "the largest shard, rounded up";
    Schedule "schedule"
        "stages add up"
        "weights of the next stage arrive while HBM idles; bounded by the busiest engine from below";
    Vector "vector"
        "elementwise work runs at the rate of products, or takes no time"
        "on the MATH engine, with its price of exp";
    Activations "activations"
        "products read weights only; a norm reads its weight for every token"
        "activations that miss the on-chip memory are read and written; a norm's weight is read once";
    Shapes "shapes"
        "every product runs at the same part of the peak"
        "rows, columns and depth are padded to the engine's tile, and a command has to be issued";
    Head "head"
        "no embedding, head or norms"
        "their weights, and the head's time once a step";
    Presets "presets"
        "every FFN has three matrices"
        "plain ones have two";
    Pipeline "pipeline"
        "stages of pp hand over for nothing"
        "a send between stages; the head lies on the last of them";
    Chunked "chunked"
        "decode has one new token, prefill all"
        "--t-q sets the new tokens apart from the context: chunks, suffixes, drafts; the ring carries what is smaller";
    Transient "transient"
        "transient memory knows no batch; a tile of scores counts; curves freeze it"
        "activations of all requests beyond the on-chip memory, ring buffers twice; curves follow";
    Cost "cost"
        "capacity, bandwidth and FLOPs cost the same; doubled knobs keep the deployment"
        "weights from a file, a cap on the cost, deployments searched again for each knob doubled and halved";
    Feasible "feasible"
        "ranks that do not fit a cube spill over and are scored; the smallest deployment ignores placement and wants slack"
        "one test everywhere: memory fits and placement is valid; where nothing fits, the least overflow wins";
    Carry "carry"
        "two_stage forgets b and parts of the layer and places its answer anew; sensitivities forget b and ep"
        "the whole deployment is carried everywhere";
    Dedup "dedup"
        "knobs without effect make separate points"
        "points in canonical form, scored once, with a count";
    RooflineUtil "roofline-util"
        "the roofline uses the peak, and ignores sparsity but in B*"
        "the part of the peak that stages use, and sparsity throughout";
    DupReport "dup-report"
        "the FFN under dp counts twice, other requests' K and V count as waste"
        "a tensor and its distinct holders";
    Fanout "fanout"
        "no model of agents that share a prefix"
        "closed forms of Stationary-KV and Distributed-Q";
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Opt {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Opt, Fault> {
        let found = Opt::ALL.iter().find(|o| o.name() == text);
        found.copied().ok_or_else(|| Fault::Choice {
            what: "--with and --without",
            found: text.to_string(),
            known: Opt::ALL.iter().map(|o| o.name().to_string()).collect(),
        })
    }
}

/// The options that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Options(u64);

impl Options {
    pub const BASELINE: Options = Options(0);

    pub fn refined() -> Options {
        Opt::ALL.iter().fold(Options::BASELINE, |options, o| options.with(*o))
    }
    #[inline(always)]
    pub const fn has(self, option: Opt) -> bool {
        self.0 & 1 << option as u64 != 0
    }
    #[must_use]
    pub const fn with(self, option: Opt) -> Options {
        Options(self.0 | 1 << option as u64)
    }
    #[must_use]
    pub const fn without(self, option: Opt) -> Options {
        Options(self.0 & !(1 << option as u64))
    }
    pub fn iter(self) -> impl Iterator<Item = Opt> {
        Opt::ALL.iter().copied().filter(move |o| self.has(*o))
    }
    /// `baseline`, `refined`, or which are on.
    pub fn label(self) -> String {
        let names = |options: Options| options.iter().map(Opt::name).collect::<Vec<_>>().join(", ");
        let missing = Options(Options::refined().0 & !self.0);
        match (self.iter().count(), missing.iter().count()) {
            (0, _) => "baseline".into(),
            (_, 0) => "refined".into(),
            (on, off) if off < on => format!("refined without {}", names(missing)),
            _ => format!("baseline with {}", names(self)),
        }
    }
}
