//! Copies of a warp that run ahead of its turns: for each load that only products read, a ring of slots that no other warp
//! touches, and a group of copies of its own. All slots are filled before the first turn. A turn waits for a tile where it
//! is used first, and fills its slot again behind its last use, with the tile of the turn that comes as many turns later.

use super::super::Lower;
use super::super::errors::Fault;
use super::super::panels::Panels;
use super::super::ring::{Ahead, users};
use super::Turns;
use crate::layout::sides;
use crate::ptx::{Bin, Cmp, Guard, Op as PtxOp, Reg, Ring, Src, Ty};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::{OpId, ops};

/// A warp's rings while its turns are lowered.
pub(super) struct Rings {
    ahead: Ahead,
    /// In the order in which a turn is done with them.
    loads: Vec<Private>,
    turns: Turns,
    /// The turn whose tiles are copied next, and whether there is one.
    turn: Reg,
    more: Reg,
    /// The slots of this turn.
    slot: Reg,
}

/// One load's ring.
struct Private {
    load: OpId,
    place: Panels,
    uses: Vec<OpId>,
    /// This turn has waited for it.
    there: bool,
}

impl Lower<'_> {
    pub(super) fn start_private_rings(
        &mut self,
        o: &ops::MapReduce,
        turns: &Turns,
        turn: Reg,
    ) -> Result<Option<Rings>, Diagnostics> {
        let Some(mut ahead) = self.ahead(&o.range, o.body) else { return Ok(None) };
        let m = self.m;
        let order = self.in_issue_order(o.body);
        let users = users(m, &order, &ahead.loads);
        ahead.loads.retain(|load| users.contains_key(load));
        let mut loads = Vec::new();
        for load in &ahead.loads {
            let at = |fault: Fault| Diagnostics::from(fault.diagnostic(m, *load));
            let format = self.place_of(*load).map_err(at)?;
            let dims = sides(m.ty(m.op(*load).results.first).dims()).ok_or(Fault::NoValue).map_err(at)?;
            let place = self.ring(format, ahead.stages);
            for slot in 0..ahead.stages {
                let slot = self.body.mov(Ty::B32, Src::Imm(u64::from(slot * format.bytes())));
                let place = Panels { slot: Some(slot), ring: Some(Ring::Filling), ..place.clone() };
                self.clear_padding(&place, dims);
            }
            let uses = users.get(load).cloned().unwrap_or_default();
            loads.push(Private { load: *load, place, uses, there: false });
        }
        let last = |load: &Private| order.iter().rposition(|op| load.uses.contains(op));
        loads.sort_by_key(last);
        let wide = super::super::control::unsigned(turns.ty);
        let turn = self.body.mov(super::bits(turns.ty), turn);
        let more = self.body.setp(Cmp::Lt, wide, turn, turns.count);
        let slot = self.body.mov(Ty::B32, Src::Imm(0));
        let mut rings = Rings { ahead, loads, turns: *turns, turn, more, slot };
        // A loop: what was loaded before it, ptxas leaves before it.
        let again = self.body.label();
        self.body.emit(PtxOp::Label(again));
        for at in 0..rings.loads.len() {
            self.fill(&mut rings, at, (slot, Ring::Filling))?;
        }
        self.further(&mut rings);
        self.body.emit(PtxOp::Bin { op: Bin::Add, ty: Ty::U32, d: slot, a: slot.into(), b: Src::Imm(1) });
        let left = self.body.setp(Cmp::Lt, Ty::U32, slot, Src::Imm(u64::from(rings.ahead.stages)));
        self.body.emit_if(Guard { pred: left, negated: false }, PtxOp::Bra { to: again, uniform: true });
        self.body.assign(Ty::B32, slot, Src::Imm(0));
        Ok(Some(rings))
    }
    pub(super) fn begin_private_turn(&mut self, rings: &mut Rings) {
        for load in &mut rings.loads {
            load.there = false;
            let bytes = Src::Imm(u64::from(load.place.format.bytes()));
            let slot = self.body.bin(Bin::MulLo, Ty::U32, rings.slot, bytes);
            let place = Panels { slot: Some(slot), ring: Some(Ring::Turning), ..load.place.clone() };
            self.ringed.insert(load.load, place);
        }
    }
    /// What the op reads is there, from all lanes.
    pub(super) fn before_op(&mut self, rings: &mut Rings, op: OpId) {
        let groups = rings.loads.len() as u32 * rings.ahead.stages;
        let wanted =
            (0..rings.loads.len()).rev().find(|at| rings.loads[*at].uses.contains(&op) && !rings.loads[*at].there);
        let Some(at) = wanted else { return };
        // Groups are waited for in order: what comes before it is there, too.
        rings.loads[..=at].iter_mut().for_each(|load| load.there = true);
        self.body.emit(PtxOp::CopyWait { keep: groups - at as u32 - 1, upto: 0 });
        self.body.emit(PtxOp::WarpSync);
    }
    /// What was read makes room for the tiles of the turn ahead.
    pub(super) fn end_private_turn(&mut self, rings: &mut Rings) -> Result<(), Diagnostics> {
        self.body.emit(PtxOp::WarpSync);
        for at in 0..rings.loads.len() {
            let slot = rings.slot;
            self.fill(rings, at, (slot, Ring::Turning))?;
        }
        self.further(rings);
        self.next_slot(rings.slot, rings.ahead.stages);
        rings.loads.iter().for_each(|load| _ = self.ringed.remove(&load.load));
        Ok(())
    }

    /// Copies a load's tile of the turn ahead, if there is one; a group of copies in any case, so that counting stays right.
    fn fill(&mut self, rings: &mut Rings, at: usize, (slot, ring): (Reg, Ring)) -> Result<(), Diagnostics> {
        let Private { load, place, .. } = &rings.loads[at];
        let skip = self.body.label();
        self.body.emit_if(Guard { pred: rings.more, negated: true }, PtxOp::Bra { to: skip, uniform: true });
        let index = self.index_at(&rings.turns, rings.turn);
        let fills = [(*load, place.clone())];
        self.load_ahead(&rings.ahead, &fills, (rings.turns.index, index), (slot, ring), &mut Vec::new())?;
        self.body.emit(PtxOp::Label(skip));
        self.body.commit_copies();
        Ok(())
    }
    /// The turn ahead is the next but as many as there are warps.
    fn further(&mut self, rings: &mut Rings) {
        let wide = super::super::control::unsigned(rings.turns.ty);
        let step = Src::Imm(u64::from(self.warps()));
        let left = self.body.bin(Bin::Sub, wide, rings.turns.count, rings.turn);
        let further = self.body.setp(Cmp::Gt, wide, left, step);
        let (more, turn) = (rings.more, rings.turn);
        self.body.emit(PtxOp::Bin { op: Bin::And, ty: Ty::Pred, d: more, a: more.into(), b: further.into() });
        self.body.emit(PtxOp::Bin { op: Bin::Add, ty: wide, d: turn, a: turn.into(), b: step });
    }
}
