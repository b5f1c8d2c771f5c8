//! What the lanes of a warp do together: shuffles, votes, matches, reductions. Lanes that name one mask take part together;
//! all of them have to be here.

use super::lanes;
use super::warp::{Next, Run};
use crate::fault::{Fault, Kind};
use crate::inst::{LANES, Lanes, Op, Shuffle, Vote};

impl Run<'_, '_> {
    pub(super) fn collective(&mut self, op: &Op, mask: u32) -> Result<Next, Fault> {
        let (Op::Shfl { mask: named, .. }
        | Op::VoteTruth { mask: named, .. }
        | Op::Ballot { mask: named, .. }
        | Op::Match { mask: named, .. }
        | Op::Reduce { mask: named, .. }
        | Op::Elect { mask: named, .. }) = op
        else {
            return Ok(Next::Go);
        };
        let named = *self.defined(*named, mask)?;
        let alive = self.warp.alive();
        let mut left = mask;
        let mut sets = Vec::new();
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let set = lanes(left).filter(|lane| named[*lane] == named[first]).fold(0, |all, lane| all | 1 << lane);
            self.named(named[first] as u32, set)?;
            let missing = named[first] as u32 & alive & !set;
            if missing != 0 {
                return Ok(Next::Wait { missing, needed: false });
            }
            sets.push(set);
            left &= !set;
        }
        for set in sets {
            self.together(op, set)?;
        }
        Ok(Next::Go)
    }
    /// Lanes that execute it have to be in their mask.
    pub(super) fn named(&self, named: u32, here: u32) -> Result<(), Fault> {
        match here & !named {
            0 => Ok(()),
            others => {
                let lane = others.trailing_zeros();
                Err(self.fault(Kind::Mask { mask: named, lane }, lane))
            }
        }
    }
    fn together(&mut self, op: &Op, set: u32) -> Result<(), Fault> {
        let mut out: Lanes = [0; LANES];
        match op {
            Op::Shfl { mode, d, p, a, b, c, .. } => {
                let (b, c) = (self.defined(*b, set)?, self.defined(*c, set)?);
                let (value, known) = self.src(*a);
                let (mut defined, mut inside) = (0, 0);
                for lane in lanes(set) {
                    let (from, in_range) = source(*mode, lane, b[lane] as usize, c[lane] as usize);
                    out[lane] = value[from];
                    // What a lane gives that does not take part is not defined.
                    defined |= ((known & set) >> from & 1) << lane;
                    inside |= u32::from(in_range) << lane;
                }
                self.set(*d, set, &out, defined);
                if let Some(p) = p {
                    self.set_truth(*p, set, inside, u32::MAX);
                }
            }
            Op::VoteTruth { mode, d, a, .. } => {
                let ballot = self.decided(*a, set)? & set;
                let holds = match mode {
                    Vote::All => ballot == set,
                    Vote::Any | Vote::Ballot => ballot != 0,
                    Vote::Uni => ballot == 0 || ballot == set,
                };
                self.set_truth(*d, set, if holds { u32::MAX } else { 0 }, u32::MAX);
            }
            Op::Ballot { d, a, .. } => {
                let ballot = self.decided(*a, set)? & set;
                self.set(*d, set, &[u64::from(ballot); LANES], u32::MAX);
            }
            Op::Match { all, d, p, a, .. } => {
                let value = self.defined(*a, set)?;
                for lane in lanes(set) {
                    let same = lanes(set).filter(|other| value[*other] == value[lane]);
                    out[lane] = same.fold(0, |mask, other| mask | 1 << other);
                }
                let whole = lanes(set).all(|lane| out[lane] == u64::from(set));
                if *all && !whole {
                    out = [0; LANES];
                }
                self.set(*d, set, &out, u32::MAX);
                if let Some(p) = p {
                    self.set_truth(*p, set, if whole { u32::MAX } else { 0 }, u32::MAX);
                }
            }
            Op::Reduce { f, d, a, .. } => {
                let value = self.defined(*a, set)?;
                let all = lanes(set).map(|lane| value[lane]).reduce(|x, y| f(x, y, 0)).unwrap_or(0);
                self.set(*d, set, &[all; LANES], u32::MAX);
            }
            Op::Elect { d, p, .. } => {
                let leader = set.trailing_zeros();
                if let Some(d) = d {
                    self.set(*d, set, &[u64::from(leader); LANES], u32::MAX);
                }
                self.set_truth(*p, set, 1 << leader, u32::MAX);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The lane that a shuffle reads, and whether it is in range: out of it, a lane reads itself (PTX ISA, shfl.sync).
fn source(mode: Shuffle, lane: usize, b: usize, c: usize) -> (usize, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (from, inside) = match mode {
        Shuffle::Up => (lane.wrapping_sub(b), lane as isize - b as isize >= max as isize),
        Shuffle::Down => (lane + b, lane + b <= max),
        Shuffle::Bfly => (lane ^ b, lane ^ b <= max),
        Shuffle::Idx => (min | (b & !segment), (min | (b & !segment)) <= max),
    };
    if inside { (from, true) } else { (lane, false) }
}
