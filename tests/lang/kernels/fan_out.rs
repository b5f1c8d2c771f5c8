//! Attention of A agents that share a prefix: every PE keeps its part of the prefix and meets all query rows (stationary KV).
//! q, o: M x D, M = A * t * G rows in the order agent, token, head.  k, v: pages x N x D; `pages` lists the prefix, then the suffixes
//! (A * t tokens, agent by agent). A suffix token is seen by its own agent, from its own position on.
use tilewright::prelude::*;
use tilewright_test_attn::{Group, Partial, SubMesh, chain_reduce, reduce_cubes};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Branches {
    pub suffix: usize,
    pub heads: usize,
}

#[kernel]
pub fn shared_prefix<T: Float + DotInto<A>, A: Float, const M: usize, const N: usize, const D: usize>(
    q: View<T, 2>,
    k: View<T, 3>,
    v: View<T, 3>,
    pages: View<i32, 1>,
    o: ViewMut<T, 2>,
    prefix_pages: Scalar<i32>,
    suffix_pages: Scalar<i32>,
    #[comptime] b: Branches,
    #[comptime] mesh: SubMesh,
) {
    let q = q.at(0, 0).load::<D2<M, D>>();
    let kv = |i: Scalar<i32>| {
        let page = pages.at(i).get();
        (k.at(page, 0, 0).load::<D2<N, D>>(), v.at(page, 0, 0).load::<D2<N, D>>())
    };
    let mut part = Partial::<A, M, D>::none();
    for i in (program_id()..prefix_pages).step_by(num_programs()) {
        let (k, v) = kv(i);
        part = part.online_softmax_step(dot(q, k.trans()), v);
    }
    // Suffix pages follow the prefix, dealt out likewise; tile i of them holds suffix tokens i * N and up.
    let row = iota::<i32, D2<M, N>>(Axis::<0>) / b.heads;
    for i in (program_id()..suffix_pages).step_by(num_programs()) {
        let (k, v) = kv(prefix_pages + i);
        let token = iota::<i32, D2<M, N>>(Axis::<1>) + i * N;
        let seen = (token / b.suffix == row / b.suffix) & (token <= row);
        part = part.online_softmax_step(select(seen, dot(q, k.trans()), A::LOWEST), v);
    }
    let in_cube = chain_reduce(Group { pes: 8 }, part);
    if pe_id() == 0 {
        let all = reduce_cubes(mesh, in_cube);
        if cube_id() == mesh.root() {
            o.at(0, 0).store(all.normalised());
        }
    }
}
