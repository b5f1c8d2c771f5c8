//! What the driver's compiler says of a text, in terms of the kernel: `ptxas application ptx input, line 17; error : …`.

use super::codes::PTX_REFUSED;
use super::errors::said;
use super::fault::Fault;
use crate::compile::Compiled;
use tilewright_core::diag::Diagnostic;
use tilewright_core::ir::LocId;

/// Messages shown; the first say it all.
const SHOWN: usize = 4;

/// The compiler's error log, each line with its PTX and the first with the kernel's line.
pub fn refused(compiled: &Compiled, fault: &Fault, log: &str) -> Diagnostic {
    let mut d = Diagnostic::new(PTX_REFUSED, format!("the driver refuses the PTX of `{}`", compiled.module.name));
    let messages: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let loc = messages.iter().filter_map(|message| line_of(message)).find_map(|line| loc(compiled, line));
    if let Some(loc) = loc {
        d = d.at(&compiled.module, loc, "compiled from here");
    }
    for message in messages.iter().take(SHOWN) {
        d = d.note(*message);
        if let Some((line, text)) = line_of(message).and_then(|line| Some((line, ptx(compiled, line)?))) {
            d = d.note(format!("line {line} of the PTX: {text}"));
        }
    }
    d.note(said(fault)).next("please report the kernel with this message; `ir KERNEL --stage ptx` prints its PTX")
}

/// The line of the text that a message names, from 1.
fn line_of(message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("line ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}
fn ptx(compiled: &Compiled, line: usize) -> Option<&str> {
    compiled.printed.text.lines().nth(line.checked_sub(1)?).map(str::trim)
}
fn loc(compiled: &Compiled, line: usize) -> Option<LocId> {
    compiled.printed.lines.get(line.checked_sub(1)?).copied().filter(|loc| *loc != LocId::UNKNOWN)
}
