//! The FFN: F1 to F5, CF1.

use super::collective::ring_all_reduce;
use super::row::BoundRule;
use super::{Layer, Row, Rows, StageId};
use crate::formula::Num;
use crate::placement::Tier;

#[inline(always)]
pub(super) fn push<N: Num>(l: &Layer<'_, N>, rows: &mut Rows<N>) {
    rows.push(norm(l));
    rows.push(columns(l, StageId::F2));
    rows.push(columns(l, StageId::F3));
    rows.push(activation(l));
    rows.push(rows_of_down(l));
    rows.push(ffn_sum(l));
}

fn norm<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(4.0) * i.b * sh.t * i.d;
    Row::memory_only(l, StageId::F1, flops, (i.b + N::lit(1.0)) * sh.t * i.d * i.e)
}

/// Gate or up: the PE has some columns.
fn columns<N: Num>(l: &Layer<'_, N>, id: StageId) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    Row::overlapped(l, id, N::flop(2.0) * i.b * sh.t * i.d * sh.fp, i.d * sh.fp * i.e)
}

fn activation<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    let flops = N::flop(3.0) * i.b * sh.t * sh.fp;
    Row::memory_only(l, StageId::F4, flops, N::lit(3.0) * i.b * sh.t * sh.fp * i.e)
}

/// Down: the PE has some rows.
fn rows_of_down<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh) = (l.i, l.sh);
    Row::overlapped(l, StageId::F5, N::flop(2.0) * i.b * sh.t * sh.fp * i.d, sh.fp * i.d * i.e)
}

fn ffn_sum<N: Num>(l: &Layer<'_, N>) -> Row<N> {
    let (i, sh, p) = (l.i, l.sh, l.placed);
    let one = N::lit(1.0);
    let (intra, inter, sip) = (Tier::intra(i), Tier::inter(i), Tier::intersip(i));
    let wide = Tier::pick(one.lt(p.sips_used), sip, inter);
    let narrow = Tier::pick(p.tp_spans_cubes.le(one), intra, inter);
    let tier = Tier::pick(i.scope_cp, wide, narrow);
    let sum = ring_all_reduce(sh.ffn_divisor, i.b * sh.t * i.d * i.e, &tier);
    Row::comm_only(StageId::Cf1, sum.time_s, sum.bytes, BoundRule::CommIfAny)
}
