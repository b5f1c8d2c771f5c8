//! Grouped-query attention, prefill, short context: `o[h] = softmax(q[h] . K[h]^T) . V[h]`, one source for the mappings A1, A2, A4, B.
//! q, o: `h_kv x R x D` of f16 or bf16, q already scaled by `1 / sqrt(D)`.  k, v: `h_kv x S x D`, plain numbers.
//! The rows of a KV head are its T query tokens with G heads each: row `t G + g`, R = T G.
//! A group of `8 / kv_per_cube` PEs shares a KV head: its root reads each KV tile once and passes it on; each PE has its share of the rows.
//! Causal: the last query token sees all S tokens, each one before it one less.  Any R and S.
//! Contract: `contract.rs`, a code per clause.  Command line: `case.rs`. Work: `4 h_q T S D` flops; bound by the queues between PEs.
//! Accumulates in `A`, f16 (as published) or f32. Tolerance: row `attention` of the one table.

mod case;
mod contract;

use crate::attention::{Group, PES_PER_CUBE, Partial, Tier, attend, broadcast, scores};
use crate::open;
use ndarray::{Array2, ArrayView2};
use tilewright::prelude::*;

pub use case::GQA_PREFILL;
pub use contract::{Plan, Problem};

/// Lengths that are host values when the kernel is traced: where a const parameter is `ANY`, this number stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sizes {
    /// Query rows of a PE, M; a PE may have one less.
    pub rows: usize,
    /// Tokens of a KV tile, N.
    pub tile: usize,
    /// Length of a head vector, D.
    pub d_head: usize,
    /// Query heads of a KV head, G.
    pub heads: usize,
}

#[kernel]
pub fn gqa_prefill<T: Float + DotInto<A>, A: Float, const M: usize, const N: usize, const D: usize>(
    q: View<T, 3>,
    k: View<T, 3>,
    v: View<T, 3>,
    o: ViewMut<T, 3>,
    #[comptime] group: Group,
    #[comptime] tier: Tier,
    #[comptime] size: Sizes,
    #[comptime] causal: bool,
) {
    let (head, rank, rows, tokens) = (group.head(), group.rank(), q.len(Axis::<1>), k.len(Axis::<1>));
    let first = rank * rows / group.pes;
    let mine = (rank + 1) * rows / group.pes - first;
    let of_rows = open([(M, size.rows), (D, size.d_head)]);
    let q = q.at(head, first, 0).limit(Axis::<0>, mine).load_sized_or::<D2<M, D>>(&of_rows, 0.0);
    let of_tokens = open([(N, size.tile), (D, size.d_head)]);
    let kv = |token: Scalar<i32>| {
        let load = |x: View<T, 3>| x.at(head, token, 0).load_sized_or::<D2<N, D>>(&of_tokens, 0.0);
        let from = |port: Port| recv_sized::<T, D2<N, D>>(port, &of_tokens);
        broadcast(group, || (load(k), load(v)), |port| (from(port), from(port)))
    };

    // What query token t sees is `ahead + t` tokens: all of them if it is the last one.
    let ahead = tokens - rows / size.heads + 1;
    let fewest = if causal { minimum(ahead + first / size.heads, tokens) } else { tokens };
    let masked = |s: Tile<A, D2<M, N>>, t: Scalar<i32>| {
        let token = iota_sized::<i32, D2<M, N>>(Axis::<1>, open([(M, size.rows), (N, size.tile)]));
        let seen = if causal {
            let row = iota_sized::<i32, D1<M>>(Axis::<0>, open([(M, size.rows)])) + first;
            token < (row / size.heads + (ahead - t)).col()
        } else {
            token < tokens - t
        };
        select(seen, s, A::LOWEST)
    };

    let (k0, v0) = kv(scalar(0));
    let mut s = scores(tier == Tier::Composite, q, k0);
    if fewest < size.tile {
        s = masked(s, scalar(0));
    }
    let mut part = Partial::<A, M, D>::of_tile(s, v0);
    let whole = maximum(fewest / size.tile, 1); // up to this tile every row sees every token
    for t in 1..whole {
        let (k, v) = kv(t * size.tile);
        let s = scores(tier != Tier::Plain, q, k);
        part = attend(tier, part, s, v);
    }
    for t in whole..(tokens + (size.tile - 1)) / size.tile {
        let (k, v) = kv(t * size.tile);
        let s = masked(scores(tier != Tier::Plain, q, k), t * size.tile);
        part = attend(tier, part, s, v);
    }
    o.at(head, first, 0).limit(Axis::<0>, mine).store_inside(part.normalised());
}

/// f64, one row after another over the tokens it sees, of one KV head; shares nothing with the kernel.
/// q: `R x D`, scaled, row `t G + g`; k, v: `S x D`; `heads`: G.
pub fn reference(
    q: ArrayView2<f64>,
    k: ArrayView2<f64>,
    v: ArrayView2<f64>,
    heads: usize,
    causal: bool,
) -> Array2<f64> {
    let (rows, tokens) = (q.nrows(), k.nrows());
    let mut o = Array2::zeros(q.dim());
    for row in 0..rows {
        let sees = if causal { tokens - (rows / heads - 1 - row / heads) } else { tokens };
        let (k, v) = (k.slice(ndarray::s![..sees, ..]), v.slice(ndarray::s![..sees, ..]));
        let scores = k.dot(&q.row(row));
        let max = scores.fold(f64::NEG_INFINITY, |m, &s| m.max(s));
        let weights = scores.mapv(|s| (s - max).exp());
        o.row_mut(row).assign(&(weights.dot(&v) / weights.sum()));
    }
    o
}

/// Where the published studies put the tensors: all of a head with PE 0 of its cube.
pub fn placement(plan: &Plan) -> Placement {
    Placement::over_cubes(0, plan.sips * plan.cubes)
}

/// The launch of a plan on these tensors (q, k, v, o as the module says).
pub fn launch<'a, T: Float + DotInto<A>, A: Float>(
    plan: &Plan,
    tier: Tier,
    causal: bool,
    [q, k, v]: [&'a Tensor<T, 3>; 3],
    o: &'a mut Tensor<T, 3>,
) -> Launch<'a> {
    gqa_prefill::<T, A, ANY, ANY, ANY>(q, k, v, o, plan.group, tier, plan.sizes, causal)
        .grid(Grid::cubes(plan.cubes).pes(PES_PER_CUBE).sips(plan.sips))
}
