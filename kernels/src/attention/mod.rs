//! Device functions of the attention kernels. `partial.rs`: softmax partials and their merge. `group.rs`: the PEs that
//! share a KV head. `reduce.rs`: partials meet along lines of neighbours. `tier.rs`: which commands the model is given.

mod group;
mod partial;
mod reduce;
mod tier;

pub use group::{Group, PES_PER_CUBE};
pub use partial::Partial;
pub use reduce::{chain_reduce, reduce_line};
pub use tier::{Tier, attend, scores};
