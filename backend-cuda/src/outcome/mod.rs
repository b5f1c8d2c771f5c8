//! What a run leaves besides the values in its tensors. `records.rs`: faults that did not stop it. `prints.rs`: lines.
//! `meeting.rs`: where programs meet, and leave word of themselves. `stop.rs`: who ended before the end.

pub mod meeting;
pub mod prints;
mod records;
mod stop;

pub use records::{Place, Slot, records_of};
pub(crate) use stop::meets;
pub use stop::{Stop, Why, told};
