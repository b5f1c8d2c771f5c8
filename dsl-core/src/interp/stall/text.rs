//! The words of a stall: each cause and each deadlock as one error, the same fault in many cubes as one.

use super::graph::{Graph, Knot, Place, place};
use super::{Leftover, Scene, Waiting, WaitsFor, codes};
use crate::diag::{Diagnostic, Diagnostics};
use crate::interp::errors::plural;
use crate::ir::OpId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Lines that one error shows of the parties, and of those behind them; one for each way of waiting is the rule.
const LINES: usize = 8;
/// Deadlocks of different kinds that are told.
const DEADLOCKS: usize = 8;

impl Scene<'_> {
    /// `cube 0, PE 1`, or `PE 1` where there is one cube.
    pub fn name(&self, program: usize) -> String {
        let (cube, pe) = (program / self.grid.pes.max(1), program % self.grid.pes.max(1));
        if self.grid.num_cubes() == Some(1) { format!("PE {pe}") } else { format!("cube {cube}, PE {pe}") }
    }
    /// Programs in few words: `PEs 0 to 2`, `PE 1 in 8 cubes`, `cube 0, PE 1 and 3 more`.
    pub fn names(&self, programs: &[usize]) -> String {
        let mut programs = programs.to_vec();
        programs.sort_unstable();
        programs.dedup();
        let Some(&first) = programs.first() else { return String::new() };
        let pes = self.grid.pes.max(1);
        let cubes: Vec<&[usize]> = programs.chunk_by(|a, b| a / pes == b / pes).collect();
        let in_cube = |cube: &[usize]| cube.iter().map(|p| p % pes).collect::<Vec<usize>>();
        let same = cubes.windows(2).all(|w| in_cube(w[0]) == in_cube(w[1]));
        match spans(&in_cube(cubes[0])) {
            Some(pes) if same && cubes.len() > 1 => format!("{pes} in {} cubes", cubes.len()),
            Some(pes) if same && self.grid.num_cubes() == Some(1) => pes,
            Some(of_cube) if same => format!("cube {}, {of_cube}", first / pes),
            Some(_) | None => format!("{} and {} more", self.name(first), programs.len() - 1),
        }
    }
    /// The other ends of what `programs` do, in the same order: `PE 0` where each means the PE 0 of its own cube.
    pub fn others(&self, programs: &[usize], others: &[usize]) -> String {
        let pes = self.grid.pes.max(1);
        let own_cube = programs.iter().zip(others).all(|(a, b)| a / pes == b / pes);
        let one_pe = others.windows(2).all(|w| w[0] % pes == w[1] % pes);
        match others {
            [first, _, ..] if own_cube && one_pe => format!("PE {}", first % pes),
            _ => self.names(others),
        }
    }
    fn at(&self, d: Diagnostic, op: OpId, text: String) -> Diagnostic {
        d.at(self.module, self.module.op(op).loc, text)
    }
}

/// PEs of a cube, ascending, as `PEs 0 to 2, 5`; `None` if that takes too many words.
fn spans(pes: &[usize]) -> Option<String> {
    let runs: Vec<&[usize]> = pes.chunk_by(|a, b| a + 1 == *b).collect();
    let words: Vec<String> = runs
        .iter()
        .map(|run| match run {
            [one] => one.to_string(),
            [first, second] => format!("{first}, {second}"),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        })
        .collect();
    let noun = if pes.len() == 1 { "PE" } else { "PEs" };
    (words.len() <= 4).then(|| format!("{noun} {}", words.join(", ")))
}

/// The errors of messages that are left when all programs have ended.
pub fn leftovers(scene: Scene<'_>, left: &[Leftover]) -> Diagnostics {
    let mut groups: BTreeMap<(OpId, Option<OpId>), Vec<&Leftover>> = BTreeMap::new();
    left.iter().for_each(|l| groups.entry((l.send, l.last_recv)).or_default().push(l));
    let mut out = Diagnostics::default();
    for ((send, last_recv), group) in groups {
        let count: u64 = group.iter().map(|l| l.count).sum();
        let (from, to): (Vec<usize>, Vec<usize>) = group.iter().map(|l| (l.from, l.to)).unzip();
        let text = format!("{} sent here, to {}", scene.names(&from), scene.others(&from, &to));
        let mut d =
            Diagnostic::new(codes::LEFTOVER, format!("{} never received", plural(count, "message is", "messages are")));
        d = scene.at(d, send, text);
        let reader = scene.others(&from, &to);
        d = match last_recv {
            Some(recv) => scene.at(d, recv, format!("{reader} received its last message here")),
            None => d.note(format!("{reader} receives nothing from this port")),
        };
        out.push(d.next("receive as many messages as are sent"));
    }
    out
}

/// One error for each line at which programs wait for one that has ended, and one for barriers.
pub(super) fn causes(scene: Scene<'_>, waiting: &[Waiting], graph: &Graph, out: &mut Diagnostics) {
    let mut groups: BTreeMap<(OpId, Option<OpId>, u64), Vec<usize>> = BTreeMap::new();
    for i in graph.causes() {
        let w = &waiting[i];
        let (other, count) = match w.on {
            WaitsFor::Message { last_send, received, .. } => (last_send, received),
            WaitsFor::Space { last_recv, received, .. } => (last_recv, received),
            WaitsFor::Barrier { .. } => (None, 0),
        };
        groups.entry((w.op, other, count)).or_default().push(i);
    }
    let mut free = graph.all_free();
    graph.causes().for_each(|i| free[i] = false);
    let late: Vec<(usize, Place, &[usize])> = graph.unreached().collect();
    let at_late = |w: &Waiting| match w.on {
        WaitsFor::Barrier { scope } => late.iter().any(|(_, key, _)| *key == place(scene.grid, scope, w.program)),
        WaitsFor::Message { .. } | WaitsFor::Space { .. } => false,
    };
    let there: Vec<usize> = (0..waiting.len()).filter(|i| at_late(&waiting[*i])).collect(); // ascending
    there.iter().for_each(|i| free[*i] = false);
    for group in groups.values() {
        let members: Vec<&Waiting> = group.iter().map(|i| &waiting[*i]).collect();
        let behind = graph.behind(group, &mut free);
        out.push(and_behind(scene, waiting, &behind, unmatched(scene, &members)));
    }
    if !late.is_empty() {
        let missing = |w: &Waiting| late.iter().any(|(_, _, missing)| missing.binary_search(&w.program).is_ok());
        let parties: Vec<usize> =
            (0..waiting.len()).filter(|i| there.binary_search(i).is_ok() || missing(&waiting[*i])).collect();
        let behind = graph.behind(&parties, &mut free);
        out.push(and_behind(scene, waiting, &behind, unreached(scene, waiting, &there, &late)));
    }
}

fn unmatched(scene: Scene<'_>, group: &[&Waiting]) -> Diagnostic {
    let (first, programs) = (group[0], group.iter().map(|w| w.program).collect::<Vec<_>>());
    let who = format!("{} {}", scene.names(&programs), wait(&programs));
    let others: Vec<usize> = group
        .iter()
        .map(|w| match w.on {
            WaitsFor::Message { from: other, .. } | WaitsFor::Space { to: other, .. } => other,
            WaitsFor::Barrier { .. } => w.program,
        })
        .collect();
    let (other, have) = (scene.others(&programs, &others), if others.len() == 1 { "has" } else { "each has" });
    match first.on {
        WaitsFor::Message { received, last_send, .. } => {
            let d = Diagnostic::new(codes::NO_SENDER, "recv waits for a message that is never sent");
            let d = scene.at(d, first.op, format!("{who} here for message {} from {other}", received + 1));
            let sent = plural(received, "message", "messages");
            let d = match last_send {
                Some(send) => scene.at(d, send, format!("{other} ended after {sent}, the last sent here")),
                None if received > 0 => d.note(format!("{other} {have} ended after {sent}")),
                None => d.note(format!("{other} {have} ended and sent nothing to this port")),
            };
            d.next("make both ends agree on the number of messages")
        }
        WaitsFor::Space { queued, received, last_recv, .. } => {
            let d = Diagnostic::new(codes::NO_RECEIVER, "send waits for space in a queue that nobody reads any more");
            let unread = plural(queued, "message is", "messages are");
            let d = scene.at(d, first.op, format!("{who} here, {unread} unread"));
            let got = plural(received, "message", "messages");
            let d = match last_recv {
                Some(recv) => scene.at(d, recv, format!("{other} ended after {got}, the last received here")),
                None if received > 0 => d.note(format!("{other} {have} ended after {got}")),
                None => d.note(format!("{other} {have} ended and received nothing from this port")),
            };
            d.next("receive as many messages as are sent")
        }
        // A barrier node carries the cause, never a program at it.
        WaitsFor::Barrier { .. } => Diagnostic::new(codes::BARRIER, "a barrier that not all programs reach"),
    }
}

/// All barriers with programs missing in one error: the same line in eight cubes is one fault. `there`: who waits at them.
fn unreached(scene: Scene<'_>, waiting: &[Waiting], there: &[usize], late: &[(usize, Place, &[usize])]) -> Diagnostic {
    let mut d = Diagnostic::new(codes::BARRIER, "a barrier that not all programs reach");
    let mut groups: BTreeMap<OpId, Vec<usize>> = BTreeMap::new();
    for w in there.iter().map(|i| &waiting[*i]) {
        groups.entry(w.op).or_default().push(w.program);
    }
    for (op, programs) in groups.iter().take(LINES) {
        d = scene.at(d, *op, format!("{} {} here", scene.names(programs), wait(programs)));
    }
    let waits: FxHashMap<usize, &Waiting> = waiting.iter().map(|w| (w.program, w)).collect();
    let missing: Vec<usize> = late.iter().flat_map(|(_, _, missing)| missing.iter().copied()).collect();
    let (elsewhere, ended): (Vec<usize>, Vec<usize>) = missing.into_iter().partition(|p| waits.contains_key(p));
    if !ended.is_empty() {
        d = d.note(format!("{} ended without reaching it", scene.names(&ended)));
    }
    if let Some(w) = elsewhere.first().and_then(|p| waits.get(p)) {
        d = scene.at(d, w.op, format!("{} {} elsewhere, here", scene.names(&elsewhere), wait(&elsewhere)));
    }
    d.next("let all programs of the scope pass the same number of barriers")
}

/// One error for each kind of deadlock, the shortest cycle first.
pub(super) fn deadlocks(scene: Scene<'_>, waiting: &[Waiting], graph: &Graph, out: &mut Diagnostics) {
    let mut free = graph.apart_from_causes();
    let groups = alike(scene, waiting, graph.knots(&free));
    groups.iter().flatten().flat_map(|knot| &knot.nodes).for_each(|i| free[*i] = false);
    for group in groups.iter().take(DEADLOCKS) {
        let seeds: Vec<usize> = group.iter().flat_map(|knot| knot.nodes.iter().copied()).collect();
        let mut behind = graph.behind(&seeds, &mut free);
        // Who is in the component and not on the cycle shown waits with the others.
        let aside = |knot: &&Knot| {
            let on_cycle = |i: &usize| knot.cycle.contains(i) || *i >= waiting.len();
            knot.nodes.iter().copied().filter(|i| !on_cycle(i)).collect::<Vec<_>>()
        };
        behind.extend(group.iter().flat_map(|knot| aside(&knot)));
        out.push(and_behind(scene, waiting, &behind, deadlock(scene, waiting, group)));
    }
    if let (Some(last), true) = (out.0.last_mut(), groups.len() > DEADLOCKS) {
        last.notes.push(format!("{} further kinds of deadlock are not shown", groups.len() - DEADLOCKS));
    }
}

/// Components whose cycles wait at the same lines by the same PEs of different cubes, together.
fn alike(scene: Scene<'_>, waiting: &[Waiting], knots: Vec<Knot>) -> Vec<Vec<Knot>> {
    let mut groups: Vec<Vec<Knot>> = Vec::new();
    let mut known: FxHashMap<Vec<(OpId, usize)>, usize> = FxHashMap::default();
    for knot in knots {
        let pes = scene.grid.pes.max(1);
        let signature = knot.cycle.iter().map(|i| (waiting[*i].op, waiting[*i].program % pes)).collect();
        let at = *known.entry(signature).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(knot);
    }
    groups
}

fn deadlock(scene: Scene<'_>, waiting: &[Waiting], group: &[Knot]) -> Diagnostic {
    let cycle: Vec<&Waiting> = group[0].cycle.iter().map(|i| &waiting[*i]).collect();
    let places = if group.len() > 1 { format!(", {} times alike", group.len()) } else { String::new() };
    let parties = plural(cycle.len() as u64, "program waits for itself", "programs wait for each other");
    let mut d = Diagnostic::new(codes::DEADLOCK, format!("deadlock: {parties}{places}"));
    // Programs at one line are one label.
    let mut lines: Vec<(OpId, &Waiting, Vec<usize>)> = Vec::new();
    for w in group.iter().flat_map(|knot| &knot.cycle).map(|i| &waiting[*i]) {
        match lines.iter_mut().find(|(op, ..)| *op == w.op) {
            Some((.., programs)) => programs.push(w.program),
            None => lines.push((w.op, w, vec![w.program])),
        }
    }
    for (op, first, programs) in lines.iter().take(LINES) {
        d = scene.at(d, *op, format!("{} {} here {}", scene.names(programs), wait(programs), waits_for(scene, first)));
    }
    let mut names: Vec<String> = cycle.iter().take(LINES).map(|w| scene.name(w.program)).collect();
    if cycle.len() > LINES {
        names.push("…".into());
    }
    names.extend(cycle.first().map(|w| scene.name(w.program)));
    d = d.note(format!("the cycle, each waits for the next: {}", names.join(" -> ")));
    let full = cycle.iter().any(|w| matches!(w.on, WaitsFor::Space { .. }));
    let at_barrier = cycle.iter().filter(|w| matches!(w.on, WaitsFor::Barrier { .. })).count();
    d.next(if full {
        "receive before sending more, or launch with a larger queue depth"
    } else if at_barrier == cycle.len() {
        "let all programs pass the same barriers in the same order"
    } else if at_barrier > 0 {
        "send before the barrier what others receive before it"
    } else {
        "let one of them send before it receives"
    })
}

/// Who waits behind the parties of an error, by line.
fn and_behind(scene: Scene<'_>, waiting: &[Waiting], behind: &[usize], mut d: Diagnostic) -> Diagnostic {
    let mut lines: BTreeMap<OpId, Vec<usize>> = BTreeMap::new();
    for w in behind.iter().map(|i| &waiting[*i]) {
        lines.entry(w.op).or_default().push(w.program);
    }
    for (op, programs) in lines.iter().take(LINES) {
        d = scene.at(d, *op, format!("{} {} here, behind these", scene.names(programs), wait(programs)));
    }
    let hidden: usize = lines.values().skip(LINES).map(Vec::len).sum();
    if hidden == 0 { d } else { d.note(format!("{hidden} further programs wait behind these")) }
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
