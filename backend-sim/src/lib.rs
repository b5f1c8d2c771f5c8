//! The AHBM model: a machine file, placement of tensors, and a discrete-event engine that times the commands a kernel
//! issues. Values come from the core's reference interpreter; this crate adds time. Model, not validated on hardware.

pub mod cases;
pub mod cost;
pub mod engine;
pub mod fidelity;
pub mod machine;
pub mod placement;
pub mod report;
pub mod timing;
pub mod units;

use tilewright_core::diag::CodePage;

/// The pages of this crate's error codes, a table per module.
pub const CODES: &[&[CodePage]] = &[machine::CODES, placement::CODES, timing::CODES];
