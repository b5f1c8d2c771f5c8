//! One warp. Lanes at one place run together; lanes that went different ways run the ones that are furthest behind first, so
//! that they meet again where the text does. An instruction that needs lanes that are elsewhere waits for them.

use super::cluster::Joint;
use super::copies::Flight;
use super::cta::Side;
use super::{Context, World, lanes};
use crate::fault::{Fault, Kind};
use crate::inst::{LANES, Lanes, Pred, Special, Src, Truth};
use crate::shadow::{Access, Knowledge, Map};

/// Lanes at one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub pc: u32,
    pub mask: u32,
    /// For lanes that are elsewhere.
    pub waits: bool,
    /// Those that have to come; a shuffle does without lanes that end.
    pub needs: u32,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// At a barrier, by its number.
    Barrier(usize),
    /// At the cluster's barrier.
    Cluster,
    Done,
}
/// Why a warp stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Barrier,
    Done,
    /// It read the same again: another warp has to write.
    Polls,
    /// It had its share.
    Paused,
}

/// An mbarrier of the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    /// Of the instruction that waits.
    pub pc: u32,
    pub address: u64,
    /// In shared memory.
    pub place: u64,
}

pub(super) struct Warp<'l> {
    pub id: u32,
    pub regs: Vec<Lanes>,
    /// By register: the lanes that hold something that somebody wrote.
    pub known: Vec<u32>,
    pub preds: Vec<u32>,
    pub known_preds: Vec<u32>,
    /// By special register.
    pub specials: Vec<Lanes>,
    pub pc: u32,
    /// The lanes there.
    pub here: u32,
    pub others: Vec<Group>,
    pub state: State,
    pub knowledge: Knowledge,
    pub flights: Vec<Flight<'l>>,
    /// Groups of copies that each lane has committed.
    pub committed: [u32; LANES],
    /// The last relaxed or stronger read: its place in the text, and what it gave.
    pub polled: (u32, u64),
    /// The mbarrier whose phase it waited for last.
    pub awaits: Option<Awaited>,
    /// The generation of the cluster's barrier to which it has come, and for which it has not waited.
    pub came: Option<u64>,
    /// Where the result of the vote goes that it waits for.
    pub votes: Option<Pred>,
}

impl<'l> Warp<'l> {
    pub(super) fn new(cx: &Context<'l>, block: u32, id: u32) -> Warp<'l> {
        let count = (cx.threads - id * LANES as u32).min(LANES as u32);
        let warps = cx.threads.div_ceil(LANES as u32);
        Warp {
            id,
            regs: vec![[0; LANES]; cx.entry.registers.len()],
            known: vec![0; cx.entry.registers.len()],
            preds: vec![0; cx.entry.predicates.len()],
            known_preds: vec![0; cx.entry.predicates.len()],
            specials: specials(cx, block, id),
            pc: 0,
            here: u32::MAX >> (LANES as u32 - count),
            others: Vec::new(),
            state: State::Ready,
            knowledge: Knowledge::new(warps as usize, id as usize),
            flights: Vec::new(),
            committed: [0; LANES],
            polled: (u32::MAX, 0),
            awaits: None,
            came: None,
            votes: None,
        }
    }
    pub(super) fn alive(&self) -> u32 {
        self.others.iter().fold(self.here, |all, group| all | group.mask)
    }
    /// It goes on behind the cluster's barrier.
    pub(super) fn met(&mut self, block: u32, opened: &Map) {
        self.came = None;
        self.knowledge.meet(block, opened);
        self.state = State::Ready;
    }
    /// The next lanes that can run. `false`: there are none.
    fn switch(&mut self) -> bool {
        let next = self.others.iter().enumerate().filter(|(_, g)| !g.waits).min_by_key(|(_, g)| g.pc);
        let Some((at, _)) = next else { return false };
        let group = self.others.swap_remove(at);
        (self.pc, self.here) = (group.pc, group.mask);
        true
    }
    /// Lanes that came to one place go on together, those that are behind first.
    fn regroup(&mut self) {
        let (pc, mut here) = (self.pc, self.here);
        self.others.retain(|group| {
            let met = group.pc == pc;
            if met {
                here |= group.mask;
            }
            !met
        });
        self.here = here;
        if self.others.iter().any(|group| !group.waits && group.pc < pc) {
            self.others.push(Group { pc, mask: here, waits: false, needs: 0 });
            self.switch();
        }
    }
}

/// What each special register holds; the clock is read anew each time.
fn specials(cx: &Context<'_>, block: u32, warp: u32) -> Vec<Lanes> {
    let of = |special: Special, lane: u32| match special {
        Special::TidX => warp * LANES as u32 + lane,
        Special::NtidX => cx.threads,
        Special::CtaidX => block,
        Special::NctaidX => cx.launch.blocks,
        Special::LaneId => lane,
        Special::WarpId => warp,
        Special::WarpCount => cx.threads.div_ceil(LANES as u32),
        Special::Zero | Special::Clock => 0,
        Special::One => 1,
        Special::MaskEq => 1 << lane,
        Special::MaskLt => (1 << lane) - 1,
        Special::MaskLe => u32::MAX >> (31 - lane),
        Special::MaskGt => !(u32::MAX >> (31 - lane)),
        Special::MaskGe => !((1 << lane) - 1),
        Special::DynamicShared => cx.launch.shared_bytes,
        Special::ClusterRank => block % cx.entry.cluster,
        Special::ClusterSize => cx.entry.cluster,
        Special::ClusterId => block / cx.entry.cluster,
        Special::ClusterCount => cx.launch.blocks / cx.entry.cluster,
    };
    Special::ALL.iter().map(|special| std::array::from_fn(|lane| u64::from(of(*special, lane as u32)))).collect()
}

/// What an instruction leaves to do.
pub(super) enum Next {
    /// The instruction behind it.
    Go,
    /// It has set where to go on.
    Jumped,
    /// It needs lanes that are not here.
    Wait {
        missing: u32,
        /// Even if they end.
        needed: bool,
    },
    Barrier,
    Polls,
}

/// A warp while it runs.
pub(super) struct Run<'r, 'l> {
    pub cx: &'r Context<'l>,
    pub block: u32,
    /// Of the block in its cluster.
    pub rank: usize,
    pub warp: &'r mut Warp<'l>,
    pub side: &'r mut Side,
    pub joint: &'r mut Joint<'l>,
    pub world: &'r mut World,
}

impl Run<'_, '_> {
    /// Up to so many instructions.
    pub(super) fn run(&mut self, share: u64) -> Result<Stop, Fault> {
        let insts = &self.cx.entry.insts;
        for _ in 0..share {
            if self.warp.here == 0 && !self.next_lanes()? {
                self.warp.state = State::Done;
                self.joint.gathering.leaves(self.warp.came.take());
                return Ok(Stop::Done);
            }
            // Behind the last instruction a thread ends.
            let Some(inst) = insts.get(self.warp.pc as usize) else {
                self.end(self.warp.here);
                continue;
            };
            let here = self.warp.here;
            self.side.steps += u64::from(here.count_ones());
            if self.side.steps > self.cx.steps {
                return Err(self.fault(Kind::Steps(self.cx.steps), here.trailing_zeros()));
            }
            let next = self.step(inst, here)?;
            match next {
                Next::Go => self.warp.pc += 1,
                Next::Jumped => {}
                Next::Wait { missing, needed } => self.wait(missing, needed)?,
                Next::Barrier => {
                    self.warp.pc += 1;
                    return Ok(Stop::Barrier);
                }
                Next::Polls => {
                    self.warp.pc += 1;
                    if !self.warp.others.is_empty() {
                        self.warp.regroup();
                    }
                    return Ok(Stop::Polls);
                }
            }
            if !self.warp.others.is_empty() && self.warp.here != 0 {
                self.warp.regroup();
            }
        }
        Ok(Stop::Paused)
    }
    fn next_lanes(&mut self) -> Result<bool, Fault> {
        let alive = self.warp.alive();
        if let Some(group) = self.warp.others.iter().find(|group| group.needs & !alive != 0) {
            let (missing, lane) = (group.needs & !alive, group.mask.trailing_zeros());
            return Err(self.cx.fault(Kind::Diverged { missing }, group.pc, self.block, self.thread(lane)));
        }
        // Others that ended are not waited for any longer.
        self.warp.others.iter_mut().for_each(|group| group.waits = false);
        Ok(self.warp.switch())
    }
    fn wait(&mut self, missing: u32, needed: bool) -> Result<(), Fault> {
        let lane = self.warp.here.trailing_zeros();
        let fault = self.fault(Kind::Diverged { missing }, lane);
        let needs = if needed { missing } else { 0 };
        self.warp.others.push(Group { pc: self.warp.pc, mask: self.warp.here, waits: true, needs });
        self.warp.here = 0;
        if self.warp.switch() { Ok(()) } else { Err(fault) }
    }
    /// Lanes that do not go on.
    pub(super) fn end(&mut self, mask: u32) {
        self.warp.here &= !mask;
        self.world.changes += 1;
    }
    pub(super) fn fault(&self, kind: Kind, lane: u32) -> Fault {
        self.cx.fault(kind, self.warp.pc, self.block, self.thread(lane))
    }
    pub(super) fn thread(&self, lane: u32) -> u32 {
        self.warp.id * LANES as u32 + lane
    }
    pub(super) fn access(&self, lane: usize, flags: u16) -> Access {
        Access {
            block: self.block,
            clock: self.warp.knowledge.clock,
            pc: self.warp.pc,
            thread: self.thread(lane as u32) as u16,
            flags,
        }
    }

    /// The lanes of an operand, and those of them that hold something that somebody wrote.
    #[inline]
    pub(super) fn src(&self, src: Src) -> (&Lanes, u32) {
        match src {
            Src::Reg(reg) => (&self.warp.regs[reg as usize], self.warp.known[reg as usize]),
            Src::Const(at) => (&self.cx.entry.constants[at as usize], u32::MAX),
            Src::Special(special) => (&self.warp.specials[special as usize], u32::MAX),
        }
    }
    pub(super) fn truth(&self, truth: Truth) -> (u32, u32) {
        match truth {
            Truth::Always(value) => (if value { u32::MAX } else { 0 }, u32::MAX),
            Truth::Pred { pred, negated } => {
                let value = self.warp.preds[pred as usize];
                (if negated { !value } else { value }, self.warp.known_preds[pred as usize])
            }
        }
    }
    /// An operand that decides something: all of these lanes have to hold it.
    pub(super) fn defined(&self, src: Src, mask: u32) -> Result<&Lanes, Fault> {
        let (value, known) = self.src(src);
        match (mask & !known, src) {
            (0, _) => Ok(value),
            (missing, Src::Reg(reg)) => {
                let register = self.cx.entry.registers[reg as usize].clone();
                Err(self.fault(Kind::Undefined { register }, missing.trailing_zeros()))
            }
            (_, Src::Const(_) | Src::Special(_)) => Ok(value),
        }
    }
    pub(super) fn decided(&self, truth: Truth, mask: u32) -> Result<u32, Fault> {
        let (value, known) = self.truth(truth);
        match (mask & !known, truth) {
            (0, _) | (_, Truth::Always(_)) => Ok(value),
            (missing, Truth::Pred { pred, .. }) => {
                let register = self.cx.entry.predicates[pred as usize].clone();
                Err(self.fault(Kind::Undefined { register }, missing.trailing_zeros()))
            }
        }
    }
    #[inline]
    pub(super) fn set(&mut self, d: u32, mask: u32, out: &Lanes, known: u32) {
        let d = d as usize;
        if mask == u32::MAX {
            self.warp.regs[d] = *out;
            self.warp.known[d] = known;
            return;
        }
        let reg = &mut self.warp.regs[d];
        for lane in lanes(mask) {
            reg[lane] = out[lane];
        }
        let before = &mut self.warp.known[d];
        *before = (*before & !mask) | (known & mask);
    }
    pub(super) fn set_truth(&mut self, d: u32, mask: u32, value: u32, known: u32) {
        let (pred, before) = (&mut self.warp.preds[d as usize], &mut self.warp.known_preds[d as usize]);
        *pred = (*pred & !mask) | (value & mask);
        *before = (*before & !mask) | (known & mask);
    }
}
