//! What can be wrong with a kernel beyond one op's rules (`ir::fault`), found while it is traced or launched.
//! Each variant is worded and coded here, once; `CODES` has the page of each code.

use crate::diag::{CodePage, Diagnostic};
use crate::elem::ElemType;
use crate::ir::{MAX_TILE_ELEMS, Type};
use crate::launch::Grid;

/// Ops one kernel may trace to (ARCHITECTURE 3, limits).
pub const MAX_OPS: usize = 1_000_000;
/// Regions inside each other; the text form has the same limit.
pub const MAX_NESTING: usize = 64;
/// `#[device]` calls inside each other: more is taken for a recursion without end.
pub const MAX_CALLS: usize = 256;
/// Bytes of host stack between a kernel's body and an operation: more is taken for a recursion of plain functions.
pub const MAX_STACK: usize = 1 << 20;

/// A fault of a kernel or of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum LangFault {
    /// Two tiles meet whose types agree but whose `ANY` lengths do not.
    AnyLength { a: Type, b: Type },
    /// A shape with an `ANY` length where nothing says how long it is.
    OpenShape,
    /// An `ANY` const generic used as a number.
    OpenNumber,
    /// A tile without elements, or with too many.
    TileSize { dims: Vec<usize> },
    /// `load_sized` got another number of lengths than the shape has `ANY`s.
    SizedCount { open: usize, given: usize },
    /// A value made inside a region is used outside of it.
    Escaped { ty: Type },
    /// A handle of another trace.
    Foreign,
    /// The trace grows beyond `MAX_OPS`.
    TooManyOps,
    /// Functions call each other beyond `MAX_CALLS` or `MAX_STACK`.
    Recursion,
    /// Control flow nests beyond `MAX_NESTING`.
    Nesting,
    /// Host code in the body panicked.
    Panicked { text: String },
    /// Two traces of one specialisation differ.
    Impure { first: String, second: String },
    /// A host number has no representation in the element type beside it.
    NoFit { number: String, elem: ElemType },
    /// An `assert_k!` on host values does not hold.
    Assertion { text: String },
    /// A loop that would never advance.
    ZeroStep,
    /// An operation where no kernel is traced.
    Outside,
    /// A launch without programs.
    NoPrograms { grid: Grid },
    /// More programs than an i32 `program_id` can name.
    TooManyPrograms { grid: Grid },
    /// The kernel asks for the length of an axis that an i32 cannot hold.
    LongAxis { parameter: String, axis: usize, len: usize },
    /// A queue that can never hold a message.
    ZeroQueueDepth,
    /// A program without threads.
    ZeroThreads,
}

impl LangFault {
    /// The code that `tilewright explain` knows.
    pub fn code(&self) -> &'static str {
        match self {
            LangFault::AnyLength { .. } => "TW-E0101",
            LangFault::OpenShape | LangFault::OpenNumber => "TW-E0102",
            LangFault::TileSize { .. } => "TW-E0103",
            LangFault::SizedCount { .. } => "TW-E0104",
            LangFault::Escaped { .. } => "TW-E0105",
            LangFault::Foreign => "TW-E0106",
            LangFault::TooManyOps => "TW-E0107",
            LangFault::Recursion => "TW-E0108",
            LangFault::Nesting => "TW-E0109",
            LangFault::Panicked { .. } => "TW-E0110",
            LangFault::Impure { .. } => "TW-E0111",
            LangFault::NoFit { .. } => "TW-E0112",
            LangFault::Assertion { .. } => "TW-E0113",
            LangFault::ZeroStep => "TW-E0114",
            LangFault::Outside => "TW-E0115",
            LangFault::NoPrograms { .. } => "TW-E0501",
            LangFault::TooManyPrograms { .. } => "TW-E0502",
            LangFault::LongAxis { .. } => "TW-E0503",
            LangFault::ZeroQueueDepth => "TW-E0504",
            LangFault::ZeroThreads => "TW-E0505",
        }
    }

    fn message(&self) -> String {
        match self {
            LangFault::AnyLength { a, b } => format!("these tiles differ in an `ANY` length: {a} and {b}"),
            LangFault::OpenShape => "this tile has an `ANY` length, and nothing here says how long it is".into(),
            LangFault::OpenNumber => "an `ANY` length has no number here".into(),
            LangFault::TileSize { dims } => {
                let dims = dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ");
                format!("a tile of {dims} elements: lengths are at least 1, and their product at most {MAX_TILE_ELEMS}")
            }
            LangFault::SizedCount { open, given } => format!("the shape has {open} `ANY` lengths, {given} given"),
            LangFault::Escaped { ty } => {
                format!("this {ty} was made inside an arm or a loop body, and is used outside of it")
            }
            LangFault::Foreign => "this handle does not belong to the kernel that is being traced".into(),
            LangFault::TooManyOps => format!("the kernel traces to more than {MAX_OPS} operations"),
            LangFault::Recursion => "functions call each other without end while the kernel is traced".into(),
            LangFault::Nesting => format!("control flow nests deeper than {MAX_NESTING}"),
            LangFault::Panicked { text } => format!("the body panicked while it was traced: {text}"),
            LangFault::Impure { .. } => "two traces of this kernel with the same parameters differ".into(),
            LangFault::NoFit { number, elem } => format!("{number} is not a number of element {elem}"),
            LangFault::Assertion { text } => format!("assertion failed while tracing: {text}"),
            LangFault::ZeroStep => "a loop whose step is not above zero never ends".into(),
            LangFault::Outside => "a kernel operation outside a kernel".into(),
            LangFault::NoPrograms { grid } => format!("a launch over {grid} runs no program"),
            LangFault::TooManyPrograms { grid } => {
                format!("a launch over {grid} runs more programs than an i32 counts")
            }
            LangFault::LongAxis { parameter, axis, len } => {
                format!("axis {axis} of `{parameter}` has {len} places, and the kernel asks for its length as an i32")
            }
            LangFault::ZeroQueueDepth => "queues of depth 0 can hold no message".into(),
            LangFault::ZeroThreads => "a program needs at least one thread".into(),
        }
    }

    /// What to write instead.
    fn next(&self) -> &'static str {
        match self {
            LangFault::AnyLength { .. } => "load both with the same lengths",
            LangFault::OpenShape => "use `load_sized`, or name the length in the type",
            LangFault::OpenNumber => "take the size as a `#[comptime]` parameter",
            LangFault::TileSize { .. } => "choose other lengths",
            LangFault::SizedCount { .. } => "give one length for each `ANY`, in order",
            LangFault::Escaped { .. } => "declare a variable before the `if` or loop, and assign it inside",
            LangFault::Foreign => "pass handles as parameters and results, not through statics",
            LangFault::TooManyOps => "make the loop a device loop: `for i in 0..n` instead of `unroll(..)`",
            LangFault::Recursion => "end the recursion on a host value that shrinks",
            LangFault::Nesting => "move inner loops into one, or combine conditions with `&&`",
            LangFault::Panicked { .. } => "check host values before the launch, or with `assert_k!`",
            LangFault::Impure { .. } => "take what the body reads from outside as a `#[comptime]` parameter",
            LangFault::NoFit { .. } => "write a number in range, or convert the tile with `.cast::<..>()`",
            LangFault::Assertion { .. } => "launch with parameters for which it holds",
            LangFault::ZeroStep => "write `.step_by(n)` with n at least 1",
            LangFault::Outside => {
                "move it into the body of a `#[kernel]` or a `#[device]` function, and launch the kernel"
            }
            LangFault::NoPrograms { .. } => "`.grid(Grid::cubes(c).pes(p))` with c and p at least 1",
            LangFault::TooManyPrograms { .. } => "launch fewer programs, each looping over its share of the work",
            LangFault::LongAxis { .. } => "pass the length as a `Scalar<i64>` parameter",
            LangFault::ZeroQueueDepth => "`.queue_depth(n)` with n at least 1",
            LangFault::ZeroThreads => "`.threads(n)` with n at least 1",
        }
    }

    /// The error, without a place.
    pub(crate) fn diagnostic(&self) -> Diagnostic {
        let d = Diagnostic::new(self.code(), self.message()).next(self.next());
        match self {
            LangFault::Impure { first, second } => d.note(format!("first: {first}")).note(format!("then:  {second}")),
            _ => d,
        }
    }
}

/// The pages of the codes above.
pub const CODES: &[CodePage] = &[
    CodePage {
        code: "TW-E0101",
        title: "tiles differ in an `ANY` length",
        page: "`ANY` is a length that the host chooses while the kernel is traced. rustc cannot compare such lengths, so \
               tracing does: two tiles that meet in an operation have the same lengths along every axis.",
    },
    CodePage {
        code: "TW-E0102",
        title: "an `ANY` length that nothing fixes",
        page: "Only `load_sized` gives an `ANY` length its number; the operations on the loaded tile carry it on. `zeros`, \
               `full`, `load`, `recv`, `reshape` and `iota` need all lengths in the type. `ANY` itself is no number: a \
               size that the body computes with is a `#[comptime]` parameter.",
    },
    CodePage {
        code: "TW-E0103",
        title: "a tile without elements, or with too many",
        page: "Every length of a tile is at least 1, and a tile has at most 2^22 elements. Work on larger data in a loop \
               over tiles.",
    },
    CodePage {
        code: "TW-E0104",
        title: "another number of lengths than `ANY`s",
        page: "`load_sized::<D2<ANY, 64>>([n])` takes one length for each `ANY` of the shape, outermost first. \
               With another number of lengths nothing says which belongs to which axis.",
    },
    CodePage {
        code: "TW-E0105",
        title: "a value used outside the region that makes it",
        page: "A value made in an arm of a device `if`, or in the body of a loop, exists only there. Assign it to a \
               variable declared before: the macro carries assigned variables. Host cells (`Cell`, `RefCell`) carry \
               handles past the macro's eyes, and so past what the device can do.",
    },
    CodePage {
        code: "TW-E0106",
        title: "a handle of another kernel",
        page: "Handles are values of the one trace that made them. A handle kept in a static or returned through a host \
               cell means nothing in the next trace.",
    },
    CodePage {
        code: "TW-E0107",
        title: "too many operations",
        page: "A kernel may trace to 10^6 operations. What unrolls (`unroll(..)`, a loop over a host iterator) is traced \
               once per turn; a `for` over a range literal is traced once.",
    },
    CodePage {
        code: "TW-E0108",
        title: "functions that call each other without end",
        page: "A function is traced where it is called (`#[device]` functions at most 256 deep), so recursion has to end while tracing, on host values: \
               a condition on a `Scalar` traces both arms and never ends.",
    },
    CodePage {
        code: "TW-E0109",
        title: "control flow nested too deeply",
        page: "Regions (`if`, `for`, `while`, composites) nest at most 64 deep, in traced kernels as in `.tir` \
               files: what walks the IR does so by recursion, and the limit keeps a text from strangers from \
               ending it. In a kernel the usual cause is a function that calls itself in the arm of a device \
               `if`: both arms are traced, so each call opens another region. Loop on the device instead, or \
               recurse on a host value.",
    },
    CodePage {
        code: "TW-E0110",
        title: "the body panicked while it was traced",
        page: "A kernel body runs on the host while it is traced; host code in it can panic as any Rust code can (an index \
               out of range, an `unwrap`). The place is that of the panic.",
    },
    CodePage {
        code: "TW-E0111",
        title: "a body that is not pure",
        page: "A traced kernel is kept and used again for launches with the same type parameters, consts and comptime \
               values. A body that also reads a clock, a random number, a static or a file would give another kernel \
               each time. `TILEWRIGHT_RETRACE=1` traces each launch twice and compares.",
    },
    CodePage {
        code: "TW-E0112",
        title: "a number that the element type does not have",
        page: "A plain number beside a kernel value becomes a constant of that value's element type, so it has to be in \
               its range: 300 is no u8, 1e6 no f16, -1 no u32.",
    },
    CodePage {
        code: "TW-E0113",
        title: "an assertion on host values does not hold",
        page: "`assert_k!` on a `bool` is decided while tracing; on a `Scalar<bool>` it is checked on the device. \
               This one was of host values (consts, comptime parameters, lengths of types), so it says that the \
               kernel was not made for them. Launch with others, or write the kernel for these too.",
    },
    CodePage {
        code: "TW-E0114",
        title: "a loop step that is not above zero",
        page: "A device loop counts up, so its step is at least 1: with 0 it would never end, and a loop that \
               counts down has no meaning in the IR, which lets every pass rely on the index growing. To count \
               down, count up and subtract: `n - 1 - i`.",
    },
    CodePage {
        code: "TW-E0115",
        title: "a kernel operation outside a kernel",
        page: "Loads, arithmetic on tiles, `program_id()` and the like say what a kernel does; they have a meaning only while \
               the body of a `#[kernel]` is traced, which a launch does. Called by plain host code, on a thread that traces \
               nothing, they have no value to give, so they panic, at the place of the call.",
    },
    CodePage {
        code: "TW-E0501",
        title: "a launch without programs",
        page: "A launch runs `sips x cubes x pes` programs; each of the three is at least 1. With none the kernel \
               would do nothing and its outputs would keep what was in them, which is never what is meant; where \
               there may be no work, do not launch.",
    },
    CodePage {
        code: "TW-E0502",
        title: "too many programs",
        page: "`program_id` and `num_programs` are i32, so a launch has at most 2^31 - 1 programs. Kernels with more work \
               than that loop over it in steps of `num_programs`.",
    },
    CodePage {
        code: "TW-E0503",
        title: "an axis longer than an i32 counts",
        page: "`x.len(axis)` is a `Scalar<i32>`. A longer axis may be bound to a kernel that never asks for its length; \
               otherwise pass the length as a `Scalar<i64>` parameter.",
    },
    CodePage {
        code: "TW-E0504",
        title: "queues of depth 0",
        page: "The depth of a queue is the number of messages it holds before a send waits. A queue of depth 0 \
               holds none, so every send would wait for ever. Leave `.queue_depth` out to get the machine's own \
               depth.",
    },
    CodePage {
        code: "TW-E0505",
        title: "no threads",
        page: "`.threads(n)` is the number of GPU threads that run one program, so it is at least 1. Targets \
               without threads do not read it. Leave it out to let the backend choose.",
    },
];
