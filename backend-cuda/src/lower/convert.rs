//! Tiles from one layout into another: renamed, shuffled inside warps, or through shared memory.

use super::errors::Fault;
use super::held::{flat, stored};
use super::{Lower, Move};
use crate::layout::{Conversion, RegLayout, Shuffled, conversion};
use crate::ptx::{
    Addr, Bin, Buffer, CacheHint, Cmp, Memory, Op as PtxOp, Reg, Shuffle, Space, Special, Src, Tern, Touch, Ty,
};
use rustc_hash::FxHashMap;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Dims, Type};

/// Bytes of shared memory that are left for what lies beside a tile on its way.
const KEPT: u32 = 16 << 10;

/// By axis, the places that either layout covers.
fn covered(dims: Dims, from: &RegLayout, to: &RegLayout) -> Vec<u32> {
    (0..dims.rank()).map(|a| (from.rep()[a] * from.atom(a)).max(to.rep()[a] * to.atom(a))).collect()
}

impl Lower<'_> {
    pub(super) fn convert(
        &mut self,
        ty: Type,
        regs: &[Reg],
        from: &RegLayout,
        to: &RegLayout,
    ) -> Result<Vec<Reg>, Fault> {
        self.moves.push(Move { op: self.current, ty, from: from.clone(), to: to.clone() });
        match conversion(from, to) {
            Conversion::Rename(order) => Ok(order.into_iter().map(|reg| regs[reg]).collect()),
            Conversion::Shuffle(shuffled) => Ok(self.shuffled(ty.elem(), regs, &shuffled)),
            Conversion::Shared => {
                let dims = ty.dims().unwrap_or(Dims::SCALAR);
                let pitch = covered(dims, from, to);
                if pitch.iter().product::<u32>() * ty.elem().bytes() as u32 > self.shared_room() {
                    return Ok(self.through_rows(ty.elem(), (regs, from, dims), (to, dims), &|at| *at));
                }
                Ok(self.through_shared(ty.elem(), &pitch, regs, from, to))
            }
        }
    }
    /// Bytes of shared memory that a tile may take to get from one thread to another; others lie beside it.
    pub(super) fn shared_room(&self) -> u32 {
        self.options.target.shared_bytes() - KEPT
    }
    /// A lane gives the same register to all who ask it at once; where the register depends on who asks, each possible one
    /// is exchanged and one is kept.
    fn shuffled(&mut self, elem: ElemType, regs: &[Reg], shuffled: &Shuffled) -> Vec<Reg> {
        let moves: Vec<u32> = (0..5).filter(|bit| shuffled.lanes[*bit as usize] != 1 << bit).collect();
        let source = (!moves.is_empty()).then(|| self.source_lane(&shuffled.lanes));
        let mut lanes: FxHashMap<u32, Reg> = FxHashMap::default();
        let picks: Vec<(Reg, usize)> = shuffled.picks.iter().map(|(bit, reg)| (self.lane_bit(*bit), *reg)).collect();
        let mut out = Vec::with_capacity(shuffled.regs.len());
        for (reg, lane) in &shuffled.regs {
            let mut given = Vec::with_capacity(1 << picks.len());
            for choice in 0..1usize << picks.len() {
                let added = picks.iter().enumerate().filter(|(i, _)| choice >> i & 1 == 1);
                let value = regs[added.fold(*reg, |reg, (_, (_, add))| reg ^ add)];
                given.push(match source {
                    None if *lane == 0 => value,
                    None => self.shuffle(Shuffle::Bfly, value, Src::Imm(u64::from(*lane))),
                    Some(source) => {
                        let at = match lanes.get(lane) {
                            Some(at) => *at,
                            None => {
                                let at = self.body.bin(Bin::Xor, Ty::B32, source, Src::Imm(u64::from(*lane)));
                                lanes.insert(*lane, at);
                                at
                            }
                        };
                        self.shuffle(Shuffle::Idx, value, at.into())
                    }
                });
            }
            for (bit, _) in picks.iter().rev() {
                let (not_set, set) = given.split_at(given.len() / 2);
                let pairs: Vec<(Reg, Reg)> = not_set.iter().copied().zip(set.iter().copied()).collect();
                given = pairs
                    .into_iter()
                    .map(|(no, yes)| self.select(elem, (*bit).into(), yes.into(), no.into()))
                    .collect();
            }
            out.push(given[0]);
        }
        out
    }
    /// Whether a bit of the lane's number is set.
    fn lane_bit(&mut self, bit: u32) -> Reg {
        let tid = self.special(Special::TidX);
        let only = self.body.bin(Bin::And, Ty::B32, tid, Src::Imm(1 << bit));
        self.body.setp(Cmp::Ne, Ty::U32, only, Src::Imm(0))
    }
    /// The sum (XOR) of what each set bit of the lane's number adds.
    fn source_lane(&mut self, adds: &[u32; 5]) -> Reg {
        let tid = self.special(Special::TidX);
        let mut sum = self.body.mov(Ty::B32, Src::Imm(0));
        for (bit, add) in adds.iter().enumerate().filter(|(_, add)| **add != 0) {
            let only = self.body.bin(Bin::Shr, Ty::U32, tid, Src::Imm(bit as u64));
            let only = self.body.bin(Bin::And, Ty::B32, only, Src::Imm(1));
            let part = self.body.bin(Bin::MulLo, Ty::U32, only, Src::Imm(u64::from(*add)));
            sum = self.body.bin(Bin::Xor, Ty::B32, sum, part);
        }
        sum
    }
    /// Written in one layout, read in the other.
    fn through_shared(
        &mut self,
        elem: ElemType,
        pitch: &[u32],
        regs: &[Reg],
        from: &RegLayout,
        to: &RegLayout,
    ) -> Vec<Reg> {
        let (bytes, rank) = (elem.bytes() as u32, pitch.len());
        let buffer = self.body.buffer(pitch.iter().product::<u32>() * bytes, 16);
        let (memory, group) = (Memory::Shared(buffer), self.body.group());
        let base = self.shared_base(buffer, from, pitch, bytes);
        for (reg, value) in regs.iter().enumerate() {
            let at = Addr::reg(base, i64::from(flat(&from.reg_coord(reg), pitch) * bytes));
            let a = vec![self.as_stored(elem, *value)];
            let store = PtxOp::St { space: Space::Shared, hint: CacheHint::default(), ty: stored(elem), at, a };
            self.body.touch(Touch::write(memory, group), None, store);
        }
        let group = self.body.group();
        let base = self.shared_base(buffer, to, pitch, bytes);
        // Places beyond what was written hold no element of the tile: they are not read.
        let written: Vec<u32> = (0..rank).map(|a| from.rep()[a] * from.atom(a)).collect();
        let beyond: Vec<usize> = (0..rank).filter(|a| to.rep()[*a] * to.atom(*a) > written[*a]).collect();
        let thread: Vec<Reg> = beyond.iter().map(|axis| self.thread_coord(to, *axis)).collect();
        let mut out = Vec::with_capacity(to.regs());
        for reg in 0..to.regs() {
            let coord = to.reg_coord(reg);
            let mut inside: Option<Reg> = None;
            for (axis, thread) in beyond.iter().zip(&thread) {
                let left = written[*axis].saturating_sub(coord[*axis]);
                let p = self.body.setp(Cmp::Lt, Ty::U32, *thread, Src::Imm(u64::from(left)));
                inside = Some(inside.map_or(p, |other| self.body.bin(Bin::And, Ty::Pred, other, p)));
            }
            let at = Addr::reg(base, i64::from(flat(&coord, pitch) * bytes));
            let touch = Touch::read(memory, group);
            out.push(match inside {
                None => self.load_one(elem, touch, CacheHint::default(), at),
                Some(pred) => self.load_if(elem, touch, (pred, Src::Imm(0)), at),
            });
        }
        out
    }
    pub(super) fn shared_base(&mut self, buffer: Buffer, layout: &RegLayout, pitch: &[u32], bytes: u32) -> Reg {
        let mut base = self.body.buffer_base(buffer);
        for axis in 0..pitch.len() {
            let step: u32 = pitch[axis + 1..].iter().product::<u32>() * bytes;
            let at = self.thread_coord(layout, axis);
            base = self.body.tern(Tern::MadLo, Ty::U32, at, Src::Imm(u64::from(step)), base);
        }
        base
    }
}
