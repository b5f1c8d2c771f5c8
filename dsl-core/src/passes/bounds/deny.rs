//! Kernels that refuse checks of bounds while they run, and what a kernel's author can do about an access that has one.

use super::{Check, Checks, Placement, checked_access};
use crate::diag::{CodePage, Diagnostic, Diagnostics};
use crate::ir::{Module, Op, OpId};
use crate::passes::edit::place;
use crate::passes::facts::Known;

const IN_KERNEL: &str = "TW-E0250";

/// The page of `deny(in_kernel_checks)`, for `tilewright explain`.
pub const CODES: &[CodePage] = &[CodePage {
    code: IN_KERNEL,
    title: "an access checks its bounds in the kernel",
    page: "The kernel says `#[kernel(deny(in_kernel_checks))]`, so every access has to be shown inside its view before the \
           run: when it is compiled, or from the numbers of the launch. For this one that fails; the note says which \
           inequality is missing. Where the index comes from data (an element of a tensor, a message, a value carried by \
           a loop), nothing before the run can know it.\n\nWhat helps, in this order:\n\n- `load_or`, `store_inside` and, \
           for tiles of which a part exists, `limit`: they need no check;\n- a loop over the index in place of a carried \
           one: `for i in (0..x.len(Axis::<0>)).step_by(8)`;\n- a condition around the access, \
           `if i >= 0 && i < x.len(Axis::<0>) { .. }`; for a tile of 8 `i <= x.len(Axis::<0>) - 8`, since `i + 8` could \
           wrap;\n- a length that is a multiple: `if x.len(Axis::<0>) % 8 == 0 { .. }` around a loop in steps of 8;\n- \
           `minimum` and `maximum` on the index;\n- to allow checks: remove the `deny`.\n\n\
           `tilewright ir KERNEL --stage optimised --remarks` says of every access where it is checked.",
}];

impl Checks {
    /// # Errors
    /// Every access that the kernel would check itself; of one launch, also those whose check by the host fails.
    pub fn denied(&self, m: &Module, known: &Known) -> Result<(), Diagnostics> {
        let one_launch = known.is_one_launch(m);
        let refused = self.0.iter().filter(|check| match check.placement {
            Placement::Proved => false,
            Placement::AtLaunch => one_launch,
            Placement::Hoisted { .. } | Placement::InPlace => true,
        });
        Diagnostics(refused.map(|check| denied(m, check)).collect()).finish()
    }
}

fn denied(m: &Module, check: &Check) -> Diagnostic {
    let data = m.op(check.op);
    let access = data.op.mnemonic();
    let (headline, when) = match check.placement {
        Placement::AtLaunch => (
            format!("for this launch, the kernel would have to check the bounds of this {access}"),
            "the numbers of the launch do not show it inside".to_string(),
        ),
        Placement::Hoisted { before } => (
            format!("this {access} checks its bounds in the kernel"),
            format!("checked once before the loop at {}", place(m, before)),
        ),
        Placement::InPlace | Placement::Proved => {
            (format!("this {access} checks its bounds in the kernel"), "checked whenever it runs".to_string())
        }
    };
    let d = Diagnostic::new(IN_KERNEL, headline).at(m, data.loc, when);
    let d = match check.origin {
        Some(from) => d.at(m, m.op(from).loc, format!("it depends on {}", kind(m, from))),
        None => d,
    };
    d.note(format!("not shown: {}", check.condition)).next(remedy(m, check.op))
}

/// What an author can write in place of an access that is checked.
pub(super) fn remedy(m: &Module, op: OpId) -> &'static str {
    let is_tile = checked_access(m, op).is_some_and(|(_, ty)| ty.is_tile());
    match &m.op(op).op {
        Op::Load(_) if is_tile => "use `load_or`, or put it into an `if` that says this of the index",
        Op::Store(_) if is_tile => "use `store_inside`, or put it into an `if` that says this of the index",
        _ => "put it into an `if` that says this of the index, or clamp the index with `minimum` and `maximum`",
    }
}

/// What makes a number that only the run knows.
fn kind(m: &Module, op: OpId) -> String {
    match m.op(op).op {
        Op::For(_) | Op::While(_) => "a value that this loop carries".to_string(),
        Op::MapReduce(_) => "what this map_reduce merges".to_string(),
        Op::If(_) => "what this `if` yields".to_string(),
        Op::Load(_) => "the element that this reads".to_string(),
        Op::Recv(_) => "the message that this receives".to_string(),
        _ => format!("this {}", m.op(op).op.mnemonic()),
    }
}

/// The same in a sentence about another line.
pub(super) fn source(m: &Module, op: OpId) -> String {
    let at = place(m, op);
    match m.op(op).op {
        Op::For(_) | Op::While(_) => format!("a value that the loop at {at} carries"),
        _ => format!("the {} at {at}", m.op(op).op.mnemonic()),
    }
}
