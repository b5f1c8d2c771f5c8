//! The core of tilewright: element types, the tile IR, its text form, the kernel language's handles, diagnostics, and the
//! reference interpreter that defines what every op means. Knows no backend.

pub mod check;
pub mod data;
pub mod diag;
pub mod elem;
pub mod interp;
pub mod ir;
pub mod lang;
pub mod launch;
pub mod passes;
pub mod placement;
pub mod tensor;
pub mod unwritten;

pub use half;
