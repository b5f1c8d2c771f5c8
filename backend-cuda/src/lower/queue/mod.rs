//! Messages between programs. Inside a cube that is a cluster they go from registers into the receiver's shared memory
//! (`near.rs`), elsewhere through global memory (`far.rs`). What carries over control flow is registers that live as long as the kernel: how many messages went each way,
//! and whether this program gave up waiting.
//!
//! `plan.rs`: which queues there are, and where their slots lie. `parcel.rs`: what travels at once;
//! `scatter.rs`: to all peers. `wire.rs`: values as words. `link.rs`: who is at the other
//! end of a port. `wait.rs`: waits that end. `drain.rs`: what is left at the end.

mod drain;
mod far;
mod link;
mod near;
mod parcel;
mod plan;
mod scatter;
mod wait;
mod wire;

use super::errors::Fault;
use super::{Done, Lower};
use crate::outcome::{Stop, Why};
use crate::ptx::{Bin, Cluster, Cmp, Guard, Label, Line, Op as PtxOp, Place, Reg, Src, Ty};
use crate::talk::{Talk, ports};
use crate::target::Target;
use far::Far;
use near::Near;
use plan::Plan;
use rustc_hash::FxHashMap;
use scatter::Scatter;
use std::rc::Rc;
use tilewright_core::ir::ops::{self, Port};
use tilewright_core::ir::{Module, Op, OpId, RegionId};
use tilewright_core::passes::{Remark, Verdict};
pub(super) use wire::Store;
use wire::Wire;

/// What is known of messages while a kernel is lowered.
#[derive(Debug, Default)]
pub(super) struct Queues {
    near: Option<Rc<Near>>,
    far: Option<Rc<Far>>,
    /// Messages follow data, so that some may be left at the end.
    drains: bool,
    /// By op: it or one inside it needs the other programs of the cluster.
    needs_others: Vec<bool>,
    /// Where this program comes to the cluster's first meeting, unless at its entry: behind the first copies of an op whose
    /// warps run ahead, which matter more.
    comes_in: Option<OpId>,
    /// Rows that go to all peers at once.
    scatter: Option<Rc<Scatter>>,
    /// Whether the rows of all peers are there, from the first one that is taken on.
    all_there: Option<Reg>,
    /// What finds the other ends of the cluster's queues, until it has been emitted.
    links: Vec<Line>,
    /// It has come there.
    came_near: bool,
    /// All have met: others are there from here on.
    met: bool,
    /// What was found where programs meet before messages through global memory.
    came: Option<Reg>,
    first_message: Option<OpId>,
    /// Whether this thread has given up waiting.
    gave_up: Option<Reg>,
    /// Where it waited in vain, and after how many messages; what is told at the end.
    in_vain: Option<[Reg; 2]>,
    /// Messages that went through a port, each way.
    counts: FxHashMap<(Port, bool), Reg>,
    /// Where the kernel ends before its end.
    exit: Option<Label>,
    /// The same before all have met: for a program that has come, and for one that has not.
    exit_early: [Option<Label>; 2],
}

/// CTAs of a cluster that every GPU which has clusters runs (PTX.md 10).
const MOST_CTAS: u32 = 8;

impl Queues {
    /// CTAs of a cluster, where messages inside a cube go through one.
    pub(super) fn cluster(m: &Module, talk: Talk, target: Target) -> Option<u32> {
        let inside = ports(m)?.iter().any(|port| matches!(port, Port::Pe(_) | Port::Peer(_)));
        (inside && target == Target::Sm90a && talk.pes <= MOST_CTAS).then_some(talk.pes)
    }
}

impl Lower<'_> {
    pub(super) fn talk(&self) -> Talk {
        self.options.talk.unwrap_or(Talk::DEFAULT)
    }
    /// Before everything else: queues, and the arrival where programs meet before the first message.
    pub(super) fn start_queues(&mut self, depth: u32) {
        let m = self.m;
        if ports(m).is_none() {
            return;
        }
        let layouts = self.layouts.clone();
        let mut wire = |op: OpId| match &m.op(op).op {
            Op::Send(o) => Some(Wire::of(m.ty(o.value), layouts.get(o.value))),
            Op::Recv(o) => Some(Wire::of(o.to.0, layouts.get(m.op(op).results.first))),
            _ => None,
        };
        let clustered = self.cluster.is_some();
        let is_near = |port: Port| clustered && matches!(port, Port::Pe(_) | Port::Peer(_));
        let is_far = |port: Port| !is_near(port) && !matches!(port, Port::Sip(_));
        let by_data = !self.talk().proved;
        self.queues.drains = by_data;
        self.queues.needs_others = vec![false; m.num_ops()];
        self.queues.first_message = needs_others(m, m.body, &mut self.queues.needs_others);
        if clustered {
            self.start_near(Plan::of(m, (depth, by_data), &is_near, &mut wire), by_data);
            self.queues.comes_in = self.runs_ahead_before_messages();
            if self.queues.comes_in.is_none() {
                let from = self.body.aside();
                self.come_to_cluster();
                self.body.resume(from, Place::Entry);
            }
        }
        let far = Plan::of(m, (self.talk().depth, by_data), &is_far, &mut wire);
        if !far.ports().is_empty() {
            self.start_far(far);
        }
    }
    /// The first `map_reduce` of the kernel's body, if it stands before all that needs the others.
    fn runs_ahead_before_messages(&self) -> Option<OpId> {
        let needs = |op: &OpId| self.queues.needs_others.get(op.index()).copied().unwrap_or(false);
        let first = self.m.region(self.m.body).ops.iter().find(|op| needs(op) || self.is_map_reduce(**op))?;
        (self.is_map_reduce(*first) && !needs(first)).then_some(*first)
    }
    fn is_map_reduce(&self, op: OpId) -> bool {
        matches!(self.m.op(op).op, Op::MapReduce(_))
    }
    /// Whether this program comes to the cluster's first meeting in this op, behind its first copies.
    pub(super) fn comes_in(&self, id: OpId) -> bool {
        self.queues.comes_in == Some(id)
    }
    pub(super) fn come_to_cluster(&mut self) {
        let Some(near) = self.queues.near.clone() else { return };
        self.come_near(&near);
        let (here, links) = (self.body.here(), std::mem::take(&mut self.queues.links));
        self.body.insert(here, links);
        self.queues.came_near = true;
    }
    /// The first op of the kernel's body that needs the others waits until they are there.
    pub(super) fn meet_before(&mut self, region: RegionId, op: OpId) {
        let needs = self.queues.needs_others.get(op.index()).copied().unwrap_or(false);
        if region == self.m.body && needs && !self.queues.met {
            self.queues.met = true;
            self.meet_cluster();
            self.meet_far();
        }
    }
    fn meet_cluster(&mut self) {
        if self.cluster.is_some() {
            self.body.emit(PtxOp::Cluster(Cluster::Wait));
        }
    }
    /// Whether programs wait for each other before they end.
    fn end_together(&self) -> bool {
        self.cluster.is_some() || self.queues.far.is_some() && self.queues.drains
    }
    /// Bytes of global memory that each program's queues take.
    pub(super) fn mail_bytes(&self) -> u32 {
        self.queues.far.as_ref().map_or(0, |far| far.bytes)
    }
    /// Ends the kernel where its last op has run.
    pub(super) fn end_kernel(&mut self) {
        if self.leave_freely() {
            return self.end_freely();
        }
        if let Some(exit) = self.queues.exit {
            self.body.emit(PtxOp::Label(exit));
        }
        self.tell_in_vain();
        if self.queues.drains {
            if let Some(near) = self.queues.near.clone() {
                self.drain(&near);
            }
            if let Some(far) = self.queues.far.clone() {
                self.drain_far(&far);
            }
        }
        if self.cluster.is_some() {
            // Others may still tell this CTA that they have read what it sent.
            self.body.emit(PtxOp::Cluster(Cluster::Arrive { release: false }));
            self.body.emit(PtxOp::Cluster(Cluster::Wait));
        }
        self.body.emit(PtxOp::Ret);
    }
    /// Whether a program that has received all its messages may leave the cluster: nothing is told to its mbarriers, and
    /// nothing is left in its slots.
    fn leave_freely(&self) -> bool {
        let told = |near: &Rc<Near>| near.plan.boxes.iter().any(|b| b.reused);
        self.queues.near.as_ref().is_some_and(|near| !told(near)) && !self.queues.drains
    }
    /// Who ends before the end waits for the others, which may still send to it.
    fn end_freely(&mut self) {
        let (exit, gave_up) = (self.exit(), self.gave_up());
        self.body.emit_if(Guard { pred: gave_up, negated: false }, PtxOp::Bra { to: exit, uniform: false });
        self.body.emit(PtxOp::Ret);
        let from = self.body.aside();
        self.body.emit(PtxOp::Label(exit));
        self.tell_in_vain();
        self.body.emit(PtxOp::Cluster(Cluster::Arrive { release: false }));
        self.body.emit(PtxOp::Cluster(Cluster::Wait));
        self.body.emit(PtxOp::Ret);
        self.body.resume(from, Place::Rare);
    }
    /// Ends the program here, where all its threads come; `pred`: if it holds.
    pub(super) fn end_program(&mut self, pred: Option<Reg>) {
        let guard = |op: PtxOp, cx: &mut Self| match pred {
            Some(pred) => cx.body.emit_if(Guard { pred, negated: false }, op),
            None => cx.body.emit(op),
        };
        if !self.end_together() {
            return guard(PtxOp::Ret, self);
        }
        let to = self.leave();
        guard(PtxOp::Bra { to, uniform: true }, self);
    }
    /// Where a program ends before its end, if others wait for it there.
    fn leave(&mut self) -> Label {
        let exit = self.exit();
        if self.queues.met {
            return exit;
        }
        let came = usize::from(self.queues.came_near);
        if let Some(early) = self.queues.exit_early[came] {
            return early;
        }
        let early = self.body.label();
        let from = self.body.aside();
        self.body.emit(PtxOp::Label(early));
        // Others may send to this program, until they have come to the end.
        if let Some(near) = self.queues.near.clone().filter(|_| came == 0) {
            self.come_near(&near);
        }
        self.meet_cluster();
        self.await_far();
        self.body.emit(PtxOp::Bra { to: exit, uniform: true });
        self.body.resume(from, Place::Rare);
        *self.queues.exit_early[came].insert(early)
    }

    fn exit(&mut self) -> Label {
        match self.queues.exit {
            Some(exit) => exit,
            None => *self.queues.exit.insert(self.body.label()),
        }
    }

    pub(super) fn send(&mut self, id: OpId, o: &ops::Send) -> Done {
        match (o.port, self.queues.near.clone(), self.queues.far.clone()) {
            (port @ Port::Sip(_), ..) => Err(Fault::BetweenSips { port }),
            (Port::Pe(_) | Port::Peer(_), Some(near), _) => self.send_near(&near, id, o),
            (Port::Pe(_) | Port::Peer(_) | Port::Cube(_), _, Some(far)) => self.send_far(&far, id, o),
            (Port::Pe(_) | Port::Peer(_) | Port::Cube(_), _, None) => Err(Fault::NoValue),
        }
    }
    pub(super) fn recv(&mut self, id: OpId, o: &ops::Recv) -> Done {
        match (o.port, self.queues.near.clone(), self.queues.far.clone()) {
            (port @ Port::Sip(_), ..) => Err(Fault::BetweenSips { port }),
            (Port::Pe(_) | Port::Peer(_), Some(near), _) => self.recv_near(&near, id, o),
            (Port::Pe(_) | Port::Peer(_) | Port::Cube(_), _, Some(far)) => self.recv_far(&far, id, o),
            (Port::Pe(_) | Port::Peer(_) | Port::Cube(_), _, None) => Err(Fault::NoValue),
        }
    }
    /// How many messages have gone through a port, in a register of the whole kernel.
    fn messages(&mut self, port: Port, sends: bool) -> Reg {
        if let Some(count) = self.queues.counts.get(&(port, sends)) {
            return *count;
        }
        let count = self.body.at_entry(|body| body.mov(Ty::B32, Src::Imm(0)));
        self.queues.counts.insert((port, sends), count);
        count
    }
    /// One more message, in a queue of so many slots.
    fn one_more(&mut self, count: Reg, slots: u32) {
        self.body.emit(PtxOp::Bin { op: Bin::Add, ty: Ty::U32, d: count, a: count.into(), b: Src::Imm(1) });
        if !slots.is_power_of_two() {
            // The count starts over where slot and phase do.
            let round = u64::from(u32::MAX / (2 * slots) * (2 * slots));
            let over = self.body.setp(Cmp::Eq, Ty::U32, count, Src::Imm(round));
            self.body.emit(PtxOp::Selp { ty: Ty::B32, d: count, a: Src::Imm(0), b: count.into(), p: over });
        }
    }
    /// The slot that the next message takes, and the parity of how often all slots have been taken before.
    fn slot_of(&mut self, count: Reg, slots: u32) -> (Src, Reg) {
        let n = Src::Imm(u64::from(slots));
        let round = if slots == 1 {
            count
        } else if slots.is_power_of_two() {
            self.body.bin(Bin::Shr, Ty::U32, count, Src::Imm(u64::from(slots.ilog2())))
        } else {
            self.body.bin(Bin::Div, Ty::U32, count, n)
        };
        let parity = self.body.bin(Bin::And, Ty::B32, round, Src::Imm(1));
        let slot = match slots {
            1 => Src::Imm(0),
            n if n.is_power_of_two() => self.body.bin(Bin::And, Ty::B32, count, Src::Imm(u64::from(n - 1))).into(),
            _ => self.body.bin(Bin::Rem, Ty::U32, count, n).into(),
        };
        (slot, parity)
    }
    /// The number of a way to stop, as the host is told.
    pub(super) fn stop(&mut self, op: OpId, why: Why) -> usize {
        let stop = Stop { op, why };
        match self.stops.iter().position(|known| *known == stop) {
            Some(number) => number,
            None => {
                self.stops.push(stop);
                self.stops.len() - 1
            }
        }
    }
}

/// What became of a queue that was `asked` to be in a cluster's memory, with so many slots.
pub(super) fn remark(m: &Module, asked: Option<u32>, got: Option<u32>, (depth, slots): (u32, u32)) -> Option<Remark> {
    let text = match (asked, got) {
        (Some(_), None) => "goes through global memory: the slots of a queue do not fit shared memory".to_string(),
        (Some(_), Some(_)) if slots < depth => {
            format!("has {slots} slots for {depth} messages: more do not fit shared memory")
        }
        _ => return None,
    };
    let mut first = None;
    m.each_op(&mut |op| {
        if matches!(m.op(op).op, Op::Send(_)) {
            first = first.or(Some(op));
        }
    });
    Some(Remark::new("queues", Verdict::Declined, m, first?, text))
}

/// Marks what waits for others, or has something inside that does; the first message.
fn needs_others(m: &Module, region: RegionId, out: &mut [bool]) -> Option<OpId> {
    let mut first = None;
    for &op in &m.region(region).ops {
        let data = &m.op(op).op;
        if let Op::Send(_) | Op::Recv(_) = data {
            first = first.or(Some(op));
        }
        let mut inside = Vec::new();
        data.each_region(&mut |r| {
            first = first.or(needs_others(m, r, out));
            inside.extend(m.region(r).ops.iter().map(|op| out[op.index()]));
        });
        out[op.index()] = matches!(data, Op::Send(_) | Op::Recv(_) | Op::Barrier(_)) || inside.contains(&true);
    }
    first
}
