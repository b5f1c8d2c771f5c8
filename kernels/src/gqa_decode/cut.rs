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
    /// As few tiles as `tile` allows, each no longer than what a PE has to do needs: a power of two, or a multiple of 128 tokens.
    pub fn of(tokens: usize, group: Group, tile: usize, deal: Deal) -> Cut {
        const SHORTEST: usize = 16;
        const GRAIN: usize = 128;
        let share = tokens.div_ceil(group.pes);
        let each = share.div_ceil(share.div_ceil(tile).max(1));
        let needed = if each < GRAIN { each.next_power_of_two().max(SHORTEST) } else { each.next_multiple_of(GRAIN) };
        let tile = tile.min(needed);
        let even = tokens.is_multiple_of(group.pes.saturating_mul(tile));
        Cut { deal, tile, even }
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

    fn cut(tokens: usize, tile: usize, deal: Deal) -> (usize, bool) {
        let cut = Cut::of(tokens, Group { pes: 8 }, tile, deal);
        (cut.tile, cut.even)
    }
    #[test]
    fn tiles_are_whole_where_they_come_out_even() {
        for deal in Deal::ALL {
            assert_eq!([512, 1024].map(|n| cut(n, 64, deal)), [(64, true); 2]);
            assert_eq!([511, 513, 576, 1023].map(|n| cut(n, 64, deal)), [(64, false); 4]);
        }
    }
    #[test]
    fn tiles_are_as_long_as_a_pe_needs() {
        for deal in Deal::ALL {
            assert_eq!(
                [256, 128, 120, 1].map(|n| cut(n, 64, deal)),
                [(32, true), (16, true), (16, false), (16, false)]
            );
            assert_eq!([12288, 8193, 4800].map(|n| cut(n, 1024, deal)), [(768, true), (640, false), (640, false)]);
        }
    }
}
