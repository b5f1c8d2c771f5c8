//! The launch contract of the decode kernel: what it refuses, with a code and what to choose instead.

use super::Sizes;
use crate::attention::Group;
use crate::contract::{Clause, refuse};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;

/// One launch of the kernel, in the terms of a model and a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    pub h_q: usize,
    pub h_kv: usize,
    pub d_head: usize,
    /// Query tokens; decode has one.
    pub t_q: usize,
    /// Context length in tokens.
    pub s_kv: usize,
    /// KV heads a cube holds: 1, 2, 4, 8 for A1, A2, A4, B.
    pub kv_per_cube: usize,
    /// Cubes of the launch; `None`: as many as the mapping needs.
    pub cubes: Option<usize>,
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
        let Problem { h_q, h_kv, d_head, t_q, s_kv, kv_per_cube, tile, .. } = *self;
        for (what, n) in [("h_q", h_q), ("h_kv", h_kv), ("d_head", d_head), ("S_kv", s_kv), ("tile", tile)] {
            if n == 0 || n > 1 << 31 {
                let message = format!("{what} is {n}, it must lie in 1..={}", 1u64 << 31);
                errors.push(refuse(Clause::Sizes, message, format!("choose `--{}` in that range", flag(what))));
            }
        }
        if t_q != 1 {
            let message = format!("decode takes one query token, T_q is {t_q}");
            errors.push(refuse(Clause::OneQuery, message, "use `--t-q 1`"));
        }
        let group = Group::of_heads(kv_per_cube);
        if group.is_none() {
            let message = format!("{kv_per_cube} KV heads per cube: a cube of 8 PEs takes 1, 2, 4 or 8");
            errors.push(refuse(Clause::KvPerCube, message, "use `--mode A1`, `A2`, `A4` or `B`"));
        }
        errors.finish()?;
        let mut errors = Diagnostics::default();
        let Some(group) = group else { return Err(errors) };

        if !h_q.is_multiple_of(h_kv) {
            let message = format!("{h_q} query heads do not divide among {h_kv} KV heads");
            let down = h_q / h_kv * h_kv;
            let next = format!("use `--h-q {}`", if down == 0 { h_kv } else { down });
            errors.push(refuse(Clause::QueryHeads, message, next));
        }
        let needed = h_kv / kv_per_cube;
        if !h_kv.is_multiple_of(kv_per_cube) {
            let message = format!("{h_kv} KV heads do not fill cubes of {kv_per_cube}");
            errors.push(refuse(Clause::Cubes, message, "choose a mapping whose KV heads per cube divide `--h-kv`"));
        } else if self.cubes.is_some_and(|c| c != needed) {
            let message = format!(
                "{} cubes, but {h_kv} KV heads at {kv_per_cube} per cube need {needed}",
                self.cubes.unwrap_or(needed)
            );
            errors.push(refuse(Clause::Cubes, message, format!("use `--cubes {needed}`, or leave it out")));
        }
        let step = group.pes.saturating_mul(tile);
        if !s_kv.is_multiple_of(step) {
            let message =
                format!("S_kv = {s_kv} is not a whole number of tiles: {} PEs x {tile} tokens = {step}", group.pes);
            let (down, up) = (s_kv / step * step, s_kv.div_ceil(step) * step);
            let next =
                if down == 0 { format!("use `--s-kv {up}`") } else { format!("use `--s-kv {down}` or `--s-kv {up}`") };
            errors.push(refuse(Clause::WholeTiles, message, next));
        }
        let rows = h_q / h_kv;
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
        Ok(Plan { group, cubes: needed, sizes, tiles })
    }
    /// Bytes of keys and values one cube holds.
    pub fn kv_bytes_per_cube(&self, elem: ElemType) -> u64 {
        2 * self.kv_per_cube as u64 * self.s_kv as u64 * self.d_head as u64 * elem.bytes()
    }
}

fn flag(what: &str) -> String {
    what.to_lowercase().replace('_', "-")
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
