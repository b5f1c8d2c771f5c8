//! Grouped-query attention, decode, long context: `o = softmax(q . K^T) . V` for the G query heads of one KV head, whose tokens lie
//! over C cubes of up to 8 PEs, of one SIP or of several. Partials meet in each cube, then over the cubes' rows and columns at the
//! centre: any C from 1 to 16; then along the line of SIPs.
//! q, o: `G x D` of f16 or bf16, q already scaled by `1 / sqrt(D)`.  k, v: `S x D`, plain numbers.  Any S: `split.rs`.
//! The form says which commands the accelerator is given; values are the same. A composite streams what it loads.
//! Contract: `contract.rs`.  Command line: `case.rs`.  Work: `4 G S D` flops over `4 S D` bytes; bound by memory.
//! Accumulates in `A`, f16 (as published) or f32. Tolerance: row `attention` of the one table.

mod case;
mod contract;
mod split;

use crate::attention::{Group, Partial, chain_reduce, reduce_cubes};
use crate::open;
use ndarray::{Array2, ArrayView2};
use tilewright::prelude::*;

pub use case::LONG_DECODE;
pub use contract::{Plan, Problem};
pub use split::Split;

/// Which commands the accelerator is given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// One command per tile op.
    Primitive,
    /// The same by a kernel that tiles its products by hand (the machine's `gemm.dot_block`): each tile asks for the query again,
    /// and for its values when their weights are known.
    Tiled,
    /// Both products as composites that stream keys and values, softmax between them.
    Composite,
    /// A few tokens as primitive commands; then two composites, of which the second does softmax, product and sum.
    Extended,
}

/// Lengths that are host values when the kernel is traced: where a const parameter is `ANY`, this number stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sizes {
    /// Query heads, G.
    pub rows: usize,
    /// Length of a head vector, D.
    pub d_head: usize,
    /// Tokens of the first tile of a PE, and of each later one but the last; at most its share.
    pub first: usize,
    pub step: usize,
}

#[kernel]
pub fn long_decode<T: Float + DotInto<A>, A: Float, const G: usize, const D: usize>(
    q: View<T, 2>,
    k: View<T, 2>,
    v: View<T, 2>,
    o: ViewMut<T, 2>,
    #[comptime] form: Form,
    #[comptime] split: Split,
    #[comptime] size: Sizes,
) {
    let (first, mine) = split.mine();
    let query = || q.at(0, 0).load_sized::<D2<G, D>>(open([(G, size.rows), (D, size.d_head)]));
    let held = if form == Form::Tiled { None } else { Some(query()) };
    let q = || match held {
        Some(q) => q,
        None => query(),
    };
    // `n` tokens from the PE's token `at` on; those it does not have read as zero, and their scores are masked.
    let load = |x: View<T, 2>, at: Scalar<i32>, n: usize| {
        let place = x.at(first + at, 0);
        let place = if split.ragged() { place.limit(Axis::<0>, mine - at) } else { place };
        place.load_sized_or::<D2<ANY, D>>(open([(ANY, n), (D, size.d_head)]), 0.0)
    };
    let masked = |s: Tile<A, D2<G, ANY>>, at: Scalar<i32>, n: usize| {
        let mut s = s;
        if split.ragged() {
            if mine < at + n {
                let token = iota_sized::<i32, D2<G, ANY>>(Axis::<1>, open([(G, size.rows), (ANY, n)]));
                s = select(token < mine - at, s, A::LOWEST);
            }
        }
        s
    };
    let part_of = |at: Scalar<i32>, n: usize| {
        let q = q();
        if form == Form::Primitive || form == Form::Extended {
            let (k, v) = (load(k, at, n), load(v, at, n));
            Partial::<A, G, D>::of_tile(masked(dot(q, k.trans()), at, n), v)
        } else {
            let s = if form == Form::Composite {
                composite(|| dot(q, load(k, at, n).trans()))
            } else {
                dot(q, load(k, at, n).trans())
            };
            let s = masked(s, at, n);
            let m = s.max(Axis::<1>);
            let p = exp(s - m.col());
            let l = p.sum(Axis::<1>);
            let o = if form == Form::Composite {
                composite(|| dot(p.cast::<T>(), load(v, at, n)))
            } else {
                dot(p.cast::<T>(), load(v, at, n))
            };
            Partial::<A, G, D> { m, l, o }
        }
    };
    let more = |so_far: Partial<A, G, D>, at: Scalar<i32>, n: usize| {
        if form == Form::Extended {
            let q = q();
            let s = masked(composite(|| dot(q, load(k, at, n).trans())), at, n);
            composite(|| so_far.online_softmax_step(s, load(v, at, n)))
        } else {
            so_far.merge(part_of(at, n))
        }
    };

    let mut part = part_of(scalar(0), size.first);
    let rest = split.share() - size.first;
    if rest >= size.step {
        for t in 0..rest / size.step {
            part = more(part, t * size.step + size.first, size.step);
        }
    }
    if rest % size.step > 0 {
        part = more(part, scalar(size.first + rest / size.step * size.step), rest % size.step);
    }
    let in_cube = chain_reduce(Group { pes: split.pes }, part);
    if pe_id() == 0 {
        let all = reduce_cubes(split.mesh(), in_cube);
        if cube_id() == split.mesh().root() {
            o.at(0, 0).store(all.normalised());
        }
    }
}

/// f64, one plain pass after another over all tokens; shares nothing with the kernel. q: `G x D`, scaled; k, v: `S x D`.
pub fn reference(q: ArrayView2<f64>, k: ArrayView2<f64>, v: ArrayView2<f64>) -> Array2<f64> {
    crate::gqa_decode::reference(q, k, v, |_| k.nrows())
}

/// Where keys and values lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Addressing {
    /// Each PE's tokens in its own slice.
    Sharded,
    /// All of it in the slice of PE 0 of cube 0, from which every PE reads: what the published kernel's addresses did.
    Published,
}

/// q: a copy in each PE; k, v: as the addressing says; o: at the root.
pub fn placements(plan: &Plan, addressing: Addressing) -> [Placement; 3] {
    let split = plan.split;
    let kv = match addressing {
        Addressing::Sharded => Placement::over_cubes(0, split.all_cubes()).over_pes(&[(0, split.pes)]),
        Addressing::Published => Placement::at(0, 0),
    };
    [Placement::in_each_pe(), kv, Placement::at(split.mesh().root(), 0)]
}

/// The launch of a plan on these tensors (q, k, v, o as the module says).
pub fn launch<'a, T: Float + DotInto<A>, A: Float>(
    plan: &Plan,
    [q, k, v]: [&'a Tensor<T, 2>; 3],
    o: &'a mut Tensor<T, 2>,
) -> Launch<'a> {
    long_decode::<T, A, ANY, ANY>(q, k, v, o, plan.form, plan.split, plan.sizes)
        .grid(Grid::cubes(plan.split.cubes).pes(plan.split.pes).sips(plan.split.sips))
}
