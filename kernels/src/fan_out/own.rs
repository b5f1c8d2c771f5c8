//! The agents' own tokens: where each agent's lie among those of all, and which rows see each of them.

use super::{Branches, Policy};
use std::ops::Range;
use tilewright::prelude::*;

/// How the kernel learns which rows see a token that is some agent's own.
#[derive(Clone, Debug)]
pub enum Seers {
    /// All agents have as many, one agent's behind the other's: it follows from a token's place.
    Equal(usize),
    /// `2 x P`, by place: the first row that sees the token, and the first behind those that do.
    Table(Tensor<i32, 2>),
}

/// The places of each agent's own tokens. Those between them are nobody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub of_agent: Vec<Range<usize>>,
    /// P, how many places there are.
    pub all: usize,
}

impl Places {
    /// One agent's behind the other's. Where rows stay with cubes, as many places are each cube's as the agents of some cube need.
    /// `None`: more than can be counted.
    pub fn of(suffixes: &[usize], policy: Policy, cubes: usize) -> Option<Places> {
        let groups = if policy == Policy::Distributed { cubes } else { 1 };
        let agents = suffixes.len() / groups.max(1);
        let sum = |suffixes: &[usize]| suffixes.iter().try_fold(0usize, |sum, n| sum.checked_add(*n));
        let needed: Option<Vec<usize>> = suffixes.chunks(agents.max(1)).map(sum).collect();
        let of_group = needed?.into_iter().max()?;
        let all = of_group.checked_mul(groups)?;
        let mut of_agent = Vec::with_capacity(suffixes.len());
        for (group, suffixes) in suffixes.chunks(agents.max(1)).enumerate() {
            let mut at = group * of_group;
            for n in suffixes {
                of_agent.push(at..at + n);
                at += n;
            }
        }
        Some(Places { of_agent, all })
    }
    /// The rows that see each token. An agent's query tokens are its last, so that rows of earlier ones do not see what comes
    /// after them; a place that is nobody's is seen from behind the last row on.
    pub fn table(&self, b: Branches) -> Option<Tensor<i32, 2>> {
        let mut rows = vec![b.rows() as i32; 2 * self.all];
        let (from, to) = rows.split_at_mut(self.all);
        for (agent, own) in self.of_agent.iter().enumerate() {
            for (i, place) in own.clone().enumerate() {
                let ahead = (i + b.tokens).saturating_sub(own.len());
                from[place] = (agent * b.of_agent() + ahead * b.heads) as i32;
                to[place] = ((agent + 1) * b.of_agent()) as i32;
            }
        }
        Tensor::from_vec([2, self.all], rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_lie_behind_each_other_or_begin_with_their_cube() {
        let of = |policy, cubes| Places::of(&[2, 5, 1, 3], policy, cubes).unwrap();
        let stacked = Places { of_agent: vec![0..2, 2..7, 7..8, 8..11], all: 11 };
        assert_eq!(of(Policy::Stationary, 2), stacked);
        // The first cube's agents have 7 tokens, the second's 4.
        assert_eq!(of(Policy::Distributed, 2), Places { of_agent: vec![0..2, 2..7, 7..8, 8..11], all: 14 });
        assert_eq!(of(Policy::Distributed, 4), Places { of_agent: vec![0..2, 5..10, 10..11, 15..18], all: 20 });
        assert_eq!(Places::of(&[usize::MAX, 1], Policy::Stationary, 1), None);
    }
    #[test]
    fn a_query_token_is_not_seen_by_earlier_ones_and_a_place_between_by_none() {
        let b = Branches { agents: 2, tokens: 2, heads: 3 };
        let places = Places { of_agent: vec![0..2, 3..6], all: 6 };
        let table = places.table(b).unwrap();
        assert_eq!(table.elements(), [0, 3, 12, 6, 6, 9, 6, 6, 12, 12, 12, 12]);
    }
}
