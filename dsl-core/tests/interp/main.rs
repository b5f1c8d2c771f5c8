//! The reference interpreter and the passes that call it, against oracles that share nothing with them.

mod support;

mod control;
mod examples;
mod memory;
mod scalar;
mod tiles;
