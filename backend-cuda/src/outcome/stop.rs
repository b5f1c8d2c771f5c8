//! Programs that end before their end: they leave word of where in their line of the meeting area, and the host tells it in
//! the words of the interpreter.

use super::meeting;
use crate::talk::{channel, kinds};
use std::collections::BTreeMap;
use tilewright_core::diag::{Diagnostic, Diagnostics};
use tilewright_core::interp::stall::{self, Leftover, Scene, Waiting, WaitsFor};
use tilewright_core::interp::{Halt, Mesh, NoLink, halted};
use tilewright_core::ir::ops::{Port, Scope};
use tilewright_core::ir::{Module, Op, OpId};

/// Where and why a program may end before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    pub op: OpId,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The others did not come.
    Barrier,
    /// The next message did not come.
    Message,
    /// None of so many slots became free.
    Space { slots: u32 },
    /// The port leads to nobody.
    Link(NoLink),
    /// Who is at the other end receives nothing from here.
    Unread,
    /// The next message is of another type.
    Kind,
}

/// A program that ended, and how many messages had gone through the port by then, or are unread, or of which kind the
/// next is.
struct Ended {
    program: usize,
    stop: Stop,
    messages: u64,
}

/// What the lines of the area say; `stops`: as the code numbers them.
pub fn told(scene: Scene<'_>, stops: &[Stop], area: &[u8]) -> Diagnostics {
    let ended = ended(stops, area);
    let (mut out, mut left) = (Diagnostics::default(), Vec::new());
    let mut links: BTreeMap<(OpId, bool), Vec<usize>> = BTreeMap::new();
    for Ended { program, stop, messages } in &ended {
        match stop.why {
            Why::Link(why) => links.entry((stop.op, why == NoLink::ToItself)).or_default().push(*program),
            Why::Unread => left.extend(unread(scene, *program, stop.op, *messages)),
            Why::Kind => out.0.extend(other_kind(scene, *program, stop.op, *messages)),
            Why::Barrier | Why::Message | Why::Space { .. } => {}
        }
    }
    for ((op, to_itself), programs) in &links {
        let why = if *to_itself { NoLink::ToItself } else { NoLink::OffMesh };
        out.push(halted(scene, *op, &Halt::Link(why), programs));
    }
    let waiting: Vec<Waiting> = ended.iter().filter_map(|ended| waiting(scene, ended)).collect();
    // Nothing is known of what those would have done that a fault of their own ended.
    let waits = |program: usize| waiting.iter().any(|w| w.program == program);
    let open: Vec<usize> = ended.iter().map(|ended| ended.program).filter(|program| !waits(*program)).collect();
    let mut stalled = stall::report_apart_from(scene, &waiting, &open);
    stalled.0.iter_mut().for_each(|d| d.notes.push(meeting::NOTE.to_string()));
    out.0.extend(stalled.0);
    // Messages are left behind whoever stops, which is no fault of theirs.
    if out.is_empty() { stall::leftovers(scene, &left) } else { out }
}

fn ended(stops: &[Stop], area: &[u8]) -> Vec<Ended> {
    let lines = area.chunks_exact(meeting::LINE as usize).skip(1).enumerate();
    let at = |(program, line): (usize, &[u8])| {
        let field = |at: i64| -> Option<u32> {
            let at = (at - meeting::LINE as i64) as usize;
            line.get(at..at + 4)?.try_into().map(u32::from_le_bytes).ok()
        };
        let number = field(meeting::WAITS_AT)?.checked_sub(1)?;
        let stop = *stops.get(number as usize)?;
        Some(Ended { program, stop, messages: field(meeting::MESSAGES)?.into() })
    };
    lines.filter_map(at).collect()
}

fn waiting(scene: Scene<'_>, ended: &Ended) -> Option<Waiting> {
    let (m, op) = (scene.module, ended.stop.op);
    let link = |port: Port| Mesh::default().link(scene.grid, ended.program, port).ok();
    let on = match (ended.stop.why, &m.op(op).op) {
        (Why::Barrier, Op::Barrier(o)) => WaitsFor::Barrier { scope: o.scope },
        (Why::Message, Op::Recv(o)) => {
            let (from, back) = link(o.port)?;
            WaitsFor::Message { port: o.port, from, received: ended.messages, last_send: only(m, back, true) }
        }
        (Why::Space { slots }, Op::Send(o)) => {
            let (to, back) = link(o.port)?;
            let queued = u64::from(slots);
            let received = ended.messages.saturating_sub(queued);
            WaitsFor::Space { port: o.port, to, queued, received, last_recv: only(m, back, false) }
        }
        _ => return None,
    };
    Some(Waiting { program: ended.program, op, on })
}
fn unread(scene: Scene<'_>, program: usize, op: OpId, count: u64) -> Option<Leftover> {
    let Op::Send(o) = &scene.module.op(op).op else { return None };
    let (to, back) = Mesh::default().link(scene.grid, program, o.port).ok()?;
    Some(Leftover { from: program, to, count, send: op, last_recv: only(scene.module, back, false) })
}
fn other_kind(scene: Scene<'_>, program: usize, op: OpId, kind: u64) -> Option<Diagnostic> {
    let m = scene.module;
    let Op::Recv(o) = &m.op(op).op else { return None };
    let (from, back) = Mesh::default().link(scene.grid, program, o.port).ok()?;
    let sent = *kinds(m, channel(o.port, false)).get(kind as usize)?;
    let mut send = None;
    m.each_op(&mut |op| match &m.op(op).op {
        Op::Send(o) if o.port == back && m.ty(o.value) == sent => send = send.or(Some(op)),
        _ => {}
    });
    Some(halted(scene, op, &Halt::MessageType { sent, send: send?, from }, &[program]))
}
/// The op that sends to a port, or receives from it, if there is one alone: then it is where the last message went through.
fn only(m: &Module, port: Port, sends: bool) -> Option<OpId> {
    let mut found = Vec::new();
    m.each_op(&mut |op| match &m.op(op).op {
        Op::Send(o) if sends && o.port == port => found.push(op),
        Op::Recv(o) if !sends && o.port == port => found.push(op),
        _ => {}
    });
    if let [op] = found[..] { Some(op) } else { None }
}

/// Whether programs of this grid meet in global memory, and so have to run at the same time.
pub(crate) fn meets(m: &Module, stop: &Stop, pes: usize) -> bool {
    match (&m.op(stop.op).op, stop.why) {
        (Op::Barrier(o), Why::Barrier) => o.scope == Scope::Launch || pes > 1,
        _ => false,
    }
}
