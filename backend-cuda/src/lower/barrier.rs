//! Barriers between programs. All CTAs run at the same time (the launch sees to that), so they can meet at a word of global
//! memory: each adds to it, and polls until the sum of all has arrived.
//!
//! The first program adds 2^31 less the others, each of them 1: together the top bit flips, and nothing else changes. So
//! whoever polls compares that bit with what it found when it came, the word needs no reset, and any number of programs
//! may meet there in the next launch (as in the grid barrier of PTX.md 10, with one word and one way instead of two).
//!
//! Who waits too long leaves word of where, and ends: the run is an error, never a hang.
//!
//! The programs of a cube that is a cluster meet at the cluster's own barrier, which waits for nobody who has ended.

use super::{Done, Lower};
use crate::abi::Item;
use crate::outcome::{Why, meeting};
use crate::ptx::{Addr, Atomic, Bin, Cluster, Cmp, Guard, Op as PtxOp, Reg, Special, Src, Ty};
use tilewright_core::ir::OpId;
use tilewright_core::ir::ops::Scope;

impl Lower<'_> {
    pub(super) fn barrier(&mut self, id: OpId, scope: Scope) -> Done {
        if let (Scope::Cube, Some(_)) = (scope, self.cluster) {
            // All threads come, each with what it has written.
            self.body.emit(PtxOp::Cluster(Cluster::Arrive { release: true }));
            self.body.emit(PtxOp::Cluster(Cluster::Wait));
            return Ok(());
        }
        let stop = self.stop(id, Why::Barrier);
        // What the CTA did before is published by its first thread.
        self.body.emit(PtxOp::Bar);
        let alone = match scope {
            Scope::Launch => None,
            Scope::Cube => Some(self.alone_in_cube()),
        };
        let met = self.unless_first_thread();
        if let Some(pred) = alone {
            self.body.emit_if(Guard { pred, negated: false }, PtxOp::Bra { to: met, uniform: false });
        }
        let (word, others) = self.meeting_point(scope);
        let came = self.arrive(word, others);
        self.await_flip(meeting::PATIENCE, word, came, stop);
        self.body.emit(PtxOp::Label(met));
        self.end_if_given_up();
        Ok(())
    }
    /// The first thread comes to where all programs meet around their messages; what it finds there.
    pub(super) fn come(&mut self) -> Reg {
        let (word, others) = self.meeting_of_messages();
        self.arrive(word, others)
    }
    /// Waits there until all have come.
    pub(super) fn await_all(&mut self, patience: u64, came: Reg, stop: usize) {
        let (word, _) = self.meeting_of_messages();
        self.await_flip(patience, word, came, stop);
    }
    fn meeting_of_messages(&mut self) -> (Addr, Reg) {
        let (word, others) = self.meeting_point(Scope::Launch);
        (Addr { offset: meeting::AROUND_MESSAGES, ..word }, others)
    }
    fn arrive(&mut self, word: Addr, others: Reg) -> Reg {
        let found = self.body.fresh(Ty::U32);
        self.body.emit(PtxOp::AtomRelease { op: Atomic::Add, ty: Ty::U32, d: found, at: word, a: others.into() });
        found
    }
    /// Waits until the word's top bit is not what was found.
    fn await_flip(&mut self, patience: u64, word: Addr, found: Reg, stop: usize) {
        self.poll(patience, (stop, None), |cx| {
            let now = cx.body.fresh(Ty::U32);
            cx.body.emit(PtxOp::LdAcquire { ty: Ty::U32, d: now, at: word });
            let changed = cx.body.bin(Bin::Xor, Ty::B32, now, found);
            cx.body.setp(Cmp::Lt, Ty::S32, changed, Src::Imm(0))
        });
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
}
