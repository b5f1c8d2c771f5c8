//! The baseline model against the golden figures: floats within 1e-9 relative, counts and labels exactly.

mod explore;
mod hardware;
mod library;
mod replication;
mod roofline;
mod stages;
mod suggest;
mod support;
