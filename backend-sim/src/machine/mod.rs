//! The machine description: typed fields (`spec`), the rows they come from (`table`), numbers with units (`quantity`),
//! reading (`load`, texts in `source`, faults in `errors`, their pages in `codes`), printing (`print`), the JSON Schema
//! of files (`schema`), and the start of several users (`skew`).
//! A `Machine` is complete and each value in range once it exists. Not here: what the constants do (the engine).

mod codes;
mod errors;
mod load;
mod print;
pub mod quantity;
mod schema;
mod skew;
mod source;
mod spec;
mod table;

pub use codes::CODES;
pub use quantity::{Factor, Kind};
pub use schema::schema;
pub use spec::{
    Barrier, Composite, Cpu, Egress, Gemm, Hbm, LaunchSkew, Machine, Math, Queue, Scratch, Sip, Topology, field,
};
pub use table::{Field, FieldId, FieldSet, Status};
use tilewright_core::diag::Diagnostics;

impl Machine {
    /// The machine of the published study.
    pub fn ahbm() -> Machine {
        load::load("ahbm", &[]).expect("the shipped machine loads, as tests/machine.rs shows")
    }
    /// A shipped machine by name (`ahbm`) or a machine file by path; then each `section.field=value` in turn.
    ///
    /// # Errors
    /// `TW-E04xx`: all that is wrong in the files and the flags, each with its line.
    pub fn load(name: &str, sets: &[String]) -> Result<Machine, Diagnostics> {
        load::load(name, sets)
    }
    /// Where the value of a field comes from.
    pub fn status(&self, id: FieldId) -> Status {
        self.statuses[id.index()]
    }
    /// The value of a field, in base units of its kind.
    pub fn value(&self, id: FieldId) -> u64 {
        (id.row().get)(self)
    }
}
