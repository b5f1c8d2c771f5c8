//! What a run leaves besides the values in its tensors. `records.rs`: faults that did not stop it.

mod records;

pub use records::{Place, Slot, records_of};
