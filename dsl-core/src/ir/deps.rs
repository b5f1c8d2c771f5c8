//! Which ops of a straight line must wait for which: the dependency graph of one region, shared by whatever reorders,
//! overlaps or checks ops (pipelining, command issue, race and deadlock checks).
//!
//! Nodes are the ops of the region in program order; an op with regions is one node that uses and does all that is
//! inside. Any order that keeps the edges means what program order means:
//! - *value*: a result is used, also by an op deeper inside;
//! - *memory*: two ops touch the view of one parameter and one of them changes it. Views are not told apart by index.
//!   Atomics on a view keep their order, too, since each rounds. A view that is read-only is never changed by anyone
//!   during a launch, so its loads are free;
//! - *queue*: messages of one port leave, and arrive, in program order. Sends and receives of different ports are free
//!   of each other: true for an executor that lets what is ready run while a receive waits; one that blocks must keep
//!   program order between them;
//! - *sync*: a barrier stands between everything before and behind it that touches memory which may change, queues, or
//!   is seen from outside;
//! - *observe*: what is seen from outside is seen in program order.
//!
//! Edges that follow from others of the same kind are left out, so their number is linear for straight code: a read
//! waits for the last change of its view, a change for the reads since. Not here: order between turns of a loop, which
//! is that of the loop op, and order between PEs.

use super::effects::Effects;
use super::module::{Def, Module, OpId, RegionId, ValueId};
use super::ops::Port;
use super::text::{OpTexts, value_names};
use super::types::Type;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Why an op waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It uses this value.
    Value(ValueId),
    /// Both touch the view of the parameter at this position.
    Memory(u32),
    /// Both put into this queue.
    Send(Port),
    /// Both take from this queue.
    Recv(Port),
    /// One of them is a barrier.
    Sync,
    /// Both are seen from outside.
    Observe,
}

/// `to` waits for `from`; both are positions in `Deps::ops`, `from` the smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub to: u32,
    pub from: u32,
    pub why: Why,
}

/// The dependency graph of one region.
#[derive(Clone, Debug)]
pub struct Deps {
    /// The nodes, in program order.
    pub ops: Vec<OpId>,
    /// What each node does.
    pub effects: Vec<Effects>,
    /// By `to`, then `from`.
    edges: Vec<Edge>,
}

impl Deps {
    /// The graph of a region of a verified module.
    pub fn of(m: &Module, region: RegionId) -> Deps {
        let ops = m.region(region).ops.clone();
        let effects: Vec<Effects> = ops.iter().map(|op| Effects::of(m, *op)).collect();
        let mut line = Line::new(m, &ops);
        for (i, effects) in effects.iter().enumerate() {
            line.node(i as u32, ops[i], effects);
        }
        line.edges.sort_unstable();
        line.edges.dedup();
        Deps { ops, effects, edges: line.edges }
    }
    /// All edges, by the op that waits.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }
    /// What the op at position `to` waits for.
    pub fn before(&self, to: usize) -> &[Edge] {
        let start = self.edges.partition_point(|e| (e.to as usize) < to);
        let len = self.edges[start..].partition_point(|e| e.to as usize == to);
        &self.edges[start..start + len]
    }
    /// One line an op, with what it waits for: `2: %b = add %a, 1 : i32  <- 0 %a`.
    pub fn text(&self, m: &Module) -> String {
        let (mut texts, names, mut out) = (OpTexts::new(m), value_names(m), String::new());
        for (i, op) in self.ops.iter().enumerate() {
            let _ = write!(out, "{i}: {}", texts.get(*op));
            for (n, edge) in self.before(i).iter().enumerate() {
                let _ = write!(out, "{} {} ", if n == 0 { "  <-" } else { "," }, edge.from);
                let _ = match edge.why {
                    Why::Value(v) => write!(out, "{}", names[v.index()]),
                    Why::Memory(p) => {
                        write!(out, "memory {}", m.params.get(p as usize).map_or("", |v| &names[v.index()]))
                    }
                    Why::Send(port) => write!(out, "send {port}"),
                    Why::Recv(port) => write!(out, "recv {port}"),
                    Why::Sync => write!(out, "sync"),
                    Why::Observe => write!(out, "observe"),
                };
            }
            out.push('\n');
        }
        out
    }
}

/// The walk along the line: for each thing that orders ops, who touched it last.
struct Line<'m> {
    m: &'m Module,
    position: FxHashMap<OpId, u32>,
    edges: Vec<Edge>,
    /// By parameter.
    memory: FxHashMap<u32, Touched>,
    queues: FxHashMap<Why, u32>,
    last_sync: Option<u32>,
    /// What a barrier waits for: the ops with effects since the last one.
    since_sync: Vec<u32>,
    last_observe: Option<u32>,
}

/// Who touched a view since its last change, that included.
#[derive(Default)]
struct Touched {
    changed: Option<u32>,
    read: Vec<u32>,
}

impl<'m> Line<'m> {
    fn new(m: &'m Module, ops: &[OpId]) -> Line<'m> {
        Line {
            m,
            position: ops.iter().enumerate().map(|(i, op)| (*op, i as u32)).collect(),
            edges: Vec::new(),
            memory: FxHashMap::default(),
            queues: FxHashMap::default(),
            last_sync: None,
            since_sync: Vec::new(),
            last_observe: None,
        }
    }
    fn edge(&mut self, from: Option<u32>, to: u32, why: Why) {
        self.edges.extend(from.map(|from| Edge { to, from, why }));
    }
    fn node(&mut self, i: u32, op: OpId, effects: &Effects) {
        self.values(i, op);
        self.memory(i, effects);
        for (ports, why) in [(&effects.sends, Why::Send as fn(Port) -> Why), (&effects.recvs, Why::Recv)] {
            for port in ports {
                let last = self.queues.insert(why(*port), i);
                self.edge(last, i, why(*port));
            }
        }
        if effects.observes {
            let last = self.last_observe.replace(i);
            self.edge(last, i, Why::Observe);
        }
        self.sync(i, effects);
    }
    /// The results of earlier nodes that the op, or an op inside it, uses.
    fn values(&mut self, i: u32, op: OpId) {
        let (m, mut used) = (self.m, Vec::new());
        let mut uses = |op: OpId| {
            m.op(op).op.each_operand(&mut |v| used.push(v));
            m.op(op).op.each_region(&mut |r| used.extend(&m.region(r).yields));
        };
        uses(op);
        m.op(op).op.each_region(&mut |r| m.walk(r, &mut uses));
        for v in used {
            if let Def::Result(maker, _) = m.def(v) {
                let from = self.position.get(&maker).copied().filter(|from| *from < i);
                self.edge(from, i, Why::Value(v));
            }
        }
    }
    fn memory(&mut self, i: u32, effects: &Effects) {
        let reads = effects.reads.iter().copied().filter(|p| is_writable(self.m, *p));
        for p in reads.collect::<Vec<_>>() {
            let view = self.memory.entry(p).or_default();
            view.read.push(i);
            let changed = view.changed;
            self.edge(changed, i, Why::Memory(p));
        }
        for p in effects.changes() {
            let view = self.memory.entry(p).or_default();
            let Touched { changed, read } = std::mem::replace(view, Touched { changed: Some(i), read: Vec::new() });
            // The reads have waited for the last change.
            let read: Vec<u32> = read.into_iter().filter(|r| *r != i).collect();
            if read.is_empty() {
                self.edge(changed, i, Why::Memory(p));
            }
            read.into_iter().for_each(|r| self.edge(Some(r), i, Why::Memory(p)));
        }
    }
    fn sync(&mut self, i: u32, effects: &Effects) {
        let memory = effects.changes().next().is_some() || effects.reads.iter().any(|p| is_writable(self.m, *p));
        let queues = !effects.sends.is_empty() || !effects.recvs.is_empty();
        if effects.sync.is_some() {
            let since = std::mem::take(&mut self.since_sync);
            // They have waited for the last barrier.
            let last = self.last_sync.replace(i).filter(|_| since.is_empty());
            self.edge(last, i, Why::Sync);
            since.into_iter().for_each(|from| self.edge(Some(from), i, Why::Sync));
        } else if memory || queues || effects.observes {
            self.edge(self.last_sync, i, Why::Sync);
            self.since_sync.push(i);
        }
    }
}

fn is_writable(m: &Module, param: u32) -> bool {
    match m.params.get(param as usize).map(|v| m.ty(*v)) {
        Some(Type::View(view)) => view.writable,
        Some(Type::Scalar(_) | Type::Tile(..)) | None => false,
    }
}
