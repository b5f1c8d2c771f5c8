//! What the check before a run says in words of its own. Codes 0330 to 0339; faults that a run meets too have its codes.

use super::abstract_run::Outcome;
use super::{Remark, Shape, Sufficient};
use crate::diag::{CodePage, Diagnostic, Label};
use crate::interp::stall::{Scene, WaitsFor};
use crate::interp::{self, Halt};
use crate::ir::OpId;
use std::collections::BTreeMap;

const CAPACITY: &str = "TW-E0330";

/// The codes of the check, for `tilewright explain`.
pub const CODES: &[CodePage] = &[CodePage {
    code: CAPACITY,
    title: "the queues are too small",
    page: "Sends and receives match, but at the depth of this launch programs wait for space in full queues until none can \
           go on. The depth is the number of messages a queue holds; the error names the smallest one that suffices, \
           which was tried. Launch with it (`.queue_depth(n)`, `--queue-depth n`), or receive before sending more. \
           Example: two PEs that each send three messages to the other and then receive three need a depth of 3.",
}];

/// The launch sticks at its depth, and would not with `enough`; `None`: what would suffice takes too long to find.
pub(super) fn capacity(shape: &Shape<'_>, bounded: &Outcome<'_>, enough: Option<&Sufficient>) -> Diagnostic {
    const LINES: usize = 8;
    let (scene, depth) = (shape.scene(), shape.depth);
    let headline = match enough {
        Some(enough) => format!("the queues are too small: depth {depth} -> {} suffices", enough.all),
        None => format!("the queues are too small at depth {depth}"),
    };
    let mut d = Diagnostic::new(CAPACITY, headline);
    let mut lines: BTreeMap<OpId, Vec<(usize, usize)>> = BTreeMap::new();
    for w in bounded.waits_for_space() {
        if let WaitsFor::Space { to, .. } = w.on {
            lines.entry(w.op).or_default().push((w.program, to));
        }
    }
    for (op, pairs) in lines.iter().take(LINES) {
        let (from, to): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
        let wait = if from.len() == 1 { "waits" } else { "wait" };
        let text = format!("{} {wait} here for space in the queue to {}", scene.names(&from), scene.others(&from, &to));
        d = d.at(&shape.module, shape.module.op(*op).loc, text);
    }
    if lines.len() > LINES {
        d = d.note(format!("and at {} further lines", lines.len() - LINES));
    }
    match enough {
        Some(enough) => {
            let needs: Vec<String> = enough.ports.iter().map(|(port, depth)| format!("{port}: {depth}")).collect();
            let d = if needs.is_empty() { d } else { d.note(format!("needed by port: {}", needs.join(", "))) };
            d.next(format!("launch with `--queue-depth {}`, or receive before sending more", enough.all))
        }
        None => d.note("which depth suffices takes too long to find").next("receive before sending more"),
    }
}

/// A fault that stopped programs; `sent_later`: where, and by whom, the message that they expect is sent.
pub(super) fn halted(
    scene: Scene<'_>,
    op: OpId,
    halt: &Halt,
    programs: &[usize],
    sent_later: Option<(OpId, usize)>,
) -> Diagnostic {
    let d = interp::halted(scene, op, halt, programs);
    match sent_later {
        Some((send, from)) => {
            let text = format!("{} sends a message of that type only here", scene.name(from));
            d.at(scene.module, scene.module.op(send).loc, text).next("receive in the order of the sends")
        }
        None => d,
    }
}

pub(super) fn data(scene: Scene<'_>, op: OpId, programs: &[usize]) -> Remark {
    let text = format!(
        "what {} send and receive from this `{}` on depends on data; its messages are checked when they are sent",
        scene.names(programs),
        scene.module.op(op).op.mnemonic()
    );
    remark(scene, op, text)
}
pub(super) fn limit(scene: Scene<'_>, op: OpId, steps: u64) -> Remark {
    let text = format!("messages are not checked before the run: it takes more than {steps} steps, which end here");
    remark(scene, op, text)
}
pub(super) fn search_gave_up(shape: &Shape<'_>) -> Remark {
    Remark { text: format!("depth {} does not suffice; which does takes too long to find", shape.depth), at: None }
}
pub(super) fn too_many_programs(shape: &Shape<'_>) -> Remark {
    Remark { text: format!("messages of so many programs are not checked before the run: {}", shape.grid), at: None }
}
fn remark(scene: Scene<'_>, op: OpId, text: String) -> Remark {
    let mut chain = scene.module.locs.chain(scene.module.op(op).loc).into_iter();
    let at = chain.next().map(|place| Label { place, text: String::new(), inlined_at: chain.collect() });
    Remark { text, at }
}
