//! The text form (`.tir`): `print` writes a module, `parse` reads it back, equal. MLIR-like, one op a line.
//! `print.rs`: names and layout. `lex.rs`: tokens. `parse.rs`: ops and regions. How a field reads is in `ops::field`.

mod lex;
mod parse;
mod print;

pub use lex::ParseFault;
pub use parse::{OpParser, parse};
pub use print::{OpPrinter, OpTexts, op_text, print, print_with_locs, value_names};
