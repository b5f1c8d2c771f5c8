//! How the elements of a tile get from one layout into another.

use super::reg::{Coord, RegLayout};
use rustc_hash::FxHashMap;

/// The cheapest way that does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Every thread has all its elements already: by register of the target, the register of the source.
    Rename(Vec<usize>),
    /// Written in one layout and read in the other, through shared memory.
    Shared,
}

/// From `a` to `b`, layouts of one tile.
pub fn conversion(a: &RegLayout, b: &RegLayout) -> Conversion {
    if a.thread_bases() == b.thread_bases() {
        let held: FxHashMap<Coord, usize> = (0..a.regs()).rev().map(|reg| (a.reg_coord(reg), reg)).collect();
        let regs: Option<Vec<usize>> = (0..b.regs()).map(|reg| held.get(&b.reg_coord(reg)).copied()).collect();
        if let Some(regs) = regs {
            return Conversion::Rename(regs);
        }
    }
    Conversion::Shared
}
