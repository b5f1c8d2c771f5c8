//! The launch contract of the fan-out kernel: what it refuses, and the tile that fits into scratch.

use super::{Branches, Places, Policy, Seers, Share};
use crate::attention::{Group, MAX_CUBES, MAX_SIPS, PES_PER_CUBE, Tier};
use crate::contract::{Clause, refuse, scratch, size};
use crate::long_decode::Split;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;

/// One launch of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub policy: Policy,
    pub tier: Tier,
    pub branches: Branches,
    /// Tokens that are its own, of each agent.
    pub suffixes: Vec<usize>,
    pub d_head: usize,
    /// Tokens that all agents share.
    pub prefix: usize,
    pub sips: usize,
    /// Cubes of each SIP.
    pub cubes: usize,
    /// PEs of each cube.
    pub pes: usize,
    /// Tokens of a tile; 0: the largest power of two up to 1024 that fits.
    pub tile: usize,
}

/// What the contract yields: everything a launch needs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub share: Share,
    /// Where the agents' own tokens lie.
    pub places: Places,
    pub seers: Seers,
}

/// Tokens of a tile where scratch has room.
const TILE: usize = 1024;
/// Places of a table of rows, which takes 8 B of each.
const TABLE: usize = 1 << 26;

impl Problem {
    /// Checks the launch contract.
    ///
    /// # Errors
    /// All broken clauses that can be judged, each with its code and what to choose instead.
    pub fn check(&self, elem: ElemType, acc: ElemType, scratch_bytes: u64) -> Result<Plan, Diagnostics> {
        let mut errors = Diagnostics::default();
        let Problem { policy, tier, branches: b, d_head, prefix, sips, cubes, pes, tile, .. } = *self;
        let lengths = [("agents", b.agents), ("T_q", b.tokens), ("h_q", b.heads), ("d_head", d_head), ("S_kv", prefix)];
        errors.0.extend(lengths.into_iter().filter_map(|(what, n)| size(what, n)));
        errors.0.extend(self.suffixes.iter().find_map(|n| size("suffix", *n)));
        for (what, flag, n, most) in [("SIPs", "sips", sips, MAX_SIPS), ("cubes of a SIP", "cubes", cubes, MAX_CUBES)] {
            if !(1..=most).contains(&n) {
                let message = format!("{n} {what}: the prefix lies on 1 to {most}");
                errors.push(refuse(Clause::SubMesh, message, format!("use `--{flag} {}`", n.clamp(1, most))));
            }
        }
        if Group::of_heads(PES_PER_CUBE / pes.clamp(1, PES_PER_CUBE)).is_none_or(|g| g.pes != pes) {
            let message = format!("{pes} PEs of a cube: 1, 2, 4 or 8 share its tokens");
            errors.push(refuse(Clause::SubMesh, message, "use `--pes 8`"));
        }
        errors.finish()?;
        self.branches().finish()?;

        let split = |tokens| Split { tokens, sips, cubes, pes };
        let groups = if policy == Policy::Distributed { cubes } else { 1 };
        let rows = b.rows() / groups;
        let need = |tile: usize| scratch_need([rows, tile, d_head].map(|n| n as u64), elem, acc);
        let fits = (0..=10).rev().map(|n| 1usize << n).find(|n| need(*n) <= scratch_bytes);
        let tile = if tile == 0 { fits.unwrap_or(TILE) } else { tile };
        let next = match fits {
            Some(n) => format!("use `--tile {n}`, the largest power of two that fits"),
            None => "use fewer agents, or a shorter `--d-head`".to_string(),
        };
        scratch(&format!("{rows} query rows with tiles of {tile} tokens"), need(tile), scratch_bytes, next)?;
        let (places, seers) = self.own()?;
        let (prefix, suffix) = (split(prefix), split(places.all));
        let share = Share { policy, tier, branches: b, prefix, suffix, rows, d_head, tile };
        Ok(Plan { share, places, seers })
    }
    /// Where the agents' own tokens lie, and how the kernel learns who sees them.
    fn own(&self) -> Result<(Places, Seers), Diagnostics> {
        let Problem { policy, branches, sips, cubes, pes, ref suffixes, .. } = *self;
        let (first, most) = (suffixes.first().copied().unwrap_or(0), 1 << 31);
        let equal = suffixes.iter().all(|n| *n == first);
        let most = if equal { most } else { TABLE };
        let places = Places::of(suffixes, policy, cubes).filter(|places| places.all <= most);
        let seers = |places: &Places| {
            let on = Placement::over_cubes(1, sips * cubes).over_pes(&[(1, pes)]);
            if equal { Some(Seers::Equal(first)) } else { Some(Seers::Table(places.table(branches)?.placed(on))) }
        };
        let own = places.and_then(|places| Some((seers(&places)?, places)));
        own.map(|(seers, places)| (places, seers)).ok_or_else(|| {
            let message = format!("the agents' own tokens are more than {most}");
            refuse(Clause::Sizes, message, "use fewer agents, or a shorter `--suffix`").into()
        })
    }
    /// Errors for rows that do not go over the cubes, or see no place of their own.
    fn branches(&self) -> Diagnostics {
        let mut errors = Diagnostics::default();
        let Problem { policy, branches: b, sips, cubes, .. } = *self;
        let fewest = self.suffixes.iter().copied().min().unwrap_or(0);
        if b.tokens > fewest {
            let message = format!("{} query tokens of an agent whose own tokens are {fewest}", b.tokens);
            errors.push(refuse(Clause::Branches, message, format!("use `--suffix {}`", b.tokens)));
        }
        if policy == Policy::Distributed && !b.agents.is_multiple_of(cubes) {
            let message = format!("{} agents do not divide among {cubes} cubes", b.agents);
            let next = format!("use `--agents {}`", b.agents.next_multiple_of(cubes));
            errors.push(refuse(Clause::Branches, message, next));
        }
        if policy == Policy::Distributed && sips > 1 {
            let message = format!("{sips} SIPs: a cube cannot read keys and values of another SIP");
            errors.push(refuse(Clause::Branches, message, "use `--sips 1`, or `--policy stationary`"));
        }
        errors
    }
}

/// Bytes of scratch that one step holds at its peak: query, keys and values of the tile; scores, weights and what masks them;
/// the running and the new partial and their scaled copies.
fn scratch_need([rows, tile, d]: [u64; 3], elem: ElemType, acc: ElemType) -> u64 {
    let product = |a: u64, b: u64| a.saturating_mul(b);
    let inputs = product(product(rows, d).saturating_add(product(2 * tile, d)), elem.bytes());
    let scores = product(product(rows, tile), 2 * acc.bytes() + 7);
    let partials = product(4 * (2 * rows).saturating_add(product(rows, d)), acc.bytes());
    inputs.saturating_add(scores).saturating_add(partials)
}
