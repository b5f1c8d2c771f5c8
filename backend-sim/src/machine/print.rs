//! Prints the machine that is in effect, as a file that loads to the same; and its hash.

use super::errors::quoted;
use super::quantity::show;
use super::spec::{Machine, SECTIONS};
use super::table::FieldId;
use std::fmt::Write;

impl Machine {
    /// A complete machine file; loading it gives an equal machine.
    pub fn to_toml(&self) -> String {
        let mut out = format!("name = {}\n", toml::Value::String(self.name.clone()));
        for (section, doc) in SECTIONS {
            let _ = writeln!(out, "\n# {}\n[{section}]", doc.trim());
            for id in FieldId::all().filter(|id| id.row().section == *section) {
                let value = quoted(id.row().kind, self.value(id));
                let _ = writeln!(out, "{} = {{ value = {value}, status = \"{}\" }}", id.row().name, self.status(id));
            }
        }
        out
    }
    /// The value of a field as a file writes it, without quotes: `256 GB/s`.
    pub fn show(&self, id: FieldId) -> String {
        show(id.row().kind, self.value(id))
    }
    /// The same for machines whose values are the same, whatever their names and statuses (64-bit FNV-1a of the values).
    pub fn hash(&self) -> u64 {
        let values = FieldId::all().flat_map(|id| format!("{id}={}\n", self.value(id)).into_bytes());
        values.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
