//! The page that says what every op means: the rows of the op table, and the rules that hold for many ops.

use super::scalar;
use crate::elem::Class;
use crate::ir::ops::OpRow;
use crate::ir::{Effect, Literal, Op, Type, ValueId};
use std::fmt::Write;

/// A family of the op table, and rules that hold for its ops.
const RULES: &[(&str, &[&str])] = &[
    (
        "arithmetic",
        &[
            "Each op rounds to its element type: f16 and bf16 are computed in f32 and rounded once, `fma` is exact before its only rounding.",
            "A NaN that arithmetic makes is the positive quiet NaN without payload; `neg` and `abs` change the sign bit only, and moves (`select`, `bitcast`, shapes, memory, messages) no bit.",
            "`a % 0` and `a / 0` are 0 with an error record for integers; float division is IEEE. MIN / -1 is MIN, MIN % -1 is 0.",
            "`mul` and `add` are never contracted. f32 keeps subnormals.",
        ],
    ),
    ("bits", &["A shift count outside 0..width counts as the width. `i1` takes `and`, `or`, `xor`, `not`."]),
    (
        "math",
        &["Computed by the libm crate, so values are equal on every host; f16 and bf16 through f32, rounded once."],
    ),
    (
        "conversion",
        &[
            "To `i1`: whether the value is not zero (NaN is true). From `i1`: 1 or 0. Integers round to floats once.",
            "fp8: an infinity saturates to the largest number, NaN stays NaN (code 0x7F).",
        ],
    ),
    ("shape", &["Row-major order. An index too large for the element of an `iota` wraps."]),
    (
        "reduction",
        &[
            "The identity over one element. Of equal maxima the value is the same; -0 counts below +0.",
            "`scan_sum` accumulates like `reduce_sum` and rounds each prefix once.",
            "`reduce_with` and `scan_with` combine the elements in order: here from the first on, each result to the element type.",
        ],
    ),
    (
        "product",
        &[
            "Starts from `c` or +0. i32 sums wrap. `tf32` rounds f32 operands to 10 mantissa bits, ties to even, before they are multiplied; nothing else does.",
        ],
    ),
    (
        "memory",
        &[
            "Offsets are 64-bit. An access outside its view is suppressed element by element (loads give 0) with an error record: op, program, coordinate, count.",
            "`limit axis: n`: along this axis of the tile only n places exist, a negative n is 0; the others read as the fill (or 0) and are not written, without a record.",
            "A program sees its own writes and atomics at once, another's after a barrier. Each float atomic rounds to its type; where their order shows (float adds; adds and maxima in one view) atomics are applied in the order of program ids between barriers.",
            "Only barriers order memory between programs: `barrier cube` the PEs of a cube, `barrier launch` all; send, recv and space in a queue order none. Accesses of one element by two programs without such a barrier between race, unless both read or both are atomics: a kernel that does so is wrong, and its values may depend on the order in which programs run.",
            "Elements of a tensor made by `Tensor::uninit` have no value until a kernel writes them; reading one before, also by an atomic, is an error where races are checked. All other tensors count as written. A tile has a value wherever it is defined.",
        ],
    ),
    ("place", &["All are i32. A program is one PE; ids count cube by cube, SIP by SIP."]),
    (
        "messages",
        &[
            "A queue belongs to one sender, one receiver and a port: what is sent East arrives from West, `peer.r` from `peer` of the sender. It holds as many messages as the launch's depth.",
            "A port off the mesh, or to the program itself, is an error when executed. Meshes do not wrap around; SIPs form a ring.",
            "A recv whose type differs from the next message's is an error. Messages left at the end are an error.",
            "Barriers of a scope match by count, not by place; programs that pass different numbers of them are an error.",
        ],
    ),
    ("observation", &["Lines appear program by program. A false assertion is a record; the run goes on."]),
    (
        "control",
        &[
            "A step below 1 is an error when the loop is reached. `lo >= hi` makes no turn and the carried values pass. The index never wraps.",
        ],
    ),
];

/// `docs/meaning.md`. `written`: how the op of a row reads as text.
pub fn page(written: &dyn Fn(&OpRow) -> String) -> String {
    let mut out = String::from(
        "# What every op means\n\nThe reference interpreter (`dsl-core/src/interp`) is this table as code. Backends agree with it to the bit, except\n\
         that they may re-associate sums, approximate the functions of *Math*, and make other NaNs. Written by\n\
         `UPDATE_DOCS=1 cargo test -p tilewright-core --test interp`, from the op table and the rules beside it.\n\n\
         Elements that an op asks of its operands are named: numbers are integers and floats, without fp8.\n",
    );
    let mut family = "";
    for row in Op::ROWS {
        if row.family != family {
            family = row.family;
            let _ = write!(out, "\n## {}{}\n\n", family[..1].to_uppercase(), &family[1..]);
            let rules = RULES.iter().find(|(name, _)| *name == family).map_or(&[][..], |(_, rules)| rules);
            rules.iter().for_each(|rule| {
                let _ = writeln!(out, "- {rule}");
            });
            out.push_str("\n| op | elements | effect | meaning |\n|---|---|---|---|\n");
        }
        let cell = |text: &str| text.replace('|', "\\|");
        let (text, elements) = (cell(&written(row)), row.class.map_or("", elements));
        let _ = writeln!(out, "| `{text}` | {elements} | {} | {} |", effect(row.effect), cell(row.doc));
    }
    out.push_str("\n## Values\n\nOps of one operand, in f32 and in i32.\n");
    let floats = [-2.5, -1.0, -0.0, 0.5, 1.5, 100.0, f32::INFINITY, f32::NAN].map(Literal::from);
    values(&mut out, &floats);
    values(&mut out, &[i32::MIN, -7, 0, 1, 100].map(Literal::from));
    out
}
/// What the ops of one operand make of some values of one element type.
fn values(out: &mut String, of: &[Literal]) {
    let Some(elem) = of.first().map(|x| x.elem) else { return };
    let heads: String = of.iter().map(|x| format!(" {} |", short(*x))).collect();
    let _ = write!(out, "\n| op |{heads}\n|---|{}\n", "---|".repeat(of.len()));
    for row in Op::ROWS {
        let Some(op) = row.class.filter(|class| elem.is(*class)).and(row.unary).map(|make| make(ValueId(0))) else {
            continue;
        };
        let value =
            |x: &Literal| scalar::eval(&op, &[*x], Type::Scalar(elem)).map_or(String::new(), |e| short(e.value));
        let cells: String = of.iter().map(|x| format!(" {} |", value(x))).collect();
        let _ = writeln!(out, "| `{}` |{cells}", row.mnemonic);
    }
}
/// A number of a table for people, to five digits.
fn short(x: Literal) -> String {
    match x.as_float() {
        Some(x) if x.is_finite() && x != 0.0 && !(1e-4..1e6).contains(&x.abs()) => format!("{x:.4e}"),
        Some(x) => format!("{}", (x * 1e4).round() / 1e4),
        None => x.as_int().map_or(String::new(), |x| x.to_string()),
    }
}
fn elements(class: Class) -> &'static str {
    match class {
        Class::Any => "any",
        Class::Num => "numbers",
        Class::Int => "integers",
        Class::Float => "floats",
        Class::Bits => "integers, i1",
    }
}
fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Pure => "pure",
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Atomic => "read and write",
        Effect::Queue => "queue",
        Effect::Sync => "sync",
        Effect::Observe => "observe",
        Effect::Control => "control",
    }
}
