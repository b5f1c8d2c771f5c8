//! GQA prefill, short context: the group's root reads every KV tile and passes it on over the queues.
//! q, o: kv_heads x rows x D, rows = T_q * G.  k, v: kv_heads x (tiles * N) x D.
//! PE `rank` of the group takes rows `rank * rows / pes ..`, so shares differ by at most one; M is the largest share.
use tilewright::prelude::*;
use tilewright_test_attn::{Group, Partial, Tier, attend, broadcast, scores};

#[kernel]
pub fn gqa_prefill<T: Float + DotInto<A>, A: Float, const M: usize, const N: usize, const D: usize>(
    q: View<T, 3>,
    k: View<T, 3>,
    v: View<T, 3>,
    o: ViewMut<T, 3>,
    tiles: Scalar<i32>,
    #[comptime] group: Group,
    #[comptime] tier: Tier,
) {
    let (head, rank, rows) = (group.head(), group.rank(), q.len(Axis::<1>));
    let first = rank * rows / group.pes;
    let mine = (rank + 1) * rows / group.pes - first; // the tile has M rows on every PE, `mine` of them exist
    let q = q.at(head, first, 0).limit(Axis::<0>, mine).load_or::<D2<M, D>>(0.0);
    let kv = |token: Scalar<i32>| {
        broadcast(group, || (k.at(head, token, 0).load::<D2<N, D>>(), v.at(head, token, 0).load::<D2<N, D>>()))
    };

    let (k0, v0) = kv(scalar(0));
    let mut part = Partial::<A, M, D>::of_tile(scores(tier == Tier::Composite, q, k0), v0);
    for t in 1..tiles {
        let (k, v) = kv(t * N);
        part = attend(tier, part, q, k, v);
    }
    o.at(head, first, 0).limit(Axis::<0>, mine).store_inside(part.normalised());
}
