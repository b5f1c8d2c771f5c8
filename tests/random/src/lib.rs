//! Inputs at random, for the property tests of the core and for the fuzzers.
//!
//! `source`: the stream of choices, from bytes or from a seed. `text`: damage to a text. `module`: well-typed modules.
//! `damage`: modules that no builder makes. `launch`: arguments for any module, and what a run of it leaves.

mod damage;
mod launch;
mod module;
mod source;
mod text;

pub use damage::damage;
pub use launch::{FAULTS_THAT_GO_ON, Given, Ran, run, run_on, steps_after};
pub use module::{Purpose, module};
pub use source::Source;
pub use text::TIR_WORDS;
