//! Why a text is not a module.

use crate::diag::{CodePage, Diagnostic};
use crate::ir::loc::Place;
use std::fmt;

/// Why a text is not a module: where, what was expected, what stands there.
#[derive(Clone, Debug, PartialEq)]
pub struct ParseFault {
    pub code: &'static str,
    /// Line and column, from 1.
    pub line: u32,
    pub col: u32,
    pub text: String,
}

impl ParseFault {
    /// The error with the line it stands on; `file` is what the text is called.
    pub fn diagnostic(&self, text: &str, file: &str) -> Diagnostic {
        let place = Place { file: file.into(), line: self.line, col: self.col };
        Diagnostic::new(self.code, self.text.as_str()).label(place, "").source(file, text).next(next(self.code))
    }
}

impl fmt::Display for ParseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.col, self.text)
    }
}

/// The text does not follow the grammar.
pub(super) const SYNTAX: &str = "TW-E0230";
/// A value is used that no op defines, or defined twice.
pub(super) const NAME: &str = "TW-E0231";
/// A limit on untrusted text is exceeded.
pub(super) const LIMIT: &str = "TW-E0232";
/// A constant does not fit its element type, or nothing says the type.
pub(super) const CONSTANT: &str = "TW-E0233";

fn next(code: &'static str) -> &'static str {
    match code {
        NAME => "give each value one name, above its uses; `%x'2` is a second `%x`",
        LIMIT => "use a smaller tile, fewer axes, or a device loop",
        CONSTANT => "write the type behind the number, `1.5:f32`; bits are `0x7e00:f16`",
        _ => "compare with what `tilewright ir` prints for a shipped kernel",
    }
}

/// The parser's pages for `tilewright explain`.
pub(super) const CODES: &[CodePage] = &[
    CodePage {
        code: SYNTAX,
        title: "a `.tir` text does not follow the grammar",
        page: "The text form has one op a line: results, `=`, the mnemonic, its fields, and behind a colon the type of \
               the result:\n\n    %s = add %a, %b : f32\n    store %o[%i], %s\n\nOps with regions end their line in `{`. \
               docs/ir.md lists every op with its fields; `tilewright ir NAME` prints a shipped kernel.",
    },
    CodePage {
        code: NAME,
        title: "a value's name is unknown or not unique",
        page: "A text names every value once, above its uses, and no name again, not even in another region. When two \
               values of the kernel share a name, the second gets a mark: `%q'2`. The mark is no part of the name.",
    },
    CodePage {
        code: LIMIT,
        title: "a `.tir` text exceeds a limit",
        page: "A tile has 1 to 4 axes, lengths above zero and at most 4194304 (2^22) elements, a view 1 to 4 axes; \
               regions nest at most 64 deep, and a kernel has at most 1000000 ops. The limits guard tools that read \
               text from strangers.",
    },
    CodePage {
        code: CONSTANT,
        title: "a constant does not fit its type, or has none",
        page: "A number takes its type from the end of the line (`add %x, 1 : i32`); indices, limits and loop ends are \
               i32. Anywhere else the type stands behind the number: `keep 1.5:f32`. Integers must lie in the range of \
               their type and floats must be finite in it. NaN, infinities and fp8 are written as bits: `0x7e00:f16`, \
               `0x3c:f8e4m3`. Truth values are `true` and `false`.",
    },
];
