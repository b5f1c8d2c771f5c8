//! What a pass says about an op: what it did, or why it left the op as it is.

use crate::ir::loc::Place;
use crate::ir::{Module, OpId};
use std::fmt;

/// Whether a pass changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Applied,
    /// The pass looked at the op and left it; the remark's text says why.
    Declined,
}

/// One remark of one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The pass, in lower case: `cse`.
    pub pass: &'static str,
    pub verdict: Verdict,
    /// The mnemonic of the op.
    pub op: &'static str,
    /// The place of the op, then the calls it was inlined at, innermost first; empty if none is known.
    pub at: Vec<Place>,
    pub text: String,
}

impl Remark {
    /// A remark about `op` of `m`.
    pub fn new(pass: &'static str, verdict: Verdict, m: &Module, op: OpId, text: impl Into<String>) -> Remark {
        let data = m.op(op);
        Remark { pass, verdict, op: data.op.mnemonic(), at: m.locs.chain(data.loc), text: text.into() }
    }
}

/// One line: `k.rs:3:5: licm: applied: exp moved before the loop`.
impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.at.first() {
            write!(f, "{place}: ")?;
        }
        let verdict = match self.verdict {
            Verdict::Applied => "applied",
            Verdict::Declined => "declined",
        };
        write!(f, "{}: {verdict}: {} {}", self.pass, self.op, self.text)?;
        self.at.iter().skip(1).try_for_each(|place| write!(f, ", inlined at {place}"))
    }
}
