//! What `tilewright explain` says of the codes of the IR: the faults of one op here, those of the text form and of the
//! whole module where they are declared.

use super::{text, verify};
use crate::diag::CodePage;

/// All pages of the IR: TW-E02xx.
pub const CODES: &[&[CodePage]] = &[FAULTS, text::CODES, verify::CODES];

/// One page a variant of `Fault`.
pub const FAULTS: &[CodePage] = &[
    CodePage {
        code: "TW-E0201",
        title: "an op does not work on this element type",
        page: "Arithmetic needs numbers (fp8 and i1 are not), bit operations integers or i1, transcendental functions \
               floats. Convert first: fp8 is for loads, stores and casts only.\n\n    let w = w8.cast::<f16>();",
    },
    CodePage {
        code: "TW-E0202",
        title: "the operands of an elementwise op differ in type",
        page: "Elements never mix and shapes never stretch by themselves: both operands have the same element type and \
               the same lengths. Convert with `.cast::<..>()`; a vector joins a matrix as `.col()` or `.row()`; a \
               plain number takes the element of the other side. Two tiles with an `ANY` length can differ only when \
               the kernel is traced.",
    },
    CodePage {
        code: "TW-E0203",
        title: "an operand is of the wrong kind",
        page: "The op takes a scalar where a tile was given, or a tile where a view was given, and so on. A view is \
               memory: load a tile from it. Indices, limits and loop ends are i32 or i64 scalars, conditions are i1 \
               scalars. docs/ir.md lists what each op takes.",
    },
    CodePage {
        code: "TW-E0204",
        title: "the mask of a select does not fit its arms",
        page: "`select(mask, a, b)` chooses element by element, so the mask is an i1 tile of the shape of `a` and `b`, \
               or an i1 scalar between scalars.",
    },
    CodePage {
        code: "TW-E0205",
        title: "a cast or bitcast changes the shape or the size",
        page: "A cast changes the element type only. A bitcast keeps every bit, so both element types have the same \
               size, and i1, which has no bits of its own, takes no part. Use `.reshape` for another shape.",
    },
    CodePage {
        code: "TW-E0206",
        title: "there is no such axis",
        page: "Axes count from 0, outermost first: a `[M, N]` tile has axis 0 of length M and axis 1 of length N. \
               A tile and a view have as many axes as lengths, so the last one is the rank minus 1.",
    },
    CodePage {
        code: "TW-E0207",
        title: "a tile does not fit along an axis of another",
        page: "`broadcast` repeats a tile along one new axis: the result without that axis must be the operand. A `[M]` \
               vector becomes `[M, N]` along axis 1 (`.col()`), a `[N]` vector along axis 0 (`.row()`). A scalar fills \
               a tile with `splat`.",
    },
    CodePage {
        code: "TW-E0208",
        title: "a reshape changes the number of elements",
        page: "A reshape keeps all elements in row-major order, so the products of the lengths must be equal, and so \
               must the element types.",
    },
    CodePage {
        code: "TW-E0209",
        title: "rows outside the tile",
        page: "`x.rows::<K>(first)` takes K places along axis 0, from a fixed index on. All of them lie inside `x`, and \
               the other lengths stay.",
    },
    CodePage {
        code: "TW-E0210",
        title: "the inner lengths of a product differ",
        page: "A product is `[M, K] . [K, N]`: the columns of the left operand are as many as the rows of the right \
               one. Scores of attention are `dot(q, k.trans())`.",
    },
    CodePage {
        code: "TW-E0211",
        title: "a product cannot be accumulated in this element type",
        page: "Both operands have the same element. f16 accumulates in f16 or f32, bf16, f32 and fp8 in f32, f64 in f64, \
               i8 and u8 in i32. Where nothing decides, give the result a type: `let s: Tile<f32, _> = dot(a, b);`.",
    },
    CodePage {
        code: "TW-E0212",
        title: "the accumulator of a product has another shape",
        page: "`[M, K] . [K, N]` gives `[M, N]`; the tile that is added, and the result, have that shape. Nothing \
               is repeated to fit: add a bias along one axis after the product, as `.row()` or `.col()`.",
    },
    CodePage {
        code: "TW-E0213",
        title: "tf32 without f32 operands",
        page: "tf32 says how f32 operands are rounded before they are multiplied. Other elements have nothing to \
               round, and a word that does nothing would hide which precision a product has.",
    },
    CodePage {
        code: "TW-E0214",
        title: "the number of indices is not the rank of the view",
        page: "A place in a view has one index per axis, also where a tile is read: the tile begins there and lies along \
               the trailing axes. `k.at(head, token, 0).load::<D2<N, D>>()` reads from a view of rank 3.",
    },
    CodePage {
        code: "TW-E0215",
        title: "a tile has more axes than its view",
        page: "A tile lies along the trailing axes of a view, so it has at most as many axes: there is no memory \
               for the others. Reshape the tile first, or take a view of more axes.",
    },
    CodePage {
        code: "TW-E0216",
        title: "the element type differs from the view's",
        page: "Loads and stores move bits: what a conversion costs, and where it rounds, is the kernel's to say. \
               Convert after a load or before a store: `y.at(i).store(x.cast::<f16>())`.",
    },
    CodePage {
        code: "TW-E0217",
        title: "a store to a read-only view",
        page: "A parameter that is written is a `ViewMut` (`view_mut` in a text). Loads from a read-only view may \
               be kept, moved and shared by the passes, and a host may pass one tensor to several of them; a \
               store would break all that without notice.",
    },
    CodePage {
        code: "TW-E0218",
        title: "a number outside its range",
        page: "A vector width is 1, 2, 4, 8 or 16 elements: the sizes of accesses that machines have. A pipelined \
               loop has at least one stage: with 1, loads do not run ahead.",
    },
    CodePage {
        code: "TW-E0219",
        title: "SIPs have no neighbour in this direction",
        page: "SIPs form a ring from west to east, so there is no link to the north or south of one. North and \
               south exist between the PEs of a cube (`Port::pe`) and between cubes (`Port::cube`).",
    },
    CodePage {
        code: "TW-E0220",
        title: "a region takes or yields other values than its op needs",
        page: "Both arms of an `if` yield the same types. A loop's body takes the index and the carried values, and \
               yields the carried values' next ones, with the same types in the same order; so does the body of a \
               `while`, whose condition yields one i1. A combine takes two elements and yields one.",
    },
    CodePage {
        code: "TW-E0221",
        title: "a composite does not hold exactly one dot",
        page: "A composite is one command of the PE's scheduler, built around one product: what stands before it is the \
               prologue, what follows the epilogue. Two products are two composites; none is no composite.",
    },
    CodePage {
        code: "TW-E0222",
        title: "this op cannot be inside a composite",
        page: "A composite is a straight line of tile ops: loads, arithmetic, one dot. Stores, queues, barriers and \
               control flow stand before or after it.",
    },
    CodePage {
        code: "TW-E0223",
        title: "this op cannot be inside a combine",
        page: "The function of `reduce_with` or `scan_with` is applied to pairs of elements in an order the machine \
               chooses. It computes on scalars only, without memory, queues or control flow.",
    },
    CodePage {
        code: "TW-E0224",
        title: "the print format does not match its values",
        page: "Each `{}` of the format stands for one value, in order, and there are as many values as `{}`. It \
               is checked before a run, so that a line of output can be trusted to show what it says.",
    },
    CodePage {
        code: "TW-E0225",
        title: "this op cannot be inside a map_reduce",
        page: "A machine may run the turns of a map_reduce side by side and merge their values in any grouping, so its body \
               reads and computes, and its merge computes: no stores, atomics, queues, barriers, prints or assertions, no \
               loads in the merge, and no map_reduce inside another. What has an effect stands before it or behind it; \
               turns that need effects are a `for`.",
    },
];
