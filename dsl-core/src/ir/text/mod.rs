//! The text form (`.tir`): `print` writes a module, `parse` reads it back, equal. MLIR-like, one op a line.
//! `print.rs`: layout. `lex.rs`: tokens. `parse.rs`, `regions.rs`: kernels and ops. `types.rs`, `fields.rs`: types, operands and
//! constants. `name.rs`: how names are written. `fault.rs`: what can be wrong. How an op's field reads is in `ops::field`.

mod fault;
mod fields;
mod lex;
mod name;
mod parse;
mod print;
mod regions;
mod types;

use super::module::Module;
use super::verify::verify;
use crate::diag::{CodePage, Diagnostics};
pub use fault::ParseFault;
pub use fields::OpParser;
pub use parse::parse;
pub use print::{OpPrinter, OpTexts, op_text, print, print_with_locs, value_names};
use std::sync::Arc;

/// The parser's pages for `tilewright explain`.
pub const CODES: &[CodePage] = fault::CODES;

/// Reads one kernel and verifies it. `file` names the text in errors and in locations of ops that carry none.
///
/// # Errors
/// The first place where the text is not well-formed, or else everything that the verifier finds, each with its line.
pub fn read(text: &str, file: &str) -> Result<Module, Diagnostics> {
    let m = parse(text, file).map_err(|fault| fault.diagnostic(text, file))?;
    let source: Arc<str> = text.into();
    verify(&m).map_err(|found| Diagnostics(found.0.into_iter().map(|d| d.source(file, source.clone())).collect()))?;
    Ok(m)
}
