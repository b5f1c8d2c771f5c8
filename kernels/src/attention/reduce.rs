//! Partials meet: along a line of neighbours, and over the group of a KV head.

use super::{Group, Partial};
use tilewright::prelude::*;

/// Merges the partials of a line of `len` neighbours into the one at `root`; `low` and `high` lead to smaller and larger
/// positions. Messages run inwards from both ends. What the others return is what they sent.
#[device]
pub fn reduce_line<A: Float, const M: usize, const D: usize>(
    mine: Partial<A, M, D>,
    pos: Scalar<i32>,
    len: Scalar<i32>,
    root: usize,
    low: Port,
    high: Port,
) -> Partial<A, M, D> {
    let mut sum = mine;
    // Decided while tracing: a root at the low end has no low neighbour.
    if root > 0 {
        if pos > 0 && pos <= root {
            sum = sum.merge(recv_like(low, sum));
        }
        if pos < root {
            send(high, sum);
        }
    }
    if pos >= root && pos < len - 1 {
        sum = sum.merge(recv_like(high, sum));
    }
    if pos > root {
        send(low, sum);
    }
    sum
}

/// Row chain West, then the column bridge North; the group's rank 0 holds the result.
#[device]
pub fn chain_reduce<A: Float, const M: usize, const D: usize>(
    group: Group,
    mine: Partial<A, M, D>,
) -> Partial<A, M, D> {
    let mut sum = mine;
    let (row, col) = (group.row(), group.col());
    if group.cols() > 1 {
        sum = reduce_line(sum, col, scalar(group.cols()), 0, Port::pe(Dir::West), Port::pe(Dir::East));
    }
    if group.rows() > 1 {
        if col == 0 {
            sum = reduce_line(sum, row, scalar(group.rows()), 0, Port::pe(Dir::North), Port::pe(Dir::South));
        }
    }
    sum
}
