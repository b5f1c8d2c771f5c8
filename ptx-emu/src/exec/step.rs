//! What each instruction does to the lanes of a warp.

use super::lanes;
use super::warp::{Group, Next, Run};
use crate::alu::bits;
use crate::fault::{Fault, Kind};
use crate::inst::{Inst, LANES, Lanes, Logic, Op, Special, Src};

const NOTHING: Lanes = [0; LANES];

impl Run<'_, '_> {
    pub(super) fn step(&mut self, inst: &Inst, here: u32) -> Result<Next, Fault> {
        let mask = match inst.guard {
            None => here,
            Some(guard) => here & self.decided(guard, here)?,
        };
        match &inst.op {
            Op::Bra { to } => return Ok(self.branch(*to, here, mask)),
            Op::Ret => {
                self.end(mask);
                if mask == here {
                    return Ok(Next::Jumped);
                }
            }
            Op::Trap if mask != 0 => return Err(self.fault(Kind::Trap, mask.trailing_zeros())),
            _ if mask == 0 => {}
            Op::Ld { .. } | Op::St { .. } | Op::Atom { .. } => return self.memory(&inst.op, mask),
            Op::Copy { .. } | Op::CopyCommit | Op::CopyWait { .. } => self.copy(&inst.op, mask)?,
            Op::Shfl { .. }
            | Op::VoteTruth { .. }
            | Op::Ballot { .. }
            | Op::Match { .. }
            | Op::Reduce { .. }
            | Op::Elect { .. } => return self.collective(&inst.op, mask),
            Op::Mma { .. } | Op::LoadMatrix { .. } | Op::StoreMatrix { .. } | Op::TransposeMatrix { .. } => {
                return self.matrix(&inst.op, mask);
            }
            Op::Between(op) => return self.between(op, here, mask),
            Op::Bar { .. } | Op::BarWarp { .. } => return self.barrier(&inst.op, here, mask),
            Op::Fence { wide } => {
                if *wide {
                    self.fence(mask);
                }
            }
            Op::ActiveMask { d } => self.set(*d, mask, &[u64::from(here); LANES], u32::MAX),
            Op::Trap | Op::Nothing => {}
            op => self.compute(op, mask),
        }
        Ok(Next::Go)
    }
    fn branch(&mut self, to: u32, here: u32, taken: u32) -> Next {
        match (taken, here & !taken) {
            (0, _) => return Next::Go,
            (_, 0) => {}
            (_, rest) => {
                self.warp.others.push(Group { pc: self.warp.pc + 1, mask: rest, waits: false, needs: 0 });
                self.warp.here = taken;
            }
        }
        self.warp.pc = to;
        Next::Jumped
    }

    /// Everything that depends on one lane's registers alone. A result is as defined as what it is made of.
    fn compute(&mut self, op: &Op, mask: u32) {
        let mut out = NOTHING;
        let (d, known) = match op {
            Op::Mov { d, a } => {
                if *a == Src::Special(Special::Clock) {
                    self.warp.specials[Special::Clock as usize] = [self.side.steps + self.world.waited; LANES];
                }
                let (a, known) = self.src(*a);
                out = *a;
                (*d, known)
            }
            Op::Lanes1 { f, d, a } => {
                let (a, known) = self.src(*a);
                f(a, &mut out);
                (*d, known)
            }
            Op::Lanes2 { f, d, a, b } => {
                let ((a, ka), (b, kb)) = (self.src(*a), self.src(*b));
                f(a, b, &mut out);
                (*d, ka & kb)
            }
            Op::Lanes3 { f, d, a, b, c } => {
                let ((a, ka), (b, kb), (c, kc)) = (self.src(*a), self.src(*b), self.src(*c));
                f(a, b, c, &mut out);
                (*d, ka & kb & kc)
            }
            Op::Convert { how, keep, d, a } => {
                let (a, known) = self.src(*a);
                how.lanes(a, &mut out);
                out.iter_mut().for_each(|x| *x &= keep);
                (*d, known)
            }
            Op::Test { f, d, a, b } => {
                let ((a, ka), (b, kb)) = (self.src(*a), self.src(*b));
                let value = f(a, b);
                return self.set_truth(*d, mask, value, ka & kb);
            }
            Op::Select { d, a, b, p } => {
                let ((a, ka), (b, kb), (p, kp)) = (self.src(*a), self.src(*b), self.truth(*p));
                for i in 0..LANES {
                    out[i] = if p >> i & 1 == 1 { a[i] } else { b[i] };
                }
                (*d, ((p & ka) | (!p & kb)) & kp)
            }
            Op::Logic { op, d, a, b } => {
                let ((a, ka), (b, kb)) = (self.truth(*a), self.truth(*b));
                // A known operand may decide alone.
                let (value, known) = match op {
                    Logic::And => (a & b, (ka & kb) | (ka & !a) | (kb & !b)),
                    Logic::Or => (a | b, (ka & kb) | (ka & a) | (kb & b)),
                    Logic::Xor => (a ^ b, ka & kb),
                };
                return self.set_truth(*d, mask, value, known);
            }
            Op::Lop3 { d, a, b, c, table } => {
                let ((a, ka), (b, kb), (c, kc)) = (self.src(*a), self.src(*b), self.src(*c));
                bits::lop3(*table, a, b, c, &mut out);
                (*d, ka & kb & kc)
            }
            Op::Bfi { bits, d, a, into, from, width } => {
                let ((a, ka), (into, ki)) = (self.src(*a), self.src(*into));
                let ((from, kf), (width, kw)) = (self.src(*from), self.src(*width));
                for i in 0..LANES {
                    out[i] = bits::bfi(*bits, a[i], into[i], from[i], width[i]);
                }
                (*d, ka & ki & kf & kw)
            }
            Op::Pack { bits, d, parts } => {
                let mut known = u32::MAX;
                for (at, part) in parts.iter().enumerate() {
                    let (part, k) = self.src(*part);
                    known &= k;
                    let keep = (1u64 << bits) - 1;
                    out.iter_mut().zip(part).for_each(|(out, part)| *out |= (part & keep) << (at as u32 * bits));
                }
                (*d, known)
            }
            Op::Unpack { bits, d, a } => {
                let (a, known) = self.src(*a);
                let a = *a;
                for (at, d) in d.iter().enumerate() {
                    let part = a.map(|a| a >> (at as u32 * bits) & ((1 << bits) - 1));
                    if let Some(d) = d {
                        self.set(*d, mask, &part, known);
                    }
                }
                return;
            }
            // `step` has taken all others.
            _ => return,
        };
        self.set(d, mask, &out, known);
    }

    pub(super) fn mask_operand(&self, src: Src, here: u32) -> Result<u32, Fault> {
        let value = self.defined(src, here)?;
        Ok(lanes(here).next().map_or(0, |lane| value[lane] as u32))
    }
}
