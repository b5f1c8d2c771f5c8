//! What a run leaves besides the values in its tensors. `records.rs`: faults that did not stop it. `prints.rs`: lines.
//! `meeting.rs`: who waited in vain.

pub mod meeting;
pub mod prints;
mod records;

pub use records::{Place, Slot, records_of};
