//! Passes over modules: each takes a module and returns a new one that means the same in every run: the same bits in
//! memory, messages and prints. A pass may leave out a fault with the op that nothing needs; it never adds one.
//!
//! `for_timing`: what the simulator times, scalar folding (`fold`) and dead code (`dce`) only: nothing there merges,
//! hoists or fuses tile ops. `optimise`: what compilers for other targets start from; adds `canonicalise` (with
//! `algebra`), `cse`, `licm`. What each did, or why it did not, is in its remarks.
//! Shared: `edit` (a module under change), `purity` (what may move or merge). Not here: what ops compute (`interp`).

mod algebra;
mod canonicalise;
mod cse;
mod dce;
mod edit;
mod fold;
mod licm;
mod purity;
mod remark;

pub use canonicalise::canonicalise;
pub use cse::cse;
pub use dce::dce;
pub use fold::fold;
pub use licm::licm;
pub use remark::{Remark, Verdict};

use crate::ir::Module;

/// What the simulator times: the commands the author wrote, after scalar folding and without dead code.
pub fn for_timing(m: &Module) -> Module {
    let mut m = dce(&fold(m));
    loop {
        let next = dce(&fold(&m));
        if next == m {
            return m;
        }
        m = next;
    }
}

/// A module after the passes, and what they say.
#[derive(Clone, Debug)]
pub struct Optimised {
    pub module: Module,
    /// In the order of the passes; of repeated rounds, what was declined is told of the last one only.
    pub remarks: Vec<Remark>,
}

/// Rounds of all passes; each removes or moves something, and few modules need more than three.
const MAX_ROUNDS: usize = 16;

/// Runs all passes until none finds anything more to do.
pub fn optimise(m: &Module) -> Optimised {
    let mut out = Optimised { module: fold(m), remarks: Vec::new() };
    for _ in 0..MAX_ROUNDS {
        out.remarks.retain(|remark| remark.verdict == Verdict::Applied);
        let before = out.module.clone();
        for pass in [canonicalise, cse, licm] {
            let (module, remarks) = pass(&out.module);
            out.module = module;
            out.remarks.extend(remarks);
        }
        out.module = dce(&fold(&out.module));
        if out.module == before {
            break;
        }
    }
    out
}
