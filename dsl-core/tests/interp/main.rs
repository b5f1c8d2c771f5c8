//! The reference interpreter and the passes that call it, against oracles that share nothing with them.

mod support;

mod control;
mod examples;
mod meaning;
mod memory;
mod messages;
mod passes;
mod races;
mod races_oracle;
mod scalar;
mod tiles;
