//! What the decode kernel is specialised to, by target.

use super::Deal;
use crate::attention::{Mode, Reduce};
use crate::config::Configs;
use tilewright::prelude::*;

/// What the kernel is specialised to.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Of so many query rows of heads of so many elements.
    pub turn: fn(usize, usize) -> Turn,
    /// Tokens of a tile where sums are f16: with small tiles they round too often for their tolerance.
    pub tile_f16: usize,
    /// Of so many query rows and PEs of a KV head, where sums are f32; those of f16 meet in a chain.
    pub reduce: fn(usize, usize) -> Reduce,
    pub deal: Deal,
    /// The mapping of so many KV heads.
    pub mode: fn(usize) -> Mode,
}

/// What is taken at once.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Tokens of a KV tile.
    pub tile: usize,
    /// Bytes of keys and values that are asked for ahead, by a warp or by all.
    pub ahead_bytes: usize,
    /// Threads of a program, where the target has them.
    pub threads: Option<u32>,
}

/// AHBM's is the published one. On Hopper a cube is a cluster of 8 CTAs. Where each of them has a row to own, partials are
/// scattered: all rows go at once, which takes 0.9 us less than from neighbour to neighbour (docs/gpu.md).
/// Ampere has no clusters, and its tiles are the program's.
pub const CONFIGS: Configs<Config> = Configs {
    ahbm: Config {
        turn: |_, _| Turn { tile: 1024, ahead_bytes: 0, threads: None },
        tile_f16: 1024,
        reduce: |_, _| Reduce::Chain,
        deal: Deal::Ranges,
        mode: |_| Mode::A1,
    },
    sm_80: Config {
        turn: |rows, _| Turn { tile: wide_tile(rows, 256), ahead_bytes: 0, threads: None },
        tile_f16: 128,
        reduce: |_, _| Reduce::Chain,
        deal: Deal::Ranges,
        mode: Mode::filling_gpu,
    },
    sm_90a: Config {
        turn: hopper,
        tile_f16: 128,
        reduce: |rows, pes| if rows == pes { Reduce::Scatter } else { Reduce::Chain },
        deal: Deal::Turns,
        mode: Mode::filling_gpu,
    },
};

/// Few rows: each of 4 warps takes 16 KiB of keys and values a turn, with two turns on their way: what keeps the memory busy
/// from half of the SMs; in shorter turns a warp waits for itself. More rows than a warp can hold are those of all warps, 16 a warp.
fn hopper(rows: usize, d_head: usize) -> Turn {
    let held_by_a_warp = rows <= 8 || rows.saturating_mul(d_head) < 2048;
    if held_by_a_warp {
        return Turn { tile: if d_head > 64 { 32 } else { 64 }, ahead_bytes: 32 << 10, threads: Some(128) };
    }
    let threads = if rows > 64 { 256 } else { 128 };
    let tile = wide_tile(rows, threads).min((128 * 128 / d_head.max(1)).next_power_of_two().max(16));
    let turn = 2 * tile * d_head * ElemType::F16.bytes() as usize;
    Turn { tile, ahead_bytes: 2 * turn, threads: Some(threads) }
}

/// Tokens of a tile whose scores take no more than 64 registers of a thread.
fn wide_tile(rows: usize, threads: u32) -> usize {
    let most = 64 * threads as usize / rows.max(1);
    (most.max(16).next_power_of_two() / if most.is_power_of_two() { 1 } else { 2 }).clamp(16, 128)
}

impl Turn {
    /// Turns of so many tokens whose keys and values are on their way at once.
    pub fn stages(&self, tile: usize, d_head: usize, elem: ElemType) -> usize {
        let turn = (2 * tile as u64).saturating_mul(d_head as u64).saturating_mul(elem.bytes());
        (self.ahead_bytes as u64 / turn.max(1)).clamp(1, 8) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_a_warp_cannot_hold_are_those_of_all_warps() {
        let of = |rows, d| {
            let turn = hopper(rows, d);
            (turn.tile, turn.stages(turn.tile, d, ElemType::F16), turn.threads)
        };
        assert_eq!([of(8, 128), of(8, 64), of(16, 64)], [(32, 2, Some(128)), (64, 2, Some(128)), (64, 2, Some(128))]);
        assert_eq!(
            [of(64, 128), of(64, 64), of(128, 128)],
            [(128, 2, Some(128)), (128, 2, Some(128)), (128, 2, Some(256))]
        );
        assert_eq!(
            [of(16, 128), of(64, 256), of(1024, 64)],
            [(128, 2, Some(128)), (64, 2, Some(128)), (16, 2, Some(256))]
        );
    }
}
