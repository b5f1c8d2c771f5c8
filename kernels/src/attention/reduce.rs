//! Partials meet: along a line of neighbours, and over the group of a KV head, at its root or at the owner of each row.

use super::{Group, Partial};
use tilewright::prelude::*;

/// How the partials of a group meet. The values differ by rounding only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduce {
    /// From neighbour to neighbour to the root, as published: few links, one after the other.
    Chain,
    /// Each PE owns some of the query rows and is sent the others' parts of them: all links at once.
    Scatter,
}

impl Reduce {
    pub const ALL: [Reduce; 2] = [Reduce::Chain, Reduce::Scatter];
    pub fn name(self) -> &'static str {
        match self {
            Reduce::Chain => "chain",
            Reduce::Scatter => "scatter",
        }
    }
}

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

/// The query rows of a KV head over the PEs of its group: as many for each as there is need for, fewer or none for the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owners {
    /// Rows of an owner.
    pub each: usize,
    /// PEs that own so many; they are the first.
    pub full: usize,
    /// Rows of the PE behind them; none if 0.
    pub rest: usize,
}

impl Owners {
    pub fn of(rows: usize, pes: usize) -> Owners {
        let each = rows.div_ceil(pes).max(1);
        Owners { each, full: rows / each, rest: rows % each }
    }
    /// First row and number of rows of each owner, by rank.
    pub fn shares(self) -> Vec<(usize, usize)> {
        let rest = (self.rest > 0).then_some(self.rest);
        (0..self.full).map(|_| self.each).chain(rest).enumerate().map(|(p, rows)| (p * self.each, rows)).collect()
    }
}

/// Every PE of the group sends each owner its rows of what it has; the owners merge and `store` theirs, which begin at the row
/// that `store` is told.
#[device]
pub fn scatter_reduce<A: Float, const M: usize, const D: usize>(
    group: Group,
    rows: usize,
    mine: Partial<A, M, D>,
    store: impl Fn(Scalar<i32>, Partial<A, ANY, D>),
) {
    let (owners, rank) = (Owners::of(rows, group.pes), group.rank());
    in_each_group(group, |first| {
        for (owner, (from, count)) in owners.shares().into_iter().enumerate() {
            if rank != owner {
                send(Port::peer((first + owner) as u32), mine.rows(from, count));
            }
        }
    });
    // What each PE of the group has of the rows of this one; `own`: what this one has of an owner's.
    let merged = |own: &dyn Fn(usize) -> Partial<A, ANY, D>, owners: std::ops::Range<usize>| {
        let part = |other: usize| {
            let received = || from_peer(group, other, 0, own(owners.start));
            if !owners.contains(&other) {
                received()
            } else if owners.len() == 1 {
                // Nobody else comes here.
                own(other)
            } else if rank == other {
                own(other)
            } else {
                received()
            }
        };
        let parts: Vec<_> = (0..group.pes).map(part).collect();
        Partial::merge_all(&parts)
    };
    let full = || {
        let own = |owner: usize| mine.rows(owner * owners.each, owners.each);
        store(rank * owners.each, merged(&own, 0..owners.full));
    };
    if owners.full == group.pes {
        full();
    } else if rank < owners.full {
        full();
    }
    if owners.rest > 0 {
        if rank == owners.full {
            let own = |owner: usize| mine.rows(owner * owners.each, owners.rest);
            store(rank * owners.each, merged(&own, owners.full..owners.full + 1));
        }
    }
}
/// What the PE of a rank in this PE's group sends. `head`: groups before this one hold other heads.
#[device]
fn from_peer<V: Value>(group: Group, rank: usize, head: usize, like: V) -> V {
    let port = Port::peer((head * group.pes + rank) as u32);
    if head + 1 == group.per_cube() {
        recv_like(port, like)
    } else if group.holds(head) {
        recv_like(port, like)
    } else {
        from_peer(group, rank, head + 1, like)
    }
}
/// Runs `of` in the programs of each group of the cube; it is told the group's first PE.
#[device]
fn in_each_group(group: Group, of: impl Fn(usize)) {
    if group.per_cube() == 1 {
        of(0);
    } else {
        for head in unroll(0..group.per_cube()) {
            if group.holds(head) {
                of(head * group.pes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Owners;

    #[test]
    fn every_row_has_one_owner_and_no_one_has_more_than_the_first() {
        for (rows, pes) in (1..40).flat_map(|rows| [1, 2, 4, 8].map(|pes| (rows, pes))) {
            let shares = Owners::of(rows, pes).shares();
            let mut next = 0;
            for (first, count) in &shares {
                assert!(*first == next && *count > 0 && *count <= shares[0].1, "{rows} rows, {pes} PEs: {shares:?}");
                next += count;
            }
            assert!(next == rows && shares.len() <= pes, "{rows} rows, {pes} PEs: {shares:?}");
        }
        assert_eq!(Owners::of(5, 4).shares(), [(0, 2), (2, 2), (4, 1)]);
        assert_eq!(Owners::of(4, 8).shares(), [(0, 1), (1, 1), (2, 1), (3, 1)]);
    }
}
