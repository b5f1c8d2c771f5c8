//! Compiles a module to a program: control flow to jumps, values to slots, last uses to drops, yields to copies and
//! names. What a single op becomes is in `lower.rs`, composites are in `composite.rs`.
//!
//! Copies (LANGUAGE.md 12.5): a loop or `if` that yields the result of a MATH or GEMM command of its region copies it
//! into the running state, one command a tile. Loads, received tiles, composite results, what other regions yield, and
//! what comes from outside the region pass by reference.

use super::launch::Launch;
use super::program::{Command, EngineRecord, Instr, Job, Made, Part, Program, ScalarSlot, TileSlot};
use super::slice::Slice;
use super::uses::{Uses, has_slot, loaded_scalar};
use crate::cost::{self, Price, Work};
use crate::engine::Engine;
use crate::machine::Machine;
use crate::units::Ps;
use rustc_hash::FxHashMap;
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::ops::{For, If, Op, While};
use tilewright_core::ir::{Def, Literal, Module, OpId, RegionId, ValueId};

/// Compiles the kernel of a launch.
///
/// # Errors
/// What cannot be timed: scalars that depend on values, composites beyond what the scheduler does.
pub fn compile(machine: &Machine, launch: &Launch<'_>) -> Result<Program, Diagnostics> {
    let m = launch.module;
    let slice = Slice::of(machine, launch)?;
    let mut c = Compiler {
        machine,
        launch,
        m,
        slice,
        uses: Uses::of(m),
        p: Program::default(),
        tile_slots: vec![None; m.num_values()],
        scalar_slots: vec![None; m.num_values()],
        faults: Diagnostics::default(),
    };
    c.body(m.body, &[]);
    c.p.code.push(Instr::End);
    c.faults.finish()?;
    Ok(c.p)
}

pub(super) struct Compiler<'a, 'm> {
    pub(super) machine: &'a Machine,
    pub(super) launch: &'a Launch<'m>,
    pub(super) m: &'m Module,
    pub(super) slice: Slice,
    pub(super) uses: Uses,
    pub(super) p: Program,
    tile_slots: Vec<Option<TileSlot>>,
    scalar_slots: Vec<Option<ScalarSlot>>,
    pub(super) faults: Diagnostics,
}

impl Compiler<'_, '_> {
    /// The ops of a region. `dying`: values from outside whose last use is in here. Returns what the yields use last;
    /// the caller drops it once it has bound them.
    fn body(&mut self, r: RegionId, dying: &[ValueId]) -> Vec<ValueId> {
        let m = self.m;
        let region = m.region(r);
        let mut last: FxHashMap<ValueId, usize> = FxHashMap::default();
        for (i, op) in region.ops.iter().enumerate() {
            last.extend(self.uses.of_op(*op).iter().map(|v| (*v, i)));
        }
        last.extend(region.yields.iter().map(|v| (*v, region.ops.len())));

        let mut deaths = vec![Vec::new(); region.ops.len() + 1];
        let mut unused = Vec::new();
        for &v in region.args.iter().chain(dying).filter(|v| has_slot(m, **v)) {
            match last.get(&v) {
                Some(i) => deaths[*i].push(v),
                None => unused.push(v),
            }
        }
        for (i, op) in region.ops.iter().enumerate() {
            for v in m.op(*op).results.iter().filter(|v| has_slot(m, *v)) {
                deaths[last.get(&v).copied().unwrap_or(i)].push(v);
            }
        }
        self.drop_values(&unused);
        for (op, dead) in region.ops.iter().zip(&deaths) {
            self.lower(*op, dead);
        }
        deaths.pop().unwrap_or_default()
    }
    pub(super) fn branch(&mut self, op: OpId, o: &If, dead: &[ValueId]) {
        self.await_scalars(op, &[o.cond]);
        self.spend(self.price(op));
        // Results that nothing uses die behind the `if`; everything else dies inside the arms.
        let results = self.m.op(op).results;
        let (unused, dying): (Vec<_>, Vec<_>) = dead.iter().copied().partition(|v| results.iter().any(|r| r == *v));
        let cond = self.scalar(o.cond);
        let test = self.jump(Instr::Branch { cond, otherwise: 0 });
        self.arm(op, o.then, &dying);
        let over = self.jump(Instr::Jump { to: 0 });
        self.land(test);
        self.arm(op, o.other, &dying);
        self.land(over);
        self.drop_values(&unused);
    }
    fn arm(&mut self, op: OpId, r: RegionId, dying: &[ValueId]) {
        let dead = self.body(r, dying);
        let results: Vec<ValueId> = self.m.op(op).results.iter().collect();
        self.yields(op, r, &results);
        self.drop_values(&dead);
    }

    pub(super) fn counted_loop(&mut self, op: OpId, o: &For, dead: &[ValueId]) {
        let m = self.m;
        let args = &m.region(o.body).args;
        let Some((&index, carried)) = args.split_first() else { return };
        self.share_slots(op, carried);
        let ends = [Some(o.range.lo), Some(o.range.hi), o.range.step];
        self.await_scalars(op, &ends.into_iter().flatten().collect::<Vec<_>>());
        let (lo, end) = (self.scalar(o.range.lo), self.scalar(o.range.hi));
        let step = match o.range.step {
            Some(step) => self.scalar(step),
            None => self.constant(Literal::int(m.ty(index).elem(), 1).unwrap_or(Literal::from(1i32))),
        };
        if o.range.step.is_some() {
            self.p.code.push(Instr::CheckStep { step, op });
        }
        let index = self.scalar(index);
        self.p.code.push(Instr::Move { from: lo, to: index });
        let pairs: Vec<_> = o.carry.0.iter().copied().zip(carried.iter().copied()).collect();
        self.bind(&pairs);
        let captured = self.uses.of_region(o.body).to_vec();
        let (after, before): (Vec<_>, Vec<_>) = dead.iter().copied().partition(|v| self.dies_after(op, &captured, *v));
        self.drop_values(&before);

        let top = self.here();
        let exit = self.jump(Instr::Turn { index, end, exit: 0, op });
        self.spend(self.price(op));
        let dead = self.body(o.body, &[]);
        self.yields(op, o.body, carried);
        self.drop_but(&dead, carried);
        let out = self.jump(Instr::Next { index, step, top });
        debug_assert!(out + 1 == self.here());
        self.land(exit);
        self.drop_values(&after);
    }
    pub(super) fn while_loop(&mut self, op: OpId, o: &While, dead: &[ValueId]) {
        let m = self.m;
        let carried = &m.region(o.cond).args;
        self.share_slots(op, carried);
        let pairs: Vec<_> = o.carry.0.iter().copied().zip(carried.iter().copied()).collect();
        self.bind(&pairs);
        let captured: Vec<ValueId> =
            self.uses.of_region(o.cond).iter().chain(self.uses.of_region(o.body)).copied().collect();
        let (after, before): (Vec<_>, Vec<_>) = dead.iter().copied().partition(|v| self.dies_after(op, &captured, *v));
        self.drop_values(&before);

        let top = self.here();
        // The condition's values are seen by the body too: they die in there, or at the exit.
        let made = self.condition(o.cond);
        let Some(&cond) = m.region(o.cond).yields.first() else { return };
        self.await_scalars(op, &[cond]);
        let cond = self.scalar(cond);
        let exit = self.jump(Instr::Branch { cond, otherwise: 0 });
        self.spend(self.price(op));
        let dying: Vec<ValueId> = made.iter().chain(carried).copied().filter(|v| has_slot(m, *v)).collect();
        let dead = self.body(o.body, &dying);
        self.yields(op, o.body, carried);
        self.drop_but(&dead, carried);
        self.p.code.push(Instr::Again { top, op });
        self.land(exit);
        self.drop_values(&made);
        self.drop_values(&after);
    }
    /// Drops what a turn used last; but a carried slot names the next turn's value by now.
    fn drop_but(&mut self, dead: &[ValueId], carried: &[ValueId]) {
        let dead: Vec<ValueId> = dead.iter().copied().filter(|v| !carried.contains(v)).collect();
        self.drop_values(&dead);
    }
    /// A loop's condition: its ops, whose tiles stay. Returns these.
    fn condition(&mut self, r: RegionId) -> Vec<ValueId> {
        let m = self.m;
        let ops = &m.region(r).ops;
        ops.iter().for_each(|op| self.lower(*op, &[]));
        ops.iter().flat_map(|op| m.op(*op).results.iter()).filter(|v| has_slot(m, *v)).collect()
    }
    /// Whether a value that dies at a loop does so behind it: results that nothing uses, and what its body needs in
    /// every turn. Others were only first values of what it carries.
    fn dies_after(&self, op: OpId, captured: &[ValueId], v: ValueId) -> bool {
        captured.contains(&v) || self.m.op(op).results.iter().any(|r| r == v)
    }
    /// What a loop results in is what it carries: one slot for both.
    fn share_slots(&mut self, op: OpId, carried: &[ValueId]) {
        for (result, arg) in self.m.op(op).results.iter().zip(carried) {
            if self.m.ty(*arg).is_tile() {
                self.tile_slots[result.index()] = Some(self.tile(*arg));
            }
            if self.m.ty(*arg).is_scalar() {
                self.scalar_slots[result.index()] = Some(self.scalar(*arg));
            }
        }
    }

    /// Hands a region's yields on to `targets`.
    fn yields(&mut self, op: OpId, r: RegionId, targets: &[ValueId]) {
        let m = self.m;
        let yields = &m.region(r).yields;
        self.await_scalars(op, yields);
        let mut copies = Vec::new();
        let mut pairs = Vec::new();
        for (&from, &to) in yields.iter().zip(targets) {
            match self.made_by_engine(from, r) {
                Some(maker) => copies.push((self.copy(maker, from), self.tile(to))),
                None => pairs.push((from, to)),
            }
        }
        self.bind(&pairs);
        for (from, to) in &copies {
            self.p.code.push(Instr::Bind { from: *from, to: *to });
        }
        let temporary: Vec<TileSlot> = copies.iter().map(|(from, _)| *from).collect();
        self.drop_slots(&temporary);
    }
    /// The op of this region whose MATH or GEMM command made the tile, seen through names for it.
    fn made_by_engine(&self, v: ValueId, r: RegionId) -> Option<OpId> {
        let Def::Result(op, _) = self.m.def(v) else { return None };
        if !self.m.ty(v).is_tile() || self.uses.region_of(op) != r {
            return None;
        }
        match self.price(op).work {
            Work::Gemm(..) | Work::Math(_) | Work::Copy(_) => Some(op),
            Work::Name(of) => self.made_by_engine(of?, r),
            Work::Scalar | Work::Place(_) | Work::Keep(_) | Work::Unseen => None,
            Work::Load(_) | Work::Store { .. } | Work::Send(_) | Work::Recv(_) | Work::Barrier(_) => None,
            Work::Composite(_) | Work::If(_) | Work::For(_) | Work::While(_) => None,
        }
    }
    /// A copy command into a slot of its own.
    fn copy(&mut self, maker: OpId, from: ValueId) -> TileSlot {
        let ty = self.m.ty(from);
        let (price, time) = cost::yielded_copy(self.machine, ty);
        let slot = self.fresh_tile();
        let source = self.tile(from);
        let waits = self.tile_list(&[source]);
        let makes = self.made_list(&[Made { slot, bytes: ty.bytes(), value: from }]);
        let job = Job::Engine { engine: Engine::Math, record: EngineRecord::Copy, time };
        self.command(maker, "copy", price, job, waits, makes, &[]);
        slot
    }
    /// Moves scalars that are evaluated, and names tiles anew; all at once.
    fn bind(&mut self, pairs: &[(ValueId, ValueId)]) {
        let m = self.m;
        // What a loop or `if` hands on is a tile, or a scalar that has been waited for.
        let tiles: Vec<_> = pairs.iter().filter(|(_, to)| m.ty(*to).is_tile()).copied().collect();
        let tiles: Vec<_> = tiles.into_iter().map(|(from, to)| (self.tile(from), self.tile(to))).collect();
        let scalars: Vec<_> =
            pairs.iter().filter(|(_, to)| m.ty(*to).is_scalar() && self.slice.needs(*to)).copied().collect();
        let scalars: Vec<_> = scalars.into_iter().map(|(from, to)| (self.scalar(from), self.scalar(to))).collect();

        if overlap(&tiles) {
            let temporary: Vec<TileSlot> = tiles.iter().map(|_| self.fresh_tile()).collect();
            let steps = tiles.iter().zip(&temporary).map(|((from, _), t)| (*from, *t));
            self.p.code.extend(steps.map(|(from, to)| Instr::Bind { from, to }));
            let steps = tiles.iter().zip(&temporary).map(|((_, to), t)| (*t, *to));
            self.p.code.extend(steps.map(|(from, to)| Instr::Bind { from, to }));
            self.drop_slots(&temporary);
        } else {
            let changes = tiles.into_iter().filter(|(from, to)| from != to);
            self.p.code.extend(changes.map(|(from, to)| Instr::Bind { from, to }));
        }
        if overlap(&scalars) {
            let temporary: Vec<ScalarSlot> = scalars.iter().map(|_| self.constant(Literal::from(0i32))).collect();
            let steps = scalars.iter().zip(&temporary).map(|((from, _), t)| (*from, *t));
            self.p.code.extend(steps.map(|(from, to)| Instr::Move { from, to }));
            let steps = scalars.iter().zip(&temporary).map(|((_, to), t)| (*t, *to));
            self.p.code.extend(steps.map(|(from, to)| Instr::Move { from, to }));
        } else {
            let changes = scalars.into_iter().filter(|(from, to)| from != to);
            self.p.code.extend(changes.map(|(from, to)| Instr::Move { from, to }));
        }
    }
}

/// Whether a pair overwrites what a later one still reads.
fn overlap<S: PartialEq>(pairs: &[(S, S)]) -> bool {
    pairs.iter().enumerate().any(|(i, (_, to))| pairs[i + 1..].iter().any(|(from, _)| from == to))
}

/// The small pieces that everything above and `lower.rs` is written with.
impl<'m> Compiler<'_, 'm> {
    pub(super) fn price(&self, op: OpId) -> Price<'m> {
        cost::price(self.machine, self.m, op, self.feeds_dots_only(op))
    }
    fn feeds_dots_only(&self, op: OpId) -> bool {
        let results = self.m.op(op).results;
        results.iter().all(|v| {
            let users = self.uses.only_users(v);
            users.is_some_and(|users| users.iter().all(|u| matches!(self.m.op(*u).op, Op::Dot(_))))
        })
    }
    /// The slot of a tile.
    pub(super) fn tile(&mut self, v: ValueId) -> TileSlot {
        if let Some(slot) = self.tile_slots[v.index()] {
            return slot;
        }
        let slot = self.fresh_tile();
        self.tile_slots[v.index()] = Some(slot);
        slot
    }
    fn fresh_tile(&mut self) -> TileSlot {
        self.p.num_tile_slots += 1;
        TileSlot(self.p.num_tile_slots as u32 - 1)
    }
    /// The slot of a scalar that is evaluated.
    pub(super) fn scalar(&mut self, v: ValueId) -> ScalarSlot {
        if let Some(slot) = self.scalar_slots[v.index()] {
            return slot;
        }
        let initial = match self.m.def(v) {
            Def::Const(lit) => lit,
            Def::Param(i) => self.launch.scalar(i as usize).unwrap_or(Literal::zero(self.m.ty(v).elem())),
            Def::Result(..) | Def::Arg(..) => Literal::zero(self.m.ty(v).elem()),
        };
        let slot = self.constant(initial);
        self.scalar_slots[v.index()] = Some(slot);
        slot
    }
    /// A new slot that begins with a value.
    pub(super) fn constant(&mut self, value: Literal) -> ScalarSlot {
        self.p.initial.push(value);
        ScalarSlot(self.p.initial.len() as u32 - 1)
    }
    /// Gives a result a value that the launch fixes.
    pub(super) fn fix(&mut self, v: ValueId, value: Literal) {
        let slot = self.constant(value);
        self.scalar_slots[v.index()] = Some(slot);
    }
    pub(super) fn tile_list(&mut self, slots: &[TileSlot]) -> Part {
        let start = self.p.tiles.len() as u32;
        self.p.tiles.extend(slots);
        Part { start, len: slots.len() as u32 }
    }
    pub(super) fn scalar_list(&mut self, slots: &[ScalarSlot]) -> Part {
        let start = self.p.scalars.len() as u32;
        self.p.scalars.extend(slots);
        Part { start, len: slots.len() as u32 }
    }
    pub(super) fn made_list(&mut self, made: &[Made]) -> Part {
        let start = self.p.made.len() as u32;
        self.p.made.extend(made);
        Part { start, len: made.len() as u32 }
    }
    /// The slots of these values that a PE keeps.
    pub(super) fn slots_of(&mut self, values: &[ValueId]) -> Vec<TileSlot> {
        let m = self.m;
        values.iter().filter(|v| has_slot(m, **v)).map(|v| self.tile(*v)).collect()
    }
    pub(super) fn drop_values(&mut self, values: &[ValueId]) {
        let slots = self.slots_of(values);
        self.drop_slots(&slots);
    }
    fn drop_slots(&mut self, slots: &[TileSlot]) {
        if !slots.is_empty() {
            let slots = self.tile_list(slots);
            self.p.code.push(Instr::Drop { slots });
        }
    }
    /// Waits for those of the scalars that are loaded.
    pub(super) fn await_scalars(&mut self, op: OpId, values: &[ValueId]) {
        let m = self.m;
        let slots: Vec<TileSlot> = values.iter().filter(|v| loaded_scalar(m, **v)).map(|v| self.tile(*v)).collect();
        if !slots.is_empty() {
            let slots = self.tile_list(&slots);
            self.p.code.push(Instr::Await { slots, op });
        }
    }
    /// CPU time of something that is no command.
    pub(super) fn spend(&mut self, price: Price<'_>) {
        if price.issue.0 > 0 {
            self.p.fields.insert(price.field);
            self.p.code.push(Instr::Spend { time: self.machine.cycles(price.issue) });
        }
    }
    #[allow(clippy::too_many_arguments, reason = "the fields of a command, most of them computed at the call")]
    pub(super) fn command(
        &mut self,
        op: OpId,
        mnemonic: &'static str,
        price: Price<'_>,
        job: Job,
        waits: Part,
        makes: Part,
        dead: &[ValueId],
    ) {
        self.p.fields.insert(price.field);
        let slots = self.slots_of(dead);
        let drops = self.tile_list(&slots);
        let issue: Ps = self.machine.cycles(price.issue);
        let cycles = price.issue.0;
        let result = self.m.op(op).results.get(0).filter(|_| self.launch.traced(op));
        let traced = result.map(|v| self.scalar(v));
        self.p.commands.push(Command { op, mnemonic, issue, cycles, job, waits, makes, drops, traced });
        self.p.code.push(Instr::Command(self.p.commands.len() as u32 - 1));
    }
    pub(super) fn here(&self) -> u32 {
        self.p.code.len() as u32
    }
    /// Emits a jump whose target follows with `land`.
    pub(super) fn jump(&mut self, instr: Instr) -> u32 {
        self.p.code.push(instr);
        self.here() - 1
    }
    pub(super) fn land(&mut self, at: u32) {
        let here = self.here();
        match &mut self.p.code[at as usize] {
            Instr::Jump { to } => *to = here,
            Instr::Branch { otherwise, .. } => *otherwise = here,
            Instr::Turn { exit, .. } => *exit = here,
            Instr::NextBlock { exit, .. } => *exit = here,
            Instr::Again { .. }
            | Instr::Next { .. }
            | Instr::Eval { .. }
            | Instr::Place { .. }
            | Instr::Move { .. }
            | Instr::Bind { .. }
            | Instr::Drop { .. }
            | Instr::Await { .. }
            | Instr::Spend { .. }
            | Instr::CheckStep { .. }
            | Instr::Command(_)
            | Instr::End => debug_assert!(false, "not a jump"),
        }
    }
}
