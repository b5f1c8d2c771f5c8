//! Which tokens of a KV head are a PE's, as tiles.

use crate::attention::Group;
use tilewright::prelude::*;

/// Which tiles are a PE's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Deal {
    /// Those that lie one behind the other, as its memory slice holds them: of the tokens cut over the group, rounded up.
    Ranges,
    /// One for each PE of the group in turn: together they read on from one place.
    Turns,
}

impl Deal {
    pub const ALL: [Deal; 2] = [Deal::Ranges, Deal::Turns];
    pub fn name(self) -> &'static str {
        match self {
            Deal::Ranges => "ranges",
            Deal::Turns => "turns",
        }
    }
}

/// How the tokens of a head go over its group. A comptime value without their number, so that a context may grow under one code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cut {
    pub deal: Deal,
    /// Tokens of a tile.
    pub tile: usize,
    /// Every PE has as many tiles as the others, all of them whole.
    pub even: bool,
    /// Some PE has no token.
    pub idle: bool,
}

/// The tiles of this PE: the first begins at token `first`, each further one `step` tokens later.
#[derive(Clone, Copy)]
pub struct Mine {
    pub first: Scalar<i32>,
    pub step: usize,
    /// At least one, which then may hold no token.
    pub tiles: Scalar<i32>,
    /// Tokens from here on are not this PE's; `None`: its tiles are whole.
    pub end: Option<Scalar<i32>>,
}

impl Cut {
    /// Tiles no longer than what a PE has to do need be: a power of two, at most `tile`.
    pub fn of(tokens: usize, group: Group, tile: usize, deal: Deal) -> Cut {
        const SHORTEST: usize = 16;
        let share = tokens.div_ceil(group.pes);
        let tile = tile.min(share.next_power_of_two().max(SHORTEST));
        let even = tokens.is_multiple_of(group.pes.saturating_mul(tile));
        let busy = match deal {
            Deal::Ranges => tokens.div_ceil(share.max(1)),
            Deal::Turns => tokens.div_ceil(tile.max(1)),
        };
        Cut { deal, tile, even, idle: busy < group.pes }
    }
    /// Tiles of the PE that has most.
    pub fn most_tiles(self, tokens: usize, group: Group) -> usize {
        match self.deal {
            Deal::Ranges => tokens.div_ceil(group.pes).div_ceil(self.tile),
            Deal::Turns => tokens.div_ceil(self.tile).div_ceil(group.pes),
        }
    }
    /// `rank`: this PE's in its group; `most`: tiles of the PE that has most; `tokens`: of the head.
    #[device]
    pub fn mine(self, group: Group, rank: Scalar<i32>, most: Scalar<i32>, tokens: impl Fn() -> Scalar<i32>) -> Mine {
        let step = match self.deal {
            Deal::Ranges => self.tile,
            Deal::Turns => group.pes * self.tile,
        };
        if self.even {
            let first = match self.deal {
                Deal::Ranges => rank * most * self.tile,
                Deal::Turns => rank * self.tile,
            };
            Mine { first, step, tiles: most, end: None }
        } else {
            let tokens = tokens();
            let (first, end, tiles) = match self.deal {
                Deal::Ranges => {
                    let share = (tokens + (group.pes - 1)) / group.pes;
                    let first = rank * share;
                    let end = minimum(first + share, tokens);
                    (first, end, (end - first + (self.tile - 1)) / self.tile)
                }
                Deal::Turns => {
                    let all = (tokens + (self.tile - 1)) / self.tile;
                    (rank * self.tile, tokens, (all - rank + (group.pes - 1)) / group.pes)
                }
            };
            Mine { first, step, tiles: maximum(tiles, 1), end: Some(end) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(tokens: usize, deal: Deal) -> (usize, bool, bool) {
        let cut = Cut::of(tokens, Group { pes: 8 }, 64, deal);
        (cut.tile, cut.even, cut.idle)
    }
    #[test]
    fn tiles_are_whole_where_they_come_out_even() {
        for deal in Deal::ALL {
            assert_eq!([512, 1024].map(|n| cut(n, deal)), [(64, true, false); 2]);
            assert_eq!([511, 513, 1023].map(|n| cut(n, deal).1), [false; 3]);
            // Tiles are cut to what a PE has.
            assert_eq!((cut(256, deal), cut(128, deal)), ((32, true, false), (16, true, false)));
        }
        // Nine tiles: one PE has two, but none is idle.
        assert_eq!(cut(576, Deal::Turns), (64, false, false));
    }
    #[test]
    fn pes_are_idle_where_the_tokens_run_out() {
        assert_eq!([1, 7, 9, 17, 33, 127].map(|n| cut(n, Deal::Ranges).2), [true, true, true, true, true, false]);
        assert_eq!([1, 7, 112, 113, 127, 449].map(|n| cut(n, Deal::Turns).2), [true, true, true, false, false, false]);
    }
}
