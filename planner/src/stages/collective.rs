//! What messages cost.

use super::Layer;
use crate::formula::Num;
use crate::options::Opt;
use crate::placement::{Group, Tier};

/// Time and bytes of a message pattern, of one PE.
#[derive(Clone, Copy, Debug)]
pub struct Cost<N: Num> {
    pub time_s: N,
    pub bytes: N,
}

impl<N: Num> Cost<N> {
    pub fn plus(self, other: Cost<N>) -> Cost<N> {
        Cost { time_s: self.time_s + other.time_s, bytes: self.bytes + other.bytes }
    }
}

/// A sum over `ranks` of `payload` bytes each, on one flat ring: each rank sends its part round twice.
#[inline(always)]
pub fn ring_all_reduce<N: Num>(ranks: N, payload: N, tier: &Tier<N>) -> Cost<N> {
    let (one, two) = (N::lit(1.0), N::lit(2.0));
    let steps = two * (ranks - one);
    let bytes = steps / ranks * payload;
    Cost { time_s: bytes / tier.bytes_per_s + steps * tier.hop_s, bytes: bytes.floor() }
}

/// A sum over a group. The baseline rings at `tier`; `placement` at the slowest link that the group uses; `collectives`
/// goes tier by tier.
#[inline(always)]
pub fn all_reduce<N: Num>(l: &Layer<'_, N>, group: &Group<N>, payload: N, tier: &Tier<N>) -> Cost<N> {
    let ranks = group.ranks;
    let bytes = || (N::lit(2.0) * (ranks - N::lit(1.0)) / ranks * payload).floor();
    match () {
        () if l.o.has(Opt::Collectives) => Cost { time_s: N::lit(2.0) * by_tiers(l, group, payload), bytes: bytes() },
        () if l.o.has(Opt::Placement) => ring_all_reduce(ranks, payload, &group.tier(l.i)),
        () => ring_all_reduce(ranks, payload, tier),
    }
}

/// Every rank gives `share` bytes to all others, or gets its share of the sum of all: half an all-reduce of
/// `ranks * share`.
#[inline(always)]
pub fn gather_or_scatter<N: Num>(l: &Layer<'_, N>, group: &Group<N>, share: N, tier: &Tier<N>) -> Cost<N> {
    let whole = all_reduce(l, group, group.ranks * share, tier);
    let half = N::lit(0.5);
    Cost { time_s: half * whole.time_s, bytes: half * whole.bytes }
}

/// A reduce-scatter: inside cubes, then of what is left between cubes, then between SIPs. An all-gather takes the same time.
#[inline(always)]
fn by_tiers<N: Num>(l: &Layer<'_, N>, group: &Group<N>, payload: N) -> N {
    let i = l.i;
    let intra = phase(group.in_cube, payload, &Tier::intra(i), mesh_hops(group.in_cube));
    let payload = payload / group.in_cube;
    let inter = phase(group.cubes, payload, &Tier::inter(i), mesh_hops(group.cubes));
    let payload = payload / group.cubes;
    let ring = || group.sips - N::lit(1.0);
    let hops = N::pick(N::or(i.sip_mesh, i.sip_torus), || mesh_hops(group.sips), ring);
    intra + inter + phase(group.sips, payload, &Tier::intersip(i), hops)
}

/// Hops that halving takes on a near-square mesh: along one side, then the other.
#[inline(always)]
fn mesh_hops<N: Num>(ranks: N) -> N {
    let one = N::lit(1.0);
    let rows = ranks.sqrt().ceil();
    (rows - one) + (ranks.div_ceil(rows) - one)
}

/// The shortest reduce-scatter of one tier. A ring sends a part at a time to the neighbour. Halving takes log2 steps over
/// growing distances, where messages share links: each step costs as much as half the payload. A tree sends all of it.
#[inline(always)]
fn phase<N: Num>(ranks: N, payload: N, tier: &Tier<N>, hops: N) -> N {
    let one = N::lit(1.0);
    let send = payload / tier.bytes_per_s;
    let ring = (ranks - one) / ranks * send + (ranks - one) * tier.hop_s;
    let steps = ranks.log2().ceil();
    let halving = steps * N::lit(0.5) * send + hops * tier.hop_s;
    let tree = steps * send + hops * tier.hop_s;
    ring.min(halving).min(tree)
}
