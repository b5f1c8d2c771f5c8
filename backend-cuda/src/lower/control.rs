//! Branches and loops. All threads of a CTA go the same way: conditions are scalars.

use super::errors::Fault;
use super::held::{Held, bits, held};
use super::ring::Count;
use super::{Done, Lower};
use crate::compile::counts_up;
use crate::ptx::{Bin, Cmp, Guard, Op as PtxOp, Reg, Src, Ty};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::{OpId, Type, ValueId, ops};

impl Lower<'_> {
    pub(super) fn branch(&mut self, id: OpId, o: &ops::If) -> Result<(), Diagnostics> {
        if self.scattered(id, o)? {
            return Ok(());
        }
        let (m, results) = (self.m, self.m.op(id).results);
        let cond = self.scalar(o.cond).map_err(|fault| fault.diagnostic(m, id))?;
        let pred = self.predicate(cond);
        let (other, end) = (self.body.label(), self.body.label());
        let into: Vec<Held> =
            results.iter().map(|v| self.room(v)).collect::<Result<_, _>>().map_err(|f| f.diagnostic(m, id))?;
        self.await_all_copies();
        self.jump_unless(pred, other);
        self.region(o.then)?;
        self.await_all_copies();
        self.hand_over(id, &m.region(o.then).yields, results.iter(), &into)?;
        self.body.emit(PtxOp::Bra { to: end, uniform: true });
        self.body.emit(PtxOp::Label(other));
        self.region(o.other)?;
        self.await_all_copies();
        self.hand_over(id, &m.region(o.other).yields, results.iter(), &into)?;
        self.body.emit(PtxOp::Label(end));
        results.iter().zip(into).for_each(|(v, held)| self.values[v.index()] = Some(held));
        Ok(())
    }
    /// The index never wraps: the distance to the end is compared before each step.
    pub(super) fn counted(&mut self, id: OpId, o: &ops::For) -> Result<(), Diagnostics> {
        let (m, results) = (self.m, self.m.op(id).results);
        let at = |fault: Fault| fault.diagnostic(m, id);
        let body = m.region(o.body);
        let Some((index, args)) = body.args.split_first() else { return Ok(()) };
        let ty = held(m.ty(*index).elem());
        let (lo, hi) = (self.scalar(o.range.lo).map_err(at)?, self.scalar(o.range.hi).map_err(at)?);
        let step = o.range.step.map_or(Ok(Src::Imm(1)), |step| self.scalar(step)).map_err(at)?;
        if let Some(by) = o.range.step
            && !counts_up(self.prover, m, by)
        {
            self.steps.push(id);
            if self.options.in_place.contains(&id) {
                self.counts_up(id, ty, step).map_err(at)?;
            }
        }
        self.await_all_copies();
        let counter = self.body.mov(bits(ty), lo);
        self.values[index.index()] = Some(Held::Scalar(counter.into()));
        let carried = self.start(id, &o.carry.0, args)?;
        let (turn, end) = (self.body.label(), self.body.label());
        let none = self.body.setp(Cmp::Ge, ty, counter, hi);
        self.body.emit_if(Guard { pred: none, negated: false }, PtxOp::Bra { to: end, uniform: true });
        let ringed = self.start_rings(id, o, Count { index: *index, ty, lo, hi, step })?;
        let before = self.body.here();
        self.body.emit(PtxOp::Label(turn));
        self.enter_loop(&[o.body], Some((*index, &o.range)));
        if ringed {
            self.turn_rings()?;
        }
        self.region(o.body)?;
        if ringed {
            self.end_turn_of_rings();
        }
        self.await_all_copies();
        let first = self.leave_loop();
        self.hand_over(id, &body.yields, args.iter().copied(), &carried)?;
        let left = self.body.bin(Bin::Sub, ty, hi, counter);
        let more = self.body.setp(Cmp::Gt, unsigned(ty), left, step);
        self.body.emit(PtxOp::Bin { op: Bin::Add, ty, d: counter, a: counter.into(), b: step });
        self.body.emit_if(Guard { pred: more, negated: false }, PtxOp::Bra { to: turn, uniform: true });
        self.body.emit(PtxOp::Label(end));
        self.body.insert(before, first);
        if ringed {
            self.end_rings();
        }
        results.iter().zip(carried).for_each(|(v, held)| self.values[v.index()] = Some(held));
        Ok(())
    }
    pub(super) fn repeat(&mut self, id: OpId, o: &ops::While) -> Result<(), Diagnostics> {
        let (m, results) = (self.m, self.m.op(id).results);
        let (cond, body) = (m.region(o.cond), m.region(o.body));
        self.await_all_copies();
        let carried = self.start(id, &o.carry.0, &cond.args)?;
        let (turn, end) = (self.body.label(), self.body.label());
        self.body.emit(PtxOp::Label(turn));
        self.enter_loop(&[o.cond, o.body], None);
        self.region(o.cond)?;
        self.await_all_copies();
        let Some(go_on) = cond.yields.first() else { return Ok(()) };
        let go_on = self.scalar(*go_on).map_err(|fault| fault.diagnostic(m, id))?;
        let pred = self.predicate(go_on);
        self.jump_unless(pred, end);
        self.region(o.body)?;
        self.await_all_copies();
        self.leave_loop();
        self.hand_over(id, &body.yields, cond.args.iter().copied(), &carried)?;
        self.body.emit(PtxOp::Bra { to: turn, uniform: true });
        self.body.emit(PtxOp::Label(end));
        results.iter().zip(carried).for_each(|(v, held)| self.values[v.index()] = Some(held));
        Ok(())
    }

    /// A truth value in a predicate register.
    pub(super) fn predicate(&mut self, cond: Src) -> Reg {
        match cond {
            Src::Reg(reg) => reg,
            imm @ Src::Imm(_) => self.constant(Ty::Pred, imm),
        }
    }
    fn jump_unless(&mut self, pred: Reg, to: crate::ptx::Label) {
        self.body.emit_if(Guard { pred, negated: true }, PtxOp::Bra { to, uniform: true });
    }
    /// The registers of what a loop carries, with their first values.
    pub(super) fn start(&mut self, id: OpId, first: &[ValueId], args: &[ValueId]) -> Result<Vec<Held>, Diagnostics> {
        let m = self.m;
        let carried: Vec<Held> =
            args.iter().map(|v| self.room(*v)).collect::<Result<_, _>>().map_err(|f| f.diagnostic(m, id))?;
        self.hand_over(id, first, args.iter().copied(), &carried)?;
        args.iter().zip(&carried).for_each(|(v, held)| self.values[v.index()] = Some(held.clone()));
        Ok(carried)
    }
    /// Fresh registers for a value.
    pub(super) fn room(&mut self, v: ValueId) -> Result<Held, Fault> {
        let ty = held(self.m.ty(v).elem());
        Ok(match self.m.ty(v) {
            Type::Scalar(_) => Held::Scalar(self.body.fresh(ty).into()),
            Type::Tile(..) | Type::View(_) => {
                let regs = self.layout(v)?.regs();
                Held::Tile((0..regs).map(|_| self.body.fresh(ty)).collect())
            }
        })
    }
    /// Moves values into the registers of those they become. All are read before one is written.
    pub(super) fn hand_over(
        &mut self,
        id: OpId,
        from: &[ValueId],
        to: impl Iterator<Item = ValueId>,
        into: &[Held],
    ) -> Result<(), Diagnostics> {
        let m = self.m;
        let mut moves: Vec<(Ty, Reg, Src)> = Vec::new();
        for ((from, v), into) in from.iter().zip(to).zip(into) {
            self.moves(*from, v, into, &mut moves).map_err(|fault| fault.diagnostic(m, id))?;
        }
        moves.retain(|(_, d, a)| *a != Src::Reg(*d));
        let written: Vec<Reg> = moves.iter().map(|(_, d, _)| *d).collect();
        // What another move overwrites is saved first.
        for (ty, _, a) in &mut moves {
            if let Src::Reg(reg) = a
                && written.contains(reg)
            {
                *a = self.copy(*ty, *reg).into();
            }
        }
        for (ty, d, a) in moves {
            self.assign(ty, d, a);
        }
        Ok(())
    }
    fn moves(&mut self, from: ValueId, v: ValueId, into: &Held, out: &mut Vec<(Ty, Reg, Src)>) -> Done {
        let ty = held(self.m.ty(v).elem());
        match into {
            Held::Scalar(Src::Reg(d)) => out.push((ty, *d, self.scalar(from)?)),
            Held::Scalar(Src::Imm(_)) | Held::Panels(_) => return Err(Fault::NoValue),
            Held::Tile(regs) => {
                let layout = self.layout(v)?;
                let values = self.tile(from, &layout)?;
                out.extend(regs.iter().zip(values).map(|(d, a)| (ty, *d, Src::Reg(a))));
            }
        }
        Ok(())
    }
    fn copy(&mut self, ty: Ty, a: Reg) -> Reg {
        let d = self.body.fresh(ty);
        self.assign(ty, d, a.into());
        d
    }
    fn assign(&mut self, ty: Ty, d: Reg, a: Src) {
        match (ty, a) {
            (Ty::Pred, Src::Imm(bits)) => {
                self.body.emit(PtxOp::Setp { cmp: Cmp::Ne, ty: Ty::U32, d, a: Src::Imm(bits & 1), b: Src::Imm(0) });
            }
            (ty, a) => self.body.assign(bits(ty), d, a),
        }
    }
}

pub(super) const fn unsigned(ty: Ty) -> Ty {
    match ty {
        Ty::S64 => Ty::U64,
        Ty::S32 => Ty::U32,
        other => other,
    }
}
