//! The tile IR: values, ops and regions of one kernel; the op table; building, checking, printing and reading it.
//! Program order of one PE is the meaning. Not here: what ops compute (`interp`), and any backend.

pub mod builder;
pub mod codes;
pub mod deps;
pub mod effects;
pub mod fault;
pub mod literal;
pub mod loc;
pub mod module;
pub mod ops;
pub mod text;
pub mod types;
pub mod verify;

pub use builder::Builder;
pub use deps::Deps;
pub use effects::Effects;
pub use fault::Fault;
pub use literal::{Element, Literal};
pub use loc::{Loc, LocId, Locs};
pub use module::{Arenas, Def, Deny, Module, OpData, OpId, Region, RegionId, Results, Value, ValueId};
pub use ops::{Effect, Op};
pub use types::{Dims, MAX_NESTING, MAX_OPS, MAX_RANK, MAX_TILE_ELEMS, Space, Type, ViewType};
pub use verify::verify;
