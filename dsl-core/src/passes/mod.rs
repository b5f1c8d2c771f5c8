//! Passes over modules: each takes a module and returns a new one with the same values in every run. Scalar folding and
//! the removal of dead code only; nothing here merges, hoists or fuses tile ops. Not here: what ops compute (`interp`).

mod dce;
mod fold;

pub use dce::dce;
pub use fold::fold;

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
