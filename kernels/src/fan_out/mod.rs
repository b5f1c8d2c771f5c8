//! Attention of several agents over a prefix that they share: `o[a] = softmax(q[a] . [K; K_a]^T) . [V; V_a]` for the query heads of
//! one KV head, whose prefix lies over cubes and PEs as in long decode; each agent's own tokens, its suffix, follow the prefix.
//! q, o: `M x D` of f16 or bf16, `M = A T G` rows in the order agent, token, head, q already scaled by `1 / sqrt(D)`.  k, v: `S x D`.
//! own_k, own_v: `P x D`, the suffixes agent by agent, each as long as it is (`own.rs`); an agent's T query tokens are the last of its
//! own. A query token sees the prefix, and of its agent's suffix what comes up to its own place.  Plain numbers; any lengths.
//! Stationary KV: every PE meets all rows with its part of the prefix, and partials of all rows are merged over PEs, cubes, SIPs.
//! Distributed Q: a cube takes the rows of some agents, reads all of the prefix, and merges within itself.
//! Contract: `contract.rs`.  Command line: `case.rs`.  Work: `4 M (S + U) D` flops over `4 (S + P) D` bytes, once or once a cube.
//! Accumulates in `A`, f16 or f32. Tolerance: row `attention` of the one table.

mod case;
mod contract;
mod own;

use crate::attention::{Group, Partial, Tier, attend, chain_reduce, reduce_cubes, scores};
use crate::long_decode::Split;
use crate::open;
use ndarray::{Array2, ArrayView2, Axis as Dim, concatenate, s};
use std::ops::Range;
use tilewright::prelude::*;

pub use case::FAN_OUT;
pub use contract::{Plan, Problem};
pub use own::{Places, Seers};

/// Where rows and keys meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Policy {
    /// Keys and values stay, all rows go to each of them.
    Stationary,
    /// Rows stay with a cube, to which all keys and values go.
    Distributed,
}

/// Agents that share a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Branches {
    pub agents: usize,
    /// Query tokens of an agent, the last of its suffix.
    pub tokens: usize,
    /// Query heads of the KV head.
    pub heads: usize,
}

impl Branches {
    /// Query rows of an agent.
    pub fn of_agent(self) -> usize {
        self.tokens * self.heads
    }
    pub fn rows(self) -> usize {
        self.agents * self.of_agent()
    }
}

/// What a PE does. Lengths that are host values when the kernel is traced: where a const parameter is `ANY`, this number stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Share {
    pub policy: Policy,
    pub tier: Tier,
    pub branches: Branches,
    /// Of the prefix, and of all suffixes together, over the launch.
    pub prefix: Split,
    pub suffix: Split,
    /// Query rows of a PE.
    pub rows: usize,
    pub d_head: usize,
    /// Tokens of a tile.
    pub tile: usize,
}

/// Agents with equal suffixes, of `suffix` tokens each.
#[kernel]
pub fn fan_out<T: Float + DotInto<A>, A: Float, const M: usize, const D: usize>(
    q: View<T, 2>,
    k: View<T, 2>,
    v: View<T, 2>,
    own_k: View<T, 2>,
    own_v: View<T, 2>,
    o: ViewMut<T, 2>,
    #[comptime] share: Share,
    #[comptime] suffix: usize,
) {
    let seers =
        |own: (Scalar<i32>, Scalar<i32>), at: Scalar<i32>, n: usize| seers_by_place(share.branches, suffix, own, at, n);
    over_prefix_and_own::<T, A, M, D>([q, k, v, own_k, own_v], o, share, seers);
}

/// Agents with suffixes of any lengths. `seen_by`: of each token, the first row that sees it and the first behind those that do.
#[kernel]
pub fn fan_out_ragged<T: Float + DotInto<A>, A: Float, const M: usize, const D: usize>(
    q: View<T, 2>,
    k: View<T, 2>,
    v: View<T, 2>,
    own_k: View<T, 2>,
    own_v: View<T, 2>,
    seen_by: View<i32, 2>,
    o: ViewMut<T, 2>,
    #[comptime] share: Share,
) {
    let nobody = share.branches.rows() as i32;
    let seers = |(first, mine): (Scalar<i32>, Scalar<i32>), at: Scalar<i32>, n: usize| {
        let row = |i: i32| {
            seen_by.at(i, first + at).limit(Axis::<0>, mine - at).load_sized_or::<D1<ANY>>(open([(ANY, n)]), nobody)
        };
        (row(0), row(1))
    };
    over_prefix_and_own::<T, A, M, D>([q, k, v, own_k, own_v], o, share, seers);
}

/// `seers`: the rows that see each of `n` tokens, of a PE's own ones (the first, and how many) from the `at`-th on: from one row up
/// to, but without, another; none for a token that is not the PE's.
#[device]
fn over_prefix_and_own<T: Float + DotInto<A>, A: Float, const M: usize, const D: usize>(
    [q, k, v, own_k, own_v]: [View<T, 2>; 5],
    o: ViewMut<T, 2>,
    share: Share,
    seers: impl Fn((Scalar<i32>, Scalar<i32>), Scalar<i32>, usize) -> (Tile<i32, D1<ANY>>, Tile<i32, D1<ANY>>),
) {
    let row = match share.policy {
        Policy::Stationary => scalar(0),
        Policy::Distributed => cube_id() * share.rows,
    };
    let q = q.at(row, 0).load_sized::<D2<M, D>>(open([(M, share.rows), (D, share.d_head)]));
    // `n` tokens from the place `first + at` on; those above `mine` of them read as zero.
    let load = |x: View<T, 2>, (first, mine): (Scalar<i32>, Scalar<i32>), at: Scalar<i32>, n: usize| {
        let lengths = open([(ANY, n), (D, share.d_head)]);
        x.at(first + at, 0).limit(Axis::<0>, mine - at).load_sized_or::<D2<ANY, D>>(lengths, 0.0)
    };
    // Scores and values of a tile; the first one of a PE is a composite in one tier only.
    let tier = share.tier;
    let of_prefix = |as_composite: bool, tokens: (Scalar<i32>, Scalar<i32>), at: Scalar<i32>, n: usize| {
        let (k, v) = (load(k, tokens, at, n), load(v, tokens, at, n));
        let mut s: Tile<A, D2<M, ANY>> = scores(as_composite, q, k);
        if tokens.1 < at + n {
            let token = iota_sized::<i32, D2<M, ANY>>(Axis::<1>, open([(M, share.rows), (ANY, n)]));
            s = select(token < tokens.1 - at, s, A::LOWEST);
        }
        (s, v)
    };
    let of_suffixes = |tokens: (Scalar<i32>, Scalar<i32>), at: Scalar<i32>, n: usize| {
        let (k, v) = (load(own_k, tokens, at, n), load(own_v, tokens, at, n));
        let s: Tile<A, D2<M, ANY>> = scores(tier != Tier::Plain, q, k);
        let (from, to) = seers(tokens, at, n);
        let row = iota_sized::<i32, D2<M, ANY>>(Axis::<0>, open([(M, share.rows), (ANY, n)])) + row;
        (select((row >= from.row()) & (row < to.row()), s, A::LOWEST), v)
    };

    let prefix = match share.policy {
        Policy::Stationary => share.prefix.mine(),
        // All of the prefix over the PEs of every cube.
        Policy::Distributed => Split { sips: 1, cubes: 1, ..share.prefix }.part(scalar(0), pe_id()),
    };
    let of_pe = share.prefix_share();
    let n = share.tile.min(of_pe);
    let (s, v) = of_prefix(tier == Tier::Composite, prefix, scalar(0), n);
    let mut part = Partial::<A, M, D>::of_tile(s, v);
    if of_pe / n > 1 {
        for t in 1..of_pe / n {
            let (s, v) = of_prefix(tier != Tier::Plain, prefix, t * n, n);
            part = attend(tier, part, s, v);
        }
    }
    if of_pe % n > 0 {
        let (s, v) = of_prefix(tier != Tier::Plain, prefix, scalar(of_pe / n * n), of_pe % n);
        part = attend(tier, part, s, v);
    }
    let (suffixes, of_pe) = (share.suffix.mine(), share.suffix.share());
    let n = share.tile.min(of_pe);
    for t in 0..of_pe / n {
        let (s, v) = of_suffixes(suffixes, t * n, n);
        part = attend(tier, part, s, v);
    }
    if of_pe % n > 0 {
        let (s, v) = of_suffixes(suffixes, scalar(of_pe / n * n), of_pe % n);
        part = attend(tier, part, s, v);
    }

    let in_cube = chain_reduce(Group { pes: share.prefix.pes }, part);
    if pe_id() == 0 {
        match share.policy {
            Policy::Stationary => {
                let all = reduce_cubes(share.prefix.mesh(), in_cube);
                if cube_id() == share.prefix.mesh().root() {
                    o.at(0, 0).store(all.normalised());
                }
            }
            Policy::Distributed => o.at(row, 0).store(in_cube.normalised()),
        }
    }
}

/// The rows that see tokens of equal suffixes.
#[device]
fn seers_by_place(
    b: Branches,
    suffix: usize,
    (first, mine): (Scalar<i32>, Scalar<i32>),
    at: Scalar<i32>,
    n: usize,
) -> (Tile<i32, D1<ANY>>, Tile<i32, D1<ANY>>) {
    let index = iota_sized::<i32, D1<ANY>>(Axis::<0>, [n]);
    let token = index + (first + at);
    let agent = token / suffix * b.of_agent();
    // Query token t is at `suffix - tokens + t`: the rows of earlier ones do not see what comes after them.
    let ahead = maximum(token % suffix - (suffix - b.tokens), 0) * b.heads;
    (select(index < mine - at, agent + ahead, b.rows() as i32), agent + b.of_agent())
}

impl Share {
    /// Tokens of the prefix that a PE goes through.
    pub fn prefix_share(self) -> usize {
        match self.policy {
            Policy::Stationary => self.prefix.share(),
            Policy::Distributed => self.prefix.tokens.div_ceil(self.prefix.pes),
        }
    }
}

/// f64, agent by agent and token by token over the prefix and what the token sees of its own; shares nothing with the kernel.
/// q: `M x D`, scaled; k, v: the prefix; own: the suffixes, at the places of each agent.
pub fn reference(
    b: Branches,
    places: &[Range<usize>],
    q: ArrayView2<f64>,
    [k, v]: [ArrayView2<f64>; 2],
    own: [ArrayView2<f64>; 2],
) -> Array2<f64> {
    let mut o = Array2::zeros(q.dim());
    for (i, mut out) in o.axis_chunks_iter_mut(Dim(0), b.heads).enumerate() {
        let (agent, token) = (i / b.tokens, i % b.tokens);
        let Range { start, end } = places[agent];
        let with_own = |x: ArrayView2<f64>, own: ArrayView2<f64>| {
            let own = own.slice_move(s![start..end - b.tokens + token + 1, ..]);
            concatenate(Dim(0), &[x, own]).unwrap_or_else(|_| Array2::zeros([0, 0]))
        };
        let (k, v) = (with_own(k, own[0]), with_own(v, own[1]));
        out.assign(&crate::gqa_decode::reference(
            q.slice(s![i * b.heads..(i + 1) * b.heads, ..]),
            k.view(),
            v.view(),
            |_| k.nrows(),
        ));
    }
    o
}

/// q: a copy in each cube; prefix and suffixes: each PE's tokens in its own slice; o: where it is merged.
pub fn placements(share: &Share) -> [Placement; 3] {
    let cubes = share.prefix.all_cubes();
    let kv = Placement::over_cubes(0, cubes).over_pes(&[(0, share.prefix.pes)]);
    let o = match share.policy {
        Policy::Stationary => Placement::at(share.prefix.mesh().root(), 0),
        Policy::Distributed => Placement::over_cubes(0, cubes),
    };
    [Placement::replicated(), kv, o]
}

/// The launch of a plan on these tensors.
pub fn launch<'a, T: Float + DotInto<A>, A: Float>(
    plan: &'a Plan,
    q: &'a Tensor<T, 2>,
    [k, v]: [&'a Tensor<T, 2>; 2],
    own: [&'a Tensor<T, 2>; 2],
    o: &'a mut Tensor<T, 2>,
) -> Launch<'a> {
    let (share, [own_k, own_v]) = (plan.share, own);
    let launch = match &plan.seers {
        Seers::Equal(suffix) => fan_out::<T, A, ANY, ANY>(q, k, v, own_k, own_v, o, share, *suffix),
        Seers::Table(seen_by) => fan_out_ragged::<T, A, ANY, ANY>(q, k, v, own_k, own_v, seen_by, o, share),
    };
    let split = share.prefix;
    launch.grid(Grid::cubes(split.cubes).pes(split.pes).sips(split.sips))
}
