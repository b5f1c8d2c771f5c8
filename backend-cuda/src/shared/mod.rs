//! Shared memory of a CTA: where each buffer lies, and the barriers that order its threads' accesses. Both are passes over
//! the instructions of a complete kernel, so that no lowering has to think of what comes before or after it.

mod barriers;
mod places;
mod plan;

pub use barriers::place_barriers;
pub use plan::{Plan, plan};
