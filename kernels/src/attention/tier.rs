//! Which commands the accelerator is given for one KV tile. The values are the same in every tier.

use super::Partial;
use tilewright::prelude::*;

/// Which commands the accelerator is given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tier {
    /// One command per tile op.
    Plain,
    /// `Q . K^T` as a composite command, the rest op by op.
    Composite,
    /// `Q . K^T`, and softmax, `P . V` and the merge, as two composite commands.
    Fused,
}

impl Tier {
    pub const ALL: [Tier; 3] = [Tier::Plain, Tier::Composite, Tier::Fused];
    /// As the published studies name it.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Plain => "baseline",
            Tier::Composite => "composite",
            Tier::Fused => "composite-fused",
        }
    }
    pub fn from_name(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|t| t.name() == name)
    }
}

/// `q . k^T`, as a command of its own or as a composite.
#[device]
pub fn scores<T: DotInto<A>, A: Num, const M: usize, const N: usize, const D: usize>(
    as_composite: bool,
    q: Tile<T, D2<M, D>>,
    k: Tile<T, D2<N, D>>,
) -> Tile<A, D2<M, N>> {
    if as_composite { composite(|| dot(q, k.trans())) } else { dot(q, k.trans()) }
}

/// One more tile of scores and values in the chosen tier. The first two keep part and merge apart: that is what they are
/// charged for.
#[device]
pub fn attend<T: Elem + DotInto<A>, A: Float, const M: usize, const N: usize, const D: usize>(
    tier: Tier,
    so_far: Partial<A, M, D>,
    s: Tile<A, D2<M, N>>,
    v: Tile<T, D2<N, D>>,
) -> Partial<A, M, D> {
    match tier {
        Tier::Plain | Tier::Composite => so_far.merge(Partial::of_tile(s, v)),
        Tier::Fused => composite(|| so_far.online_softmax_step(s, v)),
    }
}
