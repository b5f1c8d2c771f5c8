//! All thread blocks of a launch, one after the other.

use crate::cta::{Cta, Setup};
use crate::decode::Entry;
use crate::fault::{Fault, Kind};
use crate::memory::Memory;

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub struct Launch<'l> {
    /// Thread blocks.
    pub blocks: u32,
    pub shared_bytes: u32,
    /// The parameter block.
    pub params: &'l [u8],
}

/// What a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of all threads together.
    pub steps: u64,
}
impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 20_000_000_000 }
    }
}

/// Runs a launch to its end; how many thread-instructions it took.
///
/// # Errors
/// What a GPU would refuse, or leave undefined.
pub fn run(entry: &Entry, launch: &Launch<'_>, memory: &mut Memory, limits: Limits) -> Result<u64, Fault> {
    if launch.params.len() != entry.param_bytes.min(launch.params.len().max(entry.param_bytes))
        && !launch.params.is_empty()
    {
        let kind = Kind::Params { expected: entry.param_bytes, found: launch.params.len() };
        return Err(Fault { kind, line: 0, statement: String::new(), thread: None });
    }
    let mut steps = 0;
    for block in 0..launch.blocks {
        let setup = Setup { entry, launch, block, limit: limits.steps };
        Cta::new(setup).run(memory, &mut steps)?;
    }
    Ok(steps)
}
