//! From ops to instructions. A PE is a CTA; a scalar is one register that is equal in all threads; a tile is a list of
//! registers in the order of its layout. Each family of ops has a file. Not here: what instructions look like (`ptx`),
//! which thread holds what (`layout`).
//!
//! `held.rs`: values in registers. `convert.rs`: tiles from one layout into another. `elementwise.rs`: ops place by place,
//! by family in `arith.rs`, `divide.rs`, `bits.rs`, `compare.rs`, `cast.rs` and `fp8.rs`, `math`.
//! `memory`: loads, stores, atomics. `dot`: products; `panels`: their operands in shared memory; `ring.rs`: loads that run
//! ahead. `records.rs`: what went wrong. `observe.rs`: what a kernel shows. `reduce.rs`, `ordered.rs`, `shape.rs`.
//! `control.rs`: branches and loops. `place.rs`: ids, lengths. `barrier.rs`: barriers between programs; `queue`: messages.
//! `warps`: what each warp does by itself; `scope.rs`: whose threads run an op together.

mod arith;
mod barrier;
mod bits;
mod cast;
mod compare;
mod control;
mod convert;
mod divide;
mod dot;
mod elementwise;
mod errors;
mod fp8;
mod held;
mod math;
mod memory;
mod observe;
mod occupancy;
mod ordered;
mod panels;
mod place;
mod queue;
mod records;
mod reduce;
mod ring;
mod scope;
mod shape;
mod warps;

pub use errors::{CODES, NOT_LOWERED};
pub(crate) use occupancy::spills;
pub(crate) use warps::refused;

use crate::abi::{Abi, Item};
use crate::compile::Options;
use crate::layout::{Layouts, RegLayout, Swizzle};
use crate::outcome::{Slot, Stop};
use crate::ptx::{Body, Kernel, Memory, Reg, Special, Src, Touch, Ty};
use crate::shared::{self, Plan};
use crate::talk::Talk;
use errors::Fault;
use held::Held;
use math::Weights;
use memory::{Around, Hoisted};
use panels::{Panels, Uses};
use queue::Queues;
use reduce::Fold;
use ring::Rings;
use rustc_hash::FxHashMap;
use shape::Cuts;
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::ops::family;
use tilewright_core::ir::{Def, Effects, LocId, Module, Op, OpId, RegionId, Type, ValueId, ops};
use tilewright_core::passes::Remark;
use tilewright_core::passes::bounds::{Checks, Placement, Prover};
use warps::Teams;

/// A kernel's lowering in progress.
struct Lower<'m> {
    m: &'m Module,
    options: &'m Options,
    prover: &'m Prover<'m>,
    layouts: Layouts,
    /// Of tiles by products.
    uses: Uses,
    /// The same where warps go on by themselves; while they do, for all threads.
    others: Teams,
    /// Powers that are read as weights.
    weights: Weights,
    /// Groups of copies that have not been waited for, oldest first.
    on_their_way: Vec<u32>,
    /// Loads of the loops around the current op that ran ahead.
    ringed: FxHashMap<OpId, Panels>,
    /// The rings of the loops around the current op, outermost first.
    turning: Vec<Rings>,
    /// Words that products read, by the registers that they hold; made where these were.
    words: FxHashMap<[Reg; 2], Reg>,
    /// Slots that a ring may have.
    most_stages: u32,
    /// By op: its bounds are checked where it stands.
    checked: Vec<bool>,
    body: Body,
    abi: Abi,
    values: Vec<Option<Held>>,
    /// The loops around the current op, outermost first.
    loops: Vec<Around>,
    /// Some loop carries an address.
    streams: bool,
    /// A product is multiplied and added in the threads, in a long unrolled chain.
    unrolls: bool,
    /// Registers that stand for a whole kernel: parameters, ids.
    entry: FxHashMap<Item, Reg>,
    specials: FxHashMap<Special, Reg>,
    hoisted: FxHashMap<Hoisted, Reg>,
    /// By parameter: some op writes it.
    written: Vec<bool>,
    /// The groups of maxima and sums in memory.
    atomics: [Option<u32>; 2],
    /// Inside a user's combine: scalars differ from thread to thread.
    combining: bool,
    /// Where faults are noted, in the order of the buffer.
    slots: Vec<Slot>,
    /// The ops that print, as lines number them.
    prints: Vec<OpId>,
    /// The loops whose step may be below 1 as far as is known.
    steps: Vec<OpId>,
    /// Tiles that rows are cut from, laid for that where they were made.
    cuts: Cuts,
    /// CTAs of a cluster, if the kernel runs in clusters.
    cluster: Option<u32>,
    queues: Queues,
    /// Where programs end before their end, as they number them.
    stops: Vec<Stop>,
    /// The op that is being lowered.
    current: OpId,
    moves: Vec<Move>,
    remarks: Vec<Remark>,
}

/// A tile that an op needs in another layout than its own.
#[derive(Clone, Debug)]
pub struct Move {
    pub op: OpId,
    pub ty: Type,
    pub from: RegLayout,
    pub to: RegLayout,
    /// How it lies in shared memory, if it goes through that in one piece.
    pub swizzle: Option<Swizzle>,
}

/// A lowered kernel, and what was decided on the way.
#[derive(Clone, Debug)]
pub struct Lowered {
    pub kernel: Kernel,
    pub abi: Abi,
    pub slots: Vec<Slot>,
    pub prints: Vec<OpId>,
    pub stops: Vec<Stop>,
    pub mail_bytes: u32,
    pub steps: Vec<OpId>,
    pub layouts: Layouts,
    pub moves: Vec<Move>,
    /// What the code is not as the kernel asks for.
    pub remarks: Vec<Remark>,
    pub plan: Plan,
}

/// What lowering an op gives.
type Done = Result<(), Fault>;

/// Lowers an optimised module.
///
/// # Errors
/// Ops that have no lowering, tiles that do not fit.
pub fn lower(m: &Module, checks: &Checks, options: &Options) -> Result<Lowered, Diagnostics> {
    let mut stages = 1;
    m.each_op(&mut |op| {
        if let Op::For(ops::For { range, .. }) | Op::MapReduce(ops::MapReduce { range, .. }) = &m.op(op).op {
            stages = stages.max(range.stages.unwrap_or(1));
        }
    });
    let (talk, stages) = (options.talk.unwrap_or(Talk::DEFAULT), stages.min(MOST_STAGES));
    let cluster = Queues::cluster(m, talk, options.target);
    let mut room = Room { stages, depth: talk.depth, cluster, last: false };
    loop {
        room.last = room.stages <= 1 && room.cluster.is_none();
        let mut lowered = lower_with(m, checks, options, room)?;
        if lowered.plan.bytes <= options.target.shared_bytes() || room.last {
            lowered.remarks.extend(queue::remark(m, cluster, room.cluster, (talk.depth, room.depth)));
            return Ok(lowered);
        }
        // Fewer places for messages, then fewer turns ahead, where other tiles need the room; then no messages there.
        if room.cluster.is_some() && room.depth > talk.least {
            room.depth -= 1;
        } else if room.stages > 1 {
            room.stages -= 1;
        } else {
            room = Room { stages, depth: talk.depth, cluster: None, last: false };
        }
    }
}
/// Slots of a ring: more hide nothing more.
const MOST_STAGES: u32 = 8;

/// What may take shared memory for speed.
#[derive(Clone, Copy)]
struct Room {
    /// Slots of a ring.
    stages: u32,
    /// Slots of a queue.
    depth: u32,
    /// CTAs of a cluster, whose messages go through shared memory.
    cluster: Option<u32>,
    /// With less it does not work.
    last: bool,
}

fn lower_with(m: &Module, checks: &Checks, options: &Options, room: Room) -> Result<Lowered, Diagnostics> {
    let prover = Prover::new(m, &options.known);
    let vector = |op: OpId| memory::vector(m, &prover, &options.aligned, op);
    let (Teams { layouts, uses }, others) = warps::teams(m, options.threads, &vector);
    let mut checked = vec![false; m.num_ops()];
    for check in &checks.0 {
        checked[check.op.index()] = match check.placement {
            Placement::Proved => false,
            Placement::AtLaunch => options.in_place.contains(&check.op),
            Placement::Hoisted { .. } | Placement::InPlace => true,
        };
    }
    let weights = Weights::of(m, &[&uses, &others.uses]);
    let cuts = Cuts::of(m, &layouts);
    let mut cx = Lower {
        m,
        options,
        prover: &prover,
        layouts,
        uses,
        others,
        weights,
        on_their_way: Vec::new(),
        ringed: FxHashMap::default(),
        turning: Vec::new(),
        words: FxHashMap::default(),
        most_stages: room.stages,
        checked,
        body: Body::default(),
        abi: Abi::default(),
        values: vec![None; m.num_values()],
        loops: Vec::new(),
        streams: false,
        unrolls: false,
        entry: FxHashMap::default(),
        specials: FxHashMap::default(),
        current: OpId(0),
        moves: Vec::new(),
        remarks: Vec::new(),
        hoisted: FxHashMap::default(),
        written: written(m),
        atomics: [None; 2],
        combining: false,
        slots: Vec::new(),
        prints: Vec::new(),
        cluster: room.cluster,
        queues: Queues::default(),
        stops: Vec::new(),
        steps: Vec::new(),
        cuts,
    };
    cx.start_queues(room.depth);
    cx.region(m.body)?;
    cx.end_kernel();
    cx.body.close();
    let plan = shared::plan(&cx.body);
    if plan.bytes > options.target.shared_bytes() && room.last {
        return Err(cx.shared_too_large(&plan));
    }
    shared::place_barriers(&mut cx.body, &plan);
    let min_ctas_per_sm = cx.min_ctas(options, plan.bytes);
    let kernel = Kernel {
        name: entry_name(&m.name),
        target: options.target,
        param_bytes: cx.abi.bytes(),
        threads: options.threads,
        cluster: cx.cluster,
        min_ctas_per_sm,
        shared_bytes: plan.bytes,
        offsets: plan.offsets.clone(),
        body: std::mem::take(&mut cx.body),
    };
    let mail_bytes = cx.mail_bytes();
    let Lower { abi, slots, prints, stops, steps, layouts, others, moves, remarks, .. } = cx;
    let layouts = layouts.with(&others.layouts, &warps::made_by_warps(m));
    Ok(Lowered { kernel, abi, slots, prints, stops, mail_bytes, steps, layouts, moves, plan, remarks })
}

/// By parameter: whether some op writes it.
fn written(m: &Module) -> Vec<bool> {
    let mut out = vec![false; m.params.len()];
    Effects::of_region(m, m.body).changes().for_each(|param| out[param as usize] = true);
    out
}

/// A PTX name that says which kernel it is; names from text may hold anything.
fn entry_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("tw_{}", name.chars().take(64).map(plain).collect::<String>())
}

impl Lower<'_> {
    fn region(&mut self, r: RegionId) -> Result<(), Diagnostics> {
        for op in self.in_issue_order(r) {
            self.body.loc = self.m.op(op).loc;
            self.meet_before(r, op);
            self.fill_before(Some(op))?;
            self.op(op)?;
        }
        Ok(())
    }
    fn in_issue_order(&self, r: RegionId) -> Vec<OpId> {
        let m = self.m;
        let regs = |op: OpId| self.layouts.get(m.op(op).results.first).map_or(1, |layout| layout.regs());
        memory::issue_order(m, &m.region(r).ops, &regs)
    }
    fn op(&mut self, id: OpId) -> Result<(), Diagnostics> {
        self.op_itself(id)?;
        self.lay_for_cuts(id).map_err(|fault| fault.diagnostic(self.m, id).into())
    }
    fn op_itself(&mut self, id: OpId) -> Result<(), Diagnostics> {
        let m = self.m;
        let data = m.op(id);
        self.current = id;
        let done = match &data.op {
            Op::If(o) => return self.branch(id, o),
            Op::For(o) => return self.counted(id, o),
            Op::While(o) => return self.repeat(id, o),
            Op::MapReduce(o) => return self.map_reduce(id, o),
            // A GPU issues its ops one by one.
            Op::Composite(o) => {
                self.region(o.body)?;
                let yields = m.region(o.body).yields.clone();
                data.results.iter().zip(yields).try_for_each(|(v, from)| self.alias(v, from))
            }

            family::arithmetic!() | family::bits!() | family::math!() | family::choice!() | family::conversion!() => {
                self.elementwise(id)
            }

            // Made where they are used (`held.rs`), in the layout that is asked for.
            Op::Splat(_) | Op::Iota(_) => Ok(()),

            Op::Keep(o) => self.keep(o),
            Op::Print(o) => self.print(id, o),
            Op::Load(o) => self.load(id, o),
            Op::Store(o) => self.store(id, o),
            Op::AtomicAdd(o) => self.atomic(id, &o.at, o.value),
            Op::AtomicMax(o) => self.atomic(id, &o.at, o.value),
            Op::Assert(o) => self.scalar(o.cond).and_then(|cond| self.assert(id, cond)),
            Op::Len(o) => self.len(id, o),
            Op::PeId(_) | Op::CubeId(_) | Op::NumPes(_) | Op::NumCubes(_) | Op::ProgramId(_) | Op::NumPrograms(_) => {
                self.place(id)
            }

            Op::Broadcast(o) => self.broadcast(id, o),
            Op::Trans(o) => self.trans(id, o),
            Op::ReduceMax(o) => self.reduce(id, o.x, o.axis.0, Fold::Max),
            Op::ReduceMin(o) => self.reduce(id, o.x, o.axis.0, Fold::Min),
            Op::ReduceSum(o) => self.reduce(id, o.x, o.axis.0, Fold::Sum),

            Op::ReduceWith(o) => return self.reduce_with(id, o),
            Op::ScanSum(o) => return self.scan_sum(id, o),
            Op::ScanWith(o) => return self.scan_with(id, o),

            Op::Reshape(o) => self.reshape(id, o),
            Op::Rows(o) => self.rows(id, o),

            Op::Dot(o) => self.dot(id, o),
            Op::Barrier(o) => self.barrier(id, o.scope),

            Op::Send(o) => self.send(id, o),
            Op::Recv(o) => self.recv(id, o),
        };
        done.map_err(|fault| fault.diagnostic(m, id).into())
    }

    /// Told at the op that uses the largest buffer.
    fn shared_too_large(&self, plan: &Plan) -> Diagnostics {
        let (bytes, limit) = (plan.bytes, self.options.target.shared_bytes());
        let largest = (0..plan.sizes.len()).max_by_key(|buffer| plan.sizes[*buffer]).unwrap_or(0);
        let of = |touch: Touch| matches!(touch.memory, Memory::Shared(buffer) if buffer.0 as usize == largest);
        let loc = self.body.lines().find(|line| line.touch.is_some_and(of)).map_or(LocId::UNKNOWN, |line| line.loc);
        let fault = Fault::SharedTooLarge { bytes, limit, largest: plan.sizes.get(largest).copied().unwrap_or(0) };
        fault.at(self.m, loc).into()
    }
    /// A field of the parameter block.
    fn param(&mut self, ty: Ty, item: Item) -> Reg {
        if let Some(reg) = self.entry.get(&item) {
            return *reg;
        }
        let offset = self.abi.offset(item);
        let reg = self.body.at_entry(|body| body.ld_param(ty, offset));
        self.entry.insert(item, reg);
        reg
    }
    fn special(&mut self, from: Special) -> Reg {
        if let Some(reg) = self.specials.get(&from) {
            return *reg;
        }
        let reg = self.body.at_entry(|body| body.special(from));
        self.specials.insert(from, reg);
        reg
    }
    /// A scalar as an operand: a constant is an immediate.
    fn scalar(&mut self, v: ValueId) -> Result<Src, Fault> {
        match self.m.def(v) {
            Def::Const(lit) => Ok(held::immediate(lit)),
            Def::Param(param) => Ok(self.scalar_param(v, param)),
            Def::Result(..) | Def::Arg(..) => match &self.values[v.index()] {
                Some(Held::Scalar(src)) => Ok(*src),
                Some(Held::Tile(_) | Held::Panels(_)) | None => Err(Fault::NoValue),
            },
        }
    }
    fn set_scalar(&mut self, id: OpId, src: impl Into<Src>) {
        let v = self.m.op(id).results.first;
        self.values[v.index()] = Some(Held::Scalar(src.into()));
    }
    fn set_tile(&mut self, id: OpId, regs: Vec<Reg>) {
        let v = self.m.op(id).results.first;
        self.values[v.index()] = Some(Held::Tile(regs));
    }
    /// `v` is the same as `from`.
    fn alias(&mut self, v: ValueId, from: ValueId) -> Done {
        let held = match self.layouts.get(v).cloned() {
            Some(layout) => Held::Tile(self.tile(from, &layout)?),
            None => Held::Scalar(self.scalar(from)?),
        };
        self.values[v.index()] = Some(held);
        Ok(())
    }
}
