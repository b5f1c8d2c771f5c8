//! Programs that can no longer go on: who waits where, for whom, and why in vain. Facts in, errors out, so that the
//! simulator reports the same faults in the same words.
//!
//! Some wait for a program that has ended: those are the causes, and who waits behind them is only counted. All others
//! wait for each other in cycles. Not here: whether a larger depth would do.

use super::errors::{self, codes};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::ops::{Port, Scope};
use crate::ir::{Module, OpId};
use crate::launch::Grid;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A program that waits when none can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub program: usize,
    /// The `send`, `recv` or `barrier` it waits at.
    pub op: OpId,
    pub on: WaitsFor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The next message of a queue.
    Message {
        port: Port,
        from: usize,
        /// Messages taken from this queue so far.
        received: u64,
        /// Where the last of them was sent.
        last_send: Option<OpId>,
    },
    /// Space in a full queue.
    Space {
        port: Port,
        to: usize,
        /// Messages in the queue.
        queued: u64,
        /// Messages taken from this queue so far, the last of them here.
        received: u64,
        last_recv: Option<OpId>,
    },
    Barrier {
        scope: Scope,
    },
}

/// Messages of one queue that nobody received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub from: usize,
    pub to: usize,
    pub count: u64,
    /// Where the first of them was sent.
    pub send: OpId,
    pub last_recv: Option<OpId>,
}

/// Where the errors happened: the module and how programs are named.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'m> {
    pub module: &'m Module,
    pub grid: Grid,
}

impl Scene<'_> {
    /// `cube 0, PE 1`, or `PE 1` where there is one cube.
    pub fn name(&self, program: usize) -> String {
        let (cube, pe) = (program / self.grid.pes.max(1), program % self.grid.pes.max(1));
        if self.grid.num_cubes() == Some(1) { format!("PE {pe}") } else { format!("cube {cube}, PE {pe}") }
    }
    /// The first, and how many more.
    pub fn names(&self, programs: &[usize]) -> String {
        match programs {
            [] => String::new(),
            [one] => self.name(*one),
            [first, rest @ ..] => format!("{} and {} more", self.name(*first), rest.len()),
        }
    }
    fn at(&self, d: Diagnostic, op: OpId, text: String) -> Diagnostic {
        d.at(self.module, self.module.op(op).loc, text)
    }
}

/// The errors of a launch in which no program can go on. `waiting`: all programs that have not ended.
pub fn report(scene: Scene<'_>, waiting: &[Waiting]) -> Diagnostics {
    let graph = Graph::of(scene.grid, waiting);
    let behind = graph.behind_a_cause();
    let stuck: Vec<usize> = (0..waiting.len()).filter(|i| !behind[*i]).collect();
    let mut out = Diagnostics::default();
    causes(scene, waiting, &graph, &mut out);
    let caused: FxHashSet<usize> = graph.causes().collect();
    let further = (0..waiting.len()).filter(|i| behind[*i] && !caused.contains(i)).count();
    if let (Some(last), true) = (out.0.last_mut(), further > 0) {
        last.notes.push(format!("{further} further programs wait behind these"));
    }
    if !stuck.is_empty() {
        out.push(deadlock(scene, waiting, &graph, &stuck));
    }
    out
}

/// The errors of messages that are left when all programs have ended.
pub fn leftovers(scene: Scene<'_>, left: &[Leftover]) -> Diagnostics {
    let mut groups: BTreeMap<(OpId, Option<OpId>), Vec<&Leftover>> = BTreeMap::new();
    left.iter().for_each(|l| groups.entry((l.send, l.last_recv)).or_default().push(l));
    let mut out = Diagnostics::default();
    for ((send, last_recv), group) in groups {
        let count: u64 = group.iter().map(|l| l.count).sum();
        let (from, to): (Vec<usize>, Vec<usize>) = group.iter().map(|l| (l.from, l.to)).unzip();
        let text = format!("{} sent here, to {}", scene.names(&from), scene.name(to[0]));
        let mut d = Diagnostic::new(
            codes::LEFTOVER,
            format!("{} never received", errors::plural(count, "message is", "messages are")),
        );
        d = scene.at(d, send, text);
        d = match last_recv {
            Some(recv) => scene.at(d, recv, format!("{} received its last message here", scene.name(to[0]))),
            None => d.note(format!("{} receives nothing from this port", scene.name(to[0]))),
        };
        out.push(d.next("receive as many messages as are sent"));
    }
    out
}

/// Who waits for whom. Nodes: the waiting programs, then the barriers that some of them wait at.
struct Graph {
    /// By node: the nodes it waits for.
    next: Vec<Vec<usize>>,
    /// By node: whether it waits for a program that has ended.
    cause: Vec<bool>,
    waiting: usize,
    /// By barrier (`None`: of the launch): the programs that are not there.
    missing: BTreeMap<Option<usize>, Vec<usize>>,
}

impl Graph {
    fn of(grid: Grid, waiting: &[Waiting]) -> Graph {
        let index: FxHashMap<usize, usize> = waiting.iter().enumerate().map(|(i, w)| (w.program, i)).collect();
        let mut missing: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for w in waiting {
            if let WaitsFor::Barrier { scope } = w.on {
                missing.entry(barrier(grid, scope, w.program)).or_default();
            }
        }
        for (key, programs) in &mut missing {
            let scope = if key.is_some() { Scope::Cube } else { Scope::Launch };
            let members = super::queues::Barriers::members(grid, scope, key.unwrap_or(0) * grid.pes);
            let there = |p: &usize| {
                index.get(p).is_some_and(|i| matches!(waiting[*i].on, WaitsFor::Barrier { scope: s } if s == scope))
            };
            programs.extend(members.filter(|p| !there(p)));
        }
        let keys: Vec<Option<usize>> = missing.keys().copied().collect();
        let mut g = Graph { next: Vec::new(), cause: Vec::new(), waiting: waiting.len(), missing };
        for w in waiting {
            let target = match w.on {
                WaitsFor::Message { from, .. } => index.get(&from).copied(),
                WaitsFor::Space { to, .. } => index.get(&to).copied(),
                WaitsFor::Barrier { scope } => {
                    let key = barrier(grid, scope, w.program);
                    keys.binary_search(&key).ok().map(|k| waiting.len() + k)
                }
            };
            g.cause.push(target.is_none());
            g.next.push(target.into_iter().collect());
        }
        for key in &keys {
            let programs = g.missing.get(key).map_or(&[][..], Vec::as_slice);
            let live: Vec<usize> = programs.iter().filter_map(|p| index.get(p).copied()).collect();
            g.cause.push(live.len() < programs.len());
            g.next.push(live);
        }
        g
    }
    fn causes(&self) -> impl Iterator<Item = usize> {
        // Who waits at a barrier that is a cause is told with it.
        (0..self.waiting)
            .filter(|i| self.cause[*i] || self.next[*i].iter().any(|k| *k >= self.waiting && self.cause[*k]))
    }
    /// By node: whether a cause is at or before it.
    fn behind_a_cause(&self) -> Vec<bool> {
        let mut waits_for_me = vec![Vec::new(); self.next.len()];
        for (i, next) in self.next.iter().enumerate() {
            next.iter().for_each(|j| waits_for_me[*j].push(i));
        }
        let mut behind = self.cause.clone();
        let mut work: Vec<usize> = (0..behind.len()).filter(|i| behind[*i]).collect();
        while let Some(i) = work.pop() {
            for &j in &waits_for_me[i] {
                if !std::mem::replace(&mut behind[j], true) {
                    work.push(j);
                }
            }
        }
        behind
    }
    /// The shortest of the cycles that following the first thing each waits for leads to.
    fn cycle(&self, stuck: &[usize]) -> Vec<usize> {
        let mut seen_in: Vec<Option<usize>> = vec![None; self.next.len()];
        let mut best: Vec<usize> = Vec::new();
        for &start in stuck {
            let (mut path, mut at) = (Vec::new(), start);
            while seen_in[at].is_none() {
                seen_in[at] = Some(start);
                path.push(at);
                match self.next[at].first() {
                    Some(next) => at = *next,
                    None => break,
                }
            }
            if seen_in[at] == Some(start)
                && let Some(from) = path.iter().position(|n| *n == at)
                && (best.is_empty() || path.len() - from < best.len())
            {
                best = path.split_off(from);
            }
        }
        best
    }
}

fn barrier(grid: Grid, scope: Scope, program: usize) -> Option<usize> {
    match scope {
        Scope::Cube => Some(program / grid.pes.max(1)),
        Scope::Launch => None,
    }
}

/// One error for each line at which programs wait for one that has ended, and each barrier.
fn causes(scene: Scene<'_>, waiting: &[Waiting], graph: &Graph, out: &mut Diagnostics) {
    let mut groups: BTreeMap<(OpId, Option<OpId>), Vec<&Waiting>> = BTreeMap::new();
    for (w, _) in waiting.iter().zip(&graph.cause).filter(|(_, cause)| **cause) {
        let other = match w.on {
            WaitsFor::Message { last_send, .. } => last_send,
            WaitsFor::Space { last_recv, .. } => last_recv,
            WaitsFor::Barrier { .. } => None,
        };
        groups.entry((w.op, other)).or_default().push(w);
    }
    groups.values().for_each(|group| out.push(unmatched(scene, group)));
    let late: Vec<(&Option<usize>, &Vec<usize>)> =
        graph.missing.iter().zip(&graph.cause[graph.waiting..]).filter(|(_, cause)| **cause).map(|(b, _)| b).collect();
    if !late.is_empty() {
        out.push(unreached(scene, waiting, &late));
    }
}

fn unmatched(scene: Scene<'_>, group: &[&Waiting]) -> Diagnostic {
    let (first, programs) = (group[0], group.iter().map(|w| w.program).collect::<Vec<_>>());
    let who = format!("{} {}", scene.names(&programs), wait(&programs));
    match first.on {
        WaitsFor::Message { from, received, last_send, .. } => {
            let d = Diagnostic::new(codes::NO_SENDER, "recv waits for a message that is never sent");
            let d = scene.at(d, first.op, format!("{who} here for message {} from {}", received + 1, scene.name(from)));
            let sent = errors::plural(received, "message", "messages");
            let d = match last_send {
                Some(send) => scene.at(d, send, format!("{} ended after {sent}, the last sent here", scene.name(from))),
                None => d.note(format!("{} has ended and sent nothing to this port", scene.name(from))),
            };
            d.next("make both ends agree on the number of messages")
        }
        WaitsFor::Space { to, queued, received, last_recv, .. } => {
            let d = Diagnostic::new(codes::NO_RECEIVER, "send waits for space in a queue that nobody reads any more");
            let unread = errors::plural(queued, "message is", "messages are");
            let d = scene.at(d, first.op, format!("{who} here, {unread} unread"));
            let got = errors::plural(received, "message", "messages");
            let d = match last_recv {
                Some(recv) => {
                    scene.at(d, recv, format!("{} ended after {got}, the last received here", scene.name(to)))
                }
                None => d.note(format!("{} has ended and received nothing from this port", scene.name(to))),
            };
            d.next("receive as many messages as are sent")
        }
        // A barrier node carries the cause, never a program at it.
        WaitsFor::Barrier { .. } => Diagnostic::new(codes::BARRIER, "a barrier that not all programs reach"),
    }
}

/// All barriers with programs missing in one error: the same line in eight cubes is one fault.
fn unreached(scene: Scene<'_>, waiting: &[Waiting], late: &[(&Option<usize>, &Vec<usize>)]) -> Diagnostic {
    let mut d = Diagnostic::new(codes::BARRIER, "a barrier that not all programs reach");
    let mut groups: BTreeMap<OpId, Vec<usize>> = BTreeMap::new();
    for w in waiting {
        if let WaitsFor::Barrier { scope } = w.on
            && late.iter().any(|(key, _)| **key == barrier(scene.grid, scope, w.program))
        {
            groups.entry(w.op).or_default().push(w.program);
        }
    }
    for (op, programs) in &groups {
        d = scene.at(d, *op, format!("{} {} here", scene.names(programs), wait(programs)));
    }
    let waits: FxHashMap<usize, &Waiting> = waiting.iter().map(|w| (w.program, w)).collect();
    let missing: Vec<usize> = late.iter().flat_map(|(_, missing)| missing.iter().copied()).collect();
    let (elsewhere, ended): (Vec<usize>, Vec<usize>) = missing.into_iter().partition(|p| waits.contains_key(p));
    if !ended.is_empty() {
        d = d.note(format!("{} ended without reaching it", scene.names(&ended)));
    }
    if let Some(w) = elsewhere.first().and_then(|p| waits.get(p)) {
        d = scene.at(d, w.op, format!("{} {} elsewhere, here", scene.names(&elsewhere), wait(&elsewhere)));
    }
    d.next("let all programs of the scope pass the same number of barriers")
}

/// Lines that a deadlock shows; one for each way of waiting is the rule.
const LINES: usize = 8;

fn deadlock(scene: Scene<'_>, waiting: &[Waiting], graph: &Graph, stuck: &[usize]) -> Diagnostic {
    let cycle: Vec<&Waiting> = graph.cycle(stuck).into_iter().filter_map(|i| waiting.get(i)).collect();
    let mut d = Diagnostic::new(codes::DEADLOCK, format!("deadlock: {} programs wait for each other", stuck.len()));
    let in_cycle: FxHashSet<usize> = cycle.iter().map(|w| w.program).collect();
    let rest = stuck.iter().map(|i| &waiting[*i]).filter(|w| !in_cycle.contains(&w.program));
    // The cycle's lines first; programs at one line are one label.
    let mut groups: Vec<(OpId, &Waiting, Vec<usize>)> = Vec::new();
    for w in cycle.iter().copied().chain(rest) {
        match groups.iter_mut().find(|(op, ..)| *op == w.op) {
            Some((.., programs)) => programs.push(w.program),
            None => groups.push((w.op, w, vec![w.program])),
        }
    }
    for (op, first, programs) in groups.iter().take(LINES) {
        d = scene.at(d, *op, format!("{} {} here {}", scene.names(programs), wait(programs), waits_for(scene, first)));
    }
    if !cycle.is_empty() {
        let mut names: Vec<String> = cycle.iter().take(LINES).map(|w| scene.name(w.program)).collect();
        if cycle.len() > LINES {
            names.push("…".into());
        }
        names.push(scene.name(cycle[0].program));
        d = d.note(format!("the cycle, each waits for the next: {}", names.join(" -> ")));
    }
    let full = cycle.iter().any(|w| matches!(w.on, WaitsFor::Space { .. }));
    d.next(if full {
        "receive before sending more, or launch with a larger queue depth"
    } else {
        "let one of them send before it receives"
    })
}
fn wait(programs: &[usize]) -> &'static str {
    if programs.len() == 1 { "waits" } else { "wait" }
}
fn waits_for(scene: Scene<'_>, w: &Waiting) -> String {
    match w.on {
        WaitsFor::Message { from, port, .. } => format!("for a message from {} ({port})", scene.name(from)),
        WaitsFor::Space { to, port, queued, .. } => {
            format!("for space in the queue to {} ({port}, depth {queued})", scene.name(to))
        }
        WaitsFor::Barrier { scope } => format!("at a barrier of the {scope}"),
    }
}
