//! The `tilewright` binary as a user runs it.

mod codes;
mod command;
mod readme;
mod support;
mod sweep;
