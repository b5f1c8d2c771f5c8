//! Grouped-query attention, decode, short context: `o[h] = softmax(q[h] . K[h]^T) . V[h]`, one source for the mappings A1, A2, A4, B.
//! q, o: `h_kv x G x D` of f16 or bf16, q already scaled by `1 / sqrt(D)`.  k, v: `h_kv x S x D`, plain numbers.
//! A group of `8 / kv_per_cube` PEs shares a KV head; each PE owns `S / pes` of its tokens, in its own memory slice.
//! A PE's tiles are a map_reduce, so a backend may share them out once more; the groups' partials meet as `Reduce` says.
//! Contract: `contract.rs`, a code per clause.  Command line: `case.rs`. Work: `4 h_q S D` flops over `4 h_kv S D` bytes; bound by memory.
//! Accumulates in `A`, f16 (as published) or f32. Tolerance: row `attention` of the one table.

mod case;
mod contract;

use crate::attention::{Group, Partial, Reduce, Tier, attend, chain_reduce, scatter_reduce, scores};
use crate::open;
use ndarray::{Array2, ArrayView2};
use tilewright::prelude::*;

pub use case::{CONFIGS, Config, GQA_DECODE};
pub use contract::{Plan, Problem};

/// Lengths that are host values when the kernel is traced: where a const parameter is `ANY`, this number stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sizes {
    /// Query rows of a KV head, G.
    pub rows: usize,
    /// Tokens of a KV tile, N.
    pub tile: usize,
    /// Length of a head vector, D.
    pub d_head: usize,
}

/// How a plan is carried out. The values differ by rounding only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct How {
    pub tier: Tier,
    pub reduce: Reduce,
    pub deal: Deal,
    /// Tiles that may be on their way at once, on a GPU.
    pub stages: usize,
}

/// Which tiles are a PE's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Deal {
    /// Those that lie one behind the other, as its memory slice holds them.
    Ranges,
    /// One for each PE of the group in turn: together they read on from one place.
    Turns,
}

impl Deal {
    pub const ALL: [Deal; 2] = [Deal::Ranges, Deal::Turns];
    pub fn name(self) -> &'static str {
        match self {
            Deal::Ranges => "ranges",
            Deal::Turns => "turns",
        }
    }
}

#[kernel]
pub fn gqa_decode<T: Float + DotInto<A>, A: Float, const G: usize, const N: usize, const D: usize>(
    q: View<T, 3>,
    k: View<T, 3>,
    v: View<T, 3>,
    o: ViewMut<T, 3>,
    tiles: Scalar<i32>,
    #[comptime] group: Group,
    #[comptime] how: How,
    #[comptime] size: Sizes,
) {
    let (head, rank) = (group.head(), group.rank());
    let first = match how.deal {
        Deal::Ranges => rank * tiles * size.tile,
        Deal::Turns => rank * size.tile,
    };
    // From one of this PE's tiles to the next.
    let step = match how.deal {
        Deal::Ranges => size.tile,
        Deal::Turns => group.pes * size.tile,
    };
    let q = q.at(head, 0, 0).load_sized::<D2<G, D>>(open([(G, size.rows), (D, size.d_head)]));
    let kv = |t: Scalar<i32>| {
        let (token, lengths) = (first + t * step, open([(N, size.tile), (D, size.d_head)]));
        let k = k.at(head, token, 0).load_sized::<D2<N, D>>(&lengths);
        let v = v.at(head, token, 0).load_sized::<D2<N, D>>(&lengths);
        (k, v)
    };
    let part = match how.tier {
        Tier::Plain | Tier::Composite => map_reduce(
            (0..tiles).stages(how.stages),
            |t| {
                let (k, v) = kv(t);
                Partial::<A, G, D>::of_tile(scores(how.tier == Tier::Composite, q, k), v)
            },
            |a, b| a.merge(b),
        ),
        // The online step is one command with the product, so each turn needs the state of the one before.
        Tier::Fused => {
            let (k0, v0) = kv(scalar(0));
            let mut part = Partial::of_tile(scores(false, q, k0), v0);
            for t in 1..tiles {
                let (k, v) = kv(t);
                let s = scores(true, q, k);
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
            scatter_reduce(group, size.rows, part, |row, all| o.at(head, row, 0).store(all.normalised()));
        }
    }
}

/// f64, one plain pass after another over all tokens of one KV head; shares nothing with the kernel.
/// q: `G x D`, scaled; k, v: `S x D`.
pub fn reference(q: ArrayView2<f64>, k: ArrayView2<f64>, v: ArrayView2<f64>) -> Array2<f64> {
    let mut weights = q.dot(&k.t());
    for mut row in weights.rows_mut() {
        let max = row.fold(f64::NEG_INFINITY, |m, &s| m.max(s));
        row.mapv_inplace(|s| (s - max).exp());
        let sum = row.sum();
        row.mapv_inplace(|w| w / sum);
    }
    weights.dot(&v)
}

/// Where the published studies put the tensors: q and o with PE 0 of the head's cube, keys and values cut over the
/// heads' cubes and, inside a cube, over the PEs that own the tokens.
pub fn placements(plan: &Plan) -> [Placement; 4] {
    let kv = Placement::over_cubes(0, plan.cubes).over_pes(&[(0, plan.group.per_cube()), (1, plan.group.pes)]);
    [Placement::replicated(), kv.clone(), kv, Placement::over_cubes(0, plan.cubes)]
}

/// The launch of a plan on these tensors (q, k, v, o as the module says).
pub fn launch<'a, T: Float + DotInto<A>, A: Float>(
    plan: &Plan,
    how: How,
    q: &'a Tensor<T, 3>,
    k: &'a Tensor<T, 3>,
    v: &'a Tensor<T, 3>,
    o: &'a mut Tensor<T, 3>,
) -> Launch<'a> {
    gqa_decode::<T, A, ANY, ANY, ANY>(q, k, v, o, plan.tiles, plan.group, how, plan.sizes)
        .grid(Grid::cubes(plan.cubes).pes(crate::attention::PES_PER_CUBE))
}
