//! What a step has beside its layers: the head, and sends between the stages of pp.

use super::row::BoundRule;
use super::{Gemm, Layer, Row, Rows, StageId};
use crate::formula::Num;
use crate::options::Opt;
use crate::placement::Tier;

#[inline(always)]
pub(super) fn push<N: Num>(l: &Layer<'_, N>, rows: &mut Rows<N>) {
    if l.o.has(Opt::Pipeline) {
        rows.push(sends(l));
    }
    if l.o.has(Opt::Head) {
        rows.push(head(l));
    }
}

/// PP: hidden states go from stage to stage, pp - 1 times.
fn sends<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let one = N::lit(1.0);
    // Stages are next to each other: in one SIP until the stages of a replica fill it.
    let cubes = l.placed.cubes_used / i.dp;
    let tier = Tier::pick(i.cubes_per_sip.lt(cubes), Tier::intersip(i), Tier::inter(i));
    let bytes = (i.pp - one) * i.b * sh.t * i.d * i.e;
    let time = bytes / tier.bytes_per_s + (i.pp - one) * tier.hop_s;
    let row = Row::comm_only(StageId::Pp, time, bytes, BoundRule::CommIfAny);
    Row { present: one.lt(i.pp), ..row }
}

/// LM: logits of one row a request (of every new token in decode), columns of the vocabulary over tp.
fn head<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let rows = N::pick(i.decode, || i.b * sh.t, || i.b);
    let columns = i.vocab.div_ceil(i.tp);
    let flops = N::flop(2.0) * rows * i.d * columns;
    let row = Row::gemm(l, StageId::Lm, flops, i.d * columns * i.e, Gemm { rows, columns, depth: i.d });
    Row { present: N::lit(0.0).lt(i.vocab), ..row }
}
