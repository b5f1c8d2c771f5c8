//! The launch contract of the decode kernel: what it refuses, with a code and what to choose instead.

use super::Sizes;
use crate::attention::{Group, Heads};
use crate::contract::{Clause, refuse, size};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;

/// One launch of the kernel, in the terms of a model and a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    pub heads: Heads,
    pub d_head: usize,
    /// Query tokens; decode has one.
    pub t_q: usize,
    /// Context length in tokens.
    pub s_kv: usize,
    /// Tokens of a KV tile.
    pub tile: usize,
}

/// What the contract yields: everything a launch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub group: Group,
    pub cubes: usize,
    pub sizes: Sizes,
    /// KV tiles each PE works through.
    pub tiles: i32,
}

impl Problem {
    /// Checks the launch contract.
    ///
    /// # Errors
    /// All broken clauses that can be judged, each with its code and what to choose instead.
    pub fn check(&self, elem: ElemType, acc: ElemType, scratch_bytes: u64) -> Result<Plan, Diagnostics> {
        let mut errors = Diagnostics::default();
        let Problem { heads, d_head, t_q, s_kv, tile } = *self;
        let sizes = [("h_q", heads.h_q), ("h_kv", heads.h_kv), ("d_head", d_head), ("S_kv", s_kv), ("tile", tile)];
        errors.0.extend(sizes.into_iter().filter_map(|(what, n)| size(what, n)));
        if t_q != 1 {
            let message = format!("decode takes one query token, T_q is {t_q}");
            errors.push(refuse(Clause::OneQuery, message, "use `--t-q 1`"));
        }
        let group = heads.group(&mut errors);
        errors.finish()?;
        let mut errors = Diagnostics::default();
        let Some(group) = group else { return Err(errors) };

        let (rows, cubes) = heads.divided(&mut errors);
        let step = group.pes.saturating_mul(tile);
        if !s_kv.is_multiple_of(step) {
            let message =
                format!("S_kv = {s_kv} is not a whole number of tiles: {} PEs x {tile} tokens = {step}", group.pes);
            let (down, up) = (s_kv / step * step, s_kv.div_ceil(step) * step);
            let next =
                if down == 0 { format!("use `--s-kv {up}`") } else { format!("use `--s-kv {down}` or `--s-kv {up}`") };
            errors.push(refuse(Clause::WholeTiles, message, next));
        }
        let need = scratch_need(rows, tile, d_head, elem, acc);
        if need > scratch_bytes {
            let fits = largest_tile(rows, d_head, elem, acc, scratch_bytes);
            let message = format!(
                "a step with tiles of {tile} tokens needs {need} B of scratch (keys and values {} B), a PE has {scratch_bytes} B",
                2 * tile as u64 * d_head as u64 * elem.bytes()
            );
            let next = match fits {
                Some(n) => format!("use `--tile {n}`, the largest power of two that fits"),
                None => "use a machine with more scratch, e.g. `--set scratch.capacity=\"2 MiB\"`".to_string(),
            };
            errors.push(refuse(Clause::Scratch, message, next));
        }
        errors.finish()?;
        let sizes = Sizes { rows, tile, d_head };
        let tiles = i32::try_from(s_kv / step).unwrap_or(i32::MAX);
        Ok(Plan { group, cubes, sizes, tiles })
    }
    /// Bytes of keys and values one cube holds.
    pub fn kv_bytes_per_cube(&self, elem: ElemType) -> u64 {
        2 * self.heads.kv_per_cube as u64 * self.s_kv as u64 * self.d_head as u64 * elem.bytes()
    }
}

/// Bytes of scratch that one step holds at its peak, which is while `P . V` runs: query, keys and values of the tile,
/// scores and weights, and the running and the new partial.
fn scratch_need(rows: usize, tile: usize, d_head: usize, elem: ElemType, acc: ElemType) -> u64 {
    let (rows, tile, d) = (rows as u64, tile as u64, d_head as u64);
    let inputs = rows * d + 2 * tile * d;
    let partial = 2 * rows + rows * d;
    inputs * elem.bytes() + (2 * rows * tile + 2 * partial) * acc.bytes()
}
fn largest_tile(rows: usize, d_head: usize, elem: ElemType, acc: ElemType, scratch: u64) -> Option<usize> {
    (0..20).rev().map(|n| 1usize << n).find(|n| scratch_need(rows, *n, d_head, elem, acc) <= scratch)
}
