//! The rules of a whole module: one variant a rule, worded and coded here. What one op's operands and attributes can
//! break is in `ir::fault`.

use crate::diag::CodePage;
use crate::elem::ElemType;
use crate::ir::types::{MAX_NESTING, MAX_OPS, MAX_TILE_ELEMS, Type};
use std::fmt;

/// A rule that a module breaks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Broken {
    /// An id points behind the end of its arena.
    Dangling {
        holder: &'static str,
        id: u32,
        count: usize,
    },
    /// An op is not in exactly one region.
    OpPlaces {
        found: u32,
    },
    /// A region is not owned by exactly one op.
    RegionOwners {
        region: u32,
        found: u32,
    },
    /// A value does not point back to what holds it, or nothing holds it.
    BackReference {
        value: u32,
        holder: &'static str,
    },
    /// An op or region cannot be reached from the kernel's body.
    Unreachable {
        what: &'static str,
        count: usize,
    },
    TooManyOps {
        found: usize,
    },
    TooDeep,
    /// A type that no text can say.
    Malformed {
        value: u32,
        why: &'static str,
    },
    /// A constant whose type is not that of its bits, or with bits its element does not have.
    Constant {
        elem: ElemType,
        ty: Type,
    },
    /// The recorded result types are not those that follow from the op.
    ResultTypes {
        recorded: Vec<Type>,
        expected: Vec<Type>,
    },
    /// A value is used behind the region it was made in, which belongs to an op with this mnemonic.
    Outside {
        region_of: &'static str,
    },
    /// A value is used before, or inside, the op that makes it.
    Before {
        inside: bool,
    },
    Param {
        name: String,
        ty: Type,
    },
    /// The kernel's body takes or yields values.
    Body {
        what: &'static str,
        found: usize,
    },
    NoLocation,
}

impl Broken {
    pub fn code(&self) -> &'static str {
        match self {
            Broken::Dangling { .. } => "TW-E0240",
            Broken::OpPlaces { .. }
            | Broken::RegionOwners { .. }
            | Broken::BackReference { .. }
            | Broken::Unreachable { .. } => "TW-E0241",
            Broken::TooManyOps { .. } | Broken::TooDeep => "TW-E0242",
            Broken::Malformed { .. } | Broken::Constant { .. } => "TW-E0243",
            Broken::ResultTypes { .. } => "TW-E0244",
            Broken::Outside { .. } => "TW-E0245",
            Broken::Before { .. } => "TW-E0246",
            Broken::Param { .. } => "TW-E0247",
            Broken::Body { .. } => "TW-E0248",
            Broken::NoLocation => "TW-E0249",
        }
    }
    /// What to write instead.
    pub fn next(&self) -> &'static str {
        match self {
            Broken::Dangling { .. }
            | Broken::OpPlaces { .. }
            | Broken::RegionOwners { .. }
            | Broken::BackReference { .. }
            | Broken::Unreachable { .. }
            | Broken::Malformed { .. }
            | Broken::Constant { .. } => "build modules with `ir::Builder`, which keeps this true",
            Broken::TooManyOps { .. } => "loop on the device instead of unrolling",
            Broken::TooDeep => "nest fewer `if`, `for` and `while`",
            Broken::ResultTypes { .. } => "give the op the result type named first",
            Broken::Outside { region_of: "if" } => "let both arms of the `if` yield it",
            Broken::Outside { .. } => "carry the value through the loop, or yield it",
            Broken::Before { .. } => "move the op that makes it up",
            Broken::Param { .. } => "pass a view, and load the tile in the kernel",
            Broken::Body { .. } => "store results to a `view_mut` parameter",
            Broken::NoLocation => "give every op a location with `Locs::intern`",
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Dangling { holder, id, count } => write!(f, "{holder} has id {id}, there are {count}"),
            Broken::OpPlaces { found } => write!(f, "an op must stand in one region, once; this one stands in {found}"),
            Broken::RegionOwners { region, found } => {
                write!(f, "a region must belong to one op, once; region {region} belongs to {found}")
            }
            Broken::BackReference { value, holder } => {
                write!(f, "value {value} and {holder} do not name each other")
            }
            Broken::Unreachable { what, count } => write!(f, "{count} {what} cannot be reached from the kernel's body"),
            Broken::TooManyOps { found } => write!(f, "a kernel has at most {MAX_OPS} ops, this one has {found}"),
            Broken::TooDeep => write!(f, "regions nest deeper than {MAX_NESTING}"),
            Broken::Malformed { value, why } => write!(f, "the type of value {value} is malformed: {why}"),
            Broken::Constant { elem, ty } => write!(f, "a constant of {ty} holds bits that are not a canonical {elem}"),
            Broken::ResultTypes { recorded, expected } => {
                write!(f, "the op makes {}, but is recorded as {}", List(expected), List(recorded))
            }
            Broken::Outside { region_of: "if" } => f.write_str("a value made inside this `if` arm is used after it"),
            Broken::Outside { region_of } => write!(f, "a value made inside this `{region_of}` is used after it"),
            Broken::Before { inside: false } => write!(f, "a value is used before the op that makes it"),
            Broken::Before { inside: true } => write!(f, "a value is used inside the op that makes it"),
            Broken::Param { name, ty } => write!(f, "parameter `{name}` is {ty}: a parameter is a scalar or a view"),
            Broken::Body { what, found } => write!(f, "the kernel's body must {what} nothing, it does {found} values"),
            Broken::NoLocation => f.write_str("the op has no source location"),
        }
    }
}

struct List<'a>(&'a [Type]);
impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no result");
        }
        for (i, ty) in self.0.iter().enumerate() {
            write!(f, "{}{ty}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Why a type cannot be written, if it cannot.
pub(super) fn malformed(ty: Type) -> Option<&'static str> {
    match ty {
        Type::Scalar(_) => None,
        Type::Tile(_, d) if d.rank() == 0 => Some("a tile has 1 to 4 axes"),
        Type::Tile(_, d) if d.as_slice().contains(&0) => Some("a tile has lengths above zero"),
        Type::Tile(_, d) if d.elems_checked().is_none_or(|n| n > MAX_TILE_ELEMS) => {
            Some("a tile has at most 4194304 elements")
        }
        Type::Tile(..) => None,
        Type::View(v) => {
            let rank = v.rank as usize;
            let behind = |list: &[Option<u32>]| list.iter().skip(rank).any(Option::is_some);
            match () {
                () if rank == 0 || rank > v.dims.len() => Some("a view has 1 to 4 axes"),
                () if behind(&v.dims) || behind(&v.strides) => Some("a view has no lengths behind its last axis"),
                () => None,
            }
        }
    }
}

/// The codes of the verifier.
pub(super) const CODES: &[CodePage] = &[
    CodePage {
        code: "TW-E0240",
        title: "an id of the IR points to nothing",
        page: "A module keeps its values, ops and regions in arenas and refers to them by number. A number behind the \
               end of its arena means that a pass or a tool built the module by hand and left a part out. The text \
               form cannot express this; build modules with `ir::Builder`.",
    },
    CodePage {
        code: "TW-E0241",
        title: "the parts of a module do not fit together",
        page: "Every op stands in exactly one region, every region but the kernel's body belongs to exactly one op, \
               everything is reachable from the body, and every value and the op, region or parameter list that makes \
               it name each other. A pass that moves or drops ops keeps this by rebuilding through `ir::Builder` or \
               `builder::renumber`.",
    },
    CodePage {
        code: "TW-E0242",
        title: "a module exceeds a limit",
        page: "A kernel has at most 1000000 ops, and its regions nest at most 64 deep, the kernel's body included. The \
               limits guard tools that read untrusted text; a traced kernel meets them when it unrolls what should be a \
               device loop: write `for i in 0..n`, not `for i in unroll(0..n)`.",
    },
    CodePage {
        code: "TW-E0243",
        title: "a type or a constant is malformed",
        page: "A tile has 1 to 4 axes, every length is above zero, and it has at most 4194304 (2^22) elements. A view \
               has 1 to 4 axes. A constant is a scalar of its own element type; its integer bits are sign- or \
               zero-extended. The text form cannot express anything else.",
    },
    CodePage {
        code: "TW-E0244",
        title: "an op is recorded with other result types than it makes",
        page: "The types of an op's results follow from its operands and attributes. In a `.tir` file the type behind \
               the colon repeats them, so that a reader need not compute it:\n\n    %s = add %a, %b : f32\n\nWrite the \
               type that the message names, or change the operands.",
    },
    CodePage {
        code: "TW-E0245",
        title: "a value is used outside the region that makes it",
        page: "What is computed in an arm of an `if`, in a loop or in a composite exists only there: the arm may not \
               run, the loop may run many times. To use it afterwards, hand it out: let both arms of the `if` yield \
               it, carry it through the loop, or let the composite yield it. In a kernel this happens when a handle is \
               kept in a `Cell` or a `Vec` that outlives the arm; assign it to a variable declared outside instead.\n\n\
               The body of a `while` also sees what its condition computed.",
    },
    CodePage {
        code: "TW-E0246",
        title: "a value is used before it is made",
        page: "Program order of one PE is the meaning of a kernel, so an op can only use what earlier ops made. An op \
               with regions makes its results when it ends; inside its regions they do not exist yet: use the carried \
               values of the loop there.",
    },
    CodePage {
        code: "TW-E0247",
        title: "a kernel parameter is neither a scalar nor a view",
        page: "A launch passes numbers and tensors. Tiles live on the device, in a PE's scratch, where the host \
               cannot put them: take a view and load the tile in the kernel.",
    },
    CodePage {
        code: "TW-E0248",
        title: "a kernel's body takes or yields values",
        page: "A kernel has no result; what it computes it stores to a `view_mut` parameter. Its inputs are parameters, \
               not arguments of its body.",
    },
    CodePage {
        code: "TW-E0249",
        title: "an op has no source location",
        page: "Every op carries the user's line, so that every later error can name it. The frontend and the parser \
               give each op one; a pass that makes an op gives it the location of the op it stands for.",
    },
];
