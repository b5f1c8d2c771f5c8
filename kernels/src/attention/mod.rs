//! Device functions of the attention kernels. `partial.rs`: softmax partials and their merge. `group.rs`: the PEs that
//! share a KV head, `mode.rs`: how many; `reduce.rs`: partials meet along lines of neighbours, `mesh.rs`: over cubes.
//! `tier.rs`: which commands the model is given. `params.rs`: what all these kernels are asked for, `case.rs`: how their launches
//! are made and checked.

pub(crate) mod case;
mod group;
mod mesh;
mod mode;
pub mod params;
mod partial;
mod reduce;
mod tier;

pub use group::{Group, PES_PER_CUBE, broadcast};
pub use mesh::{MAX_CUBES, MAX_SIPS, SubMesh, reduce_cubes};
pub use mode::{Heads, Mode};
pub use partial::Partial;
pub use reduce::{Owners, Reduce, chain_reduce, reduce_line, scatter_reduce};
pub use tier::{Tier, attend, scores};
