//! GQA decode, short context: one source for the modes A1, A2, A4, B and the three tiers.
//! q, o: kv_heads x G x D.  k, v: kv_heads x S x D, S = group.pes * tiles * N.
//! A group of `8 / kv_per_cube` PEs shares a head; each PE owns `tiles * N` of its tokens, `tiles >= 1`.
use tilewright::prelude::*;
use tilewright_test_attn::{Group, Partial, Tier, attend, chain_reduce, scores};

#[kernel]
pub fn gqa_decode<T: Float + DotInto<A>, A: Float, const G: usize, const N: usize, const D: usize>(
    q: View<T, 3>,
    k: View<T, 3>,
    v: View<T, 3>,
    o: ViewMut<T, 3>,
    tiles: Scalar<i32>,
    #[comptime] group: Group,
    #[comptime] tier: Tier,
) {
    let (head, rank) = (group.head(), group.rank());
    let first = rank * tiles * N;
    let q = q.at(head, 0, 0).load::<D2<G, D>>();
    let kv = |token| (k.at(head, token, 0).load::<D2<N, D>>(), v.at(head, token, 0).load::<D2<N, D>>());

    let (k0, v0) = kv(first);
    let mut part = Partial::<A, G, D>::of_tile(scores(tier == Tier::Composite, q, k0), v0);
    for t in 1..tiles {
        let (k, v) = kv(first + t * N);
        part = attend(tier, part, q, k, v);
    }
    let all = chain_reduce(group, part);
    if rank == 0 {
        o.at(head, 0, 0).store(all.normalised());
    }
}
