//! What a PE is asked to do, counted while it runs: no time that it waited is in here, so the counts are the same however
//! much traffic meets. The roofline is made of them.

use crate::units::Ps;

/// The work of one PE's CPU and engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Issue costs and overheads between its first load, store or engine command and the last command that is logged: what
    /// lies outside is outside the wall.
    pub issue: Ps,
    /// `dot`s.
    pub dots: Ps,
    /// Tiles of composites on the GEMM engine, which do not wait for `dot`s there.
    pub tiles: Ps,
    /// Elementwise commands, reductions and copies.
    pub math: Ps,
    /// Spent since the last logged command.
    pending: Ps,
    opened: bool,
}

impl Tally {
    /// The CPU spends time that no engine accounts for.
    pub(super) fn spend(&mut self, time: Ps) {
        self.pending += time;
    }
    /// A command whose log record begins now.
    pub(super) fn open(&mut self) {
        self.logged();
        self.opened = true;
    }
    /// A command whose log record ends later than now.
    pub(super) fn logged(&mut self) {
        let spent = std::mem::take(&mut self.pending);
        if self.opened {
            self.issue += spent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_counts_from_the_first_record_to_the_last() {
        let mut t = Tally::default();
        t.spend(Ps(9)); // a load: before clock zero
        t.open();
        t.spend(Ps(10));
        t.open();
        t.spend(Ps(7)); // a recv at the end: behind the last record
        assert_eq!(t.issue, Ps(10));
    }
}
