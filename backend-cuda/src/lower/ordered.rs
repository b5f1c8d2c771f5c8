//! Combines that keep the order of their elements: scans, and reductions by the user's combine. A thread combines its run of
//! the axis, then threads combine their runs, neighbours first: lanes by shuffles, warps through shared memory.
//!
//! What lies beyond the tile comes last along the axis. No prefix of an element depends on it; a reduction leaves out
//! runs that begin there.

use super::Lower;
use super::errors::Fault;
use super::held::{Held, held, stored};
use super::reduce::accumulator;
use crate::layout::RegLayout;
use crate::ptx::{Addr, Bin, CacheHint, Cmp, Guard, Memory, Op as PtxOp, Reg, Shuffle, Space, Src, Tern, Touch, Ty};
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::{Dims, OpId, RegionId, ValueId, ops};

/// How two neighbours become one; what they are held as.
#[derive(Clone, Copy)]
struct Combine {
    id: OpId,
    elem: ElemType,
    how: How,
}
#[derive(Clone, Copy)]
enum How {
    Sum,
    Region(RegionId),
}

/// An axis that lies in order over the registers and threads of a layout.
struct Along {
    layout: RegLayout,
    axis: usize,
    /// Places along the axis, and places that a thread's run covers.
    n: u32,
    run: u32,
    /// The bits of the thread's number that count runs.
    from: u32,
    to: u32,
    /// Registers of each row, in the order of the axis.
    rows: Vec<Vec<usize>>,
}

/// Bits of a thread's number inside its warp.
const LANE_BITS: u32 = 5;

impl Along {
    fn new(dims: Dims, axis: usize, threads: u32) -> Along {
        let layout = RegLayout::ordered(dims, axis, threads);
        let across: Vec<u32> =
            (0u32..).zip(layout.thread_bases()).filter(|(_, basis)| basis[axis] != 0).map(|(bit, _)| bit).collect();
        let (from, to) = across.first().zip(across.last()).map_or((0, 0), |(from, to)| (*from, to + 1));
        let run = 1 << layout.reg_bases().len();
        let rows = (0..layout.regs()).collect::<Vec<_>>().chunks(run).map(<[usize]>::to_vec).collect();
        Along { n: dims.as_slice()[axis], run: run as u32, axis, from, to, rows, layout }
    }
    /// Whether no run reaches beyond the tile.
    fn is_full(&self) -> bool {
        self.layout.atom(self.axis) == self.n
    }
    fn lane_bits(&self) -> std::ops::Range<u32> {
        self.from..self.to.min(LANE_BITS).max(self.from)
    }
    fn warps(&self) -> u32 {
        1 << (self.to - self.from.max(LANE_BITS).min(self.to))
    }
}

impl Lower<'_> {
    pub(super) fn reduce_with(&mut self, id: OpId, o: &ops::ReduceWith) -> Result<(), Diagnostics> {
        let m = self.m;
        let elem = m.ty(o.x).elem();
        let combine = Combine { id, elem, how: How::Region(o.combine) };
        let (along, regs) = self.in_order(o.x, o.axis.0).map_err(|fault| fault.diagnostic(m, id))?;
        let start = self.run_start(&along);
        let mut values = Vec::with_capacity(along.rows.len());
        for row in &along.rows {
            let mut sum = regs[row[0]];
            for (i, reg) in row.iter().enumerate().skip(1) {
                let next = self.combined(combine, sum, regs[*reg])?;
                sum = match start {
                    Some(start) => {
                        let exists = self.body.setp(
                            Cmp::Lt,
                            Ty::U32,
                            start,
                            Src::Imm(u64::from(along.n.saturating_sub(i as u32))),
                        );
                        self.chosen(elem, exists, next, sum)
                    }
                    None => next,
                };
            }
            values.push(sum);
        }
        for bit in along.lane_bits() {
            self.pair_lanes(&along, combine, bit, start, &mut values)?;
        }
        if along.warps() > 1 {
            values = self.fold_warps(&along, combine, values)?;
        }
        let rest = along.layout.without(along.axis);
        Ok(self.set_reduced(id, values, &rest).map_err(|fault| fault.diagnostic(m, id))?)
    }
    pub(super) fn scan_with(&mut self, id: OpId, o: &ops::ScanWith) -> Result<(), Diagnostics> {
        let combine = Combine { id, elem: self.m.ty(o.x).elem(), how: How::Region(o.combine) };
        self.scan(id, o.x, o.axis.0, combine)
    }
    pub(super) fn scan_sum(&mut self, id: OpId, o: &ops::ScanSum) -> Result<(), Diagnostics> {
        let combine = Combine { id, elem: accumulator(self.m.ty(o.x).elem()), how: How::Sum };
        self.scan(id, o.x, o.axis.0, combine)
    }
    fn scan(&mut self, id: OpId, x: ValueId, axis: u32, combine: Combine) -> Result<(), Diagnostics> {
        let m = self.m;
        let elem = m.ty(x).elem();
        let (along, mut regs) = self.in_order(x, axis).map_err(|fault| fault.diagnostic(m, id))?;
        if let How::Sum = combine.how {
            regs = regs.into_iter().map(|reg| self.widen(elem, reg.into())).collect();
        }
        for row in &along.rows {
            for pair in row.windows(2) {
                regs[pair[1]] = self.combined(combine, regs[pair[0]], regs[pair[1]])?;
            }
        }
        let totals: Vec<Reg> = along.rows.iter().map(|row| regs[row[row.len() - 1]]).collect();
        for (row, before) in along.rows.iter().zip(self.before(&along, combine, totals)?) {
            let Some((any, before)) = before else { continue };
            for reg in row {
                let with = self.combined(combine, before, regs[*reg])?;
                regs[*reg] = self.chosen(combine.elem, any, with, regs[*reg]);
            }
        }
        if let How::Sum = combine.how {
            regs = regs
                .into_iter()
                .map(|reg| {
                    let rounded = self.round_f32(elem, reg);
                    self.wrapped(elem, rounded)
                })
                .collect();
        }
        let result = m.op(id).results.first;
        let at = |fault: Fault| fault.diagnostic(m, id);
        let to = self.layout(result).map_err(at)?;
        let regs =
            if to == along.layout { regs } else { self.convert(m.ty(x), &regs, &along.layout, &to).map_err(at)? };
        self.set_tile(id, regs);
        Ok(())
    }

    /// A tile in order along an axis.
    fn in_order(&mut self, x: ValueId, axis: u32) -> Result<(Along, Vec<Reg>), Fault> {
        let dims = self.m.ty(x).dims().ok_or(Fault::NoValue)?;
        let along = Along::new(dims, axis as usize, self.threads());
        let regs = self.tile(x, &along.layout)?;
        Ok((along, regs))
    }
    /// `a` and then `b`.
    fn combined(&mut self, combine: Combine, a: Reg, b: Reg) -> Result<Reg, Diagnostics> {
        let m = self.m;
        let at = |fault: Fault| fault.diagnostic(m, combine.id);
        let region = match combine.how {
            How::Sum => {
                let add = if combine.elem.kind() == Kind::Float { Bin::AddRn } else { Bin::Add };
                return Ok(self.body.bin(add, held(combine.elem), a, b));
            }
            How::Region(region) => m.region(region),
        };
        let [to_a, to_b] = region.args[..] else { return Err(at(Fault::NoValue).into()) };
        self.values[to_a.index()] = Some(Held::Scalar(a.into()));
        self.values[to_b.index()] = Some(Held::Scalar(b.into()));
        let outside = std::mem::replace(&mut self.combining, true);
        for &op in &region.ops {
            self.op(op)?;
        }
        self.combining = outside;
        let result = region.yields.first().ok_or(Fault::NoValue).and_then(|v| self.scalar(*v)).map_err(at)?;
        Ok(match result {
            Src::Reg(reg) => reg,
            imm @ Src::Imm(_) => self.constant(held(combine.elem), imm),
        })
    }
    fn chosen(&mut self, elem: ElemType, p: Reg, yes: Reg, no: Reg) -> Reg {
        self.select(elem, p.into(), yes.into(), no.into())
    }
    /// Where the thread's run begins; `None` where all runs lie inside the tile.
    fn run_start(&mut self, along: &Along) -> Option<Reg> {
        (!along.is_full()).then(|| self.thread_coord(&along.layout, along.axis))
    }
    /// Which run of the axis the thread holds, and among the warps.
    fn run_index(&mut self, from: u32, to: u32) -> Reg {
        let tid = self.thread();
        let shifted = self.body.bin(Bin::Shr, Ty::U32, tid, Src::Imm(u64::from(from)));
        self.body.bin(Bin::And, Ty::B32, shifted, Src::Imm((1 << (to - from)) - 1))
    }

    /// Lanes that differ in one bit of the axis: both end with the lower one's value and then the upper one's.
    fn pair_lanes(
        &mut self,
        along: &Along,
        combine: Combine,
        bit: u32,
        start: Option<Reg>,
        values: &mut [Reg],
    ) -> Result<(), Diagnostics> {
        let mine = self.run_index(bit, bit + 1);
        let upper = self.body.setp(Cmp::Ne, Ty::U32, mine, Src::Imm(0));
        // The upper half of the pair begins where this bit of the coordinate is set and all below are not.
        let exists = start.map(|start| {
            let step = along.run << (bit - along.from);
            let pair = self.body.bin(Bin::And, Ty::B32, start, Src::Imm(u64::from(!(2 * step - 1))));
            let begins = self.body.bin(Bin::Or, Ty::B32, pair, Src::Imm(u64::from(step)));
            self.body.setp(Cmp::Lt, Ty::U32, begins, Src::Imm(u64::from(along.n)))
        });
        for value in values {
            let other = self.shuffle(Shuffle::Bfly, *value, Src::Imm(1 << bit));
            let first = self.chosen(combine.elem, upper, other, *value);
            let second = self.chosen(combine.elem, upper, *value, other);
            let both = self.combined(combine, first, second)?;
            *value = match exists {
                Some(exists) => self.chosen(combine.elem, exists, both, first),
                None => both,
            };
        }
        Ok(())
    }
    /// What each warp has of each row, by warp; in every thread.
    fn warp_values(&mut self, along: &Along, elem: ElemType, values: &[Reg], last_lane: bool) -> Vec<Vec<Reg>> {
        let (count, bytes) = (along.warps(), elem.bytes() as u32);
        let rest = along.layout.without(along.axis);
        let pitch: Vec<u32> = (0..rest.rank()).map(|a| rest.rep()[a] * rest.atom(a)).collect();
        let buffer = self.buffer(pitch.iter().product::<u32>() * count * bytes, 16);
        let base = self.shared_base(buffer, &rest, &pitch, count * bytes);
        let warp = self.run_index(along.from.max(LANE_BITS), along.to);
        let own = self.body.tern(Tern::MadLo, Ty::U32, warp, Src::Imm(u64::from(bytes)), base);
        let lanes = along.lane_bits();
        let lane = self.run_index(lanes.start, lanes.end);
        let writer = if last_lane { (1u64 << lanes.len()) - 1 } else { 0 };
        let mut pred = self.body.setp(Cmp::Eq, Ty::U32, lane, Src::Imm(writer));
        if let Some(first) = self.is_first_holder(&along.layout) {
            pred = self.body.bin(Bin::And, Ty::Pred, pred, first);
        }
        let (memory, group) = (Memory::Shared(buffer), self.body.group());
        let place = |row: usize| i64::from(super::held::flat(&rest.reg_coord(row), &pitch) * count * bytes);
        for (row, value) in values.iter().enumerate() {
            let a = vec![self.as_stored(elem, *value)];
            let store = PtxOp::St {
                space: Space::Shared,
                hint: CacheHint::default(),
                ty: stored(elem),
                at: Addr::reg(own, place(row)),
                a,
            };
            self.body.touch(Touch::write(memory, group), Some(Guard { pred, negated: false }), store);
        }
        let group = self.body.group();
        let read = |cx: &mut Self, row: usize, warp: u32| {
            let at = Addr::reg(base, place(row) + i64::from(warp * bytes));
            cx.load_one(elem, Touch::read(memory, group), CacheHint::default(), at)
        };
        (0..values.len()).map(|row| (0..count).map(|warp| read(self, row, warp)).collect()).collect()
    }
    fn fold_warps(&mut self, along: &Along, combine: Combine, values: Vec<Reg>) -> Result<Vec<Reg>, Diagnostics> {
        let per_warp = along.run << along.lane_bits().len();
        let mut out = Vec::with_capacity(values.len());
        for warps in self.warp_values(along, combine.elem, &values, false) {
            let inside = warps.into_iter().enumerate().filter(|(warp, _)| (*warp as u32) * per_warp < along.n);
            let mut inside = inside.map(|(_, value)| value);
            let mut sum = inside.next().unwrap_or(values[0]);
            for next in inside {
                sum = self.combined(combine, sum, next)?;
            }
            out.push(sum);
        }
        Ok(out)
    }
    /// What lies before the thread's run of each row, and whether anything does. `None`: nothing does in any thread.
    fn before(
        &mut self,
        along: &Along,
        combine: Combine,
        totals: Vec<Reg>,
    ) -> Result<Vec<Option<(Reg, Reg)>>, Diagnostics> {
        if along.from == along.to {
            return Ok(vec![None; totals.len()]);
        }
        let lanes = along.lane_bits();
        let lane = self.run_index(lanes.start, lanes.end);
        let (mut sums, mut out) = (totals, Vec::new());
        for bit in 0..lanes.len() as u32 {
            let reaches = self.body.setp(Cmp::Ge, Ty::U32, lane, Src::Imm(1 << bit));
            for sum in &mut sums {
                let other = self.shuffle(Shuffle::Up, *sum, Src::Imm(1 << (lanes.start + bit)));
                let both = self.combined(combine, other, *sum)?;
                *sum = self.chosen(combine.elem, reaches, both, *sum);
            }
        }
        let has_lane = self.body.setp(Cmp::Ne, Ty::U32, lane, Src::Imm(0));
        let in_warp: Vec<Option<(Reg, Reg)>> = match lanes.len() {
            0 => vec![None; sums.len()],
            _ => {
                let step = Src::Imm(1 << lanes.start);
                sums.iter().map(|sum| Some((has_lane, self.shuffle(Shuffle::Up, *sum, step)))).collect()
            }
        };
        if along.warps() == 1 {
            return Ok(in_warp);
        }
        let warp = self.run_index(along.from.max(LANE_BITS), along.to);
        for (warps, in_warp) in self.warp_values(along, combine.elem, &sums, true).into_iter().zip(in_warp) {
            // Warps before this one, folded in order; the last of all is before none.
            let (first, rest) = warps.split_first().map_or((sums[0], &[][..]), |(first, rest)| (*first, rest));
            let mut sum = first;
            for (i, next) in rest.iter().enumerate().take(rest.len().saturating_sub(1)) {
                let before = self.body.setp(Cmp::Gt, Ty::U32, warp, Src::Imm(i as u64 + 1));
                let both = self.combined(combine, sum, *next)?;
                sum = self.chosen(combine.elem, before, both, sum);
            }
            let has_warp = self.body.setp(Cmp::Ne, Ty::U32, warp, Src::Imm(0));
            out.push(Some(match in_warp {
                None => (has_warp, sum),
                Some((has_lane, lane_sum)) => {
                    let both = self.combined(combine, sum, lane_sum)?;
                    let with_warp = self.chosen(combine.elem, has_lane, both, sum);
                    let value = self.chosen(combine.elem, has_warp, with_warp, lane_sum);
                    (self.body.bin(Bin::Or, Ty::Pred, has_warp, has_lane), value)
                }
            }));
        }
        Ok(out)
    }
}
