//! The `tilewright` binary as a user runs it.

mod banks;
mod bench;
mod cache;
mod codes;
mod command;
mod examples;
mod gpu;
mod limits;
mod outputs;
mod pages;
mod plan;
mod plan_files;
mod probe;
mod ptxas;
mod readme;
mod support;
mod sweep;
#[cfg(unix)]
mod terminal;
