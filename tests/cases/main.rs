//! Faults that users of comparable systems reported, tried through the language and the launch path on every target
//! that computes values: the interpreter, the simulator, PTX for each architecture on the emulator, and a GPU where there
//! is one. A test is named for the fact that holds here.
//!
//! | file | what |
//! |---|---|
//! | `numbers` | conversions, division, NaN, IEEE |
//! | `products` | precision, accumulators, odd lengths |
//! | `flow` | values of `if`, short circuits, loops of few turns, what a loop carries, axes of length 1 and 0 |
//! | `memory` | odd pitches, ragged edges, host arrays of any strides, atomics |
//! | `messages` | unequal trip counts, queue depths, barriers in branches, lines printed before a fault |
//! | `launches` | stale traces, grids, scalars of every type, scratch |
//! | `machines` | rates in machine files, degenerate machines |
//!
//! Tested elsewhere, and not repeated here: every code of fp8, every pair of a division, all products of odd sizes and
//! the table of meanings by text (`dsl-core/tests/interp`); names, aliases and macros around a kernel (`tests/lang`);
//! what rustc says to a mistake (`tests/ui`); attention (`kernels/tests/attention_cases.rs`, `tutorial_values.rs`); texts
//! of machine files (`backend-sim/tests/machine_errors.rs`, `machine_robust.rs`) and the ends of every field
//! (`every_field.rs`).
//!
//! `if` as a value of literals on a device condition, `&View`, `usize` parameters and other refusals are `tests/ui`;
//! waiting for scratch and reports of it are `backend-sim/tests/commands.rs`.
//!
//! Not to be written in the language yet: a tensor that starts inside its allocation (host tensors own theirs), a port
//! to the program itself by direction.

mod flow;
mod launches;
mod machines;
mod memory;
mod messages;
mod numbers;
mod products;
mod support;
