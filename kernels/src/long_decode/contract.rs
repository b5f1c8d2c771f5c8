//! The launch contract of long-context decode: what it refuses, and the lengths of tiles that fit into scratch.

use super::{Form, Sizes, Split};
use crate::attention::{Group, MAX_CUBES, MAX_SIPS, PES_PER_CUBE};
use crate::contract::{Clause, refuse, scratch, size};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;

/// Tokens that the extended form begins with, as primitive commands (AHBM.md 10.8: inferred from the published figures).
const SEED: usize = 64;

/// One launch of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Query heads of the KV head.
    pub rows: usize,
    pub d_head: usize,
    /// Context length in tokens.
    pub s_kv: usize,
    pub sips: usize,
    /// Cubes of each SIP.
    pub cubes: usize,
    /// PEs of each cube.
    pub pes: usize,
    pub form: Form,
    /// Tokens of a tile of primitive commands.
    pub tile: usize,
}

/// What the contract yields: everything a launch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub form: Form,
    pub split: Split,
    pub sizes: Sizes,
}

impl Plan {
    /// The same in tiles of so many tokens at most, and one at least.
    pub fn in_tiles_of(mut self, tokens: usize) -> Plan {
        let tokens = tokens.max(1);
        (self.sizes.first, self.sizes.step) = (self.sizes.first.min(tokens), self.sizes.step.min(tokens));
        self
    }
}

impl Problem {
    /// Checks the launch contract. A composite takes all tokens of a PE, or as many as have room for their scores.
    ///
    /// # Errors
    /// All broken clauses that can be judged, each with its code and what to choose instead.
    pub fn check(&self, elem: ElemType, acc: ElemType, scratch_bytes: u64) -> Result<Plan, Diagnostics> {
        let mut errors = Diagnostics::default();
        let Problem { rows, d_head, s_kv, sips, cubes, pes, form, tile } = *self;
        let lengths = [("h_q", rows), ("d_head", d_head), ("S_kv", s_kv), ("tile", tile)];
        errors.0.extend(lengths.into_iter().filter_map(|(what, n)| size(what, n)));
        if !(1..=MAX_SIPS).contains(&sips) {
            let message = format!("{sips} SIPs: a KV head lies on 1 to {MAX_SIPS}");
            errors.push(refuse(Clause::SubMesh, message, format!("use `--sips {}`", sips.clamp(1, MAX_SIPS))));
        }
        if !(1..=MAX_CUBES).contains(&cubes) {
            let message = format!("{cubes} cubes: a KV head lies on 1 to {MAX_CUBES} of a SIP");
            errors.push(refuse(Clause::SubMesh, message, format!("use `--cubes {}`", cubes.clamp(1, MAX_CUBES))));
        }
        if Group::of_heads(PES_PER_CUBE / pes.clamp(1, PES_PER_CUBE)).is_none_or(|g| g.pes != pes) {
            let message = format!("{pes} PEs of a cube: 1, 2, 4 or 8 share its tokens");
            errors.push(refuse(Clause::SubMesh, message, "use `--pes 8`"));
        }
        errors.finish()?;

        let split = Split { tokens: s_kv, sips, cubes, pes };
        let share = split.share();
        let tile = tile.min(share);
        let room = Room { rows: rows as u64, d_head: d_head as u64, elem: elem.bytes(), acc: acc.bytes() };
        let streamed = room.streamed(share, scratch_bytes);
        let (first, step) = match form {
            Form::Primitive | Form::Tiled => (tile, tile),
            Form::Composite => (streamed, streamed),
            Form::Extended => (SEED.min(share), streamed),
        };
        let loaded = if form == Form::Composite { 0 } else { first };
        let need = room.loaded(loaded as u64).max(room.scores(step as u64));
        let what = format!("{rows} query heads with tiles of {first} tokens");
        let fits = (0..20).rev().map(|n| 1u64 << n).find(|n| room.loaded(*n) <= scratch_bytes);
        let next = match fits {
            Some(n) if matches!(form, Form::Primitive | Form::Tiled) => {
                format!("use `--tile {n}`, the largest power of two that fits")
            }
            _ => "use a shorter `--d-head` or fewer query heads (`--h-q`)".to_string(),
        };
        scratch(&what, need, scratch_bytes, next)?;
        Ok(Plan { form, split, sizes: Sizes { rows, d_head, first, step } })
    }
}

/// What a step holds in scratch, in bytes.
struct Room {
    rows: u64,
    d_head: u64,
    /// Bytes of an element of the tensors, and of an accumulator.
    elem: u64,
    acc: u64,
}

impl Room {
    /// Query, and the running and the new partial.
    fn fixed(&self) -> u64 {
        let row = self.rows.saturating_mul(self.d_head);
        row.saturating_mul(self.elem).saturating_add((row + 2 * self.rows).saturating_mul(2 * self.acc))
    }
    /// Scores and weights of so many tokens, or scores, their mask and the masked scores.
    fn scores(&self, tokens: u64) -> u64 {
        self.rows.saturating_mul(tokens).saturating_mul(2 * self.acc + 1).saturating_add(self.fixed())
    }
    /// The same, with keys and values in scratch.
    fn loaded(&self, tokens: u64) -> u64 {
        let kv = tokens.saturating_mul(2 * self.d_head).saturating_mul(self.elem);
        self.scores(tokens).saturating_add(kv)
    }
    /// Tokens of one composite: all, or else the longest power of two that fits.
    fn streamed(&self, all: usize, scratch: u64) -> usize {
        if self.scores(all as u64) <= scratch {
            return all;
        }
        (0..30).rev().map(|n| 1usize << n).find(|n| self.scores(*n as u64) <= scratch).unwrap_or(1).min(all)
    }
}
