//! Barriers between programs. All CTAs run at the same time (the launch sees to that), so they can meet at a word of global
//! memory: each adds to it, and polls until the sum of all has arrived.
//!
//! The first program adds 2^31 less the others, each of them 1: together the top bit flips, and nothing else changes. So
//! whoever polls compares that bit with what it found when it came, the word needs no reset, and any number of programs
//! may meet there in the next launch (as in the grid barrier of PTX.md 10, with one word and one way instead of two).
//!
//! Who waits too long leaves word of where, and ends: the run is an error, never a hang.

use super::{Done, Lower};
use crate::abi::Item;
use crate::outcome::meeting;
use crate::ptx::{Addr, Atomic, Bin, CacheHint, Cmp, Guard, Op as PtxOp, Reg, Space, Special, Src, Tern, Ty};
use tilewright_core::ir::OpId;
use tilewright_core::ir::ops::Scope;

impl Lower<'_> {
    pub(super) fn barrier(&mut self, id: OpId, scope: Scope) -> Done {
        let number = self.barriers.iter().position(|known| *known == id).unwrap_or(self.barriers.len());
        if number == self.barriers.len() {
            self.barriers.push(id);
        }
        // What the CTA did before is published by its first thread.
        self.body.emit(PtxOp::Bar);
        let alone = match scope {
            Scope::Launch => None,
            Scope::Cube => Some(self.alone_in_cube()),
        };
        let gave_up = self.body.setp(Cmp::Ne, Ty::U32, Src::Imm(0), Src::Imm(0));
        let met = self.unless_first_thread();
        if let Some(pred) = alone {
            self.body.emit_if(Guard { pred, negated: false }, PtxOp::Bra { to: met, uniform: false });
        }
        let (word, others) = self.meeting_point(scope);
        let found = self.body.fresh(Ty::U32);
        self.body.emit(PtxOp::AtomRelease { op: Atomic::Add, ty: Ty::U32, d: found, at: word, a: others.into() });
        let since = self.body.clock();
        let poll = self.body.label();
        self.body.emit(PtxOp::Label(poll));
        let now = self.body.fresh(Ty::U32);
        self.body.emit(PtxOp::LdAcquire { ty: Ty::U32, d: now, at: word });
        let changed = self.body.bin(Bin::Xor, Ty::B32, now, found);
        let pred = self.body.setp(Cmp::Lt, Ty::S32, changed, Src::Imm(0));
        self.body.emit_if(Guard { pred, negated: false }, PtxOp::Bra { to: met, uniform: false });
        let clock = self.body.clock();
        let waited = self.body.bin(Bin::Sub, Ty::U64, clock, since);
        let pred = self.body.setp(Cmp::Lt, Ty::U64, waited, Src::Imm(meeting::PATIENCE));
        self.body.emit_if(Guard { pred, negated: false }, PtxOp::Bra { to: poll, uniform: false });
        self.give_up(number, gave_up);
        self.body.emit(PtxOp::Label(met));
        let pred = self.body.fresh(Ty::Pred);
        self.body.emit(PtxOp::BarOr { d: pred, a: gave_up });
        self.body.emit_if(Guard { pred, negated: false }, PtxOp::Ret);
        Ok(())
    }
    fn alone_in_cube(&mut self) -> Reg {
        let pes = self.param(Ty::U32, Item::NumPes);
        self.body.setp(Cmp::Eq, Ty::U32, pes, Src::Imm(1))
    }
    /// The word where the programs of the scope meet, and what this one adds to it.
    fn meeting_point(&mut self, scope: Scope) -> (Addr, Reg) {
        let (area, program) = (self.param(Ty::U64, Item::Meeting), self.special(Special::CtaidX));
        let (word, rank, all) = match scope {
            Scope::Launch => (Addr::reg(area, meeting::LAUNCH), program, self.special(Special::NctaidX)),
            Scope::Cube => {
                let pes = self.param(Ty::U32, Item::NumPes);
                let rank = self.body.bin(Bin::Rem, Ty::U32, program, pes);
                let first = self.body.bin(Bin::Sub, Ty::U32, program, rank);
                (self.line(first, meeting::CUBE), rank, pes)
            }
        };
        let is_first = self.body.setp(Cmp::Eq, Ty::U32, rank, Src::Imm(0));
        let rest = self.body.bin(Bin::Sub, Ty::U32, Src::Imm((1 << 31) + 1), all);
        (word, self.body.selp(Ty::U32, rest, Src::Imm(1), is_first))
    }
    /// A field of a program's line.
    fn line(&mut self, program: Reg, field: i64) -> Addr {
        let area = self.param(Ty::U64, Item::Meeting);
        Addr::reg(self.body.tern(Tern::MadWide, Ty::U32, program, Src::Imm(meeting::LINE), area), field)
    }
    /// Tells that this program waits here in vain.
    fn give_up(&mut self, number: usize, gave_up: Reg) {
        let (area, program) = (self.param(Ty::U64, Item::Meeting), self.special(Special::CtaidX));
        let (space, at) = (Space::Global, self.line(program, meeting::WAITS_AT));
        let here = self.body.mov(Ty::B32, Src::Imm(number as u64 + 1));
        self.body.emit(PtxOp::St { space, hint: CacheHint::default(), ty: Ty::B32, at, a: vec![here] });
        let at = Addr::reg(area, meeting::GAVE_UP);
        self.body.emit(PtxOp::Red { space, op: Atomic::Add, ty: Ty::U32, at, a: Src::Imm(1) });
        self.body.emit(PtxOp::Setp { cmp: Cmp::Eq, ty: Ty::U32, d: gave_up, a: Src::Imm(0), b: Src::Imm(0) });
    }
}
