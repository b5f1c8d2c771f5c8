//! The launch contract of the decode kernel: what it refuses, with a code and what to choose instead.

use super::{Cut, Deal, Rows, Sizes};
use crate::attention::{Group, Heads};
use crate::contract::{Clause, refuse, size};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;

/// One launch of the kernel, in the terms of a model and a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    pub heads: Heads,
    pub d_head: usize,
    /// Requests, all over the one context.
    pub batch: usize,
    /// Query tokens of each.
    pub t_q: usize,
    /// Whether a query token sees only the tokens up to its own.
    pub causal: bool,
    /// Context length in tokens, the query tokens' own included.
    pub s_kv: usize,
    /// Tokens of a KV tile, at most.
    pub tile: usize,
    pub deal: Deal,
}

/// What the contract yields: everything a launch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub group: Group,
    pub cubes: usize,
    pub sizes: Sizes,
    /// KV tiles of the PE that has most.
    pub tiles: i32,
}

impl Problem {
    /// Checks the launch contract.
    ///
    /// # Errors
    /// All broken clauses that can be judged, each with its code and what to choose instead.
    pub fn check(&self, elem: ElemType, acc: ElemType, scratch_bytes: u64) -> Result<Plan, Diagnostics> {
        let mut errors = Diagnostics::default();
        let Problem { heads, d_head, batch, t_q, causal, s_kv, tile, deal } = *self;
        let lengths = [("h_q", heads.h_q), ("h_kv", heads.h_kv), ("d_head", d_head), ("batch", batch), ("T_q", t_q)];
        let lengths = lengths.into_iter().chain([("S_kv", s_kv), ("tile", tile)]);
        errors.0.extend(lengths.filter_map(|(what, n)| size(what, n)));
        let group = heads.group(&mut errors);
        errors.finish()?;
        let mut errors = Diagnostics::default();
        let Some(group) = group else { return Err(errors) };

        let (per_head, cubes) = heads.divided(&mut errors);
        if causal && s_kv < t_q {
            let message = format!("{t_q} query tokens, but a context of {s_kv}: the first would see none");
            errors.push(refuse(Clause::CausalRows, message, format!("use `--t-q {s_kv}`, or `--causal no`")));
        }
        let of_head = Rows { batch, t_q, heads: per_head, causal };
        let rows = of_head.count();
        let cut = Cut::of(s_kv, group, tile, deal);
        let tile = cut.tile;
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
        let sizes = Sizes { rows: of_head, d_head, cut };
        let tiles = i32::try_from(cut.most_tiles(s_kv, group)).unwrap_or(i32::MAX);
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
    let (rows, tile, d) = (rows as u128, tile as u128, d_head as u128);
    let inputs = rows * d + 2 * tile * d;
    let partial = 2 * rows + rows * d;
    let need = inputs * u128::from(elem.bytes()) + (2 * rows * tile + 2 * partial) * u128::from(acc.bytes());
    u64::try_from(need).unwrap_or(u64::MAX)
}
/// The largest power of two of tokens whose tiles fit beside so many query rows; `None`: not even one token's do.
pub fn largest_tile(rows: usize, d_head: usize, elem: ElemType, acc: ElemType, scratch: u64) -> Option<usize> {
    (0..20).rev().map(|n| 1usize << n).find(|n| scratch_need(rows, *n, d_head, elem, acc) <= scratch)
}
