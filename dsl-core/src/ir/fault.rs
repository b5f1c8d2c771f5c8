//! What can be wrong with one op's operands, attributes and regions. One variant a fault, worded and coded here; the
//! tracer adds the user's line, the verifier the op's text.

use super::ops::Port;
use super::types::{Dims, Type};
use crate::elem::{Class, ElemType};
use std::fmt;

/// A rule of the IR that one op breaks.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// An operand has an element type outside the class the op works on.
    Class { operand: &'static str, found: Type, want: Class },
    /// Two operands of an elementwise op differ in type.
    Unlike { a: Type, b: Type },
    /// An operand is not of the kind the op takes.
    Operand { operand: &'static str, found: Type, want: &'static str },
    /// The mask of a select has another shape than its arms.
    Mask { mask: Type, arm: Type },
    /// A cast or bitcast changes the shape, or a bitcast the size.
    Convert { from: Type, to: Type, rule: &'static str },
    /// The axis is not one of the shape.
    Axis { axis: u32, ty: Type },
    /// A tile does not fit along an axis of another.
    Broadcast { from: Type, axis: u32, to: Type },
    /// A reshape changes the number of elements.
    Reshape { from: Type, to: Type },
    /// `rows` reaches past the last row, or changes more than the first length.
    Rows { from: Type, first: u32, to: Type },
    /// The inner lengths of a product differ.
    DotInner { a: Type, b: Type },
    /// The operands or the accumulator of a product do not go together.
    DotElem { a: ElemType, b: ElemType, acc: ElemType },
    /// The accumulator, or the result, has another shape than the product.
    DotShape { want: Dims, found: Type },
    /// tf32 is asked for operands that are not f32.
    Tf32 { found: ElemType },
    /// A view is indexed with another number of indices than it has axes.
    IndexCount { given: usize, view: Type },
    /// A tile has more axes than the view it is read from or written to.
    TileRank { tile: Type, view: Type },
    /// An element type differs from the view's.
    ViewElem { value: Type, view: Type },
    /// A store to a view that is read-only.
    ReadOnly { view: Type },
    /// A vector width or a count that must be a power of two, or above zero, is not.
    Number { what: &'static str, found: u64, want: &'static str },
    /// SIPs form a ring: they have no neighbours to the north or south.
    SipPort { port: Port },
    /// A region takes or yields other values than the op needs.
    Region { what: &'static str, want: Vec<Type>, found: Vec<Type> },
    /// A composite does not hold exactly one dot.
    CompositeDots { found: usize },
    /// A composite holds something that is not a tile op.
    CompositeOp { mnemonic: &'static str },
    /// A region that must compute on scalars only holds something else.
    CombineOp { mnemonic: &'static str },
    /// A region of a `map_reduce` does more than read and compute.
    MapReduceOp { mnemonic: &'static str, part: &'static str, place: String },
    /// The number of `{}` in a print format differs from the number of values.
    PrintCount { holes: usize, values: usize },
}

impl Fault {
    /// The code that `tilewright explain` knows.
    pub fn code(&self) -> &'static str {
        match self {
            Fault::Class { .. } => "TW-E0201",
            Fault::Unlike { .. } => "TW-E0202",
            Fault::Operand { .. } => "TW-E0203",
            Fault::Mask { .. } => "TW-E0204",
            Fault::Convert { .. } => "TW-E0205",
            Fault::Axis { .. } => "TW-E0206",
            Fault::Broadcast { .. } => "TW-E0207",
            Fault::Reshape { .. } => "TW-E0208",
            Fault::Rows { .. } => "TW-E0209",
            Fault::DotInner { .. } => "TW-E0210",
            Fault::DotElem { .. } => "TW-E0211",
            Fault::DotShape { .. } => "TW-E0212",
            Fault::Tf32 { .. } => "TW-E0213",
            Fault::IndexCount { .. } => "TW-E0214",
            Fault::TileRank { .. } => "TW-E0215",
            Fault::ViewElem { .. } => "TW-E0216",
            Fault::ReadOnly { .. } => "TW-E0217",
            Fault::Number { .. } => "TW-E0218",
            Fault::SipPort { .. } => "TW-E0219",
            Fault::Region { .. } => "TW-E0220",
            Fault::CompositeDots { .. } => "TW-E0221",
            Fault::CompositeOp { .. } => "TW-E0222",
            Fault::CombineOp { .. } => "TW-E0223",
            Fault::PrintCount { .. } => "TW-E0224",
            Fault::MapReduceOp { .. } => "TW-E0225",
        }
    }
    /// What to write instead.
    pub fn next(&self) -> &'static str {
        match self {
            Fault::Class { .. } | Fault::DotElem { .. } | Fault::ViewElem { .. } => {
                "convert with `.cast::<..>()` to an element type that fits"
            }
            Fault::Unlike { .. } => "give both the same element type (`.cast::<..>()`) and the same lengths",
            Fault::Operand { .. } => "docs/ir.md shows how each op is written",
            Fault::Mask { .. } => "compare tiles of the same shape as the two arms",
            Fault::Convert { .. } => "use `.reshape` for another shape, `.cast` for another size",
            Fault::Axis { .. } => "axes count from 0, outermost first",
            Fault::Broadcast { .. } => "a vector joins a matrix as `.col()` (one value a row) or `.row()`",
            Fault::Reshape { .. } => "keep the product of the lengths",
            Fault::Rows { .. } => "the rows must lie inside the tile",
            Fault::DotInner { .. } => "a product is `[M, K] . [K, N]`; `.trans()` exchanges the axes",
            Fault::DotShape { .. } => "the accumulator of `[M, K] . [K, N]` is `[M, N]`",
            Fault::Tf32 { .. } => "ask for tf32 on f32 operands only",
            Fault::IndexCount { .. } => "write one index per axis of the view",
            Fault::TileRank { .. } => "a tile lies along the trailing axes of the view",
            Fault::ReadOnly { .. } => "take the parameter as `ViewMut<..>`",
            Fault::Number { .. } => "choose a number in the range named",
            Fault::SipPort { .. } => "use `Dir::East` or `Dir::West` between SIPs",
            Fault::Region { .. } => "make the region take and yield these types",
            Fault::CompositeDots { .. } => "wrap one product in each composite",
            Fault::CompositeOp { .. } => "move it before or after the composite",
            Fault::CombineOp { .. } => "combine two scalars with arithmetic only",
            Fault::MapReduceOp { part: "merge", .. } => {
                "load in the body; the merge computes on two of its values only"
            }
            Fault::MapReduceOp { .. } => "move it before or behind the map_reduce, or write a `for`",
            Fault::PrintCount { .. } => "write one `{}` for each value",
        }
    }
}

struct List<'a>(&'a [Type]);
impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, t) in self.0.iter().enumerate() {
            write!(f, "{}{t}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Class { operand, found, want } => write!(f, "`{operand}` is {found}, the op needs {want}"),
            Fault::Unlike { a, b } => write!(f, "these operands differ: {a} and {b}"),
            Fault::Operand { operand, found, want } => write!(f, "`{operand}` is {found}, expected {want}"),
            Fault::Mask { mask, arm } => write!(f, "the mask is {mask}, the arms are {arm}"),
            Fault::Convert { from, to, rule } => write!(f, "{from} cannot become {to}: {rule}"),
            Fault::Axis { axis, ty } => write!(f, "{ty} has no axis {axis}"),
            Fault::Broadcast { from, axis, to } => write!(f, "{from} does not fit along axis {axis} of {to}"),
            Fault::Reshape { from, to } => write!(f, "{from} and {to} differ in their number of elements"),
            Fault::Rows { from, first, to } => write!(f, "{to} from row {first} on does not lie inside {from}"),
            Fault::DotInner { a, b } => write!(f, "the inner lengths differ: {a} and {b}"),
            Fault::DotElem { a, b, acc } => write!(f, "a product of {a} and {b} cannot be accumulated in {acc}"),
            Fault::DotShape { want, found } => write!(f, "the product has shape {want}, found {found}"),
            Fault::Tf32 { found } => write!(f, "tf32 is a precision of f32 products, the operands are {found}"),
            Fault::IndexCount { given, view } => write!(f, "{given} indices for {view}"),
            Fault::TileRank { tile, view } => write!(f, "{tile} does not lie in {view}: it has more axes"),
            Fault::ViewElem { value, view } => write!(f, "{value} does not have the element type of {view}"),
            Fault::ReadOnly { view } => write!(f, "{view} is read-only"),
            Fault::Number { what, found, want } => write!(f, "{what} is {found}, expected {want}"),
            Fault::SipPort { port } => {
                write!(f, "{port}: SIPs form a ring and have neighbours to the east and west only")
            }
            Fault::Region { what, want, found } => write!(f, "{what}: expected {}, found {}", List(want), List(found)),
            Fault::CompositeDots { found } => write!(f, "a composite holds exactly one dot, this one has {found}"),
            Fault::CompositeOp { mnemonic } => {
                write!(f, "a composite is a straight line of tile ops, `{mnemonic}` cannot be inside")
            }
            Fault::CombineOp { mnemonic } => {
                write!(f, "a combine works on scalars only, `{mnemonic}` cannot be inside")
            }
            Fault::MapReduceOp { mnemonic, part, place } => {
                write!(
                    f,
                    "the {part} of a map_reduce may run anywhere and in any order, `{mnemonic}` at {place} cannot be inside"
                )
            }
            Fault::PrintCount { holes, values } => write!(f, "the format has {holes} `{{}}` for {values} values"),
        }
    }
}
