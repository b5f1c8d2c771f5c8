//! The launch contract of the prefill kernel: what it refuses, with a code and what to choose instead.

use super::Sizes;
use crate::attention::{Group, Heads, MAX_SIPS};
use crate::contract::{Clause, refuse, scratch, size};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;

/// One launch of the kernel, in the terms of a model and a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    pub heads: Heads,
    /// SIPs that share the KV heads out among them.
    pub sips: usize,
    pub d_head: usize,
    /// Query tokens.
    pub t_q: usize,
    /// Context length in tokens, the query tokens' own included.
    pub s_kv: usize,
    /// Tokens of a KV tile.
    pub tile: usize,
    /// Whether a query token sees only the tokens up to its own.
    pub causal: bool,
}

/// What the contract yields: everything a launch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub group: Group,
    pub sips: usize,
    /// Of each SIP.
    pub cubes: usize,
    pub sizes: Sizes,
}

impl Problem {
    /// Checks the launch contract.
    ///
    /// # Errors
    /// All broken clauses that can be judged, each with its code and what to choose instead.
    pub fn check(&self, elem: ElemType, acc: ElemType, scratch_bytes: u64) -> Result<Plan, Diagnostics> {
        let mut errors = Diagnostics::default();
        let Problem { heads, sips, d_head, t_q, s_kv, tile, causal } = *self;
        let lengths = [("h_q", heads.h_q), ("h_kv", heads.h_kv), ("d_head", d_head), ("T_q", t_q), ("S_kv", s_kv)];
        let lengths = lengths.into_iter().chain([("tile", tile)]);
        errors.0.extend(lengths.filter_map(|(what, n)| size(what, n)));
        let group = heads.group(&mut errors);
        errors.finish()?;
        let mut errors = Diagnostics::default();
        let Some(group) = group else { return Err(errors) };

        let (per_head, all_cubes) = heads.divided(&mut errors);
        if !(1..=MAX_SIPS).contains(&sips) || !all_cubes.is_multiple_of(sips) {
            let message = format!("{all_cubes} cubes of KV heads do not go over {sips} SIPs");
            let fits = (1..=MAX_SIPS.min(sips)).rev().find(|n| all_cubes.is_multiple_of(*n)).unwrap_or(1);
            errors.push(refuse(Clause::Cubes, message, format!("use `--sips {fits}`")));
        }
        if causal && s_kv < t_q {
            let message = format!("{t_q} query tokens, but a context of {s_kv}: the first would see none");
            errors.push(refuse(Clause::CausalRows, message, format!("use `--t-q {s_kv}`, or `--causal no`")));
        }
        let rows = per_head.saturating_mul(t_q).div_ceil(group.pes);
        let need = |tile| scratch_need(rows, tile, d_head, elem, acc);
        let fits = (0..20).rev().map(|n| 1usize << n).find(|n| need(*n) <= scratch_bytes);
        let next = match fits {
            Some(n) => format!("use `--tile {n}`, the largest power of two that fits"),
            None => "use fewer query tokens (`--t-q`), or a mapping with fewer KV heads per cube".to_string(),
        };
        let what = format!("{rows} query rows with tiles of {tile} tokens");
        errors.0.extend(scratch(&what, need(tile), scratch_bytes, next).err());
        errors.finish()?;
        Ok(Plan { group, sips, cubes: all_cubes / sips, sizes: Sizes { rows, tile, d_head, heads: per_head } })
    }
}

/// Bytes of scratch that one step holds at its peak: query, keys and values of the tile, scores and weights (or a mask of a
/// byte each), and the running and the new partial.
fn scratch_need(rows: usize, tile: usize, d_head: usize, elem: ElemType, acc: ElemType) -> u64 {
    let [rows, tile, d] = [rows, tile, d_head].map(|n| n as u64);
    let product = |a: u64, b: u64| a.saturating_mul(b);
    let inputs = product(rows, d).saturating_add(product(2 * tile, d));
    let step = product(product(rows, tile), 2 * acc.bytes() + 1);
    let partials = product(2 * (2 * rows + product(rows, d)), acc.bytes());
    product(inputs, elem.bytes()).saturating_add(step).saturating_add(partials)
}
