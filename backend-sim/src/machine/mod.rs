//! The machine description: typed fields (`spec`), the rows they come from (`table`), numbers with units (`quantity`).
//! A machine is complete and in range once it exists. Not here: what the constants do (the engine).

pub mod quantity;
mod spec;
mod table;

pub use quantity::Factor;
pub use spec::{Composite, Cpu, Egress, Gemm, Hbm, LaunchSkew, Machine, Math, Queue, Scratch, Sip, Topology, field};
pub use table::{Field, FieldId, FieldSet, Status};

/// The shipped machine file.
const AHBM: &str = include_str!("../../../machines/ahbm.toml");

impl Machine {
    /// The machine of the published study.
    pub fn ahbm() -> Machine {
        let file: toml::Table = AHBM.parse().expect("the shipped machine file is TOML");
        let mut machine = Machine::blank();
        machine.name = "AHBM".to_owned();
        for id in FieldId::all() {
            let row = id.row();
            let entry = &file[row.section][row.name];
            let text = match &entry["value"] {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (row.set)(&mut machine, quantity::parse(row.kind, &text).expect("a shipped value is well formed"));
            let status = Status::ALL.into_iter().find(|s| Some(s.name()) == entry["status"].as_str());
            machine.statuses[id.index()] = status.expect("a shipped status is known");
        }
        machine
    }
    /// Where the value of a field comes from.
    pub fn status(&self, id: FieldId) -> Status {
        self.statuses[id.index()]
    }
}
