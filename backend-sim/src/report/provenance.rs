//! Where a result comes from: it stands beside every number that leaves the simulator.

use crate::fidelity::Fidelity;
use crate::machine::{FieldId, FieldSet, Machine, Status};
use serde::{Serialize, Serializer};
use std::fmt;

/// A 64-bit hash, 16 hexadecimal digits wherever it is shown: JSON numbers would lose its low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(pub u64);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// A field whose value the user gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetField {
    pub field: &'static str,
    pub value: String,
}

/// What must be the same for a result to be the same, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provenance {
    pub backend: &'static str,
    pub machine: String,
    /// Of the machine's values.
    pub machine_hash: Hash,
    pub fidelity: Fidelity,
    /// Of the random input; `None`: the run had none.
    pub seed: Option<u64>,
    /// None of a roofline, which has no events.
    pub event_hash: Option<Hash>,
    pub note: &'static str,
    /// Fields that a price of the run came from and that are assumed: the mark of a result.
    pub assumed: Vec<&'static str>,
    /// Fields that the user set, whether the run used them or not.
    pub set: Vec<SetField>,
}

impl Provenance {
    /// For a run that took prices from the fields `used`.
    pub fn of(
        machine: &Machine,
        used: &FieldSet,
        fidelity: Fidelity,
        seed: Option<u64>,
        event_hash: u64,
    ) -> Provenance {
        let with = |status: Status| move |id: &FieldId| machine.status(*id) == status;
        let set = |id: FieldId| SetField { field: id.path(), value: machine.show(id) };
        Provenance {
            backend: "sim",
            machine: machine.name.clone(),
            machine_hash: Hash(machine.hash()),
            fidelity,
            seed,
            event_hash: (fidelity != Fidelity::Roofline).then_some(Hash(event_hash)),
            note: "model, not validated on hardware",
            assumed: used.iter().filter(with(Status::Assumed)).map(FieldId::path).collect(),
            set: FieldId::all().filter(with(Status::Set)).map(set).collect(),
        }
    }
    /// What a table puts behind a figure: `*` if the run used an assumed value.
    pub fn mark(&self) -> &'static str {
        if self.assumed.is_empty() { "" } else { "*" }
    }
}

/// One line; then one of the assumed fields it used and one of the fields that were set, if there are any.
impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, machine {} ({}), fidelity {}", self.backend, self.machine, self.machine_hash, self.fidelity)?;
        if let Some(seed) = self.seed {
            write!(f, ", seed {seed}")?;
        }
        if let Some(hash) = self.event_hash {
            write!(f, ", event hash {hash}")?;
        }
        write!(f, "; {}", self.note)?;
        if !self.assumed.is_empty() {
            write!(f, "\n* assumed, never measured or published: {}", self.assumed.join(", "))?;
        }
        if !self.set.is_empty() {
            let set: Vec<String> = self.set.iter().map(|s| format!("{} = {}", s.field, s.value)).collect();
            write!(f, "\nset: {}", set.join(", "))?;
        }
        Ok(())
    }
}
