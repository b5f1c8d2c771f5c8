//! The kernel language, end to end: kernels traced to IR, their locations and names, and what errors say.

mod author;
mod bounds;
mod constructs;
mod faults;
mod flow;
mod hygiene;
mod instances;
mod kernels;
mod map_reduce;
mod ops;
