//! The examples of `docs/errors`: what triggers a code, what is said, what to write instead. Not here: the text on a code,
//! which stands with the code. A program's own codes have a text only.

const BOOK: &[&str] = &[
    include_str!("../../../../docs/errors/trace.md"),
    include_str!("../../../../docs/errors/ops.md"),
    include_str!("../../../../docs/errors/access.md"),
    include_str!("../../../../docs/errors/ir.md"),
    include_str!("../../../../docs/errors/messages.md"),
    include_str!("../../../../docs/errors/run.md"),
    include_str!("../../../../docs/errors/races.md"),
    include_str!("../../../../docs/errors/timing.md"),
    include_str!("../../../../docs/errors/machine.md"),
    include_str!("../../../../docs/errors/launch.md"),
    include_str!("../../../../docs/errors/gpu.md"),
    include_str!("../../../../docs/errors/planner.md"),
    include_str!("../../../../docs/errors/command.md"),
];

pub(super) struct Example {
    pub wrong: &'static str,
    pub message: &'static str,
    pub right: &'static str,
}

/// The example of a code, if the book has one.
pub(super) fn of(code: &str) -> Option<Example> {
    let entries = BOOK.iter().flat_map(|page| page.split("\n## ").skip(1));
    let (_, body) = entries.filter_map(|entry| entry.split_once('\n')).find(|(name, _)| *name == code)?;
    let mut blocks = blocks(body);
    Some(Example { wrong: blocks.next()?, message: blocks.next()?, right: blocks.next()? })
}

/// What stands between fences.
fn blocks(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n').map(|(_, body)| body))
}
