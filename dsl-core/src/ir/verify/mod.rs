//! The verifier: says everything that is wrong with a module, whoever made it.
//!
//! Rules, and where they are checked:
//! - `arena.rs`, each group stops the check, since what follows relies on it:
//!   - types and constants can be written as text (tile size, ranks, canonical bits);
//!   - every id points into its arena;
//!   - every op stands in one region once, every region belongs to one op once, values and their makers name each
//!     other, parameters are the first values;
//!   - everything is reachable from the body; at most `MAX_OPS` ops and `MAX_NESTING` nested regions.
//! - here, all of them reported together:
//!   - parameters are scalars or views;
//!   - the body takes and yields nothing;
//!   - every op has a location;
//!   - every op follows its row of the op table (`ir::ops::rules`: operands, attributes, ports, what regions take and
//!     yield), and its recorded result types are those of the rule.
//! - `scope.rs`: every operand and every yielded value is made before its use, in a region that is still open.
//!
//! Not checked: that the arenas are in text order, which only equality of modules needs (`Builder::finish` makes it so);
//! what a launch or a machine adds (queue peers, scratch, bounds).

mod arena;
mod errors;
#[cfg(test)]
mod mutations;
mod scope;

use crate::diag::{CodePage, Diagnostic, Diagnostics};
use crate::ir::fault::Fault;
use crate::ir::loc::LocId;
use crate::ir::module::{Module, OpId};
use crate::ir::text::OpTexts;
use crate::ir::types::Type;
use errors::Broken;

/// The verifier's pages for `tilewright explain`.
pub const CODES: &[CodePage] = errors::CODES;

/// Errors that are told in full; a broken file of a million ops has no more readers than this.
const MAX_REPORTED: usize = 1000;

/// Checks all rules.
///
/// # Errors
/// Everything that is wrong: code, location with the calls it was inlined at, the op's text. Takes any module without
/// panic, also one whose arenas were changed at random. At most 1000 errors are listed.
pub fn verify(m: &Module) -> Result<(), Diagnostics> {
    arena::check(m)?;
    let mut cx = Checker { m, texts: OpTexts::new(m), found: Diagnostics::default() };
    params(&mut cx);
    body(&mut cx);
    m.each_op(&mut |op| {
        location(&mut cx, op);
        types(&mut cx, op);
    });
    scope::check(&mut cx);
    cx.found.finish()
}

/// What the checks of a module with sound arenas share.
struct Checker<'m> {
    m: &'m Module,
    texts: OpTexts<'m>,
    found: Diagnostics,
}

impl Checker<'_> {
    fn report(&mut self, d: Diagnostic) {
        if self.found.0.len() < MAX_REPORTED {
            self.found.push(d);
        }
    }
    /// Reports a rule that `op` breaks, with its place and text; `more` adds the other parties' places.
    fn at_op(&mut self, op: OpId, broken: &Broken, label: &str, more: impl FnOnce(Diagnostic) -> Diagnostic) {
        let text = self.texts.get(op);
        let d = Diagnostic::new(broken.code(), broken.to_string()).at(self.m, self.m.op(op).loc, label);
        self.report(more(d).note(format!("the op: {text}")).next(broken.next()));
    }
    fn fault(&mut self, op: OpId, fault: &Fault) {
        let (text, data) = (self.texts.get(op), self.m.op(op));
        let d = Diagnostic::new(fault.code(), format!("{}: {fault}", data.op.mnemonic())).at(self.m, data.loc, "");
        self.report(d.note(format!("the op: {text}")).next(fault.next()));
    }
}

fn params(cx: &mut Checker<'_>) {
    for &p in &cx.m.params {
        if let ty @ Type::Tile(..) = cx.m.ty(p) {
            let broken = Broken::Param { name: cx.texts.value(p), ty };
            cx.report(module_wide(cx.m, &broken));
        }
    }
}

fn body(cx: &mut Checker<'_>) {
    let body = cx.m.region(cx.m.body);
    for (what, found) in [("take", body.args.len()), ("yield", body.yields.len())] {
        if found > 0 {
            cx.report(module_wide(cx.m, &Broken::Body { what, found }));
        }
    }
}

fn location(cx: &mut Checker<'_>, op: OpId) {
    if cx.m.locs.get(cx.m.op(op).loc).is_none() {
        cx.at_op(op, &Broken::NoLocation, "", |d| d);
    }
}

fn types(cx: &mut Checker<'_>, op: OpId) {
    let data = cx.m.op(op);
    match data.op.result_types(cx.m) {
        Err(fault) => cx.fault(op, &fault),
        Ok(expected) => {
            let recorded: Vec<Type> = data.results.iter().map(|v| cx.m.ty(v)).collect();
            if recorded != expected {
                cx.at_op(op, &Broken::ResultTypes { recorded, expected }, "", |d| d);
            }
        }
    }
}

/// An error of no single op, at the first place of the kernel that is known.
fn module_wide(m: &Module, broken: &Broken) -> Diagnostic {
    let first = m.ops.iter().map(|op| op.loc).find(|loc| m.locs.get(*loc).is_some());
    Diagnostic::new(broken.code(), broken.to_string())
        .at(m, first.unwrap_or(LocId::UNKNOWN), "the kernel begins here")
        .note(format!("in kernel `{}`", m.name))
        .next(broken.next())
}
