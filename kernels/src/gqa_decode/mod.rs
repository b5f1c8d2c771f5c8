//! Grouped-query attention, decode and extension: `o[h] = softmax(q[h] . K[h]^T) . V[h]`, one source for the mappings A1, A2, A4, B.
//! q, o: `h_kv x M x D` of f16 or bf16, q already scaled by `1 / sqrt(D)`.  k, v: `h_kv x S x D`, plain numbers.
//! The M rows of a KV head are those of B requests over one context, each of T query tokens with G heads: `rows.rs`.
//! A group of `8 / kv_per_cube` PEs shares a KV head; each PE owns `S / pes` of its tokens, rounded up, in its own memory slice
//! (`cut.rs`). Any S: where its tiles do not come out even, keys and values past the end read as zero, and scores there are masked.
//! A PE's tiles are a map_reduce, so a backend may share them out once more; the groups' partials meet as `Reduce` says.
//! Contract: `contract.rs`, a code per clause.  Command line: `case.rs`. Work: `4 h_kv M S D` flops over `4 h_kv S D` bytes; few rows are bound by memory.
//! Accumulates in `A`, f16 (as published) or f32. Tolerance: row `attention` of the one table.

mod case;
mod config;
mod contract;
mod cut;
mod rows;

use crate::attention::{Group, Partial, Reduce, Tier, attend, chain_reduce, scatter_reduce, scores};
use crate::open;
use ndarray::{Array2, ArrayView2, s};
use tilewright::prelude::*;

pub use case::GQA_DECODE;
pub use config::{CONFIGS, Config, Turn};
pub use contract::{Plan, Problem, largest_tile};
pub use cut::{Cut, Deal, Mine};
pub use rows::Rows;

/// Lengths that are host values when the kernel is traced: where a const parameter is `ANY`, this number stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sizes {
    /// Query rows of a KV head, M.
    pub rows: Rows,
    /// Length of a head vector, D.
    pub d_head: usize,
    /// Of the tokens, with the length of a KV tile, N.
    pub cut: Cut,
}

/// How a plan is carried out. The values differ by rounding only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct How {
    pub tier: Tier,
    pub reduce: Reduce,
    /// Tiles that may be on their way at once, on a GPU.
    pub stages: usize,
}

#[kernel]
pub fn gqa_decode<T: Float + DotInto<A>, A: Float, const M: usize, const N: usize, const D: usize>(
    q: View<T, 3>,
    k: View<T, 3>,
    v: View<T, 3>,
    o: ViewMut<T, 3>,
    tiles: Scalar<i32>,
    #[comptime] group: Group,
    #[comptime] how: How,
    #[comptime] size: Sizes,
) {
    let (head, rank, cut, rows) = (group.head(), group.rank(), size.cut, size.rows.count());
    let Mine { first, step, tiles, end } = cut.mine(group, rank, tiles, || k.len(Axis::<1>));
    let q = q.at(head, 0, 0).load_sized::<D2<M, D>>(open([(M, rows), (D, size.d_head)]));
    let lengths = open([(N, cut.tile), (D, size.d_head)]);
    let load = |x: View<T, 3>, token: Scalar<i32>| {
        let place = x.at(head, token, 0);
        match end {
            Some(end) => place.limit(Axis::<0>, end - token).load_sized_or::<D2<N, D>>(&lengths, 0.0),
            None => place.load_sized::<D2<N, D>>(&lengths),
        }
    };
    // One of this PE's tiles: keys and values.
    let kv = |t: Scalar<i32>| {
        let token = first + t * step;
        let k = load(k, token);
        let v = load(v, token);
        (token, k, v)
    };
    // How many tokens each row sees, of those up to this PE's end; up to `whole` every row sees every token.
    let (seen, whole) = if size.rows.hide() {
        let tokens = k.len(Axis::<1>);
        let (each, fewest) = (size.rows.each_seen::<M>(tokens), size.rows.fewest_seen(tokens));
        match end {
            Some(end) => (Some(minimum(each, end)), Some(minimum(fewest, end))),
            None => (Some(each), Some(fewest)),
        }
    } else {
        (None, end)
    };
    // Scores of what a row does not see, or what lies past this PE's tokens, weigh nothing.
    let masked = |s: Tile<A, D2<M, N>>, token: Scalar<i32>| {
        let mut s = s;
        if let Some(whole) = whole {
            if whole < token + cut.tile {
                let at = iota_sized::<i32, D2<M, N>>(Axis::<1>, open([(M, rows), (N, cut.tile)]));
                let seen = match seen {
                    Some(seen) => at < (seen - token).col(),
                    None => at < whole - token,
                };
                s = select(seen, s, A::LOWEST);
            }
        }
        s
    };
    let part = match how.tier {
        Tier::Plain | Tier::Composite => map_reduce(
            (0..tiles).stages(how.stages),
            |t| {
                let (token, k, v) = kv(t);
                Partial::<A, M, D>::of_tile(masked(scores(how.tier == Tier::Composite, q, k), token), v)
            },
            |a, b| a.merge(b),
        ),
        // The online step is one command with the product, so each turn needs the state of the one before.
        Tier::Fused => {
            let (token, k0, v0) = kv(scalar(0));
            let mut part = Partial::of_tile(masked(scores(false, q, k0), token), v0);
            for t in (1..tiles).stages(how.stages) {
                let (token, k, v) = kv(t);
                let s = masked(scores(true, q, k), token);
                part = attend(how.tier, part, s, v);
            }
            part
        }
    };
    match how.reduce {
        Reduce::Chain => {
            let all = chain_reduce(group, part);
            if rank == 0 {
                o.at(head, 0, 0).store(all.normalised());
            }
        }
        Reduce::Scatter => {
            scatter_reduce(group, rows, part, |row, all| o.at(head, row, 0).store(all.normalised()));
        }
    }
}

/// f64, one plain pass after another over the tokens of one KV head, of which a row sees the first so many; shares nothing with
/// the kernel. q: `M x D`, scaled; k, v: `S x D`.
pub fn reference(
    q: ArrayView2<f64>,
    k: ArrayView2<f64>,
    v: ArrayView2<f64>,
    seen: impl Fn(usize) -> usize,
) -> Array2<f64> {
    let mut weights = q.dot(&k.t());
    for (at, mut row) in weights.rows_mut().into_iter().enumerate() {
        row.slice_mut(s![seen(at)..]).fill(f64::NEG_INFINITY);
        let max = row.fold(f64::NEG_INFINITY, |m, &s| m.max(s));
        row.mapv_inplace(|s| (s - max).exp());
        let sum = row.sum();
        row.mapv_inplace(|w| w / sum);
    }
    weights.dot(&v)
}

/// Where the published studies put the tensors: q and o with PE 0 of the head's cube, keys and values cut over the
/// heads' cubes and, inside a cube, over the PEs that own the tokens.
pub fn placements(plan: &Plan) -> [Placement; 3] {
    let kv = Placement::over_cubes(0, plan.cubes).over_pes(&[(0, plan.group.per_cube()), (1, plan.group.pes)]);
    [Placement::replicated(), kv, Placement::over_cubes(0, plan.cubes)]
}

/// The launch of a plan on these tensors (q, k, v, o as the module says).
pub fn launch<'a, T: Float + DotInto<A>, A: Float>(
    plan: &Plan,
    how: How,
    [q, k, v]: [&'a Tensor<T, 3>; 3],
    o: &'a mut Tensor<T, 3>,
) -> Launch<'a> {
    gqa_decode::<T, A, ANY, ANY, ANY>(q, k, v, o, plan.tiles, plan.group, how, plan.sizes)
        .grid(Grid::cubes(plan.cubes).pes(crate::attention::PES_PER_CUBE))
}
