//! What a reader is told of a timing run: where the numbers come from (`provenance`), and what every engine did or waited
//! for (`summary`). Rows are computed first, then drawn as text or as JSON; both show the same. Not here: the counters
//! (`engine::record`), the published tables (the CLI's sweeps).

mod provenance;
mod summary;

pub use crate::fidelity::Fidelity;
pub use provenance::{Hash, Provenance, SetField};
pub use summary::{ClassShare, EngineSummary, Percent, Spread, Summary};
