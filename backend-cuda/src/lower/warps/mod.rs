//! `map_reduce`, with each warp by itself (PTX.md 17): of W warps the one numbered w takes every W-th turn from the w-th on, and
//! merges their values in registers. No warp waits for another before all are through: its tiles lie over its own lanes,
//! its copies run ahead in rings of its own. Then every warp lays down what it has, all threads wait once, and merge the
//! warps' values together, in layouts of all threads.
//!
//! `refuse.rs`: what cannot run so. `teams.rs`: layouts, for a warp's threads and for all. `ring.rs`: copies that run ahead.
//! `meet.rs`: the warps' values become one.

mod meet;
mod refuse;
mod ring;
mod teams;

pub(crate) use refuse::refused;
pub(super) use teams::{Teams, made_by_warps, teams};

use super::errors::Fault;
use super::held::{Held, bits, held};
use super::{Done, Lower};
use crate::compile::counts_up;
use crate::ptx::{Bin, Cmp, Guard, Op as PtxOp, Place, Reg, Src, Tern, Ty};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::{OpId, RegionId, ValueId, ops};

/// The turns of a `map_reduce`, at least one.
#[derive(Clone, Copy)]
struct Turns {
    index: ValueId,
    ty: Ty,
    lo: Src,
    step: Src,
    /// How many, unsigned.
    count: Src,
}

impl Lower<'_> {
    pub(super) fn map_reduce(&mut self, id: OpId, o: &ops::MapReduce) -> Result<(), Diagnostics> {
        let m = self.m;
        let at = |fault: Fault| Diagnostics::from(fault.diagnostic(m, id));
        let turns = self.turns(id, o).map_err(at)?;
        let brought = self.bring(o).map_err(at)?;
        self.await_all_copies();
        self.body.emit(PtxOp::Part);
        self.set_by_warp(true);
        let outside: Vec<(ValueId, Option<Held>)> =
            brought.into_iter().map(|(v, held)| (v, self.values[v.index()].replace(held))).collect();
        let laid = self.each_warp(id, o, &turns)?;
        outside.into_iter().for_each(|(v, held)| self.values[v.index()] = held);
        self.set_by_warp(false);
        self.body.emit(PtxOp::Join);
        self.meet(id, o, &turns, &laid)
    }
    /// Whether what follows is done by each warp by itself.
    fn set_by_warp(&mut self, by_warp: bool) {
        self.body.by_warp = by_warp;
        std::mem::swap(&mut self.layouts, &mut self.others.layouts);
        std::mem::swap(&mut self.uses, &mut self.others.uses);
    }
    /// Counts the turns; none is an error that ends the program.
    fn turns(&mut self, id: OpId, o: &ops::MapReduce) -> Result<Turns, Fault> {
        let m = self.m;
        let index = *m.region(o.body).args.first().ok_or(Fault::NoValue)?;
        let ty = held(m.ty(index).elem());
        let (lo, hi) = (self.scalar(o.range.lo)?, self.scalar(o.range.hi)?);
        let step = o.range.step.map_or(Ok(Src::Imm(1)), |step| self.scalar(step))?;
        if let Some(by) = o.range.step
            && !counts_up(self.prover, m, by)
        {
            self.steps.push(id);
            if self.options.in_place.contains(&id) {
                self.counts_up(id, ty, step)?;
            }
        }
        self.has_turns(id, ty, lo, hi)?;
        let wide = super::control::unsigned(ty);
        let span = match (lo, hi) {
            (Src::Imm(0), hi) => hi,
            (lo, hi) => self.body.bin(Bin::Sub, ty, hi, lo).into(),
        };
        let count = match step {
            Src::Imm(1) => span,
            step => {
                let last = self.body.bin(Bin::Sub, wide, span, Src::Imm(1));
                let last = self.body.bin(Bin::Div, wide, last, step);
                self.body.bin(Bin::Add, wide, last, Src::Imm(1)).into()
            }
        };
        Ok(Turns { index, ty, lo, step, count })
    }
    /// What the turns use of before, in the layouts of a warp's threads; scalars are as they are.
    fn bring(&mut self, o: &ops::MapReduce) -> Result<Vec<(ValueId, Held)>, Fault> {
        let mut out = Vec::new();
        for v in teams::from_outside(self.m, o) {
            let Some(layout) = self.others.layouts.get(v).cloned() else { continue };
            let layout = layout.in_each_warp_of(self.options.threads);
            let regs = self.tile(v, &layout)?;
            out.push((v, Held::Tile(regs)));
        }
        Ok(out)
    }

    /// A warp's turns, and its value laid down behind them, if it has taken any.
    fn each_warp(&mut self, id: OpId, o: &ops::MapReduce, turns: &Turns) -> Result<Vec<meet::Laid>, Diagnostics> {
        let m = self.m;
        let at = |fault: Fault| Diagnostics::from(fault.diagnostic(m, id));
        let (ty, wide) = (turns.ty, super::control::unsigned(turns.ty));
        let (body, merge) = (m.region(o.body), m.region(o.merge));
        let (so_far, _) = merge.args.split_at(body.yields.len());
        let number = self.warp();
        let first = if ty.bytes() == 8 { self.body.cvt(Ty::U64, Ty::U32, number) } else { number };
        let turn = self.body.mov(bits(ty), first);
        let end = self.body.label();
        let none = self.body.setp(Cmp::Ge, wide, turn, turns.count);
        let without_turn = Guard { pred: none, negated: false };
        let filled = if self.comes_in(id) { self.body.label() } else { end };
        self.body.emit_if(without_turn, PtxOp::Bra { to: filled, uniform: true });
        let mut rings = self.start_private_rings(o, turns, turn)?;
        if self.comes_in(id) {
            self.body.emit(PtxOp::Label(filled));
            self.come_to_cluster();
            let idle = self.body.label();
            self.body.emit_if(without_turn, PtxOp::Bra { to: idle, uniform: true });
            let from = self.body.aside();
            self.body.emit(PtxOp::Label(idle));
            // It has none; this says so.
            self.await_own_copies(rings.is_some());
            self.body.emit(PtxOp::Bra { to: end, uniform: true });
            self.body.resume(from, Place::Rare);
        }
        let state: Vec<Held> = so_far.iter().map(|v| self.room(*v)).collect::<Result<_, _>>().map_err(at)?;
        so_far.iter().zip(&state).for_each(|(v, held)| self.values[v.index()] = Some(held.clone()));

        let again = self.body.label();
        self.body.emit(PtxOp::Label(again));
        self.enter_loop(&[o.body, o.merge], None);
        let index = self.index_at(turns, turn);
        self.values[turns.index.index()] = Some(Held::Scalar(index.into()));
        self.turn(o.body, rings.as_mut())?;
        self.await_all_copies();
        self.first_or_merged(id, o, (turn, first, wide), &state)?;
        if let Some(rings) = rings.as_mut() {
            self.end_private_turn(rings)?;
        }
        self.leave_loop();
        let step = Src::Imm(u64::from(self.warps()));
        let left = self.body.bin(Bin::Sub, wide, turns.count, turn);
        let more = self.body.setp(Cmp::Gt, wide, left, step);
        self.body.emit(PtxOp::Bin { op: Bin::Add, ty, d: turn, a: turn.into(), b: step });
        self.body.emit_if(Guard { pred: more, negated: false }, PtxOp::Bra { to: again, uniform: true });
        self.await_own_copies(rings.is_some());
        let laid = self.lay_down_all(id, so_far, &state).map_err(at)?;
        self.body.emit(PtxOp::Label(end));
        Ok(laid)
    }
    fn await_own_copies(&mut self, some: bool) {
        if some {
            let upto = self.body.open_copies().saturating_sub(1);
            self.body.emit(PtxOp::CopyWait { keep: 0, upto });
        }
    }
    /// The index of a turn.
    fn index_at(&mut self, turns: &Turns, turn: Reg) -> Reg {
        match (turns.lo, turns.step) {
            (Src::Imm(0), Src::Imm(1)) => turn,
            (lo, Src::Imm(1)) => self.body.bin(Bin::Add, turns.ty, turn, lo),
            (lo, step) => self.body.tern(Tern::MadLo, turns.ty, turn, step, lo),
        }
    }
    /// The first turn's value is what there is so far; later ones are merged with it.
    fn first_or_merged(
        &mut self,
        id: OpId,
        o: &ops::MapReduce,
        (turn, first, wide): (Reg, Reg, Ty),
        state: &[Held],
    ) -> Result<(), Diagnostics> {
        let m = self.m;
        let (yields, merge) = (&m.region(o.body).yields, m.region(o.merge));
        let (so_far, other) = merge.args.split_at(yields.len());
        let (begin, next) = (self.body.label(), self.body.label());
        for (v, arg) in yields.iter().zip(other) {
            self.alias(*arg, *v).map_err(|fault| fault.diagnostic(m, id))?;
        }
        let pred = self.body.setp(Cmp::Eq, wide, turn, first);
        self.body.emit_if(Guard { pred, negated: false }, PtxOp::Bra { to: begin, uniform: true });
        self.region(o.merge)?;
        self.await_all_copies();
        self.hand_over(id, &merge.yields, so_far.iter().copied(), state)?;
        self.body.emit(PtxOp::Label(next));
        let from = self.body.aside();
        self.body.emit(PtxOp::Label(begin));
        self.hand_over(id, other, so_far.iter().copied(), state)?;
        self.body.emit(PtxOp::Bra { to: next, uniform: true });
        self.body.resume(from, Place::Rare);
        Ok(())
    }
    /// The ops of a turn, with the waits and copies of its rings.
    fn turn(&mut self, body: RegionId, rings: Option<&mut ring::Rings>) -> Result<(), Diagnostics> {
        let Some(rings) = rings else { return self.region(body) };
        self.begin_private_turn(rings);
        for op in self.in_issue_order(body) {
            self.before_op(rings, op);
            self.body.loc = self.m.op(op).loc;
            self.op(op)?;
        }
        Ok(())
    }
    fn has_turns(&mut self, id: OpId, ty: Ty, lo: Src, hi: Src) -> Done {
        let (m, facts) = (self.m, self.prover.facts());
        let super::Op::MapReduce(o) = &m.op(id).op else { return Ok(()) };
        let surely = facts.get(m, o.range.lo).zip(facts.get(m, o.range.hi)).is_some_and(|(lo, hi)| lo.hi < hi.lo);
        if surely {
            return Ok(());
        }
        let some = self.body.setp(Cmp::Lt, ty, lo, hi);
        self.ends_without_turn(id, some)
    }
}
