//! What `print` writes: lines, and values in them.

use crate::data::Data;
use crate::elem::{ElemType, Kind};
use crate::interp::convert::{self, Wide};
use crate::ir::loc::Place;
use crate::ir::{Dims, Literal};
use std::fmt;

/// A line that a program printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    pub program: usize,
    /// The program as reports call it: `cube 0, PE 1`.
    pub who: String,
    /// Where the kernel prints it, if that is known.
    pub place: Option<Place>,
    pub text: String,
}

/// `cube 0, PE 1, src/kernel.rs:12: text`.
impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.who)?;
        if let Some(place) = &self.place {
            write!(f, ", {}:{}", place.file, place.line)?;
        }
        write!(f, ": {}", self.text)
    }
}

/// Lines of one program that are kept, so that a loop cannot fill the memory.
pub const MAX_LINES: u64 = 10_000;
/// What stands for the lines after them.
pub const MORE: &str = "(more lines are not shown)";

/// Elements of a tile that are written out; the rest is counted.
pub const SHOWN: usize = 64;

/// `format` with each `{}` replaced by a value.
pub fn line(format: &str, values: &[String]) -> String {
    let mut parts = format.split("{}");
    let mut out = parts.next().unwrap_or_default().to_string();
    for (part, value) in parts.zip(values) {
        out.push_str(value);
        out.push_str(part);
    }
    out
}
pub fn scalar(v: Literal) -> String {
    match v.elem.kind() {
        Kind::Bool | Kind::Signed | Kind::Unsigned => v.to_string(),
        Kind::Float | Kind::Storage => match crate::with_elem!(v.elem, T => convert::Convert::wide(v.get::<T>())) {
            // The shortest text of the f32 that holds it, not the digits of an f64.
            Wide::Float(x) if v.elem != ElemType::F64 => (x as f32).to_string(),
            Wide::Float(x) => x.to_string(),
            Wide::Signed(_) | Wide::Unsigned(_) => v.to_string(),
        },
    }
}
/// `[[1, 2], [3, 4]]`, cut after some elements.
pub fn tile(data: &Data, dims: Dims) -> String {
    let mut out = String::new();
    let mut index = 0;
    level(data, dims.as_slice(), &mut index, &mut out);
    if data.len() > SHOWN {
        out.push_str(&format!(" ({} elements)", data.len()));
    }
    out
}
fn level(data: &Data, dims: &[u32], index: &mut usize, out: &mut String) {
    let Some((n, inner)) = dims.split_first() else {
        out.push_str(&scalar(data.get(*index)));
        *index += 1;
        return;
    };
    out.push('[');
    for i in 0..*n {
        if i > 0 {
            out.push_str(", ");
        }
        if *index >= SHOWN {
            out.push('…');
            break;
        }
        level(data, inner, index, out);
    }
    out.push(']');
}
