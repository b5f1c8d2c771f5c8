//! GQA decode, long context: the tokens of one KV head over `C` cubes of 8 PEs, a two-level reduce to the centre cube.
//! q, o: G x D.  k, v: S x D; a PE owns `local` tokens. A composite streams what it loads: that never lies in scratch as a whole.
use tilewright::prelude::*;
use tilewright_test_attn::{Group, Partial, SubMesh, Tier, chain_reduce, reduce_cubes};

#[kernel]
pub fn long_decode<T: Float + DotInto<A>, A: Float, const G: usize, const D: usize>(
    q: View<T, 2>,
    k: View<T, 2>,
    v: View<T, 2>,
    o: ViewMut<T, 2>,
    #[comptime] mesh: SubMesh,
    #[comptime] local: usize,
    #[comptime] tier: Tier,
) {
    const TILE: usize = 1024;
    const SEED: usize = 64;
    let first = program_id() * local;
    let q = q.at(0, 0).load::<D2<G, D>>();
    // `local` is any number, so the last tile is of any length: decided while tracing, checked while tracing.
    let keys = |at: usize, n: usize| k.at(first + at, 0).load_sized::<D2<ANY, D>>([n]).trans();
    let values = |at: usize, n: usize| v.at(first + at, 0).load_sized::<D2<ANY, D>>([n]);
    let part = match tier {
        Tier::Plain => {
            let n = local.min(TILE);
            let mut part = Partial::<A, G, D>::of_tile(dot(q, keys(0, n)), values(0, n));
            for at in unroll((n..local).step_by(TILE)) {
                let n = TILE.min(local - at);
                part = part.merge(Partial::of_tile(dot(q, keys(at, n)), values(at, n)));
            }
            part
        }
        Tier::Composite => {
            let s: Tile<A, _> = composite(|| dot(q, keys(0, local)));
            let m = s.max(Axis::<1>);
            let p = exp(s - m.col());
            let l = p.sum(Axis::<1>);
            Partial { m, l, o: composite(|| dot(p.cast::<T>(), values(0, local))) }
        }
        Tier::Fused => {
            let seed = Partial::<A, G, D>::of_tile(dot(q, keys(0, SEED)), values(0, SEED));
            let s = composite(|| dot(q, keys(SEED, local - SEED)));
            composite(|| seed.online_softmax_step(s, values(SEED, local - SEED)))
        }
    };
    let in_cube = chain_reduce(Group { pes: 8 }, part);
    if pe_id() == 0 {
        let all = reduce_cubes(mesh, in_cube);
        if cube_id() == mesh.root() {
            o.at(0, 0).store(all.normalised());
        }
    }
}
