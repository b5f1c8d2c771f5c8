//! A layer of the model on one PE: stages S1 to S10 and C1 to C3 of attention, F1 to F5 and CF1 of the FFN, and what a step
//! has beside its layers. `row.rs` is what a stage is; `attention.rs`, `fused.rs`, `ffn.rs` and `whole.rs` are the formulas,
//! a function a stage; `collective.rs` prices messages. Where an option departs from the baseline, `l.o.has` says so.

mod attention;
mod collective;
mod ffn;
mod fused;
mod row;
mod whole;

pub use row::{Bound, BoundRule, Gemm, Part, Row, Rows, StageId};

use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::Options;
use crate::placement::{Groups, Placed, groups};
use crate::shards::Shards;

/// What the formulas of a layer share.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a, N: Num> {
    pub i: &'a Inputs<N>,
    pub o: Options,
    pub placed: &'a Placed<N>,
    pub groups: Groups<N>,
    pub sh: &'a Shards<N>,
    /// Query-key pairs of a request, on one PE.
    pub pairs: N,
    /// Products that a PE sustains.
    pub flop_per_s: N,
}

/// All stages of a step, in order.
#[inline(always)]
pub fn stages<N: Num>(i: &Inputs<N>, o: Options, placed: &Placed<N>, sh: &Shards<N>) -> Rows<N> {
    let flop_per_s = (i.peak * i.u).def("F", Dim::FLOP_PER_S, "products that a PE sustains");
    let layer = Layer { i, o, placed, groups: groups(i, placed), sh, pairs: fused::pairs(i, sh, o), flop_per_s };
    let mut rows = Rows::new();
    attention::push(&layer, &mut rows);
    ffn::push(&layer, &mut rows);
    whole::push(&layer, &mut rows);
    rows
}
