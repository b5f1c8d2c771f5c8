//! Passes over modules: each takes a module and returns a new one that means the same in every run: the same bits in
//! memory, messages and prints. A pass may leave out a fault with the op that nothing needs; it never adds one.
//!
//! `expand`: a `map_reduce` turn by turn, for all who run a program step by step.
//! `for_timing`: what the simulator times, `expand`, scalar folding (`fold`) and dead code (`dce`) only: nothing there
//! merges, hoists or fuses tile ops. `optimise`: what compilers for other targets start from; adds `canonicalise` (with
//! `algebra`), `cse`, `licm`, and for targets that ask for it `ahead`. What each did, or why it did not, is in its remarks.
//! `facts`: what is known of every integer before a run. `bounds`: where each access is checked. Both are side tables.
//! Shared: `edit` (a module under change), `purity` (what may move or merge). Not here: what ops compute (`interp`).

mod ahead;
mod algebra;
pub mod bounds;
mod canonicalise;
mod cse;
mod dce;
mod edit;
mod expand;
pub mod facts;
mod fold;
mod licm;
mod purity;
mod remark;

pub use ahead::ahead;
pub use canonicalise::canonicalise;
pub use cse::cse;
pub use dce::dce;
pub use expand::{NO_TURN, expand};
pub use fold::fold;
pub use licm::licm;
pub use remark::{Remark, Verdict};

use crate::diag::Diagnostics;
use crate::ir::Module;
use crate::launch::Ready;
use bounds::{Checks, place_checks};
use facts::Known;

/// What the simulator times: the commands the author wrote, turn by turn, after scalar folding and without dead code.
pub fn for_timing(m: &Module) -> Module {
    let mut m = dce(&fold(&expand(m)));
    loop {
        let next = dce(&fold(&m));
        if next == m {
            return m;
        }
        m = next;
    }
}

/// What `optimise` may rely on, and what it must not leave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// What is known of the launches that the module is for. Nothing: it is for all of them.
    pub known: Known,
    /// Accesses whose bounds the kernel would check are errors, even where the kernel itself does not say
    /// `deny(in_kernel_checks)`.
    pub deny_in_kernel_checks: bool,
    /// Loads of loops with stages run one turn ahead (`ahead`).
    pub ahead: bool,
}

/// A module after the passes, and what they say.
#[derive(Clone, Debug)]
pub struct Optimised {
    pub module: Module,
    /// In the order of the passes; of repeated rounds, what was declined is told of the last one only.
    pub remarks: Vec<Remark>,
    /// Where the accesses of `module` are checked.
    pub checks: Checks,
}

/// Refuses a launch that would have its kernel check bounds although the kernel denies that.
///
/// # Errors
/// Every access that nothing known of the launch shows to be inside its view.
pub fn refuse_denied(launch: &Ready<'_>) -> Result<(), Diagnostics> {
    if !launch.module.deny.in_kernel_checks {
        return Ok(());
    }
    let options = Options { known: Known::of(launch), ..Options::default() };
    optimise(&launch.module, &options).map(|_| ())
}

/// Rounds of all passes; each removes or moves something, and few modules need more than three.
const MAX_ROUNDS: usize = 16;

/// Runs all passes until none finds anything more to do, then places the checks of bounds.
///
/// # Errors
/// The accesses that the kernel would check itself, if it or the options deny that.
pub fn optimise(m: &Module, options: &Options) -> Result<Optimised, Diagnostics> {
    let (mut module, mut remarks) = (fold(m), Vec::new());
    for _ in 0..MAX_ROUNDS {
        remarks.retain(|remark: &Remark| remark.verdict == Verdict::Applied);
        let before = module.clone();
        let mut run = |(next, said): (Module, Vec<Remark>)| {
            remarks.extend(said);
            next
        };
        module = run(canonicalise(&module));
        module = run(cse(&module));
        module = run(licm(&module, &options.known));
        module = dce(&fold(&module));
        if module == before {
            break;
        }
    }
    if options.ahead {
        let (next, said) = ahead(&module);
        remarks.extend(said);
        module = dce(&fold(&next));
    }
    let (checks, said) = place_checks(&module, &options.known);
    remarks.extend(said);
    if options.deny_in_kernel_checks || module.deny.in_kernel_checks {
        checks.denied(&module, &options.known)?;
    }
    Ok(Optimised { module, remarks, checks })
}
