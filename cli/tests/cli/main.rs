//! The `tilewright` binary as a user runs it.

mod command;
mod support;
mod sweep;
