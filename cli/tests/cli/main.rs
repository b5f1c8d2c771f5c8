//! The `tilewright` binary as a user runs it.

mod command;
mod readme;
mod support;
mod sweep;
