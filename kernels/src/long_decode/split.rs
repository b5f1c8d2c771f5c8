//! How the tokens of one KV head are shared out over cubes and PEs.

use crate::attention::SubMesh;
use tilewright::prelude::*;

/// The tokens of a launch: cut over the cubes of all its SIPs, then over the PEs of each, every cut rounded up, as a placement cuts
/// tensors. So a PE's tokens are those of its own slice, and the last shares may be shorter, or empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Split {
    pub tokens: usize,
    pub sips: usize,
    /// Of each SIP.
    pub cubes: usize,
    pub pes: usize,
}

impl Split {
    pub fn mesh(self) -> SubMesh {
        SubMesh { sips: self.sips, cubes: self.cubes }
    }
    /// Cubes of the launch.
    pub fn all_cubes(self) -> usize {
        self.sips * self.cubes
    }
    pub fn per_cube(self) -> usize {
        self.tokens.div_ceil(self.all_cubes())
    }
    /// Tokens of a PE, if it has a whole share.
    pub fn share(self) -> usize {
        self.per_cube().div_ceil(self.pes)
    }
    /// Whether some PE has less than a whole share.
    pub fn ragged(self) -> bool {
        self.share() * self.pes * self.all_cubes() != self.tokens
    }
    /// The first token of this PE, and how many it has (below one: none).
    #[device]
    pub fn mine(self) -> (Scalar<i32>, Scalar<i32>) {
        self.part(cube_id(), pe_id())
    }
    /// The same of a PE of a cube.
    #[device]
    pub fn part(self, cube: Scalar<i32>, pe: Scalar<i32>) -> (Scalar<i32>, Scalar<i32>) {
        let in_cube = pe * self.share();
        let first = cube * self.per_cube() + in_cube;
        if self.ragged() {
            let of_cube = minimum(self.per_cube() - in_cube, self.share());
            (first, minimum(of_cube, self.tokens - first))
        } else {
            (first, scalar(self.share()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_up_and_cover_every_token_once() {
        for tokens in [1, 63, 64, 65, 1000, 131_072] {
            for (cubes, pes) in (1..=16).flat_map(|c| [1, 2, 4, 8].map(|p| (c, p))) {
                let s = Split { tokens, sips: 1, cubes, pes };
                let of = |cube: usize, pe: usize| {
                    let of_cube = s.per_cube().saturating_sub(pe * s.share()).min(s.share());
                    of_cube.min(tokens.saturating_sub(cube * s.per_cube() + pe * s.share()))
                };
                let all: usize = (0..cubes).flat_map(|c| (0..pes).map(move |p| of(c, p))).sum();
                assert_eq!(all, tokens, "{s:?}");
                assert_eq!(s.ragged(), of(cubes - 1, pes - 1) != s.share() || of(0, pes - 1) != s.share(), "{s:?}");
            }
        }
    }
}
