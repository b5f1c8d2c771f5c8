//! Which elements of a tensor nobody has written: ranges of row-major positions.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of row-major element positions, as ranges that neither meet nor are empty.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Unwritten {
    /// From a range's first position to the one after its last.
    ends: BTreeMap<usize, usize>,
}

impl Unwritten {
    /// The first `len` positions.
    pub fn all(len: usize) -> Unwritten {
        Unwritten { ends: (len > 0).then_some((0, len)).into_iter().collect() }
    }
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// How many positions there are.
    pub fn len(&self) -> usize {
        self.ends.iter().map(|(from, to)| to - from).sum()
    }
    /// The ranges, in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.ends.iter().map(|(from, to)| *from..*to)
    }
    /// The parts of `range` that are in the set, in ascending order.
    pub fn within(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        // The last range that begins before may reach into it; `ends` holds no two that do.
        let before = self.ends.range(..range.start).next_back().filter(|(_, to)| **to > range.start);
        before
            .into_iter()
            .chain(self.ends.range(range.start..range.end.max(range.start)))
            .map(move |(from, to)| *from.max(&range.start)..*to.min(&range.end))
            .filter(|part| !part.is_empty())
    }
    /// Adds a range that lies behind all others.
    pub(crate) fn push(&mut self, range: Range<usize>) {
        match self.ends.last_entry() {
            Some(mut last) if *last.get() == range.start => *last.get_mut() = range.end,
            _ if range.is_empty() => {}
            _ => {
                self.ends.insert(range.start, range.end);
            }
        }
    }
    /// Takes `range` out of the set: it is written.
    pub fn remove(&mut self, range: Range<usize>) {
        while let Some(hit) = self.first_touching(&range) {
            self.ends.remove(&hit.start);
            if hit.start < range.start {
                self.ends.insert(hit.start, range.start);
            }
            if range.end < hit.end {
                self.ends.insert(range.end, hit.end);
            }
        }
    }
    /// A whole range of the set that shares a position with `range`.
    fn first_touching(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let (from, to) = self.ends.range(..range.end).next_back()?;
        (!range.is_empty() && *to > range.start).then_some(*from..*to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_ranges_leave_the_set_position_by_position() {
        let (mut set, mut bits) = (Unwritten::all(40), [true; 40]);
        for (from, to) in [(3, 5), (4, 9), (0, 1), (20, 20), (12, 30), (10, 11), (8, 12), (39, 40), (0, 40)] {
            let inside: Vec<usize> = set.within(from..to).flatten().collect();
            assert_eq!(inside, (from..to).filter(|i| bits[*i]).collect::<Vec<_>>());
            set.remove(from..to);
            bits[from..to].fill(false);
            let left: Vec<usize> = set.ranges().flatten().collect();
            assert_eq!(left, (0..40).filter(|i| bits[*i]).collect::<Vec<_>>());
            assert_eq!(set.len(), left.len());
        }
        assert!(set.is_empty());
    }
}
