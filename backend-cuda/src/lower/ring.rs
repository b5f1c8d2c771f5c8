//! Loads of a loop that run turns ahead (PTX.md 3 and 13): a ring of slots in shared memory for each load that only products
//! read and whose place follows from the loop's index alone. What fills the first slots stands before the loop; each turn
//! waits for its own slots, at one barrier, which also frees those of the turn before, and fills these again. Where registers
//! are short, it does so for each product's tiles right before that product (`parts`).
//!
//! The number of slots is the loop's `stages`, or as many as shared memory has room for.

use super::held::{Held, bits};
use super::memory::Around;
use super::panels::Panels;
use super::{Lower, MOST_STAGES};
use crate::layout::sides;
use crate::ptx::{Bin, Cmp, Guard, Line, Op as PtxOp, Reg, Ring, Src, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::ops::{self, For};
use tilewright_core::ir::{Def, Module, Op, OpId, RegionId, ValueId};
use tilewright_core::passes::{Remark, Verdict};

/// What of a loop runs ahead.
pub(super) struct Ahead {
    pub loads: Vec<OpId>,
    /// What their places are computed from, in order.
    leads: Vec<OpId>,
    pub stages: u32,
}

/// A loop's rings while it is lowered.
pub(super) struct Rings {
    ahead: Ahead,
    /// Each is a group of copies in every turn.
    parts: Vec<Part>,
    /// The loop's index as far ahead as the next slot that is filled, and whether there is such a turn.
    index: Reg,
    more: Reg,
    /// The slots that are filled and read next.
    fill: Reg,
    read: Reg,
    count: Count,
    /// The loop, ahead of its turns: what addresses follow.
    filling: Vec<Around>,
}

/// Loads whose tiles a turn waits for, and whose slots it fills, at one place.
struct Part {
    fills: Vec<(OpId, Panels)>,
    /// It stands before this op; `None`: where the turn begins.
    before: Option<OpId>,
}

/// A loop that carries so many registers, and with its products more than `PARTED`, has its turns parted. ptxas schedules a
/// turn as one block, and begins so much of the next product before it is done with what leads to it that 255 were not enough
/// for attention with 32 rows of 128 a warp (136, and 200). Where scores take most of it instead (decode of several query tokens:
/// 68, and 196), they are gone when the next product begins, and a second barrier costs 14 % of the time.
const CARRIED: usize = 128;
const PARTED: usize = 180;

/// How the loop counts.
#[derive(Clone, Copy)]
pub(super) struct Count {
    pub index: ValueId,
    pub ty: Ty,
    pub lo: Src,
    pub hi: Src,
    pub step: Src,
}

impl Lower<'_> {
    /// Which loads of a loop run ahead; `None`: none.
    pub(super) fn ahead(&self, range: &ops::Range, body: RegionId) -> Option<Ahead> {
        let m = self.m;
        let wanted = range.stages.unwrap_or(1).min(self.most_stages);
        let body = m.region(body);
        let inside: FxHashSet<OpId> = body.ops.iter().copied().collect();
        let (mut loads, mut leads) = (Vec::new(), FxHashSet::default());
        for op in &body.ops {
            let Op::Load(load) = &m.op(*op).op else { continue };
            let written = self.written[self.view_param(load.at.view) as usize];
            let mut of_this = FxHashSet::default();
            let mut follows = |v: ValueId| self.follows_index(v, &inside, body.args[0], &mut of_this);
            if !written && self.uses.only_products(m.op(*op).results.first) && load.operands_all(&mut follows) {
                loads.push(*op);
                leads.extend(of_this);
            }
        }
        let bytes: u32 = loads.iter().filter_map(|op| self.place_of(*op).ok()).map(|format| format.bytes()).sum();
        let room = self.options.target.shared_bytes() / bytes.max(1) / (self.options.threads / self.threads());
        let stages = wanted.min(room);
        let leads = body.ops.iter().copied().filter(|op| leads.contains(op)).collect();
        (stages >= 2 && !loads.is_empty()).then_some(Ahead { loads, leads, stages })
    }
    /// Whether a scalar is made from the loop's index and what the loop does not change, by ops that leave no fault.
    fn follows_index(&self, v: ValueId, inside: &FxHashSet<OpId>, index: ValueId, out: &mut FxHashSet<OpId>) -> bool {
        let op = match self.m.def(v) {
            Def::Const(_) | Def::Param(_) => return true,
            Def::Arg(region, _) => return v == index || !self.m.region(region).args.contains(&index),
            Def::Result(op, _) => op,
        };
        if !inside.contains(&op) {
            // Made before the loop, or in a region inside it, where no load of the loop itself looks.
            return true;
        }
        let data = &self.m.op(op).op;
        let harmless = matches!(
            data,
            Op::Add(_)
                | Op::Sub(_)
                | Op::Mul(_)
                | Op::Maximum(_)
                | Op::Minimum(_)
                | Op::And(_)
                | Op::Or(_)
                | Op::Shl(_)
                | Op::Shr(_)
                | Op::Cmp(_)
                | Op::Select(_)
                | Op::Cast(_)
                | Op::Len(_)
        );
        if !harmless || !self.m.ty(v).is_scalar() {
            return false;
        }
        let mut all = true;
        data.each_operand(&mut |v| all = all && self.follows_index(v, inside, index, out));
        out.insert(op);
        all
    }

    /// Fills the first slots.
    pub(super) fn start_rings(&mut self, id: OpId, o: &For, count: Count) -> Result<bool, Diagnostics> {
        let Some(ahead) = self.ahead(&o.range, o.body) else { return Ok(false) };
        if let Some(wanted) = o.range.stages.filter(|wanted| *wanted > ahead.stages) {
            let why = if ahead.stages < MOST_STAGES { "shared memory holds no more" } else { "more hide nothing more" };
            let text = format!("has {} of {wanted} stages: {why}", ahead.stages);
            self.remarks.push(Remark::new("ring", Verdict::Declined, self.m, id, text));
        }
        let mut fills = Vec::new();
        for load in &ahead.loads {
            let format = self.place_of(*load).map_err(|fault| Diagnostics::from(fault.diagnostic(self.m, *load)))?;
            let dims = sides(self.m.ty(self.m.op(*load).results.first).dims());
            let place = self.ring(format, ahead.stages);
            for slot in 0..ahead.stages {
                let slot = self.body.mov(Ty::B32, Src::Imm(u64::from(slot * format.bytes())));
                let place = Panels { slot: Some(slot), ring: Some(Ring::Filling), ..place.clone() };
                self.clear_padding(&place, dims.unwrap_or_default());
            }
            fills.push((*load, place));
        }
        let parts = self.parts(fills, o.body);
        let index = self.body.mov(bits(count.ty), count.lo);
        let more = self.body.setp(Cmp::Lt, count.ty, index, count.hi);
        let [fill, read] = [0; 2].map(|first| self.body.mov(Ty::B32, Src::Imm(first)));
        let filling = vec![self.filling(&[o.body], (count.index, &o.range))];
        let mut rings = Rings { ahead, parts, index, more, fill, read, count, filling };
        let before = self.body.here();
        let mut first = Vec::new();
        for _ in 1..rings.ahead.stages {
            for at in 0..rings.parts.len() {
                self.fill_part(&mut rings, at, Ring::Filling)?;
            }
            first.extend(self.next_fill(&mut rings));
        }
        self.body.insert(before, first);
        self.turning.push(rings);
        Ok(true)
    }
    /// What a turn waits for at one place: everything, or where registers are short each product's own tiles.
    fn parts(&self, fills: Vec<(OpId, Panels)>, body: RegionId) -> Vec<Part> {
        if self.carried_in(&[body]) < CARRIED || self.sums_in(&[body]) <= PARTED {
            return vec![Part { fills, before: None }];
        }
        let order = self.in_issue_order(body);
        let loads: Vec<OpId> = fills.iter().map(|(load, _)| *load).collect();
        let uses = users(self.m, &order, &loads);
        let first = |load: OpId| order.iter().position(|op| uses.get(&load).is_some_and(|uses| uses.contains(op)));
        let mut fills: Vec<_> = fills.into_iter().map(|fill| (first(fill.0), fill)).collect();
        fills.sort_by_key(|(first, _)| *first);
        let parts = fills.chunk_by(|(a, _), (b, _)| a == b).map(|of_one| Part {
            fills: of_one.iter().map(|(_, fill)| fill.clone()).collect(),
            before: of_one[0].0.map(|at| order[at]),
        });
        parts.collect()
    }
    /// Whether the turn is parted because registers are short.
    pub(super) fn is_parted(&self) -> bool {
        self.turning.last().is_some_and(|rings| rings.parts.len() > 1)
    }
    /// Where the turn begins: the places of its tiles.
    pub(super) fn turn_rings(&mut self) -> Result<(), Diagnostics> {
        let Some(rings) = self.turning.last() else { return Ok(()) };
        let read = rings.read;
        let fills: Vec<(OpId, Panels)> = rings.parts.iter().flat_map(|part| part.fills.clone()).collect();
        self.fill_before(None)?;
        for (load, place) in fills {
            let bytes = Src::Imm(u64::from(place.format.bytes()));
            let slot = self.body.bin(Bin::MulLo, Ty::U32, read, bytes);
            self.ringed.insert(load, Panels { slot: Some(slot), ring: Some(Ring::Turning), ..place });
        }
        Ok(())
    }
    /// What the innermost rings wait for before this op, or where the turn begins: these tiles are there, and the slots of
    /// the turn before free, which are filled again.
    pub(super) fn fill_before(&mut self, op: Option<OpId>) -> Result<(), Diagnostics> {
        let part = |rings: &Rings| rings.parts.iter().position(|part| part.before == op);
        let Some(at) = self.turning.last().and_then(part) else { return Ok(()) };
        let Some(mut rings) = self.turning.pop() else { return Ok(()) };
        let groups = rings.parts.len() as u32 * (rings.ahead.stages - 1);
        self.body.emit(PtxOp::CopyWait { keep: groups - 1, upto: 0 });
        self.body.emit(PtxOp::Bar);
        self.fill_part(&mut rings, at, Ring::Turning)?;
        if at + 1 == rings.parts.len() {
            // Addresses are those that the first slots were filled from.
            let new = self.next_fill(&mut rings);
            debug_assert!(new.is_empty(), "an address that no slot was filled from");
        }
        self.turning.push(rings);
        Ok(())
    }
    pub(super) fn end_turn_of_rings(&mut self) {
        if let Some((read, stages)) = self.turning.last().map(|rings| (rings.read, rings.ahead.stages)) {
            self.next_slot(read, stages);
        }
    }
    /// Behind the loop: nothing is on its way.
    pub(super) fn end_rings(&mut self) {
        let Some(rings) = self.turning.pop() else { return };
        let upto = self.body.open_copies().saturating_sub(1);
        self.body.emit(PtxOp::CopyWait { keep: 0, upto });
        self.ringed.retain(|load, _| !rings.ahead.loads.contains(load));
    }

    /// Loads what a part of the turn ahead needs, if there is that turn; a group of copies in any case, so that counting
    /// stays right.
    fn fill_part(&mut self, rings: &mut Rings, at: usize, ring: Ring) -> Result<(), Diagnostics> {
        let skip = self.body.label();
        self.body.emit_if(Guard { pred: rings.more, negated: true }, PtxOp::Bra { to: skip, uniform: true });
        let (turn, slot) = ((rings.count.index, rings.index), (rings.fill, ring));
        self.load_ahead(&rings.ahead, &rings.parts[at].fills, turn, slot, &mut rings.filling)?;
        self.body.emit(PtxOp::Label(skip));
        self.body.commit_copies();
        Ok(())
    }
    /// On to the slots of the turn after it. Gives what stands before the first filling.
    fn next_fill(&mut self, rings: &mut Rings) -> Vec<Line> {
        let Count { ty, hi, step, .. } = rings.count;
        let left = self.body.bin(Bin::Sub, ty, hi, rings.index);
        let further = self.body.setp(Cmp::Gt, super::control::unsigned(ty), left, step);
        let (more, index) = (rings.more, rings.index);
        self.body.emit(PtxOp::Bin { op: Bin::And, ty: Ty::Pred, d: more, a: more.into(), b: further.into() });
        self.body.emit(PtxOp::Bin { op: Bin::Add, ty, d: index, a: index.into(), b: step });
        self.next_slot(rings.fill, rings.ahead.stages);
        rings.filling.iter_mut().flat_map(|filling| self.move_on(filling)).collect()
    }
    /// Makes the copies of another turn's loads into this slot of their places. `around`: the loops whose turns are that one's;
    /// addresses that others carry are those of their own turns.
    pub(super) fn load_ahead(
        &mut self,
        ahead: &Ahead,
        fills: &[(OpId, Panels)],
        (index, turn): (ValueId, Reg),
        (slot, ring): (Reg, Ring),
        around: &mut Vec<Around>,
    ) -> Result<(), Diagnostics> {
        let m = self.m;
        std::mem::swap(&mut self.loops, around);
        let changed: Vec<ValueId> = ahead.leads.iter().map(|op| m.op(*op).results.first).chain([index]).collect();
        let before: Vec<Option<Held>> = changed.iter().map(|v| self.values[v.index()].clone()).collect();
        self.values[index.index()] = Some(Held::Scalar(turn.into()));
        for op in &ahead.leads {
            self.body.loc = m.op(*op).loc;
            self.op(*op)?;
        }
        for (load, place) in fills {
            let Op::Load(o) = &m.op(*load).op else { continue };
            (self.body.loc, self.current) = (m.op(*load).loc, *load);
            let slot = self.body.bin(Bin::MulLo, Ty::U32, slot, Src::Imm(u64::from(place.format.bytes())));
            let place = Panels { slot: Some(slot), ring: Some(ring), ..place.clone() };
            self.load_into(*load, o, &place).map_err(|fault| fault.diagnostic(m, *load))?;
        }
        changed.iter().zip(before).for_each(|(v, held)| self.values[v.index()] = held);
        std::mem::swap(&mut self.loops, around);
        Ok(())
    }
    pub(super) fn next_slot(&mut self, slot: Reg, stages: u32) {
        let next = self.body.bin(Bin::Add, Ty::U32, slot, Src::Imm(1));
        let p = self.body.setp(Cmp::Eq, Ty::U32, next, Src::Imm(u64::from(stages)));
        self.body.emit(PtxOp::Selp { ty: Ty::B32, d: slot, a: Src::Imm(0), b: next.into(), p });
    }
}

/// The ops of a turn that read what these loads bring, in this order.
pub(super) fn users(m: &Module, order: &[OpId], loads: &[OpId]) -> FxHashMap<OpId, Vec<OpId>> {
    // Which load a value is the tile of, perhaps transposed.
    fn source(m: &Module, v: ValueId) -> Option<OpId> {
        let Def::Result(op, _) = m.def(v) else { return None };
        match &m.op(op).op {
            Op::Load(_) => Some(op),
            Op::Trans(o) => source(m, o.x),
            _ => None,
        }
    }
    let mut out: FxHashMap<OpId, Vec<OpId>> = FxHashMap::default();
    for op in order {
        let mut reads = Vec::new();
        let mut each = |inner: OpId| {
            if !matches!(m.op(inner).op, Op::Trans(_)) {
                reads.extend(m.op(inner).op.operands().into_iter().filter_map(|v| source(m, v)));
            }
        };
        each(*op);
        m.op(*op).op.each_region(&mut |r: RegionId| m.walk(r, &mut each));
        for load in reads.into_iter().filter(|load| loads.contains(load)) {
            let uses = out.entry(load).or_default();
            if uses.last() != Some(op) {
                uses.push(*op);
            }
        }
    }
    out
}

/// Every scalar that decides what a load reads.
trait Scalars {
    fn operands_all(&self, f: &mut dyn FnMut(ValueId) -> bool) -> bool;
}
impl Scalars for ops::Load {
    fn operands_all(&self, f: &mut dyn FnMut(ValueId) -> bool) -> bool {
        let limits = self.at.limits.iter().map(|(_, n)| *n);
        self.at.index.iter().copied().chain(limits).chain(self.fill.0).all(f)
    }
}
