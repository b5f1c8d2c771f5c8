//! Waits that end: who waits too long leaves word of where (in a cluster at its end, so that little code stands between one wait
//! and the next), and goes on without. Its program ends at the next place where
//! all its threads come; until then what it did not get reads as zero, and it waits for nothing more.

use super::super::Lower;
use crate::abi::Item;
use crate::outcome::meeting;
use crate::ptx::{
    Addr, Atomic, Bin, CacheHint, Cluster, Cmp, Guard, Label, Op as PtxOp, Place, Reg, Space, Special, Src, Tern, Ty,
};

impl Lower<'_> {
    /// Waits until the phase of an mbarrier of this CTA is over, unless `looked` says that it is. In vain: `stop` is noted with
    /// the count of messages (of parcels, and messages of each), the registers become zero, and the thread goes on at `without`.
    pub(super) fn await_phase(
        &mut self,
        (at, parity, looked): (Addr, Src, Option<Reg>),
        (stop, count, each): (usize, Reg, u32),
        registers: &[Reg],
        without: Label,
    ) {
        let (slow, over) = (self.body.label(), self.body.label());
        let is_over = looked.unwrap_or_else(|| self.try_wait(at, parity));
        self.body.emit_if(Guard { pred: is_over, negated: true }, PtxOp::Bra { to: slow, uniform: false });
        self.body.emit(PtxOp::Label(over));
        let from = self.body.aside();
        self.body.emit(PtxOp::Label(slow));
        let (poll, in_vain) = (self.body.label(), self.body.label());
        let since = self.body.clock();
        self.body.emit(PtxOp::Label(poll));
        let is_over = self.try_wait(at, parity);
        self.body.emit_if(Guard { pred: is_over, negated: false }, PtxOp::Bra { to: over, uniform: false });
        self.poll_again((since, meeting::PATIENCE), poll, in_vain);
        let [at, after] = self.in_vain();
        self.body.assign(Ty::B32, at, Src::Imm(stop as u64 + 1));
        let count = self.in_messages(count, each);
        self.body.assign(Ty::B32, after, count);
        self.give_up();
        self.body.emit(PtxOp::Label(in_vain));
        registers.iter().for_each(|reg| self.body.assign(Ty::B32, *reg, Src::Imm(0)));
        self.body.emit(PtxOp::Bra { to: without, uniform: false });
        self.body.resume(from, Place::Rare);
    }
    /// So many parcels, in messages.
    pub(super) fn in_messages(&mut self, count: Reg, each: u32) -> Reg {
        if each == 1 { count } else { self.body.bin(Bin::MulLo, Ty::U32, count, Src::Imm(u64::from(each))) }
    }
    /// Waits until it is over, for so many cycles; in vain, `stop` is noted. For one thread.
    pub(in crate::lower) fn poll(
        &mut self,
        patience: u64,
        (stop, count): (usize, Option<Reg>),
        is_over: impl FnOnce(&mut Self) -> Reg,
    ) {
        let (poll, over) = (self.body.label(), self.body.label());
        let since = self.body.clock();
        self.body.emit(PtxOp::Label(poll));
        let pred = is_over(self);
        self.body.emit_if(Guard { pred, negated: false }, PtxOp::Bra { to: over, uniform: false });
        self.poll_again((since, patience), poll, over);
        self.note_stop(stop, count);
        self.body.emit(PtxOp::Label(over));
    }
    /// Goes back to `poll` as long as there is patience; who had none before goes to `in_vain`.
    fn poll_again(&mut self, (since, patience): (Reg, u64), poll: Label, in_vain: Label) {
        let gave_up = self.gave_up();
        self.body.emit_if(Guard { pred: gave_up, negated: false }, PtxOp::Bra { to: in_vain, uniform: false });
        let clock = self.body.clock();
        let waited = self.body.bin(Bin::Sub, Ty::U64, clock, since);
        let patient = self.body.setp(Cmp::Lt, Ty::U64, waited, Src::Imm(patience));
        self.body.emit_if(Guard { pred: patient, negated: false }, PtxOp::Bra { to: poll, uniform: false });
    }
    /// Whether this thread has given up waiting, in a register of the whole kernel.
    pub(super) fn gave_up(&mut self) -> Reg {
        if let Some(gave_up) = self.queues.gave_up {
            return gave_up;
        }
        let never = Src::Imm(0);
        *self.queues.gave_up.insert(self.body.at_entry(|body| body.setp(Cmp::Ne, Ty::U32, never, never)))
    }
    pub(super) fn try_wait(&mut self, at: Addr, parity: Src) -> Reg {
        let d = self.body.fresh(Ty::Pred);
        self.body.emit(PtxOp::Cluster(Cluster::TryWait { d, at, parity }));
        d
    }
    /// Tells that this program stops here, after so many messages of the queue; it gives up.
    pub(in crate::lower) fn note_stop(&mut self, number: usize, count: Option<Reg>) {
        let here = self.body.mov(Ty::B32, Src::Imm(number as u64 + 1));
        self.tell_stop(here, count);
        self.give_up();
    }
    fn tell_stop(&mut self, here: Reg, count: Option<Reg>) {
        let (area, program) = (self.param(Ty::U64, Item::Meeting), self.special(Special::CtaidX));
        let space = Space::Global;
        let fields = [(meeting::WAITS_AT, Some(here)), (meeting::MESSAGES, count)];
        for (field, value) in fields.into_iter().filter_map(|(field, value)| Some((field, value?))) {
            let at = self.line(program, field);
            self.body.emit(PtxOp::St { space, hint: CacheHint::default(), ty: Ty::B32, at, a: vec![value] });
        }
        let at = Addr::reg(area, meeting::GAVE_UP);
        self.body.emit(PtxOp::Red { space, op: Atomic::Add, ty: Ty::U32, at, a: Src::Imm(1) });
    }
    fn give_up(&mut self) {
        let d = self.gave_up();
        self.body.emit(PtxOp::Setp { cmp: Cmp::Eq, ty: Ty::U32, d, a: Src::Imm(0), b: Src::Imm(0) });
    }
    /// Where this thread waited in vain in a cluster (0: nowhere), and after how many messages, in registers of the whole
    /// kernel.
    fn in_vain(&mut self) -> [Reg; 2] {
        if let Some(regs) = self.queues.in_vain {
            return regs;
        }
        let regs = [(); 2].map(|()| self.body.at_entry(|body| body.mov(Ty::B32, Src::Imm(0))));
        *self.queues.in_vain.insert(regs)
    }
    /// At the end: what a thread that waited in vain has to tell.
    pub(super) fn tell_in_vain(&mut self) {
        let Some([at, after]) = self.queues.in_vain else { return };
        let (skip, none) = (self.body.label(), self.body.setp(Cmp::Eq, Ty::U32, at, Src::Imm(0)));
        self.body.emit_if(Guard { pred: none, negated: false }, PtxOp::Bra { to: skip, uniform: false });
        self.tell_stop(at, Some(after));
        self.body.emit(PtxOp::Label(skip));
    }
    /// A field of a program's line.
    pub(in crate::lower) fn line(&mut self, program: Reg, field: i64) -> Addr {
        let area = self.param(Ty::U64, Item::Meeting);
        Addr::reg(self.body.tern(Tern::MadWide, Ty::U32, program, Src::Imm(meeting::LINE), area), field)
    }
    /// Ends the program, noting that it stops here, if the predicate (equal in all threads) does not hold.
    pub(super) fn stop_unless(&mut self, holds: Reg, stop: usize, count: Reg) {
        let stopped = self.body.label();
        self.body.emit_if(Guard { pred: holds, negated: true }, PtxOp::Bra { to: stopped, uniform: true });
        let from = self.body.aside();
        self.body.emit(PtxOp::Label(stopped));
        let skip = self.unless_first_thread();
        self.note_stop(stop, Some(count));
        self.body.emit(PtxOp::Label(skip));
        self.end_program(None);
        self.body.resume(from, Place::Rare);
    }
    /// Ends the program if one of its threads has given up: all of them come here.
    pub(in crate::lower) fn end_if_given_up(&mut self) {
        let (gave_up, d) = (self.gave_up(), self.body.fresh(Ty::Pred));
        self.body.emit(PtxOp::BarOr { d, a: gave_up });
        self.end_program(Some(d));
    }
}
