//! The reference interpreter: it defines what every op means. `docs/meaning.md` is the table it implements.
//! `number.rs`: arithmetic on one element. `convert.rs`: casts. `elementwise.rs`: which op is which of these.
//! `scalar.rs`: one op on scalars, for every pass that needs a value. Not here: time (backend-sim).

pub mod convert;
#[allow(dead_code, unused_imports)] // tiles follow
mod elementwise;
#[allow(dead_code)]
mod number;
#[allow(dead_code)]
mod record;
pub mod scalar;

pub use record::{Record, RecordKind};
