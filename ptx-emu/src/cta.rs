//! One thread block: its warps in turn, each up to its next barrier. Lanes that went different ways run the one that is
//! furthest behind first, so that they meet again where the text does.

use crate::alu;
use crate::decode::Entry;
use crate::fault::{Fault, Kind};
use crate::inst::{Addr, Bin, Inst, Op, Reg, Shuffle, Space, Special, Src, Ty, Vote};
use crate::launch::Launch;
use crate::memory::{Memory, number};

const LANES: usize = 32;

#[derive(Clone, Copy)]
pub(crate) struct Setup<'l> {
    pub entry: &'l Entry,
    pub launch: &'l Launch<'l>,
    pub block: u32,
    pub limit: u64,
}

pub(crate) struct Cta<'l> {
    setup: Setup<'l>,
    warps: Vec<Warp>,
    shared: Shared,
}

/// A warp: registers by number, then lane.
struct Warp {
    regs: Vec<u64>,
    pc: [u32; LANES],
    /// Lanes that have not returned.
    alive: u32,
    at_barrier: bool,
    /// Barriers of the warp alone that it has passed.
    syncs: u32,
    id: u32,
}

/// Shared memory, and who touched it since the last barrier.
struct Shared {
    bytes: Vec<u8>,
    written: Vec<bool>,
    touched: Vec<Touched>,
    epoch: u32,
}

#[derive(Clone, Copy, Default)]
struct Touched {
    write: Option<Access>,
    read: Option<Access>,
    /// Another thread than that of `read` has read it too.
    many: bool,
}
#[derive(Clone, Copy)]
struct Access {
    thread: u32,
    epoch: u32,
    syncs: u32,
    line: u32,
}

/// What a warp does next.
enum Next {
    Go,
    Barrier,
    Done,
}

impl<'l> Cta<'l> {
    pub(crate) fn new(setup: Setup<'l>) -> Cta<'l> {
        let (threads, bytes) = (setup.entry.threads, setup.launch.shared_bytes as usize);
        let warp = |id: u32| {
            let lanes = (threads - id * LANES as u32).min(LANES as u32);
            Warp {
                regs: vec![0; setup.entry.registers * LANES],
                pc: [0; LANES],
                alive: if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 },
                at_barrier: false,
                syncs: 0,
                id,
            }
        };
        let warps = (0..threads.div_ceil(LANES as u32)).map(warp).collect();
        let shared = Shared {
            bytes: vec![0xA5; bytes],
            written: vec![false; bytes],
            touched: vec![Touched::default(); bytes],
            epoch: 0,
        };
        Cta { setup, warps, shared }
    }
    pub(crate) fn run(&mut self, memory: &mut Memory, steps: &mut u64) -> Result<(), Fault> {
        loop {
            let mut moved = false;
            for at in 0..self.warps.len() {
                if self.warps[at].at_barrier || self.warps[at].alive == 0 {
                    continue;
                }
                moved = true;
                let mut run =
                    Run { setup: self.setup, warp: &mut self.warps[at], shared: &mut self.shared, memory, steps };
                run.until_barrier()?;
            }
            let alive = self.warps.iter().filter(|warp| warp.alive != 0).count();
            let waiting = self.warps.iter().filter(|warp| warp.at_barrier && warp.alive != 0).count();
            if alive == 0 {
                return Ok(());
            }
            if waiting == alive {
                self.warps.iter_mut().for_each(|warp| warp.at_barrier = false);
                self.shared.epoch += 1;
            } else if !moved {
                let kind = Kind::Deadlock { waiting: waiting as u32 * 32, of: self.setup.entry.threads };
                return Err(Fault { kind, line: 0, statement: String::new(), thread: Some((self.setup.block, 0)) });
            }
        }
    }
}

/// One warp while it runs.
struct Run<'r, 'l> {
    setup: Setup<'l>,
    warp: &'r mut Warp,
    shared: &'r mut Shared,
    memory: &'r mut Memory,
    steps: &'r mut u64,
}

impl Run<'_, '_> {
    fn until_barrier(&mut self) -> Result<(), Fault> {
        let entry = self.setup.entry;
        loop {
            let Some((pc, mask)) = self.behind() else { return Ok(()) };
            let Some(inst) = entry.insts.get(pc as usize) else {
                self.warp.alive &= !mask;
                continue;
            };
            *self.steps += u64::from(mask.count_ones());
            if *self.steps > self.setup.limit {
                return Err(self.fault(inst, Kind::Steps(self.setup.limit), mask.trailing_zeros()));
            }
            match self.step(inst, mask)? {
                Next::Go => {}
                Next::Barrier => {
                    self.warp.at_barrier = true;
                    return Ok(());
                }
                Next::Done => {
                    if self.warp.alive == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }
    /// The furthest behind of the lanes' places, and the lanes there.
    fn behind(&self) -> Option<(u32, u32)> {
        let alive = self.warp.alive;
        if alive == 0 {
            return None;
        }
        let first = alive.trailing_zeros() as usize;
        let mut pc = self.warp.pc[first];
        let mut mask = 0u32;
        for lane in 0..LANES {
            if alive >> lane & 1 == 0 {
                continue;
            }
            match self.warp.pc[lane] {
                p if p == pc => mask |= 1 << lane,
                p if p < pc => (pc, mask) = (p, 1 << lane),
                _ => {}
            }
        }
        Some((pc, mask))
    }
    fn fault(&self, inst: &Inst, kind: Kind, lane: u32) -> Fault {
        let statement = self.setup.entry.lines.get(&inst.line).cloned().unwrap_or_default();
        Fault { kind, line: inst.line, statement, thread: Some((self.setup.block, self.thread(lane))) }
    }
    fn thread(&self, lane: u32) -> u32 {
        self.warp.id * LANES as u32 + lane
    }

    fn step(&mut self, inst: &Inst, here: u32) -> Result<Next, Fault> {
        let mask = match inst.guard {
            None => here,
            Some((pred, negated)) => lanes(here)
                .filter(|lane| (self.reg(pred, *lane) != 0) != negated)
                .fold(0, |mask, lane| mask | 1 << lane),
        };
        for lane in lanes(here) {
            self.warp.pc[lane] += 1;
        }
        match &inst.op {
            Op::Bra { to } => lanes(mask).for_each(|lane| self.warp.pc[lane] = *to),
            Op::Ret => {
                self.warp.alive &= !mask;
                return Ok(Next::Done);
            }
            Op::Trap if mask != 0 => return Err(self.fault(inst, Kind::Trap, mask.trailing_zeros())),
            Op::Bar => {
                if here != self.warp.alive || mask != here {
                    return Err(self.fault(inst, Kind::Diverged, here.trailing_zeros()));
                }
                return Ok(Next::Barrier);
            }
            Op::BarWarp => {
                if here != self.warp.alive || mask != here {
                    return Err(self.fault(inst, Kind::Diverged, here.trailing_zeros()));
                }
                self.warp.syncs += 1;
            }
            Op::Shfl { .. } | Op::Vote { .. } if here != self.warp.alive || mask != here => {
                return Err(self.fault(inst, Kind::Diverged, here.trailing_zeros()));
            }
            Op::Shfl { mode, d, p, a, b, c } => self.shuffle(*mode, (*d, *p), (*a, *b, *c), mask),
            Op::Vote { mode, d, a, negated } => self.vote(*mode, *d, *a, *negated, mask),
            Op::Ld { space, ty, d, at } => {
                for lane in lanes(mask) {
                    self.load(*space, *ty, d, *at, lane, inst)?;
                }
            }
            Op::St { space, ty, a, at } => {
                for lane in lanes(mask) {
                    self.store(*space, *ty, a, *at, lane, inst)?;
                }
            }
            Op::Atom { .. } => {
                for lane in lanes(mask) {
                    self.atomic(&inst.op, lane, inst)?;
                }
            }
            Op::Trap | Op::Fence | Op::Nothing => {}
            op => lanes(mask).for_each(|lane| self.compute(op, lane)),
        }
        Ok(Next::Go)
    }

    fn reg(&self, reg: Reg, lane: usize) -> u64 {
        self.warp.regs[reg as usize * LANES + lane]
    }
    fn set(&mut self, reg: Reg, lane: usize, value: u64) {
        self.warp.regs[reg as usize * LANES + lane] = value;
    }
    fn src(&self, src: Src, lane: usize) -> u64 {
        match src {
            Src::Reg(reg) => self.reg(reg, lane),
            Src::Imm(bits) => bits,
            Src::Special(special) => u64::from(match special {
                Special::TidX => self.thread(lane as u32),
                Special::NtidX => self.setup.entry.threads,
                Special::CtaidX => self.setup.block,
                Special::NctaidX => self.setup.launch.blocks,
                Special::LaneId => lane as u32,
                Special::WarpId => self.warp.id,
                Special::Clock => return *self.steps,
            }),
        }
    }
    /// Everything that depends on one lane's registers alone.
    fn compute(&mut self, op: &Op, lane: usize) {
        let s = |src: &Src| self.src(*src, lane);
        let (d, value) = match op {
            Op::Mov { d, a, .. } => (*d, s(a)),
            Op::Un { op, ty, ftz, d, a } => (*d, alu::un(*op, *ty, *ftz, s(a))),
            Op::Bin { op, ty: Ty::Pred, d, a, b, .. } => (
                *d,
                match op {
                    Bin::And => s(a) & s(b) & 1,
                    Bin::Or => (s(a) | s(b)) & 1,
                    _ => (s(a) ^ s(b)) & 1,
                },
            ),
            Op::Bin { op, ty, ftz, d, a, b } => (*d, alu::bin(*op, *ty, *ftz, s(a), s(b))),
            Op::Tern { op, ty, ftz, d, a, b, c } => (*d, alu::tern(*op, *ty, *ftz, s(a), s(b), s(c))),
            Op::Cvt { to, from, round, sat, d, a } => (*d, alu::convert(*to, *from, *round, *sat, s(a))),
            Op::CvtPack { to, d, hi, lo } => {
                let half = |src: &Src| alu::convert(*to, Ty::F32, None, false, s(src));
                (*d, half(hi) << 16 | half(lo))
            }
            Op::Setp { cmp, ty, d, a, b } => (*d, u64::from(alu::compare(*cmp, *ty, s(a), s(b)))),
            Op::Selp { d, a, b, p, .. } => (*d, if self.reg(*p, lane) != 0 { s(a) } else { s(b) }),
            Op::Lop3 { d, a, b, c, table } => (*d, alu::lop3(s(a), s(b), s(c), *table)),
            Op::Prmt { d, a, b, sel } => (*d, alu::prmt(s(a), s(b), s(sel))),
            Op::Bfe { ty, d, a, from, width } => (*d, alu::bfe(*ty, s(a), s(from), s(width))),
            Op::Bfi { d, a, into, from, width } => (*d, alu::bfi(s(a), s(into), s(from), s(width))),
            Op::Pack { ty, d, parts } => {
                let bits = ty.bytes() * 8 / parts.len() as u32;
                let part = |(i, reg): (usize, &Reg)| (self.reg(*reg, lane) & ((1 << bits) - 1)) << (i as u32 * bits);
                (*d, parts.iter().enumerate().map(part).fold(0, |all, part| all | part))
            }
            Op::Unpack { ty, d, a } => {
                let (bits, whole) = (ty.bytes() * 8 / d.len() as u32, s(a));
                for (i, reg) in d.iter().enumerate() {
                    self.set(*reg, lane, (whole >> (i as u32 * bits)) & ((1 << bits) - 1));
                }
                return;
            }
            _ => return,
        };
        self.set(d, lane, value);
    }

    fn address(&self, at: Addr, lane: usize) -> u64 {
        at.base.map_or(0, |reg| self.reg(reg, lane)).wrapping_add(at.offset as u64)
    }
    fn load(&mut self, space: Space, ty: Ty, d: &[Reg], at: Addr, lane: usize, inst: &Inst) -> Result<(), Fault> {
        let (address, bytes) = (self.address(at, lane), ty.bytes());
        self.aligned(space, address, bytes * d.len() as u32, lane, inst)?;
        for (i, reg) in d.iter().enumerate() {
            let address = address + u64::from(bytes) * i as u64;
            let value = match space {
                Space::Param => {
                    let range = address as usize..address as usize + bytes as usize;
                    self.setup.launch.params.get(range).map(number).ok_or(Kind::OutOfBounds {
                        space: space.name(),
                        address,
                        bytes,
                    })
                }
                Space::Global => self.memory.load(address, bytes),
                Space::Shared => self.shared_load(address, bytes, lane, inst.line),
            };
            let value = value.map_err(|kind| self.fault(inst, kind, lane as u32))?;
            // A narrow value fills a 32-bit register.
            let value = if ty.signed() && bytes < 4 { alu::int(ty, value) as u64 & 0xFFFF_FFFF } else { value };
            self.set(*reg, lane, value);
        }
        Ok(())
    }
    fn store(&mut self, space: Space, ty: Ty, a: &[Src], at: Addr, lane: usize, inst: &Inst) -> Result<(), Fault> {
        let (address, bytes) = (self.address(at, lane), ty.bytes());
        self.aligned(space, address, bytes * a.len() as u32, lane, inst)?;
        for (i, src) in a.iter().enumerate() {
            let (address, value) = (address + u64::from(bytes) * i as u64, self.src(*src, lane));
            let done = match space {
                Space::Param => Err(Kind::OutOfBounds { space: space.name(), address, bytes }),
                Space::Global => self.memory.store(address, bytes, value),
                Space::Shared => self.shared_store(address, bytes, value, lane, inst.line),
            };
            done.map_err(|kind| self.fault(inst, kind, lane as u32))?;
        }
        Ok(())
    }
    fn aligned(&self, space: Space, address: u64, bytes: u32, lane: usize, inst: &Inst) -> Result<(), Fault> {
        if address.is_multiple_of(u64::from(bytes)) {
            return Ok(());
        }
        Err(self.fault(inst, Kind::Misaligned { space: space.name(), address, bytes }, lane as u32))
    }
    fn atomic(&mut self, op: &Op, lane: usize, inst: &Inst) -> Result<(), Fault> {
        let Op::Atom { space, op, ty, d, at, a, b } = op else { return Ok(()) };
        let (address, bytes) = (self.address(*at, lane), ty.bytes());
        self.aligned(*space, address, bytes, lane, inst)?;
        let (a, b) = (self.src(*a, lane), b.map_or(0, |b| self.src(b, lane)));
        let outside = || Kind::OutOfBounds { space: space.name(), address, bytes };
        let old = match space {
            Space::Global => self.memory.load(address, bytes),
            Space::Shared => self.shared.range(address, bytes).map(|range| number(&self.shared.bytes[range])),
            Space::Param => Err(outside()),
        };
        let old = old.map_err(|kind| self.fault(inst, kind, lane as u32))?;
        let new = alu::atomic(*op, *ty, old, a, b);
        match space {
            Space::Global => {
                self.memory.store(address, bytes, new).map_err(|kind| self.fault(inst, kind, lane as u32))?
            }
            Space::Shared | Space::Param => {
                let from = address as usize;
                self.shared.bytes[from..from + bytes as usize].copy_from_slice(&new.to_le_bytes()[..bytes as usize]);
            }
        }
        if let Some(d) = d {
            self.set(*d, lane, old);
        }
        Ok(())
    }

    fn shared_load(&mut self, address: u64, bytes: u32, lane: usize, line: u32) -> Result<u64, Kind> {
        let me = self.access(lane, line);
        let range = self.shared.range(address, bytes)?;
        if self.shared.written[range.clone()].contains(&false) {
            return Err(Kind::Unwritten { space: "shared", address, bytes });
        }
        for touched in &mut self.shared.touched[range.clone()] {
            if let Some(other) = touched.write.filter(|other| me.races(other)) {
                return Err(Kind::Race { address, other_thread: other.thread, other_line: other.line });
            }
            touched.many = touched.read.is_some_and(|other| me.races(&other))
                || touched.many && touched.read.is_some_and(|o| o.epoch == me.epoch);
            touched.read = Some(me);
        }
        Ok(number(&self.shared.bytes[range]))
    }
    fn shared_store(&mut self, address: u64, bytes: u32, value: u64, lane: usize, line: u32) -> Result<(), Kind> {
        let me = self.access(lane, line);
        let range = self.shared.range(address, bytes)?;
        let new = value.to_le_bytes();
        for (i, at) in range.clone().enumerate() {
            let same = self.shared.bytes[at] == new[i];
            let touched = &mut self.shared.touched[at];
            // Lanes that store the same value by one instruction do not disturb each other.
            let write = touched.write.filter(|other| me.races(other) && !(same && other.line == line));
            let read = touched.read.filter(|other| me.races(other) || touched.many && other.epoch == me.epoch);
            if let Some(other) = write.or(read) {
                return Err(Kind::Race { address, other_thread: other.thread, other_line: other.line });
            }
            (touched.write, touched.read, touched.many) = (Some(me), None, false);
        }
        self.shared.bytes[range.clone()].copy_from_slice(&new[..bytes as usize]);
        self.shared.written[range].fill(true);
        Ok(())
    }
    fn access(&self, lane: usize, line: u32) -> Access {
        Access { thread: self.thread(lane as u32), epoch: self.shared.epoch, syncs: self.warp.syncs, line }
    }

    fn shuffle(&mut self, mode: Shuffle, (d, p): (Reg, Option<Reg>), (a, b, c): (Src, Src, Src), mask: u32) {
        let values: Vec<u64> = (0..LANES).map(|lane| self.src(a, lane)).collect();
        for lane in lanes(mask) {
            let (b, c) = (self.src(b, lane) as usize & 31, self.src(c, lane) as usize);
            let (clamp, segment) = (c & 31, c >> 8 & 31);
            let max = (lane & segment) | (clamp & !segment);
            let min = lane & segment;
            let (from, inside) = match mode {
                Shuffle::Up => (lane as isize - b as isize, lane as isize - b as isize >= max as isize),
                Shuffle::Down => ((lane + b) as isize, lane + b <= max),
                Shuffle::Bfly => ((lane ^ b) as isize, lane ^ b <= max),
                Shuffle::Idx => ((min | (b & !segment)) as isize, (min | (b & !segment)) <= max),
            };
            let from = if inside { from as usize } else { lane };
            self.set(d, lane, values[from]);
            if let Some(p) = p {
                self.set(p, lane, u64::from(inside));
            }
        }
    }
    fn vote(&mut self, mode: Vote, d: Reg, a: Src, negated: bool, mask: u32) {
        let ballot =
            lanes(mask).filter(|lane| (self.src(a, *lane) != 0) != negated).fold(0u32, |all, lane| all | 1 << lane);
        let value = match mode {
            Vote::All => u64::from(ballot == mask),
            Vote::Any => u64::from(ballot != 0),
            Vote::Uni => u64::from(ballot == 0 || ballot == mask),
            Vote::Ballot => u64::from(ballot),
        };
        lanes(mask).for_each(|lane| self.set(d, lane, value));
    }
}

impl Access {
    /// Whether nothing orders the two.
    fn races(&self, other: &Access) -> bool {
        let same_warp = self.thread / LANES as u32 == other.thread / LANES as u32;
        self.thread != other.thread && self.epoch == other.epoch && !(same_warp && self.syncs != other.syncs)
    }
}
impl Shared {
    fn range(&self, address: u64, bytes: u32) -> Result<std::ops::Range<usize>, Kind> {
        let from = address as usize;
        match from.checked_add(bytes as usize).filter(|end| *end <= self.bytes.len()) {
            Some(end) => Ok(from..end),
            None => Err(Kind::OutOfBounds { space: "shared", address, bytes }),
        }
    }
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}
