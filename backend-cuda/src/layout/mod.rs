//! Which thread holds which element of a tile, in which register (PTX.md 12). Side tables of the compiler: a tile's type
//! says nothing of it. `reg.rs`: one layout. `product.rs`: those of matrix products. `infer.rs`: a layout for every tile of a
//! module. `convert.rs`: how the elements get from one layout to another; `linear.rs`: the algebra behind it;
//! `row.rs`: or rows of it on their way to another CTA.
//! `swizzle.rs`: where the elements lie in shared memory on their way. `describe.rs`: all of this as text.

mod convert;
mod describe;
mod infer;
mod linear;
mod product;
mod reg;
mod row;
mod swizzle;

pub use convert::{Conversion, Shuffled, conversion, turned};
pub use describe::describe;
pub use infer::{Layouts, Team, cut_layout, infer, is_anew};
pub(crate) use product::sides;
pub use product::{Atom, Product, Warps};
pub use reg::{Coord, RegLayout, without_axis};
pub use row::{RowOut, row_out};
pub use swizzle::{Swizzle, wavefronts};
